"""The kernels of Algorithm 1 against literal recomputation.

Reached only by the names that the rest of klump uses, and by what makes up the price of a move.
"""

from __future__ import annotations

import itertools
import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump.chain import MarkovChain
from klump.search.descent import LocalSearch
from klump.search.kernels import descent, flow_bounds
from klump.search.kernels.best_group import (
    _MANY_GROUPS,
    _bound_moves,
    bound_leave_nu,
    collect,
    price_move,
)
from klump.search.kernels.flow import clear_links
from klump.search.kernels.logarithm import f_array, fast_log2
from klump.search.kernels.queue import enqueue_siblings
from klump.search.kernels.tables import DenseProblem
from klump.search.objective import Objective
from klump.search.problem import make_problem, make_table, make_work

BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)
LAYOUTS = ("dense", "lists")
objectives = st.builds(Objective, chains.betas, chains.gammas)


def as_objective(beta):
    """The objective of a bare beta; an objective stays what it is."""
    return beta if isinstance(beta, Objective) else Objective(beta)


@numba.njit(error_model="numpy")
def price_groups(problem, table, weights, x, work, prices, bounds):
    """Fill the change of the cost if state x moved to each group, and lower bounds of it."""
    collect(problem, table, weights, x, work)
    _bound_moves(problem, table, weights, x, work)
    for y in range(prices.size):
        bounds[y] = work.bound[y]
        prices[y] = price_move(problem, table, weights, x, y, work)
    clear_links(work)


@numba.njit(error_model="numpy")
def bound_by_links(problem, table, weights, x, work, bounds):
    """Fill the bounds that take no time for groups without links."""
    collect(problem, table, weights, x, work)
    home, mu, loop = np.int64(table.labels[x]), problem.mu[x], problem.loops[x]
    leave = bound_leave_nu(table, home, mu)
    leave -= weights.flow * flow_bounds.bound_leaving(table.b, home, loop, work)
    bounds[:] = leave + flow_bounds.bound_joining_linked(table, weights, leave, mu, home, loop, work)
    for way in range(2):
        for q in range(work.n_linked[way]):
            bounds[work.groups[way, q]] = work.bound[work.groups[way, q]]
    clear_links(work)


@numba.njit
def log2(t):
    return fast_log2(t)


class Search:
    """A chain in one layout, with a table for given labels; "flows" is the sparse one without A."""

    def __init__(self, P, labels, k, layout="dense", mu=None):
        stored = P if layout == "dense" else sparse.csr_array(P)
        self.chain = MarkovChain(stored, stationary_distribution=mu)
        self.P, self.mu, self.k = np.asarray(P), self.chain.stationary_distribution, k
        self.problem = make_problem(self.chain)
        self.table = make_table(self.problem, labels, k, keep_a=layout != "flows")
        self.work = make_work(k)
        self.sums = descent.build(self.problem, self.table)

    @property
    def labels(self):
        return self.table.labels.tolist()

    def cost(self, beta, labels=None):
        objective = as_objective(beta)
        labels = self.labels if labels is None else labels
        return reference.cost_of_labels(self.P, self.mu, labels, self.k, objective.beta, objective.gamma)

    def gains(self, beta, x):
        """Change of the cost if state x moved to each group."""
        return self._prices(beta, x)[0]

    def bounds(self, beta, x):
        """Lower bounds of the same, infinite for the own group."""
        return self._prices(beta, x)[1]

    def _prices(self, beta, x):
        prices, bounds = np.zeros((2, self.k))
        weights = as_objective(beta).weights
        price_groups(self.problem, self.table, weights, int(x), self.work, prices, bounds)
        prices[self.table.labels[x]] = 0.0
        return prices, bounds

    def sweep(self, beta, order, tolerance=1e-12, allow_empty=False):
        order, weights = np.asarray(order, dtype=np.int64), as_objective(beta).weights
        return descent.sweep(self.problem, self.table, self.work, weights, order, tolerance, allow_empty)

    def sweep_pairs(self, beta):
        order, weights = np.arange(len(self.mu)), as_objective(beta).weights
        return descent.sweep_pairs(self.problem, self.table, self.work, weights, order, 1e-12)

    def local_search(self, beta):
        """Local search that works on the same table, if that is what the objective needs."""
        search = LocalSearch(self.problem, self.labels, self.k, as_objective(beta), np.arange(len(self.mu)))
        self.table = search.table
        return search

    def descend(self, beta, limit=50, allow_empty=False, exchange=False):
        return np.array(self.local_search(beta).descend(limit, allow_empty=allow_empty, exchange=exchange))

    def exchange_singletons(self, beta):
        return self.local_search(beta)._exchange_singletons()


def random_search(seed, layout, kinds=chains.KINDS, n=None, k=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9)) if n is None else n
    kind = kinds[rng.integers(len(kinds))]
    n += kind == "periodic" and n % 2
    k = int(rng.integers(1, min(n, 4) + 1)) if k is None else k
    return Search(chains.random_matrix(kind, n, rng), chains.random_labels(n, k, rng), k, layout)


# The logarithm


def test_fast_log2_to_a_few_ulp_over_the_entire_range(rng):
    mantissa = np.concatenate([1 + rng.random(5), [1.0, math.sqrt(2), np.nextafter(math.sqrt(2), 2), 1.5]])
    for exponent in range(-1022, 1024):
        for m in mantissa:
            t = math.ldexp(float(m), exponent)
            exact = math.log2(t)
            assert abs(log2(t) - exact) <= 3 * math.ulp(exact)


def test_fast_log2_keeps_its_relative_accuracy_near_one():
    for power in range(2, 53):
        for t in (1 + 2.0**-power, 1 - 2.0**-power):
            assert log2(t) == pytest.approx(math.log2(t), rel=1e-15, abs=0)
    assert log2(1.0) == 0.0


def test_fast_log2_is_exact_at_powers_of_two():
    assert all(log2(2.0**e) == e for e in range(-1022, 1024))


def test_f_is_t_log2_t(rng):
    t = 10.0 ** rng.uniform(-300, 300, size=4000)
    out = np.empty_like(t)
    f_array(t, out)
    np.testing.assert_allclose(out, [v * math.log2(v) for v in t], rtol=1e-15)
    near = 1 + rng.uniform(-0.1, 0.1, size=4000)
    f_array(near, out)
    np.testing.assert_allclose(out, [v * math.log2(v) for v in near], rtol=2e-15)


def test_chords_are_above_g_and_near_it():
    d = np.linspace(-60, 60, 4001)
    u = 2.0**d
    g = (np.log1p(u) + u * np.log1p(1 / u)) / math.log(2)
    most = np.max([slope * d + level for slope, level in flow_bounds.CHORDS], axis=0)
    assert np.all(most >= g - 1e-12)
    assert np.all(most - g < 0.52)


def test_f_at_the_edges():
    t = np.array([0.0, -0.0, -1e-17, 5e-324, 1e-310, 1.0, math.nan, math.inf])
    out = np.empty_like(t)
    f_array(t, out)
    # Nothing is exactly zero, a negative speck counts as nothing, and denormals are as good as nothing.
    assert np.all(out[:3] == 0.0)
    assert np.all(np.abs(out[3:5]) < 1e-300)
    assert out[5] == 0.0
    # What is not a number must not vanish.
    assert math.isnan(out[6])
    assert not math.isfinite(out[7])


# Prices


@pytest.mark.parametrize("layout", LAYOUTS)
@given(seed=chains.seeds, beta=objectives)
def test_gains_are_differences_of_the_recomputed_cost(layout, seed, beta):
    search = random_search(seed, layout)
    before, labels = search.cost(beta), search.labels
    for x in range(len(labels)):
        moved = [search.cost(beta, [*labels[:x], y, *labels[x + 1 :]]) for y in range(search.k)]
        gains = search.gains(beta, x)
        np.testing.assert_allclose(gains, np.array(moved) - before, rtol=0, atol=1e-12)
        assert gains[labels[x]] == 0.0
    assert search.labels == labels


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gains_on_a_chain_too_large_to_be_lucky(layout, beta, rng):
    n, k = 24, 5
    P = chains.random_matrix("dense", n, rng)
    P[:, ::3] = 0.0
    P[np.arange(n), (np.arange(n) + 1) % n] += 0.2
    search = Search(chains.normalized(P), chains.random_labels(n, k, rng), k, layout)
    before, labels = search.cost(beta), search.labels
    for x in (0, 7, n - 1):
        moved = [search.cost(beta, [*labels[:x], y, *labels[x + 1 :]]) for y in range(k)]
        np.testing.assert_allclose(search.gains(beta, x), np.array(moved) - before, rtol=0, atol=1e-13)


@given(seed=chains.seeds, beta=objectives)
def test_both_layouts_ask_the_same_prices(seed, beta):
    dense, lists = random_search(seed, "dense"), random_search(seed, "lists")
    np.testing.assert_allclose(dense.sums, lists.sums, rtol=0, atol=1e-13)
    for x in range(len(dense.mu)):
        np.testing.assert_allclose(dense.gains(beta, x), lists.gains(beta, x), rtol=0, atol=1e-13)


def thin_search(rng, n=40, k=30):
    """A chain in which each state leads to two others, and nearly as many groups as states."""
    P = np.zeros((n, n))
    for step in (1, 7):
        P[np.arange(n), (np.arange(n) + step) % n] = rng.random(n) + 0.01
    return Search(chains.normalized(P), chains.random_labels(n, k, rng), k, "lists")


@given(seed=chains.seeds, beta=objectives)
def test_bounds_never_exceed_the_gains(seed, beta):
    """Groups are priced only if a bound says that they may pay; no good move is ever missed."""
    rng = np.random.default_rng(seed)
    for search in (thin_search(rng), random_search(seed, "lists"), random_search(seed, "dense")):
        for x in rng.permutation(len(search.mu)):
            others = np.arange(search.k) != search.labels[x]
            assert np.all((search.bounds(beta, x) <= search.gains(beta, x) + 1e-14)[others])
            # Moves leave what the bounds are made of behind.
            search.sweep(beta, [x], tolerance=-0.05)


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_descent_ends_where_no_move_helps_even_if_rounding_has_eaten_entries(layout, beta, rng):
    """Entries that span 80 orders of magnitude: what large ones leave behind in a sum may be nothing at all."""
    points = np.sort(rng.random(40))
    P = chains.normalized(np.exp(-((points[:, None] - points) ** 2) / (2 * 0.04**2)))
    for _ in range(3):
        search = Search(P, chains.random_labels(40, 5, rng), 5, layout)
        search.descend(beta)
        reached = search.cost(beta)
        search.descend(beta)
        assert search.cost(beta) == pytest.approx(reached, abs=1e-11)
        for x in range(40):
            others = np.array(search.table.size)[search.labels[x]] > 1
            assert not others or search.gains(beta, x).min() >= -1e-11


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8, 1.0])
def test_bounds_never_exceed_the_gains_of_states_of_any_weight(beta, rng):
    """Weights down to 1e-150, groups of one beside a large one: what half the digits cannot hold is bounded too."""
    n, k = 60, 6
    P = np.where(rng.random((n, n)) < 0.1, 10.0 ** rng.uniform(-150, 0, (n, n)), 0.0)
    P[np.arange(n), (np.arange(n) + 1) % n] = 10.0 ** rng.uniform(-3, 0, n)
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(n, k - 1, replace=False)] = np.arange(1, k)
    search = Search(chains.normalized(P), labels, k, "lists")
    for x in range(n):
        others = np.arange(k) != search.labels[x]
        gains = search.gains(beta, x)
        # The mass of one state can be 1e-100 of that of others: up to the rounding errors of large sums.
        assert np.all((search.bounds(beta, x) <= gains + 1e-15)[others])


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("given", [0.0, 1e-60])
def test_a_state_whose_mass_is_said_to_be_nothing_has_prices_all_the_same(given, beta, rng):
    """A law may be off by 1e-8 in all: 2e-10 of flow may lead to a state that it gives nothing."""
    n, k = 20, 4
    P = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), 0.0)
    P[-1] = P[:, -1] = 0.0
    P[np.arange(n - 1), (np.arange(n - 1) + 1) % (n - 1)] += 0.1
    P[0, -1], P[-1, 0] = 1e-8, 1.0
    P = chains.normalized(P)
    mu = MarkovChain(P).stationary_distribution.copy()
    mu[-1] = given
    labels = np.arange(n) % (k - 1)
    labels[-1] = k - 1
    search = Search(P, labels, k, "lists", mu=mu)
    others = np.arange(k) != k - 1
    gains = search.gains(beta, n - 1)
    bounds = search.bounds(beta, n - 1)[others]
    assert np.all(np.isfinite(bounds))
    assert np.all(bounds <= gains[others] + 1e-15)
    search.descend(beta, exchange=True)
    search.exchange_singletons(beta)
    rebuilt = make_table(search.problem, search.table.labels, k)
    descent.build(search.problem, rebuilt)
    np.testing.assert_array_equal(search.table.b.counts, rebuilt.b.counts)
    np.testing.assert_array_equal(search.table.a.bounds, rebuilt.a.bounds)


def test_bounds_are_not_loose_where_groups_hold_one_state(rng):
    """Guard: bounds that only suit large groups are some times as loose, or infinite, and every group is priced."""
    n, k = 400, 20
    P = np.where(rng.random((n, n)) < 0.03, rng.random((n, n)), 0.0)
    P[np.arange(n), (np.arange(n) + 1) % n] = rng.random(n)
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(n, k - 1, replace=False)] = np.arange(1, k)
    search = Search(chains.normalized(P), labels, k, "lists")
    members = np.flatnonzero(np.array(search.labels) == 0)[:50]
    for beta in (0.0, 0.3, 0.8):
        gap = [(search.gains(beta, x) - search.bounds(beta, x))[1:] / search.mu[x] for x in members]
        assert np.median(gap) < 1.5
        assert np.max(gap) < 3.0


@pytest.mark.parametrize(("layout", "gap"), [("dense", 0.01), ("lists", 0.2)])
@pytest.mark.parametrize("k", [5, 12])
def test_bounds_are_tight_where_a_state_is_small_beside_its_group(k, layout, gap, rng):
    """Guard: a loose bound would be as right, and useless. Gaps in bits per unit of mass."""
    n = 300
    search = Search(rng.dirichlet(np.ones(n), size=n), chains.random_labels(n, k, rng), k, layout)
    for x in range(10):
        others = np.arange(k) != search.labels[x]
        found = (search.gains(0.3, x) - search.bounds(0.3, x))[others]
        assert np.all(found < gap * search.mu[x])


@given(seed=chains.seeds, beta=objectives, layout=st.sampled_from(LAYOUTS))
def test_sums_give_the_cost_up_to_a_constant(seed, beta, layout):
    search = random_search(seed, layout)
    into, flow, nu = search.sums
    joint = reference.joint_of_states(search.P, search.mu)
    weight = 1 - 2 * beta.beta + beta.gamma
    constant = beta.beta * reference.mutual_information(joint) + weight * reference.entropy(search.mu)
    constant += beta.gamma * reference.conditional_entropy(joint)
    value = weight * into - (1 - beta.beta) * flow + nu + constant
    assert value == pytest.approx(search.cost(beta), abs=1e-12)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without the compiler")
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n", "k"), [(300, 10), (400, 320)])
def test_long_lists_and_many_groups_fit_the_scratch_space(n, k, beta, rng):
    # Every state has n predecessors that lead to k groups each: far more than is gathered at a time.
    P, labels = rng.dirichlet(np.ones(n), size=n), chains.random_labels(n, k, rng)
    dense, lists = Search(P, labels, k, "dense"), Search(P, labels, k, "lists")
    for x in (0, n // 2, n - 1):
        np.testing.assert_allclose(dense.gains(beta, x), lists.gains(beta, x), rtol=0, atol=1e-14)
    assert dense.sweep(beta, [1])[0] == lists.sweep(beta, [1])[0]
    assert dense.labels == lists.labels


# Moves


@pytest.mark.parametrize("layout", LAYOUTS)
@given(seed=chains.seeds, beta=objectives, allow_empty=st.booleans())
def test_tracked_change_is_the_recomputed_one_after_every_move(layout, seed, beta, allow_empty):
    search = random_search(seed, layout)
    cost = search.cost(beta)
    for x in [*range(len(search.mu))] * 3:
        before = search.labels
        moves, change = search.sweep(beta, [x], allow_empty=allow_empty)
        after = search.cost(beta)
        assert moves == (before != search.labels)
        assert change == pytest.approx(after - cost, abs=1e-12)
        assert change < -1e-12 if moves else change == 0.0
        assert before[:x] + before[x + 1 :] == search.labels[:x] + search.labels[x + 1 :]
        cost = after


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tracked_change_over_many_moves_without_rebuilding(layout, beta, rng):
    n, k = 30, 4
    search = Search(chains.random_matrix("skewed", n, rng), chains.random_labels(n, k, rng), k, layout)
    cost, total_moves = search.cost(beta), 0
    for _ in range(4):
        moves, change = search.sweep(beta, rng.permutation(n))
        total_moves += moves
        assert change == pytest.approx(search.cost(beta) - cost, abs=1e-12)
        cost = search.cost(beta)
    assert total_moves > 10


@given(seed=chains.seeds, beta=st.sampled_from([0.0, 0.3, 0.5, 0.8]), layout=st.sampled_from(LAYOUTS))
def test_exact_zeros_by_counting(seed, beta, layout):
    """After any moves the table is the one that is built anew; what is empty is exactly zero."""
    search = random_search(seed, layout, n=8, k=3)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        # A tolerance below zero takes the best move even if it is dearer: more moves, to and fro.
        search.sweep(beta, rng.permutation(len(search.mu)), tolerance=-0.05)
    assert_like_new(search, beta)


def assert_like_new(search, beta):
    fresh = make_table(search.problem, search.table.labels, search.k)
    descent.build(search.problem, fresh)
    np.testing.assert_array_equal(search.table.size, np.bincount(search.labels, minlength=search.k))
    np.testing.assert_array_equal(search.table.b.counts, fresh.b.counts)
    k, mass = search.k, search.table.b.mass[:, : search.k]
    np.testing.assert_allclose(mass, fresh.b.mass[:, :k], rtol=0, atol=1e-15)
    into, out_of, within = mass[:k], mass[k : 2 * k], mass[2 * k]
    assert np.all(out_of[fresh.b.counts == 0] == 0.0)
    np.testing.assert_array_equal(into, out_of.T)
    np.testing.assert_array_equal(within, out_of.diagonal())
    # All that a table is good for are prices.
    old, search.table = search.table, fresh
    expected = [search.gains(beta, x) for x in range(len(search.mu))]
    search.table = old
    for x, gains in enumerate(expected):
        np.testing.assert_allclose(search.gains(beta, x), gains, rtol=0, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(seed=chains.seeds, beta=objectives)
def test_groups_never_run_empty_unless_allowed(layout, seed, beta):
    search = random_search(seed, layout)
    # Even the cheapest move is no excuse.
    search.sweep(beta, np.tile(np.arange(len(search.mu)), 3), tolerance=-1.0)
    assert set(search.labels) == set(range(search.k))


def test_groups_do_run_empty_if_allowed(rng):
    # At beta = 0 one group costs nothing: Algorithm 1 as printed empties the other.
    search = Search(chains.random_matrix("dense", 3, rng), [0, 1, 1], 2)
    search.descend(0.0, allow_empty=True)
    assert search.cost(0.0) == pytest.approx(0.0, abs=1e-12)
    assert len(set(search.labels)) == 1


@given(seed=chains.seeds, beta=objectives, layout=st.sampled_from(LAYOUTS))
def test_in_pairs_a_state_only_chooses_between_two_halves(seed, beta, layout):
    search = random_search(seed, layout, n=8, k=4)
    before, cost = np.array(search.labels), search.cost(beta)
    moves, change = search.sweep_pairs(beta)
    after = np.array(search.labels)
    np.testing.assert_array_equal(before >> 1, after >> 1)
    assert moves >= np.count_nonzero(before != after)
    assert change == pytest.approx(search.cost(beta) - cost, abs=1e-12)


# Descents


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=40)
@given(seed=chains.seeds, beta=objectives, exchange=st.booleans(), allow_empty=st.booleans())
def test_descent_never_goes_up_and_ends_where_no_move_helps(layout, seed, beta, exchange, allow_empty):
    search = random_search(seed, layout)
    cost = search.cost(beta)
    trace = search.descend(beta, exchange=exchange, allow_empty=allow_empty)
    assert len(trace) <= 50
    assert all(later <= earlier + 1e-13 for earlier, later in itertools.pairwise(trace))
    assert trace[-1] - trace[0] == pytest.approx(search.cost(beta) - cost, abs=1e-12)
    labels, reached = search.labels, search.cost(beta)
    for x, y in itertools.product(range(len(labels)), range(search.k)):
        if allow_empty or labels.count(labels[x]) > 1:
            assert search.cost(beta, [*labels[:x], y, *labels[x + 1 :]]) >= reached - 1e-11


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("allow_empty", [False, True])
def test_descent_is_algorithm_1(layout, allow_empty, rng):
    """Same path, same answer as the paper's pseudocode read literally."""
    for _ in range(12):
        n, k, beta = int(rng.integers(4, 9)), int(rng.integers(2, 4)), float(rng.choice(BETAS))
        P = chains.random_matrix("dense", n, rng)
        labels = chains.random_labels(n, k, rng)
        for limit in (1, 20):
            search = Search(P, labels, k, layout)
            search.descend(beta, limit=limit, allow_empty=allow_empty)
            expected = reference.algorithm_1(P, search.mu, labels, k, beta, limit, allow_empty)
            assert search.labels == expected


def test_descent_stops_at_the_limit(rng):
    search = Search(chains.random_matrix("dense", 30, rng), chains.random_labels(30, 4, rng), 4)
    assert len(search.descend(0.8, limit=1)) == 2
    assert len(search.descend(0.8, limit=0)) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
@given(seed=chains.seeds, beta=objectives)
def test_exchange_of_singletons_never_raises_the_cost(layout, seed, beta):
    search = random_search(seed, layout, n=7, k=4)
    for _ in range(3):
        before, cost = search.labels, search.cost(beta)
        moves, change = search.exchange_singletons(beta)
        assert change == pytest.approx(search.cost(beta) - cost, abs=1e-12)
        assert change < 0.0 if moves else before == search.labels
        assert set(search.labels) == set(range(search.k))
        if as_objective(beta).beta != 1.0:
            assert_like_new(search, beta)


def test_exchange_frees_singletons_that_single_moves_cannot(rng):
    """The rule against empty groups freezes groups of one; exchanging their members only ever helps."""
    helped = 0
    for _ in range(30):
        P, labels = chains.random_matrix("dense", 8, rng), chains.random_labels(8, 4, rng)
        alone, exchanged = Search(P, labels, 4), Search(P, labels, 4)
        alone.descend(0.0)
        exchanged.descend(0.0, exchange=True)
        assert exchanged.cost(0.0) <= alone.cost(0.0) + 1e-12
        helped += exchanged.cost(0.0) < alone.cost(0.0) - 1e-3
    assert helped >= 3


# Extremes


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_down_to_1e_300(layout, beta, rng):
    """Rare steps of any size neither warn nor fail nor change what the common ones cost."""
    rare = 1e-300
    P = np.array(
        [
            [0.7 - rare, 0.3, rare, 0.0],
            [0.6, 0.4 - rare, 0.0, rare],
            [0.5, 0.0, 0.2, 0.3],
            [0.0, 0.5, 0.1, 0.4],
        ]
    )
    heavy = np.array([2 / 3, 1 / 3])
    # To first order in the rare steps: what flows into the two rare states, and how long it stays there.
    light = np.linalg.solve(np.eye(2) - P[2:, 2:].T, heavy) * rare
    search = Search(P, [0, 1, 0, 1], 2, layout, mu=np.concatenate([heavy, light]))
    for x in range(4):
        labels = search.labels
        moved = [search.cost(beta, [*labels[:x], y, *labels[x + 1 :]]) for y in range(2)]
        np.testing.assert_allclose(
            search.gains(beta, x), np.array(moved) - search.cost(beta), rtol=0, atol=1e-14
        )
    trace = search.descend(beta, exchange=True)
    assert np.all(np.isfinite(trace))
    assert set(search.labels) == {0, 1}
    if as_objective(beta).beta != 1.0:
        assert_like_new(search, beta)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_not_a_number_does_not_vanish(layout):
    search = Search(np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]), [0, 1, 1], 2, layout)
    broken = search.problem.mu.copy()
    broken[2] = math.nan
    search.problem = search.problem._replace(mu=broken)
    assert math.isnan(descent.build(search.problem, search.table)[2])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("beta", BETAS)
def test_one_group_and_as_many_groups_as_states(layout, beta, rng):
    P = chains.random_matrix("sparse", 6, rng)
    one = Search(P, np.zeros(6, dtype=int), 1, layout)
    assert one.descend(beta, exchange=True).size == 2
    assert one.gains(beta, 3).tolist() == [0.0]
    every = Search(P, np.arange(6), 6, layout)
    every.descend(beta, exchange=True)
    assert sorted(every.labels) == list(range(6))


def test_sparse_chains_given_dense_are_searched_as_lists(rng):
    # 24 states on a ring: a dense table would be mostly zeros.
    P = chains.normalized(np.roll(np.eye(24), 1, axis=1) + np.eye(24))
    stored_dense, stored_sparse = Search(P, np.arange(24) % 3, 3), Search(P, np.arange(24) % 3, 3, "lists")
    assert not isinstance(stored_dense.problem, DenseProblem)
    assert not isinstance(stored_sparse.problem, DenseProblem)
    stored_dense.descend(0.3)
    stored_sparse.descend(0.3)
    assert stored_dense.labels == stored_sparse.labels


@pytest.mark.parametrize(("n", "is_dense"), [(128, True), (129, False)])
def test_a_small_chain_needs_fewer_transitions_to_be_searched_as_dense(n, is_dense):
    successors = np.subtract.outer(np.arange(n), np.arange(n)) % n < 0.2 * n
    problem = make_problem(MarkovChain(chains.normalized(successors.astype(float))))
    assert isinstance(problem, DenseProblem) == is_dense


# Without lists, and the queue


@given(seed=chains.seeds)
def test_at_one_half_a_sweep_without_lists_makes_the_same_moves(seed):
    P, labels, k = random_question(seed)
    with_lists, without = Search(P, labels, k, "lists"), Search(P, labels, k, "flows")
    assert without.sums[1:] == pytest.approx(with_lists.sums[1:], abs=1e-12)
    order = np.random.default_rng(seed).permutation(len(labels))
    for _ in range(3):
        moves, change = with_lists.sweep(0.5, order)
        assert without.sweep(0.5, order) == (moves, pytest.approx(change, abs=1e-12))
        assert without.labels == with_lists.labels
    rebuilt = (descent.build(search.problem, search.table) for search in (with_lists, without))
    assert next(rebuilt)[1:] == pytest.approx(next(rebuilt)[1:], abs=1e-12)


@given(seed=chains.seeds)
def test_without_lists_tracked_costs_are_true_costs(seed):
    search = Search(*random_question(seed), "flows")
    before = search.cost(0.5)
    _, change = search.sweep(0.5, np.arange(len(search.mu)))
    assert before + change == pytest.approx(search.cost(0.5), abs=1e-10)


@pytest.mark.parametrize(("layout", "beta"), [("flows", 0.5), ("lists", 0.5), ("lists", 0.3), ("lists", 1.0)])
def test_who_has_a_neighbour_that_moved_waits(layout, beta, rng):
    P = sparse_matrix(40, 2, rng)
    search = Search(P, rng.integers(0, 4, 40), 4, layout)
    before = np.array(search.labels)
    while search.sweep(beta, [rng.integers(40)])[0] == 0:
        assert not search.table.waiting.any()
    moved = int(np.flatnonzero(before != search.labels)[0])
    leads_to, comes_from = P[moved] > 0, P[:, moved] > 0
    expected = leads_to | comes_from
    if layout == "lists":
        enqueue_siblings(search.problem, search.table.waiting)
        expected = expected | (P[comes_from] > 0).any(axis=0)
    assert np.flatnonzero(search.table.waiting).tolist() == np.flatnonzero(expected).tolist()


def random_question(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 40)), int(rng.integers(2, 6))
    P = sparse_matrix(n, int(rng.integers(1, 5)), rng)
    return P, chains.random_labels(n, k, rng), k


def sparse_matrix(n, degree, rng):
    P = np.roll(np.eye(n), 1, axis=1)
    P[np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree)] += (
        rng.exponential(size=n * degree) ** 3
    )
    return chains.normalized(P)


@given(seed=chains.seeds)
def test_with_many_groups_bounds_from_links_alone_hold_and_choose_the_same(seed):
    rng = np.random.default_rng(seed)
    n, k = 60, int(rng.integers(5, 30))
    P, labels = sparse_matrix(n, 2, rng), chains.random_labels(n, k, rng)
    search = Search(P, labels, k, "flows")
    for x in rng.choice(n, 5, replace=False):
        objective = Objective(*rng.choice([[0.5, 0.0], [0.7, 0.4]]))
        prices, bounds = search.gains(objective, x), np.zeros(k)
        bound_by_links(search.problem, search.table, objective.weights, int(x), search.work, bounds)
        others = np.arange(k) != labels[x]
        assert (bounds[others] <= prices[others] + 1e-12).all()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without the compiler")
def test_more_groups_than_are_bounded_one_by_one(rng):
    P = sparse_matrix(400, 2, rng)
    k = _MANY_GROUPS + 40
    labels = chains.random_labels(400, k, rng)
    many, literal = Search(P, labels, k, "flows"), Search(P, labels, k, "lists")
    for x in range(400):
        gains = literal.gains(0.5, x)
        expected = (
            int(np.argmin(gains)) if gains.min() < -1e-12 and np.sum(labels == labels[x]) > 1 else labels[x]
        )
        many.sweep(0.5, [x])
        assert many.labels[x] == expected
        literal.table.labels[x] = labels[x] = many.labels[x]
        descent.build(literal.problem, literal.table)
