"""Each theorem of the paper as a property test, named after it; the docstring is the statement.

X is the chain, Y what is seen through the map W, D the Kullback-Leibler divergence rate, H and R the entropy
and redundancy rates. All statements are checked on dense, skewed, sparse, nearly decomposable (coupling down
to 1e-10), strongly non-reversible, reversible and periodic chains.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.costs import score
from klump.chain import MarkovChain, divergence_rate

EXAMPLE = np.array([[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]])
ROUNDING = 1e-12

any_map = st.one_of(
    chains.matrices_and_labels().map(lambda drawn: (drawn[0], drawn[1])), chains.matrices_and_maps()
)
small_map = st.one_of(
    chains.matrices_and_labels(max_size=4, max_groups=3).map(lambda drawn: (drawn[0], drawn[1])),
    chains.matrices_and_maps(max_size=4),
)


# Section II and III: the best Markov approximation, and when nothing is lost


@given(any_map)
def test_corollary_1_aggregated_chain_is_the_conditional_law(drawn):
    """Q = U P W has the entries p(Y2 = z | Y1 = y), for deterministic and stochastic maps."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    mu = reference.stationary_law(P)
    W = answer.mapping
    Q = np.asarray(answer.chain.transition_matrix)
    np.testing.assert_allclose(Q, reference.aggregated_matrix(P, mu, W), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=0, atol=ROUNDING)
    assert (Q >= 0).all()
    np.testing.assert_allclose(answer.masses, reference.group_law(mu, W), rtol=1e-9)


@given(any_map, chains.seeds)
def test_corollary_1_aggregated_chain_is_the_best_approximation(drawn, seed):
    """D(Y||Y') >= D(Y||Y~) for every Markov chain Y' on the groups, Y~ being the one with matrix Q."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    mu = reference.stationary_law(P)
    Q = np.asarray(answer.chain.transition_matrix)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(Q)), size=len(Q))
    own = reference.divergence_rate_to(P, mu, answer.mapping, Q)
    assert own == pytest.approx(0.0, abs=ROUNDING)
    assert own <= reference.divergence_rate_to(P, mu, answer.mapping, other) + ROUNDING
    for weight in (0.5, 0.01):
        mixed = (1 - weight) * Q + weight * other
        assert own <= reference.divergence_rate_to(P, mu, answer.mapping, mixed) + ROUNDING


@given(any_map)
def test_corollary_1_groups_keep_their_stationary_law(drawn):
    """nu Q = nu, with nu = mu W the marginal of Y."""
    answer = Aggregation.from_labels(*drawn)
    Q = np.asarray(answer.chain.transition_matrix)
    np.testing.assert_allclose(answer.masses @ Q, answer.masses, rtol=0, atol=ROUNDING)


@given(chains.lumpable(), chains.betas)
def test_lumpable_chains_cost_nothing(drawn, beta):
    """If X is lumpable for g, then C_L = 0, and epsilon = 0: X and Y are bisimilar."""
    P, labels = drawn
    assert reference.is_lumpable(P, labels)
    answer = Aggregation.from_labels(P, labels)
    assert answer.costs.lumpability <= ROUNDING
    assert answer.costs.at(0.0) <= ROUNDING
    assert answer.costs.at(beta) == pytest.approx(beta * answer.costs.predictability, abs=ROUNDING)
    assert answer.bisimulation.epsilon <= ROUNDING


@given(chains.matrices(), st.integers(1, 4), chains.seeds)
def test_equal_rows_are_a_trivial_solution(P, k, seed):
    """If W = 1 alpha^T for a law alpha, then Y is independent: C_L = 0 and C_P = I(X1;X2)."""
    alpha = np.random.default_rng(seed).dirichlet(np.ones(k))
    costs = score(P, np.tile(alpha, (len(P), 1)))
    assert costs.lumpability == pytest.approx(0.0, abs=ROUNDING)
    assert costs.predictability == pytest.approx(costs.redundancy_rate, abs=ROUNDING)


@given(chains.seeds, st.integers(2, 6))
def test_independent_chains_cost_nothing(seed, n):
    """If X is independent and identically distributed, then C_P = 0 for every map."""
    rng = np.random.default_rng(seed)
    P = np.tile(rng.dirichlet(np.ones(n)), (n, 1))
    for given_map in (chains.random_labels(n, 2, rng), chains.random_map(n, 3, rng)):
        assert score(P, given_map).predictability <= ROUNDING


# Section IV: the costs


@given(any_map)
def test_costs_by_definition(drawn):
    """C_L = H(Y2|Y1) - H(Y2|X1); C_P = I(X1;X2) - I(Y1;Y2); C_beta = (1 - 2 beta) C_L + beta C_P."""
    P, given_map = drawn
    costs = score(P, given_map)
    mu = reference.stationary_law(P)
    W = Aggregation.from_labels(P, given_map).mapping
    assert costs.lumpability == pytest.approx(reference.lumpability(P, mu, W), abs=ROUNDING)
    assert costs.predictability == pytest.approx(reference.predictability(P, mu, W), abs=ROUNDING)
    for beta in (0.0, 0.3, 0.5, 0.8, 1.0):
        assert costs.at(beta) == pytest.approx(reference.cost(P, mu, W, beta), abs=ROUNDING)


@given(any_map)
def test_predictability_is_at_least_lumpability(drawn):
    """C_P >= C_L >= 0."""
    costs = score(*drawn)
    assert costs.predictability >= costs.lumpability >= 0.0


@given(any_map, chains.betas)
def test_lemma_4_item_1(drawn, beta):
    """C_beta >= 0."""
    assert score(*drawn).at(beta) >= 0.0


@given(any_map)
def test_lemma_4_item_2(drawn):
    """C_1/2 = C_P / 2."""
    costs = score(*drawn)
    assert costs.at(0.5) == pytest.approx(costs.predictability / 2, abs=1e-15)


@given(any_map)
def test_lemma_4_item_3(drawn):
    """C_1 = C_IB = I(X1;X2|Y2)."""
    P, given_map = drawn
    costs = score(P, given_map)
    W = Aggregation.from_labels(P, given_map).mapping
    expected = reference.bottleneck(P, reference.stationary_law(P), W)
    assert costs.at(1.0) == pytest.approx(expected, abs=ROUNDING)
    assert costs.bottleneck == pytest.approx(expected, abs=ROUNDING)


@given(any_map, chains.betas)
def test_lemma_4_items_4_and_5_ends_of_the_bracket(drawn, beta):
    """beta C_P <= C_beta for beta <= 1/2, and C_beta <= beta C_P for beta >= 1/2."""
    costs = score(*drawn)
    if beta <= 0.5:
        assert beta * costs.predictability <= costs.at(beta) + ROUNDING
    if beta >= 0.5:
        assert costs.at(beta) <= beta * costs.predictability + ROUNDING


@given(any_map, chains.betas)
def test_lemma_4_items_4_and_5(drawn, beta):
    """beta C_P <= delta_beta <= C_beta for beta <= 1/2, and C_beta <= delta_beta <= beta C_P for beta >= 1/2.

    Both ends of the bracket of delta_beta are within: so whatever delta_beta is, it is.
    """
    answer = Aggregation.from_labels(*drawn)
    delta = answer.guarantees_within(budget=1e5).delta(beta)
    ends = [beta * answer.costs.predictability, answer.costs.at(beta)]
    low, high = ends if beta <= 0.5 else reversed(ends)
    assert low - ROUNDING <= delta.lower <= delta.upper <= high + ROUNDING


@settings(max_examples=25)
@given(small_map, chains.betas)
def test_delta_by_definition(drawn, beta):
    """delta_beta = (1 - beta) D(Y||Y~) + beta (R(X) - R(Y)), with D(Y||Y~) = H(Y2|Y1) - H(Y), R(Y) = H(Y1) - H(Y)."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    found = answer.guarantees_within(tolerance=0.0, budget=1e5)
    mu = reference.stationary_law(P)
    rates = reference.entropy_rate_bounds(P, mu, answer.mapping, 3)
    deltas = sorted(reference.delta(P, mu, answer.mapping, beta, rate) for rate in rates)
    if found.block_length >= 3:
        assert deltas[0] - ROUNDING <= found.delta(beta).lower
        assert found.delta(beta).upper <= deltas[1] + ROUNDING
    for end in ("lower", "upper"):
        rate = getattr(found.entropy_rate, end)
        expected = reference.delta(P, mu, answer.mapping, beta, rate)
        assert found.delta(beta).contains(expected, slack=ROUNDING)


@given(any_map)
def test_lemma_4_item_2_delta(drawn):
    """delta_1/2 = C_1/2 = C_P / 2: exactly known, whatever the entropy rate of Y is."""
    answer = Aggregation.from_labels(*drawn)
    delta = answer.guarantees_within(budget=0).delta(0.5)
    assert delta.lower == delta.upper
    assert delta.lower == pytest.approx(answer.costs.at(0.5), abs=1e-15)


@given(any_map, chains.betas, chains.betas)
def test_lemma_3(drawn, one, other):
    """delta_beta is non-decreasing in beta.

    Its slope R(X) - R(Y) - D(Y||Y~) lies between what the ends of the brackets say, and neither end is negative; so
    both ends of the bracket of delta_beta grow with beta.
    """
    answer = Aggregation.from_labels(*drawn)
    redundancy = answer.original.redundancy_rate
    for budget in (0, 1e5):
        found = answer.guarantees_within(budget=budget)
        assert redundancy - found.redundancy_rate.upper - found.divergence.upper >= -ROUNDING
        less, more = found.delta(min(one, other)), found.delta(max(one, other))
        assert less.lower <= more.lower + ROUNDING
        assert less.upper <= more.upper + ROUNDING


def test_lemma_3_where_the_cost_decreases():
    """On the paper's three states C_beta decreases in beta, and delta_beta does not: C_L alone would not tell."""
    answer = Aggregation.from_labels(EXAMPLE, [0, 1, 1])
    assert answer.costs.predictability < 2 * answer.costs.lumpability
    for budget in (0, 1e5):
        deltas = [answer.guarantees_within(budget=budget).delta(beta) for beta in np.linspace(0, 1, 21)]
        for less, more in itertools.pairwise(deltas):
            assert less.lower <= more.lower
            assert less.upper <= more.upper


@settings(max_examples=25)
@given(small_map)
def test_lemma_3_by_the_proof(drawn):
    """R(X) - R(Y) >= D(Y||Y~), with H(Y_m|Y_1..m-1, X_1) for the entropy rate, of the chain and of its reversal."""
    P, given_map = drawn
    mu = reference.stationary_law(P)
    W = Aggregation.from_labels(P, given_map).mapping
    backwards = (mu[:, None] * P).T / mu[:, None]
    forward = reference.entropy_rate_bounds(P, mu, W, 3)[0]
    reverse = reference.entropy_rate_bounds(backwards, mu, W, 3)[0]
    slope = (
        score(P, given_map).redundancy_rate
        - reference.entropy(reference.group_law(mu, W))
        - reference.conditional_entropy(reference.joint_of_groups(P, mu, W))
        + forward
        + reverse
    )
    assert slope >= -1e-9


@given(any_map)
def test_data_processing_of_rates(drawn):
    """0 <= D(Y||Y~) <= C_L and I(Y1;Y2) <= R(Y) <= R(X); and H(Y) <= H(X) if the map is deterministic."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    found = answer.guarantees_within(budget=1e5)
    assert 0.0 <= found.divergence.lower <= found.divergence.upper <= answer.costs.lumpability
    mu = reference.stationary_law(P)
    kept = reference.mutual_information(reference.joint_of_groups(P, mu, answer.mapping))
    whole = reference.mutual_information(reference.joint_of_states(P, mu))
    assert kept - ROUNDING <= found.redundancy_rate.lower <= found.redundancy_rate.upper <= whole + ROUNDING
    if answer.map.labels is not None:
        assert found.entropy_rate.upper <= answer.original.entropy_rate + ROUNDING


@given(
    st.one_of(
        chains.matrices_and_labels(kinds=("reversible",)).map(lambda drawn: drawn[:2]),
        chains.matrices_and_maps(kinds=("reversible",)),
    ),
    chains.betas,
    chains.betas,
)
def test_lemma_4_item_6(drawn, one, other):
    """If X is reversible, then C_beta is non-decreasing in beta."""
    P, given_map = drawn
    assert reference.is_reversible(P, reference.stationary_law(P))
    costs = score(P, given_map)
    assert costs.at(min(one, other)) <= costs.at(max(one, other)) + ROUNDING


def test_lemma_4_item_6_needs_reversibility():
    """On the paper's three states C_L = 0.008560 and C_P = 0.013547 bits, and C_beta decreases in beta."""
    costs = score(EXAMPLE, [0, 1, 1])
    assert round(costs.lumpability, 6) == 0.008560
    assert round(costs.predictability, 6) == 0.013547
    values = [costs.at(beta) for beta in np.linspace(0, 1, 21)]
    assert all(later < earlier for earlier, later in itertools.pairwise(values))


@given(chains.matrices_and_labels(min_size=3, max_groups=4))
def test_data_processing(drawn):
    """I(Y1;Y2) <= I(X1;Y2) <= I(X1;X2); and merging two groups lowers neither C_P nor C_1."""
    P, labels, k = drawn
    mu = reference.stationary_law(P)
    W = reference.indicator(labels, k)
    groups = reference.mutual_information(reference.joint_of_groups(P, mu, W))
    mixed = reference.mutual_information(reference.joint_of_state_and_group(P, mu, W))
    states = reference.mutual_information(reference.joint_of_states(P, mu))
    assert groups - ROUNDING <= mixed <= states + ROUNDING
    costs = score(P, labels)
    assert costs.kept * costs.redundancy_rate == pytest.approx(groups, abs=ROUNDING)
    if k > 1:
        coarser = score(P, np.where(labels == k - 1, 0, labels))
        assert coarser.predictability >= costs.predictability - ROUNDING
        assert coarser.bottleneck >= costs.bottleneck - ROUNDING


# Section III-A: bisimulation


@given(chains.matrices_and_labels())
def test_proposition_1(drawn):
    """X and Y~ are epsilon-bisimilar for epsilon = sqrt(ln(2) C_L / (2 min mu)); the exact one is smaller."""
    P, labels, k = drawn
    certificate = Aggregation.from_labels(P, labels).bisimulation
    mu = reference.stationary_law(P)
    assert certificate.epsilon <= certificate.bound
    # Squared, because the root makes 1e-8 out of a rounding error of 1e-16.
    expected = reference.epsilon_bound(P, mu, labels, k) ** 2
    assert certificate.bound**2 == pytest.approx(expected, rel=1e-9, abs=1e-12 / mu.min())


@given(chains.matrices_and_labels())
def test_exact_epsilon_is_the_largest_over_all_sets_of_groups(drawn):
    """epsilon = max over x and B of (sum over y in B of Q[g(x), y] - sum over g(x') in B of P[x, x'])."""
    P, labels, k = drawn
    certificate = Aggregation.from_labels(P, labels).bisimulation
    exact = reference.exact_epsilon(P, reference.stationary_law(P), labels, k)
    assert certificate.epsilon == pytest.approx(exact, abs=ROUNDING)


@settings(max_examples=25)
@given(chains.matrices_and_labels(max_size=4, max_groups=3), st.integers(0, 3), chains.seeds)
def test_horizon(drawn, steps, seed):
    """The laws of g(X_0), ..., g(X_t) and of t steps of Y~ differ by at most 1 - (1 - epsilon)^t in total variation.

    Whatever the law of X_0 is; Y~ starts with that of g(X_0).
    """
    P, labels, k = drawn
    answer = Aggregation.from_labels(P, labels)
    rng = np.random.default_rng(seed)
    Q = np.asarray(answer.chain.transition_matrix)
    for initial in (np.eye(len(P))[rng.integers(len(P))], rng.dirichlet(np.ones(len(P)))):
        seen = reference.law_of_paths(P, initial, labels, steps)
        model = reference.law_of_paths(Q, initial @ reference.indicator(labels, k), range(k), steps)
        distance = sum(abs(model[path] - seen.get(path, 0.0)) for path in model) / 2
        assert distance <= answer.bisimulation.horizon(steps) + ROUNDING


@settings(max_examples=40)
@given(small_map, st.integers(0, 4), st.sampled_from([0.0, 3e4, 1e5]))
def test_horizon_of_stationary_chains(drawn, t, budget):
    """TV(Y_0..Y_t, Y~_0..Y~_t) <= horizon(t) for every map, and horizon(t) <= 1 - (1 - epsilon)^t for partitions.

    KL(Y_0..Y_t || Y~_0..Y~_t) is the sum of H(Y2|Y1) - H(Y_m+1|Y_1..Y_m) over m = 1 .. t.
    """
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    found = answer.guarantees_within(tolerance=0.0, budget=budget)
    mu = reference.stationary_law(P)
    seen, model = reference.laws_of_stationary_paths(P, mu, answer.mapping, t + 1)
    distance = reference.total_variation_of_paths(seen, model)
    assert distance <= found.horizon(t) + 1e-15
    if t < found.block_length:
        assert distance == pytest.approx(found.horizon(t), abs=ROUNDING)
        assert reference.divergence_of_paths(seen, model) == pytest.approx(
            found.path_divergences[t], abs=ROUNDING
        )
    if answer.map.labels is not None:
        assert found.horizon(t) <= answer.bisimulation.horizon(t) + ROUNDING


# Liftings


@given(chains.matrices_and_labels(), st.booleans())
def test_lifting_divergence_rates_are_the_costs_of_partitions(drawn, as_sparse):
    """D(X || pi-lifting) = C_P and D(X || P-lifting) = C_L, per step, if the map is deterministic."""
    P, labels, k = drawn
    stored = sparse.csr_array(P) if as_sparse else P
    answer = Aggregation.from_labels(stored, labels)
    mu, W = reference.stationary_law(P), reference.indicator(labels, k)
    by_prediction = divergence_rate(stored, answer.lift("stationary"))
    by_lumping = divergence_rate(stored, answer.lift("transition"))
    assert by_prediction == pytest.approx(reference.predictability(P, mu, W), abs=ROUNDING)
    assert by_lumping == pytest.approx(reference.lumpability(P, mu, W), abs=ROUNDING)


@given(chains.matrices_and_maps(), st.booleans())
def test_lifting_divergence_rates_are_at_most_the_costs_of_stochastic_maps(drawn, as_sparse):
    """D(X || pi-lifting) <= C_P and D(X || P-lifting) <= C_L, per step, for every map."""
    P, given_map = drawn
    stored = sparse.csr_array(P) if as_sparse else P
    answer = Aggregation.from_labels(stored, given_map)
    mu = reference.stationary_law(P)
    by_prediction = divergence_rate(stored, answer.lift("stationary"))
    by_lumping = divergence_rate(stored, answer.lift("transition"))
    assert by_prediction <= reference.predictability(P, mu, answer.mapping) + ROUNDING
    assert by_lumping <= reference.lumpability(P, mu, answer.mapping) + ROUNDING


@given(any_map)
def test_stationary_lifting_keeps_the_stationary_distribution(drawn):
    """mu W Q U = mu, because mu W = nu, nu Q = nu and nu U = mu; for every map."""
    P, given_map = drawn
    mu = reference.stationary_law(P)
    lifted = Aggregation.from_labels(P, given_map).lift()
    np.testing.assert_allclose(mu @ lifted.transition_matrix, mu, rtol=0, atol=ROUNDING)


# What holds for every map


@given(chains.matrices())
def test_one_group_keeps_nothing(P):
    """k = 1: C_L = 0 and C_P = I(X1;X2), the most there is."""
    costs = score(P, np.zeros(len(P), dtype=int))
    assert costs.lumpability <= 1e-15
    assert costs.predictability == pytest.approx(costs.redundancy_rate, abs=ROUNDING)
    mu = reference.stationary_law(P)
    expected = reference.mutual_information(reference.joint_of_states(P, mu))
    assert costs.redundancy_rate == pytest.approx(expected, abs=ROUNDING)


@given(chains.matrices(), chains.seeds)
def test_as_many_groups_as_states_keep_everything(P, seed):
    """k = n: all costs are 0 and Q is P with its states renumbered."""
    labels = np.random.default_rng(seed).permutation(len(P))
    answer = Aggregation.from_labels(P, labels)
    assert answer.costs.lumpability <= ROUNDING
    assert answer.costs.predictability <= ROUNDING
    Q = np.asarray(answer.chain.transition_matrix)
    np.testing.assert_allclose(Q[np.ix_(labels, labels)], P, rtol=0, atol=1e-15)


@given(any_map, chains.betas)
def test_dense_equals_sparse(drawn, beta):
    """A chain, or a map, costs the same however it is stored."""
    P, given_map = drawn
    dense = score(P, given_map)
    ways = [score(sparse.csr_array(P), given_map), score(sparse.coo_matrix(P), given_map)]
    if np.ndim(given_map) == 2:
        ways.append(score(P, sparse.csc_array(given_map)))
    for other in ways:
        assert other.lumpability == pytest.approx(dense.lumpability, abs=ROUNDING)
        assert other.predictability == pytest.approx(dense.predictability, abs=ROUNDING)
        assert other.at(beta) == pytest.approx(dense.at(beta), abs=ROUNDING)


@given(chains.matrices_and_labels(), chains.seeds)
def test_names_do_not_matter(drawn, seed):
    """Costs and epsilon change neither with the numbers of the groups nor with the order of the states."""
    P, labels, k = drawn
    rng = np.random.default_rng(seed)
    answer = Aggregation.from_labels(P, labels)
    groups, order = rng.permutation(k), rng.permutation(len(P))
    for other in (
        Aggregation.from_labels(P, groups[labels]),
        Aggregation.from_labels(P[np.ix_(order, order)], labels[order]),
    ):
        assert other.costs.lumpability == pytest.approx(answer.costs.lumpability, abs=ROUNDING)
        assert other.costs.predictability == pytest.approx(answer.costs.predictability, abs=ROUNDING)
        assert other.bisimulation.epsilon == pytest.approx(answer.bisimulation.epsilon, abs=ROUNDING)


@given(chains.matrices(max_size=6))
def test_stationary_law_of_the_chain_is_the_exact_one(P):
    """mu P = mu, to full relative accuracy: everything above stands on it."""
    np.testing.assert_allclose(
        MarkovChain(P).stationary_distribution, reference.stationary_law(P), rtol=1e-12
    )


# The paper's outlook: generated information


@given(any_map)
@settings(max_examples=60)
def test_generated_information_bounds_the_loss_of_entropy_rate(drawn):
    """H(X) - H(Y) <= C_G, and C_G = H(X1) - H(Y1) - C_1; for partitions C_G >= 0."""
    P, given_map = drawn
    answer = Aggregation.from_labels(P, given_map)
    mu, costs = reference.stationary_law(P), answer.costs
    entropies = reference.entropy(mu) - reference.entropy(reference.group_law(mu, answer.mapping))
    assert costs.generated == pytest.approx(entropies - costs.bottleneck, abs=ROUNDING)
    lost = answer.original.entropy_rate - answer.guarantees.entropy_rate.upper
    assert lost <= costs.generated + ROUNDING
    if answer.map.labels is not None:
        assert costs.generated >= 0.0
