"""How sure an aggregation is: samples are what they should be, and intervals contain the truth as often as they say."""

import joblib
import numpy as np
import pandas
import pytest
from scipy import sparse, stats
from sklearn.metrics import adjusted_rand_score

import klump
from klump.errors import InvalidArgumentError, InvalidChainError, ReducibleChainError
from klump.resampling.draws import Draws, estimate_chain
from klump.resampling.intervals import interval, reflected_interval
from klump.resampling.stability import match_labels
from klump.search.method import Found
from klump.search.registry import METHODS, Method
from klump.sources.random_chains import block_chain

LABELS = np.repeat([0, 1, 2], [2, 3, 2])
COUNTS = np.array(
    [
        [40, 22, 3, 0, 2, 1, 1],
        [25, 31, 0, 2, 1, 3, 0],
        [1, 2, 30, 20, 11, 0, 2],
        [2, 0, 18, 25, 14, 1, 1],
        [0, 1, 12, 17, 33, 2, 1],
        [3, 2, 1, 0, 2, 28, 16],
        [1, 1, 0, 3, 1, 12, 35],
    ]
)
FEW = {"method": "sequential", "n_init": 3}


def simulated(P, n_steps, n_walks, rng):
    """Walks of a chain, all at once: an array of states, a row for each walk."""
    rising = np.cumsum(P, axis=1)
    walks = np.empty((n_walks, n_steps + 1), dtype=int)
    walks[:, 0] = rng.integers(len(P), size=n_walks)
    for step in range(n_steps):
        beyond = rng.random(n_walks)[:, None] > rising[walks[:, step]]
        walks[:, step + 1] = np.minimum(beyond.sum(axis=1), len(P) - 1)
    return walks


def counts_of(walk, n):
    counts = np.zeros((n, n))
    np.add.at(counts, (walk[:-1], walk[1:]), 1)
    return counts


@pytest.fixture(scope="module")
def found():
    return klump.bootstrap(COUNTS, 3, n_samples=30, states="abcdefg", **FEW)


# What is drawn


def drawn(counts, n_samples, prior=0.0):
    _, draws = estimate_chain(counts, None, prior, None, 0)
    return np.stack([draws.chain(number).transition_matrix for number in range(n_samples)])


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_entries_follow_beta_laws(prior):
    """A row of Dirichlet law has entries of beta laws, with the counts as parameters."""
    counts = np.array([[1.0, 5.0, 0.25], [3.0, 0.5, 40.0], [7.0, 1.0, 2.0]])
    samples, shape = drawn(counts, 400, prior), counts + prior
    for i in range(3):
        for j in range(3):
            law = stats.beta(shape[i, j], shape[i].sum() - shape[i, j])
            assert stats.kstest(samples[:, i, j], law.cdf).pvalue > 1e-3
            # Another count would be noticed.
            other = stats.beta(3 * shape[i, j], 3 * (shape[i].sum() - shape[i, j]))
            assert stats.kstest(samples[:, i, j], other.cdf).pvalue < 1e-3


def test_what_was_seen_stays_possible_and_nothing_else_becomes_it():
    for number in range(20):
        chain = Draws(sparse.csr_array(COUNTS / 1e5), False, 3).chain(number)
        np.testing.assert_array_equal(chain.transition_matrix > 0, COUNTS > 0)
        assert chain.is_irreducible


def test_sparse_counts_stay_sparse_and_give_the_same_samples():
    dense, full = estimate_chain(COUNTS, None, 0.5, None, 1)
    chain, thin = estimate_chain(sparse.coo_matrix(COUNTS), None, 0.5, None, 1)
    assert (dense.is_sparse, chain.is_sparse) == (False, True)
    assert chain.n_transitions == np.count_nonzero(COUNTS)
    assert thin.chain(4).is_sparse
    np.testing.assert_allclose(
        thin.chain(4).transition_matrix.toarray(), full.chain(4).transition_matrix, rtol=1e-14
    )


def test_the_prior_moves_the_estimate_too():
    plain = klump.posterior(COUNTS, LABELS, n_samples=1).estimate.original.transition_matrix
    np.testing.assert_allclose(plain, COUNTS / COUNTS.sum(axis=1, keepdims=True), atol=1e-15)
    moved = klump.posterior(COUNTS, LABELS, n_samples=1, prior=3).estimate.original.transition_matrix
    shape = COUNTS + 3 * (COUNTS > 0)
    np.testing.assert_allclose(moved, shape / shape.sum(axis=1, keepdims=True), atol=1e-15)


# Given groups


def test_samples_are_aggregations_of_drawn_chains():
    found = klump.posterior(COUNTS, LABELS, beta=0.8, n_samples=5, random_state=2)
    _, draws = estimate_chain(COUNTS, None, 0.0, None, 2)
    for number in range(5):
        alone = klump.Aggregation.from_labels(draws.chain(number), LABELS, beta=0.8)
        np.testing.assert_allclose(
            found.transition_matrices[number], alone.chain.transition_matrix, atol=1e-14
        )
        np.testing.assert_allclose(found.masses[number], alone.masses, atol=1e-14)
        assert found.costs[number] == pytest.approx(alone.cost, abs=1e-12)
        assert found.kept[number] == pytest.approx(alone.kept, abs=1e-12)
    assert found.estimate.cost == pytest.approx(
        klump.score(found.estimate.original, LABELS).at(0.8), abs=1e-12
    )
    assert not found.transition_matrices.flags.writeable
    assert repr(found) == "Posterior(7 states in 3 groups, 5 samples)"


def test_intervals_contain_the_truth_as_often_as_they_say(rng):
    """Walks of a known chain; 90 % and 50 % intervals of 16 entries of Q each time.

    The shares of 640 entries have standard errors of 0.012 and 0.02, a little more as entries of a row are linked.
    """
    chain, labels = block_chain((3, 2, 3, 2), alpha=0.7, eps=0.4, random_state=5)
    truth = klump.Aggregation.from_labels(chain, labels)
    Q = truth.chain.transition_matrix
    inside, masses, costs = {0.9: [], 0.5: []}, [], []
    for number, walk in enumerate(simulated(chain.transition_matrix, 3000, 40, rng)):
        found = klump.posterior(counts_of(walk, 10), labels, n_samples=80, random_state=number)
        for level, hits in inside.items():
            lower, upper = found.transition_matrix_interval(level)
            hits.append((lower <= Q) & (upper >= Q))
        lower, upper = found.masses_interval(0.9)
        masses.append((lower <= truth.masses) & (truth.masses <= upper))
        lower, upper = found.cost_interval(0.9)
        costs.append(lower <= truth.cost <= upper)
    assert 0.86 < np.mean(inside[0.9]) < 0.94
    assert 0.44 < np.mean(inside[0.5]) < 0.56
    assert 0.80 < np.mean(masses) < 0.97
    # Costs have a bias; without the reflection the interval would hardly ever contain them.
    assert np.mean(costs) > 0.75


def test_more_data_are_surer():
    def width(counts):
        lower, upper = klump.posterior(counts, LABELS, n_samples=200).transition_matrix_interval(0.9)
        return np.mean(upper - lower)

    assert width(COUNTS) / width(100 * COUNTS) == pytest.approx(10, rel=0.15)


def test_soft_maps_and_aggregations_as_groups(found):
    soft = np.eye(3)[LABELS]
    soft[0] = [0.5, 0.25, 0.25]
    again = klump.posterior(COUNTS, soft, n_samples=3)
    assert again.estimate.map.labels is None
    assert np.abs(again.transition_matrices.sum(axis=2) - 1).max() < 1e-12
    same = klump.posterior(COUNTS, found.estimate, n_samples=4, states="abcdefg")
    np.testing.assert_array_equal(same.transition_matrices, found.posterior.transition_matrices[:4])


def test_intervals_cut_off_as_much_on_both_sides():
    samples = np.arange(1.0, 100.0)
    assert interval(samples, 0.9) == (pytest.approx(5), pytest.approx(95))
    assert interval(samples, 0.999) == (1.0, 99.0)
    assert reflected_interval(samples, 40.0, 0.9, 0.0, 70.0) == (0.0, 70.0)
    assert reflected_interval(samples, 50.0, 0.5, 0.0, 100.0) == (pytest.approx(25), pytest.approx(75))
    for level in (0, 1, 95, "0.9", None):
        with pytest.raises(InvalidArgumentError, match=r"level=.* must lie between 0 and 1"):
            interval(samples, level)


# Groups of the samples


def test_the_estimate_is_what_aggregate_finds(found):
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    alone = klump.aggregate(chain, 3, **FEW)
    np.testing.assert_array_equal(found.estimate.labels, alone.labels)
    assert (found.estimate.cost, found.estimate.trace) == (alone.cost, alone.trace)
    assert (found.estimate.method, found.estimate.random_state) == ("sequential", 0)


def test_samples_are_what_aggregate_finds(found):
    _, draws = estimate_chain(COUNTS, None, 0.0, None, 0)
    reference = found.estimate.labels
    for number in (0, 7):
        alone = klump.aggregate(draws.chain(number), 3, **FEW)
        assert found.costs[number] == pytest.approx(alone.cost, abs=1e-12)
        assert found.kept[number] == pytest.approx(alone.kept, abs=1e-12)
        assert adjusted_rand_score(found.labels[number], alone.labels) == 1.0
        assert found.agreement[number] == pytest.approx(adjusted_rand_score(reference, alone.labels))
        fixed = klump.score(draws.chain(number), reference).at(0.5)
        assert found.regret[number] == pytest.approx(fixed - alone.cost, abs=1e-12)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 3), ("loky", 2)])
def test_engines_do_not_change_the_answer(found, backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        again = klump.bootstrap(COUNTS, 3, n_samples=30, states="abcdefg", **FEW)
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_array_equal(again.costs, found.costs)
    np.testing.assert_array_equal(again.posterior.transition_matrices, found.posterior.transition_matrices)


def test_more_samples_begin_with_the_same(found):
    again = klump.bootstrap(COUNTS, 3, n_samples=5, states="abcdefg", n_jobs=2, **FEW)
    np.testing.assert_array_equal(again.labels, found.labels[:5])


def test_shares_of_samples():
    """A state between two groups is in either; the others stay where they are."""
    blocks = np.kron(np.eye(2), np.full((3, 3), 300))
    counts = np.block([[blocks + 10, np.full((6, 1), 30)], [np.full((1, 6), 30), np.array([[20]])]])
    found = klump.bootstrap(counts, 2, n_samples=60, states=[*"uvwxyz", "between"])
    reference = found.estimate.labels
    np.testing.assert_allclose(found.membership.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.stability[:6], 1.0)
    assert 0.05 < found.stability[6] < 0.95
    assert found.stability[6] == np.mean(found.labels[:, 6] == reference[6])
    assert found.together("u", "v") == 1.0
    assert found.together("u", "x") == 0.0
    assert found.together("between", "u") + found.together("between", "x") == pytest.approx(1.0)
    assert found.labels.dtype == np.uint8
    mass = found.estimate.original.stationary_distribution
    last = str(found).splitlines()[-1]
    assert last == f"{mass @ found.stability:.1%} of the mass stays in its group; least sure: between " + (
        f"{found.stability[6]:.0%}"
    )
    with pytest.raises(InvalidArgumentError, match="state='q' is not the name of a state"):
        found.together("u", "q")


def test_groups_that_the_data_decide():
    found = klump.bootstrap(100 * COUNTS, 3, n_samples=10, **FEW)
    np.testing.assert_array_equal(found.agreement, 1.0)
    np.testing.assert_allclose(found.regret, 0.0, atol=1e-12)
    assert repr(found) == "Bootstrap(7 states in 3 groups, 10 samples, mean agreement 1.000)"
    assert str(found).splitlines()[-1] == "every state is in the same group in all samples"
    # Intervals are those of the estimate's groups.
    alone = klump.posterior(100 * COUNTS, found.estimate.labels, n_samples=10)
    for name in ("transition_matrix", "masses", "cost", "kept"):
        ends = zip(
            getattr(found, f"{name}_interval")(0.8), getattr(alone, f"{name}_interval")(0.8), strict=True
        )
        for one, other in ends:
            np.testing.assert_array_equal(one, other)


def test_matching_is_the_best_there_is(rng):
    """By total mass, not group by group: against all permutations."""
    from itertools import permutations

    for _ in range(20):
        labels, reference = rng.permutation(np.arange(12) % 4), rng.permutation(np.arange(12) % 4)
        mass = rng.random(12)
        best = max(mass[np.array(p)[labels] == reference].sum() for p in permutations(range(4)))
        found = match_labels(labels, reference, mass, 4)
        assert mass[found == reference].sum() == pytest.approx(best)
        assert adjusted_rand_score(found, labels) == 1.0


def test_a_million_pairs_are_never_stored():
    """A sparse ring of 3,000 states: nothing is as large as a table of all pairs."""
    n = 3000
    ring = sparse.diags_array([30.0, 20.0, 10.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    ring[0, n - 1], ring[n - 1, 0] = 30.0, 10.0
    labels = np.arange(n) * 4 // n
    found = klump.posterior(ring.tocsr(), labels, n_samples=3)
    assert found.estimate.original.is_sparse
    assert found.transition_matrices.shape == (3, 4, 4)


# Sequences


def test_sequences_are_counted_as_chains_count_them():
    walks = ["abcabca", "aab", "c", "bbca"]
    for lag in (1, 2):
        counts = klump.SequenceCounts(walks, lag)
        plain = klump.MarkovChain.from_sequences(walks, lag=lag)
        assert counts.states == plain.states
        sums = counts.count_matrix.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(counts.count_matrix / sums, plain.transition_matrix)
        np.testing.assert_array_equal(
            counts.by_piece.sum(axis=0), counts.count_matrix[counts.count_matrix > 0]
        )
    assert repr(klump.SequenceCounts(walks)) == "SequenceCounts(3 states, 11 transitions in 3 pieces)"
    assert repr(klump.SequenceCounts(walks, block_length=2)).endswith("in 6 pieces)")


def test_a_piece_has_the_transitions_of_its_block():
    counts = klump.SequenceCounts(["aabb", "bba"], block_length=2)
    # ab and ba are in one piece each; aa, ab | bb || bb, ba.
    np.testing.assert_array_equal(counts.count_matrix, [[1, 1], [1, 2]])
    np.testing.assert_array_equal(counts.by_piece.toarray(), [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]])


def test_samples_weigh_whole_pieces():
    """What only one piece tells of a state never changes, however it is weighed."""
    walks = ["abababa", "aab", "cacaca"]
    counts = klump.SequenceCounts(walks)
    found = klump.posterior(counts, [0, 1, 2], n_samples=20)
    _, draws = estimate_chain(counts, None, 0.0, None, 0)
    samples = np.stack([draws.chain(number).transition_matrix for number in range(20)])
    b, c = counts.states.index("b"), counts.states.index("c")
    np.testing.assert_allclose(samples[:, [b, c], 0], 1.0)
    assert samples[:, 0, b].std() > 0.05
    np.testing.assert_array_equal(samples > 0, np.broadcast_to(counts.count_matrix > 0, samples.shape))
    np.testing.assert_allclose(found.transition_matrices, samples)


def test_overlapping_windows_are_not_more_data(rng):
    """At lag 8 windows overlap: bare counts are too sure, blocks are not; at lag 1 both say the same."""
    chain, labels = block_chain((2, 2), alpha=0.85, eps=0.2, random_state=1)
    (walk,) = simulated(chain.transition_matrix, 6000, 1, rng)

    def width(counts):
        lower, upper = klump.posterior(counts, labels, n_samples=150).transition_matrix_interval(0.9)
        return np.mean(upper - lower)

    ratios = []
    for lag in (1, 8):
        blocks = klump.SequenceCounts([walk], lag, block_length=60)
        ratios.append(width(blocks) / width(blocks.count_matrix))
    assert 0.75 < ratios[0] < 1.3
    assert ratios[1] > 1.6


def test_restricted_sequences():
    """Pieces outside the class that is kept play no part, and its own keep their transitions."""
    counts = klump.SequenceCounts(["xxabab", "abba", "xbaa"])
    chain, draws = estimate_chain(counts, None, 0.0, "largest", 0)
    assert chain.states == ("a", "b")
    np.testing.assert_array_equal(draws.counts.toarray(), counts.count_matrix[:2, :2])
    np.testing.assert_array_equal(draws.by_piece.sum(axis=0), draws.counts.data)
    assert draws.chain(0).n_states == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abcab",), "sequences make 1 piece, .*; pass block_length to cut sequences"),
        ((["abcab", "ab"], 7), "sequences hold no transition at lag=7"),
        ((["abcab", "ab"], 1, 0), "block_length=0 must be a whole number"),
    ],
)
def test_sequences_that_cannot_be_weighed(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        klump.SequenceCounts(*arguments)


# What can be passed


def test_names_come_with_tables():
    table = pandas.DataFrame(COUNTS, index=[*"abcdefg"], columns=[*"abcdefg"])
    assert klump.bootstrap(table, 2, n_samples=1, **FEW).estimate.original.states == tuple("abcdefg")


def test_models_with_a_count_matrix():
    class Model:
        count_matrix = COUNTS

    found = klump.posterior(Model(), LABELS, n_samples=2)
    np.testing.assert_array_equal(
        found.transition_matrices, klump.posterior(COUNTS, LABELS, n_samples=2).transition_matrices
    )


def test_counts_that_fall_apart():
    counts = np.zeros((9, 9))
    counts[:7, :7], counts[7, :2], counts[8, 8] = COUNTS, 3, 5
    with pytest.raises(ReducibleChainError):
        klump.bootstrap(counts, 3, **FEW)
    found = klump.bootstrap(counts, 3, n_samples=5, restrict="largest", **FEW)
    plain = klump.bootstrap(COUNTS, 3, n_samples=5, **FEW)
    assert found.estimate.original.states == tuple(range(7))
    np.testing.assert_array_equal(found.labels, plain.labels)


@pytest.mark.parametrize(
    ("counts", "options", "error", "message"),
    [
        (COUNTS / COUNTS.sum(axis=1, keepdims=True), {}, InvalidArgumentError, "looks like probabilities"),
        (klump.MarkovChain.from_counts(COUNTS), {}, InvalidArgumentError, "counts is a chain"),
        (1e-9 * COUNTS, {}, InvalidArgumentError, "less than 1e-06 of an observation"),
        (-COUNTS, {}, InvalidChainError, "count matrix has -"),
        (COUNTS[:3], {}, InvalidChainError, "count matrix must be square"),
        (COUNTS, {"prior": -1}, InvalidArgumentError, "prior=-1 must be a finite number, 0 or more"),
        (COUNTS, {"prior": "1"}, InvalidArgumentError, "prior='1' must be a finite number"),
        (COUNTS, {"n_samples": 0}, InvalidArgumentError, "n_samples=0 must be a whole number"),
        (COUNTS, {"n_states": 8}, InvalidArgumentError, "n_states=8 must lie between 1 and the 7 states"),
        (COUNTS, {"beta": 2}, InvalidArgumentError, "beta=2 must lie between"),
        (COUNTS, {"method": "exact"}, InvalidArgumentError, "method='exact' finds the number"),
        (COUNTS, {"progress": 1}, InvalidArgumentError, "progress=1 must be a function"),
        (COUNTS, {"n_samples": 900_000, "n_states": 7}, InvalidArgumentError, None),
    ],
)
def test_bad_questions(counts, options, error, message, monkeypatch):
    if message is None:
        monkeypatch.setattr("klump.resampling.question._MAX_STORED_ENTRIES", 490)
        message = "n_samples=900000 with 7 groups would store 44,100,000 numbers; pass n_samples=10 or less"
    with pytest.raises(error, match=message):
        klump.bootstrap(counts, **{"n_states": 2, **FEW, **options})


def test_counts_of_one_are_no_probabilities():
    """A permutation that was seen once: every row sums to 1, but these are counts."""
    found = klump.posterior(np.roll(np.eye(4), 1, axis=1), [0, 1, 0, 1], n_samples=3)
    np.testing.assert_array_equal(found.transition_matrices, np.stack([[[0, 1], [1, 0]]] * 3))


@pytest.mark.parametrize("n_groups", [1, 7])
def test_extreme_numbers_of_groups(n_groups):
    found = klump.bootstrap(COUNTS, n_groups, n_samples=4, **FEW)
    np.testing.assert_array_equal(found.agreement, 1.0)
    np.testing.assert_array_equal(found.stability, 1.0)
    assert "every state" in str(found)


# Ctrl-C


def press_after(samples):
    def progress(done, total):
        if done == samples:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_ready(found, n_jobs):
    stopped = klump.bootstrap(COUNTS, 3, n_samples=30, n_jobs=n_jobs, progress=press_after(4), **FEW)
    assert stopped.interrupted
    assert stopped.n_samples == len(stopped.costs) == 4
    np.testing.assert_array_equal(stopped.labels, found.labels[:4])
    assert str(stopped).splitlines()[-1] == "interrupted: these are fewer samples than were asked for"
    assert repr(stopped).endswith(", interrupted)")
    fixed = klump.posterior(COUNTS, LABELS, n_samples=30, n_jobs=n_jobs, progress=press_after(4))
    assert fixed.interrupted
    assert repr(fixed) == "Posterior(7 states in 3 groups, 4 samples, interrupted)"


def test_half_a_search_is_no_sample(monkeypatch):
    asked = []

    def cut_short(task):
        asked.append(task)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, interrupted=len(asked) == 4)

    monkeypatch.setitem(METHODS, "cut short", Method("cut short", cut_short, "for a test"))
    stopped = klump.bootstrap(COUNTS, 2, method="cut short")
    # The estimate, two whole samples, and the one that Ctrl-C spoiled.
    assert (len(asked), stopped.n_samples, stopped.interrupted) == (4, 2, True)


@pytest.mark.parametrize("pressed_at", [1, 2])
def test_ctrl_c_before_there_is_a_sample(monkeypatch, pressed_at):
    asked = []

    def cut_short(task):
        asked.append(task)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, interrupted=len(asked) == pressed_at)

    monkeypatch.setitem(METHODS, "cut short", Method("cut short", cut_short, "for a test"))
    with pytest.raises(KeyboardInterrupt):
        klump.bootstrap(COUNTS, 2, method="cut short")
    assert len(asked) == pressed_at
