"""The stationary distribution against exact fractions, closed forms and chains built around a known answer."""

from __future__ import annotations

import subprocess
import sys

import numba
import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump.chain import block_elimination, stationary
from klump.chain.block_elimination import ldexp_to_largest, solve_dense
from klump.chain.elimination import solve_wide_range
from klump.chain.kernels.sparse_elimination import reduce_chain, substitute_back
from klump.chain.stationary import stationary_distribution
from klump.errors import ConvergenceError

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without the compiler")


def frozen(matrix):
    """Read-only, as in a MarkovChain."""
    arrays = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    for array in arrays:
        array.flags.writeable = False
    return matrix


def assert_relatively_close(found, expected, rtol):
    """Relative error at most ``rtol`` for masses above 1e-290; smaller ones may underflow."""
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    counts = expected > 1e-290
    np.testing.assert_allclose(found[counts], expected[counts], rtol=rtol, atol=0)
    assert (found[~counts] < 1e-280).all()


def from_edges(n, source, target, weight):
    """Sparse transition matrix with rows proportional to the weights."""
    weights = sparse.csr_array((np.asarray(weight, float), (source, target)), shape=(n, n))
    weights.sum_duplicates()
    degree = np.diff(weights.indptr)
    weights.data /= np.repeat(np.asarray(weights.sum(axis=1)).ravel(), degree)
    return frozen(weights)


# Small chains: elimination


@given(chains.matrices())
def test_small_chains_agree_with_rational_arithmetic(P):
    expected = reference.stationary_law(P)
    assert_relatively_close(stationary_distribution(frozen(P)), expected, 1e-13)
    assert_relatively_close(stationary_distribution(frozen(sparse.csr_array(P))), expected, 1e-13)


@pytest.mark.parametrize("coupling", [1e-8, 1e-14, 1e-100, 1e-300])
def test_nearly_decomposable_chains_keep_full_relative_accuracy(coupling, rng):
    P = np.zeros((9, 9))
    for block in (slice(0, 4), slice(4, 6), slice(6, 9)):
        P[block, block] = rng.random((len(P[block]), len(P[block])))
    P = chains.normalized(P + coupling * rng.random((9, 9)))
    assert_relatively_close(stationary_distribution(frozen(P)), reference.stationary_law(P), 1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_weights_down_to_1e_300(seed):
    rng = np.random.default_rng(seed)
    weights = 10.0 ** rng.uniform(-300, 0, size=(6, 6)) * (rng.random((6, 6)) < 0.7)
    weights += np.roll(np.eye(6), 1, axis=1) * 10.0 ** rng.uniform(-300, 0, size=(6, 1))
    P = chains.normalized(weights)
    assert_relatively_close(stationary_distribution(frozen(P)), reference.stationary_law(P), 1e-12)


def test_successive_rare_transitions_whose_product_underflows():
    # State 2 is reached from 0 only through 1, with probability 1e-400, and left with probability 1e-300.
    weights = [
        [1.0, 1e-200, 0.0, 0.5],
        [1.0, 0.0, 1e-200, 0.0],
        [1e-300, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
    ]
    P = chains.normalized(np.array(weights))
    for order in ([0, 1, 2, 3], [1, 3, 0, 2], [2, 1, 0, 3], [1, 0, 2, 3]):
        moved = P[np.ix_(order, order)]
        expected = reference.stationary_law(moved)
        assert expected.min() > 1e-210
        assert_relatively_close(stationary_distribution(frozen(moved)), expected, 1e-12)
    _, fits = solve_dense(P[np.ix_([1, 3, 0, 2], [1, 3, 0, 2])].copy())
    assert not fits


@given(chains.matrices(max_size=20))
def test_wide_range_elimination_agrees_with_float64(P):
    narrow, fits = solve_dense(P.copy())
    assert fits
    wide = ldexp_to_largest(*solve_wide_range(P.copy()))
    np.testing.assert_allclose(wide / wide.sum(), narrow / narrow.sum(), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 40, 128, 129, 136, 137])
def test_sizes_around_multiples_of_the_panel(n, rng):
    P = chains.normalized(rng.random((n, n)))
    mu = stationary_distribution(frozen(P))
    np.testing.assert_allclose(mu @ P, mu, rtol=1e-13)
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)


@given(chains.matrices(max_size=20))
def test_the_reference_for_larger_chains_agrees_with_rational_arithmetic(P):
    np.testing.assert_allclose(
        reference.stationary_law_by_censoring(P), reference.stationary_law(P), rtol=1e-14
    )


# Dense chains in blocks


def planted(rng, n, coupling):
    """Blocks of states in random order: every state leads to the states of other blocks with small probability."""
    block = rng.integers(0, 4, n)
    return rng.random((n, n)) * np.where(block[:, None] == block, 1.0, coupling)


def steep(rng, n):
    """Short steps, mostly down: the masses fall from the first to the last state by about 120 decades."""
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return rng.random((n, n)) * 0.1**distance * np.where(np.triu(np.ones((n, n))), 10.0 ** (-240.0 / n), 1.0)


DENSE = {
    "random": lambda rng, n: rng.random((n, n)),
    "coupling 1e-3": lambda rng, n: planted(rng, n, 1e-3),
    "coupling 1e-8": lambda rng, n: planted(rng, n, 1e-8),
    "coupling 1e-14": lambda rng, n: planted(rng, n, 1e-14),
    "coupling 1e-100": lambda rng, n: planted(rng, n, 1e-100),
    "steep": steep,
    "wide": lambda rng, n: rng.random((n, n)) * 10.0 ** rng.uniform(-15, 0, n),
    "counts": lambda rng, n: rng.poisson(0.4, (n, n)) + np.roll(np.eye(n), 1, axis=1),
}


@pytest.fixture
def small_elimination_blocks(monkeypatch):
    monkeypatch.setattr(block_elimination, "_MAX_INTERPRETED", 50)
    monkeypatch.setattr(block_elimination, "_MAX_UNBLOCKED", 50)
    monkeypatch.setattr(block_elimination, "_BLOCK", 16)


@pytest.mark.parametrize("n", [51, 64, 65, 130])
@pytest.mark.parametrize("kind", DENSE)
def test_elimination_in_blocks_keeps_full_relative_accuracy(kind, n, small_elimination_blocks, rng):
    P = chains.normalized(np.asarray(DENSE[kind](rng, n), float))
    expected = reference.stationary_law_by_censoring(P)
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        mass, fits = solve_dense(P[np.ix_(order, order)].copy())
        assert fits
        assert_relatively_close(mass / mass.sum(), expected[order], 2e-14)


@compiled
@pytest.mark.parametrize("kind", DENSE)
def test_elimination_in_blocks_of_full_size(kind, rng):
    P = chains.normalized(np.asarray(DENSE[kind](rng, 700), float))
    expected = reference.stationary_law_by_censoring(P)
    assert_relatively_close(stationary_distribution(frozen(P)), expected, 2e-14)
    assert_relatively_close(stationary_distribution(frozen(np.asfortranarray(P))), expected, 2e-14)


@compiled
@pytest.mark.parametrize("n", [512, 700])
def test_the_result_does_not_depend_on_the_number_of_blas_threads(n, rng):
    P = frozen(chains.normalized(rng.random((n, n))))
    results = []
    for n_threads in (1, 2):
        with threadpoolctl.threadpool_limits(n_threads, user_api="blas"):
            mass, fits = solve_dense(P.copy())
            assert fits
            results.append(mass)
    assert (results[0] == results[1]).all()


def test_blocks_report_that_float64_does_not_suffice(small_elimination_blocks, rng):
    n = 60
    P = np.diag(np.full(n - 1, 1e-12), 1) + np.diag(np.ones(n - 1), -1) + np.diag(np.full(n - 2, 1e-13), 2)
    P = chains.normalized(P)
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        moved = P[np.ix_(order, order)]
        assert not solve_dense(moved.copy())[1]
        assert_relatively_close(
            stationary_distribution(frozen(moved)), reference.stationary_law_by_censoring(P)[order], 1e-12
        )


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_large_chains_with_few_zeros_are_eliminated(share, monkeypatch, rng):
    monkeypatch.setattr(stationary, "_DENSE_LIMIT", 20)
    solved = record_results(monkeypatch, "solve_dense")
    P = rng.random((90, 90)) * (rng.random((90, 90)) < share) + np.roll(np.eye(90), 1, axis=1)
    P = chains.normalized(P)
    expected = reference.stationary_law_by_censoring(P)
    for given_as in (P, sparse.csr_array(P)):
        solved.clear()
        assert_relatively_close(stationary_distribution(frozen(given_as)), expected, 1e-11)
        assert (len(solved[0][0]) == 90 if solved else False) == (share == 0.5)


def test_small_chains_do_not_need_the_compiler():
    code = """
import sys, numpy as np
from klump.chain.stationary import stationary_distribution
P = np.random.default_rng(0).random((50, 50))
stationary_distribution(P / P.sum(axis=1, keepdims=True))
assert 'numba' not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_masses_that_underflow():
    n = 300
    P = np.diag(np.full(n - 1, 0.001), 1) + np.diag(np.full(n - 1, 0.999), -1)
    P[0, 0], P[-1, -1] = 0.999, 0.001
    odds = (0.001 / 0.999) ** np.arange(n)
    assert_relatively_close(stationary_distribution(frozen(P)), odds / odds.sum(), 1e-12)
    assert_relatively_close(
        stationary_distribution(frozen(P[::-1, ::-1].copy())), odds[::-1] / odds.sum(), 1e-12
    )


@given(chains.matrices(max_size=6), st.floats(1e-12, 1.0))
def test_self_transitions_do_not_change_the_result(P, pace):
    lazy = pace * P
    np.fill_diagonal(lazy, 0.0)
    np.fill_diagonal(lazy, 1.0 - lazy.sum(axis=1))
    np.testing.assert_allclose(
        stationary_distribution(frozen(lazy)), stationary_distribution(frozen(P)), rtol=1e-13
    )


# Large chains: _DENSE_LIMIT is lowered, and dense elimination is the reference


def two_wells(rng):
    """Two rapidly mixing wells, separated by a barrier with rare uphill steps and one-way short cuts."""
    size, ridge, up = 40, 12, 0.02
    n = 2 * size + ridge
    P = np.zeros((n, n))
    P[:size, :size] = rng.random((size, size))
    P[size : 2 * size, size : 2 * size] = rng.random((size, size))
    path = [0, *range(2 * size, n), size]
    for at in range(len(path) - 1):
        rising = at < len(path) // 2
        P[path[at], path[at + 1]] = up if rising else 1.0
        P[path[at + 1], path[at]] = 1.0 if rising else up
    for at in range(1, len(path) - 2):
        P[path[at], path[at + 2]] += 0.01 * up
    return P


def tandem_queue(rng, length=12):
    """Two queues in series: no transition has a reverse."""
    index = np.arange(length * length).reshape(length, length)
    P = np.zeros((length * length, length * length))
    P[index[:-1], index[1:]] = 0.7
    P[index[1:, :-1], index[:-1, 1:]] = 1.0
    P[index[:, 1:], index[:, :-1]] = 1.2
    return P


def grid(rng, length=11):
    index = np.arange(length * length).reshape(length, length)
    P = np.zeros((length * length, length * length))
    for a, b in ((index[:-1], index[1:]), (index[:, :-1], index[:, 1:])):
        P[a, b] = 0.1 + rng.random(a.shape)
        P[b, a] = 0.1 + rng.random(a.shape)
    return P


def slow_ring(rng, length=400):
    P = np.zeros((length, length))
    for step in (1, -1):
        P[np.arange(length), (np.arange(length) + step) % length] = 0.1 + rng.random(length)
    return P


def blocks(rng, coupling, n_blocks=4, size=25):
    P = np.zeros((n_blocks * size, n_blocks * size))
    for b in range(n_blocks):
        P[b * size : (b + 1) * size, b * size : (b + 1) * size] = rng.random((size, size)) ** 3
        P[b * size, (b + 1) % n_blocks * size + 3] = coupling * (1 + rng.random())
    return P


def trap(rng):
    """A nearly closed block of two states, with exit probability 1e-14."""
    P = rng.random((80, 80)) ** 8
    P[[7, 9]] = 0.0
    P[7, 9], P[9, 7], P[9, 30] = 1.0, 1.0, 1e-14
    return P


def ring(rng, n=90):
    step = np.roll(np.eye(n), 1, axis=1)
    return (0.5 + rng.random((n, 1))) * step + rng.random((n, 1)) * step.T


def hub(rng, n=90):
    P = np.diag(np.full(n - 1, 0.3), 1)
    P[1:, 0] = 0.7
    P[0, 1:] = rng.random(n - 1)
    return P


def heavy_tails(rng, n=90):
    support = rng.random((n, n)) < 0.08
    weights = 10.0 ** rng.uniform(-15, 0, size=(n, n)) * support
    return weights + 10.0 ** rng.uniform(-15, 0, size=(n, 1)) * np.roll(np.eye(n), 1, axis=1)


def path_with_short_cuts(rng, n=120):
    return (
        np.diag(np.full(n - 1, 0.3), 1) + np.diag(np.full(n - 1, 0.4), -1) + np.diag(np.full(n - 2, 0.3), -2)
    )


def reversible(rng, n=90):
    weights = 10.0 ** rng.uniform(-12, 0, size=(n, n)) * (rng.random((n, n)) < 0.1)
    weights = weights + weights.T + np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    depth = 10.0 ** rng.uniform(-40, 0, size=n)
    return depth[:, None] * weights * depth[None, :]


LARGE = {
    "mixing": lambda rng: rng.random((70, 70)),
    "two periods": lambda rng: chains.random_matrix("periodic", 60, rng),
    "cycle": lambda rng: np.roll(np.eye(60), 1, axis=1),
    "reversible": reversible,
    "coupling 0.1": lambda rng: blocks(rng, 0.1),
    "coupling 1e-6": lambda rng: blocks(rng, 1e-6),
    "coupling 1e-14": lambda rng: blocks(rng, 1e-14),
    "coupling 1e-300": lambda rng: blocks(rng, 1e-300),
    "many blocks": lambda rng: blocks(rng, 1e-14, n_blocks=24, size=5),
    "two wells": two_wells,
    "trap": trap,
    "ring": ring,
    "hub": hub,
    "grid": grid,
    "tandem queue": tandem_queue,
    "path with short cuts": path_with_short_cuts,
    "heavy tails": heavy_tails,
    "sticky state": lambda rng: (
        rng.random((50, 50)) * np.r_[1e-14, np.ones(49)][:, None] + np.diag(np.r_[1.0, np.zeros(49)])
    ),
}


@pytest.fixture(params=LARGE)
def large(request, rng):
    P = chains.normalized(LARGE[request.param](rng))
    order = rng.permutation(len(P))  # no method may depend on the order of the states
    return frozen(P[np.ix_(order, order)])


@pytest.fixture
def low_dense_limit(monkeypatch):
    monkeypatch.setattr(stationary, "_DENSE_LIMIT", 20)
    monkeypatch.setattr(stationary, "_FULL_LIMIT", 20)


def return_none(*_):
    return None


def not_converged(jumps, mass):
    return mass, False


def by_elimination(P):
    mass, fits = solve_dense(P.copy())
    mass = mass if fits else ldexp_to_largest(*solve_wide_range(P.copy()))
    return mass / mass.sum()


def test_large_chains_agree_with_elimination(large, low_dense_limit):
    expected = by_elimination(large)
    for given_as in (large, frozen(sparse.csr_array(large))):
        assert_relatively_close(stationary_distribution(given_as), expected, 1e-10)


@pytest.mark.parametrize("name", sorted(LARGE.keys() - {"reversible"}))
def test_iterative_methods_alone(name, low_dense_limit, monkeypatch, rng):
    monkeypatch.setattr(stationary, "_eliminate_sparse", return_none)
    monkeypatch.setattr(stationary, "_solve_balance", return_none)
    P = frozen(chains.normalized(LARGE[name](rng)))
    assert_relatively_close(stationary_distribution(P), by_elimination(P), 1e-10)


def test_sparse_elimination_is_exact_on_every_chain(large, low_dense_limit):
    jumps, exit_rate = stationary._jump_chain(large)
    for max_remaining in (20, len(large)):
        reduction = reduce_chain(jumps, max_remaining, 10**9)
        if jumps.nnz < 8 * len(large):
            assert len(reduction.remaining) <= max_remaining
        if reduction.weights.size:
            mass = substitute_back(reduction, stationary._solve(reduction.weights)) / exit_rate
            assert_relatively_close(mass / mass.sum(), by_elimination(large), 1e-11)


def record_results(monkeypatch, name):
    """Record the successful results of one of the methods."""
    original, results = getattr(stationary, name), []

    def spy(*arguments):
        result = original(*arguments)
        if result is not None and not (isinstance(result, tuple) and not result[1]):
            results.append(result)
        return result

    monkeypatch.setattr(stationary, name, spy)
    return results


def test_reversible_chains_are_solved_by_detailed_balance(low_dense_limit, monkeypatch, rng):
    results = record_results(monkeypatch, "_solve_balance")
    P = chains.normalized(reversible(rng))
    assert_relatively_close(stationary_distribution(frozen(sparse.csr_array(P))), by_elimination(P), 1e-11)
    assert len(results) == 1


def test_a_nearly_reversible_ring_is_not_taken_for_reversible(low_dense_limit, monkeypatch, rng):
    results = record_results(monkeypatch, "_solve_balance")
    step = np.roll(np.eye(60), 1, axis=1)
    conductance = 0.5 + rng.random((60, 1))
    weights = conductance * step + (conductance * step).T
    weights[5, 6] *= 1 + 1e-9
    P = chains.normalized(weights)
    assert_relatively_close(stationary_distribution(frozen(P)), by_elimination(P), 1e-11)
    assert not results


@pytest.mark.parametrize(
    ("chain", "method"),
    [(slow_ring, "_eliminate_sparse"), (trap, "_solve_decomposable"), (tandem_queue, "_multilevel_cycle")],
)
def test_each_method_solves_its_class_of_chains(chain, method, low_dense_limit, monkeypatch, rng):
    P = chains.normalized(chain(rng))
    if method != "_eliminate_sparse":
        monkeypatch.setattr(stationary, "_eliminate_sparse", return_none)
    results = record_results(monkeypatch, method)
    assert_relatively_close(stationary_distribution(frozen(P)), by_elimination(P), 1e-9)
    assert results


@pytest.mark.parametrize("chain", [grid, tandem_queue, ring])
def test_multilevel_aggregation_alone(chain, low_dense_limit, monkeypatch, rng):
    P = chains.normalized(chain(rng))
    monkeypatch.setattr(stationary, "_eliminate_sparse", return_none)
    monkeypatch.setattr(stationary, "_solve_decomposable", not_converged)
    assert_relatively_close(stationary_distribution(frozen(P)), by_elimination(P), 1e-9)


def test_power_iteration_alone_is_wrong_on_nearly_decomposable_chains(low_dense_limit, monkeypatch, rng):
    P = frozen(chains.normalized(blocks(rng, 1e-15)))
    expected = by_elimination(P)
    assert_relatively_close(stationary_distribution(P), expected, 1e-12)
    monkeypatch.setattr(stationary, "_correct_block_masses", lambda jumps, mass: (mass, True))
    blind = stationary_distribution(P)  # although its residual is below the tolerance
    assert np.abs(blind / expected - 1).max() > 0.01


def test_the_result_is_deterministic(large, low_dense_limit):
    assert (stationary_distribution(large) == stationary_distribution(large)).all()


# Failures


def test_failure_is_reported_with_the_remedy(low_dense_limit, monkeypatch, rng):
    monkeypatch.setattr(stationary, "_eliminate_sparse", return_none)
    monkeypatch.setattr(stationary, "_solve_decomposable", not_converged)
    monkeypatch.setattr(stationary, "_multilevel_cycle", lambda jumps, visits, mass: mass[::-1])
    with pytest.raises(
        ConvergenceError, match=r"144 states did not converge.*stationary_distribution="
    ) as caught:
        stationary_distribution(chains.normalized(tandem_queue(rng)))
    assert "\n" not in str(caught.value)


def test_an_inaccurate_result_is_not_returned(monkeypatch):
    monkeypatch.setattr(stationary, "_solve", lambda weights: np.array([1.0, 2.0]))
    with pytest.raises(ConvergenceError, match=r"mu P differs from mu by 0.333.*stationary_distribution="):
        stationary_distribution(np.array([[0.5, 0.5], [0.5, 0.5]]))


def test_underflow_returns_nan():
    flow = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert np.isnan(stationary._solve(flow)).all()


def test_sparse_elimination_stops_at_the_work_limit(rng):
    jumps, _ = stationary._jump_chain(chains.normalized(rng.random((60, 60))))
    reduction = reduce_chain(jumps, 10, 1000)
    assert len(reduction.remaining) > 10
    assert reduction.weights.size == 0


def test_only_solving_imports_the_compiler():
    code = "import sys, klump.chain.stationary; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# At full size


@pytest.fixture
def no_densifying(monkeypatch):
    """Fail when a large sparse matrix is made dense."""
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):

        def guarded(self, *arguments, _original=kind.toarray, **options):
            assert np.prod([float(size) for size in self.shape]) <= 2000**2, (
                "a large sparse matrix is made dense"
            )
            return _original(self, *arguments, **options)

        monkeypatch.setattr(kind, "toarray", guarded)


@compiled
@pytest.mark.parametrize("coupling", [1e-3, 1e-9, 1e-14])
def test_blocks_with_known_weights(coupling, no_densifying, rng):
    # Within a block, steps by permutations: uniform. Between blocks, state i leads to state i at the rates of
    # a small chain: the weights of the blocks are exactly its stationary law.
    n_blocks, size = 5, 600
    rates = rng.random((n_blocks, n_blocks))
    np.fill_diagonal(rates, 0.0)
    n = n_blocks * size
    source, target, weight = [], [], []
    for b in range(n_blocks):
        states = b * size + np.arange(size)
        for share in (0.2, 0.3, 0.5):
            source.append(states)
            target.append(b * size + rng.permutation(size))
            weight.append(np.full(size, share * (1 - coupling * rates[b].sum())))
        for other in range(n_blocks):
            source.append(states)
            target.append(other * size + np.arange(size))
            weight.append(np.full(size, coupling * rates[b, other]))
    P = from_edges(n, np.concatenate(source), np.concatenate(target), np.concatenate(weight))
    expected = np.repeat(reference.stationary_law(rates) / size, size)
    assert_relatively_close(stationary_distribution(P), expected, 1e-10)


@compiled
def test_birth_and_death_with_a_closed_form(no_densifying):
    n = 100_000
    up, down = 0.3, 0.30005
    i = np.arange(n)
    P = from_edges(
        n,
        np.concatenate([i[:-1], i[1:], i]),
        np.concatenate([i[1:], i[:-1], i]),
        np.concatenate(
            [np.full(n - 1, up), np.full(n - 1, down), np.r_[1 - up, np.full(n - 2, 1 - up - down), 1 - down]]
        ),
    )
    odds = np.exp(i * np.log(up / down))
    assert_relatively_close(stationary_distribution(P), odds / odds.sum(), 1e-9)


@compiled
@pytest.mark.parametrize("onward", [0.5, 0.99, 0.99999])
def test_counter_that_is_reset_with_a_closed_form(onward, no_densifying):
    n = 100_000
    i = np.arange(n)
    P = from_edges(
        n,
        np.concatenate([i[:-1], i]),
        np.concatenate([i[1:], np.zeros(n, int)]),
        np.concatenate([np.full(n - 1, onward), np.r_[np.full(n - 1, 1 - onward), 1.0]]),
    )
    expected = onward ** i.astype(float)
    assert_relatively_close(stationary_distribution(P), expected / expected.sum(), 1e-9)


@compiled
def test_long_ring_with_drift(no_densifying):
    n = 100_000
    i = np.arange(n)
    P = from_edges(n, np.r_[i, i], np.r_[(i + 1) % n, (i - 1) % n], np.r_[np.full(n, 0.6), np.full(n, 0.4)])
    assert_relatively_close(stationary_distribution(P), np.full(n, 1 / n), 1e-12)


@compiled
def test_long_ring_with_random_drift_balances_every_state(no_densifying, rng):
    n = 100_000
    i = np.arange(n)
    P = from_edges(
        n,
        np.r_[i, i],
        np.r_[(i + 1) % n, (i - 1) % n],
        np.r_[0.5 + 0.3 * rng.random(n), 0.2 + 0.3 * rng.random(n)],
    )
    mu = stationary_distribution(P)
    np.testing.assert_allclose(mu @ P, mu, rtol=1e-11)
    net = mu * P[i, (i + 1) % n] - mu[(i + 1) % n] * P[(i + 1) % n, i]
    np.testing.assert_allclose(net, net[0], rtol=1e-9)  # the current round the ring is the same everywhere


@compiled
def test_many_random_transitions(no_densifying, rng):
    n, degree = 100_000, 9
    i = np.arange(n)
    P = from_edges(
        n,
        np.concatenate([np.repeat(i, degree), i]),
        np.concatenate([rng.integers(0, n, n * degree), (i + 1) % n]),
        rng.random(n * (degree + 1)) + 0.05,
    )
    mu = stationary_distribution(P)
    assert (mu > 0).all()
    np.testing.assert_allclose(mu @ P, mu, rtol=1e-12)


@compiled
def test_dense_chain_above_the_limit(rng):
    n = 2100
    P = chains.normalized(rng.random((n, n)) ** 4)
    assert_relatively_close(stationary_distribution(frozen(P)), by_elimination(P), 1e-11)
