"""The coarsest exact lumping: against brute force, against Storm, and what it promises besides."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
from klump.aggregation import costs as costs_module
from klump.errors import FileFormatError, InvalidArgumentError, ReducibleChainError
from klump.search.exact import refine
from reference import coarsest_lumping, coarsest_lumpings, exact_epsilon, is_lumpable, same_partition


def lump(chain, initial=None, **options):
    return klump.aggregate(chain, method="exact", initial=initial, **options)


def renumbered(labels):
    """Group numbers without gaps."""
    return np.unique(labels, return_inverse=True)[1]


def is_finer(labels, other):
    return all(len(set(np.asarray(other)[labels == group])) == 1 for group in set(labels))


def coarsened(labels, rng):
    """Groups merged at random."""
    labels = np.asarray(labels)
    return renumbered(rng.integers(max(2, labels.max()), size=labels.max() + 1)[labels])


def quarters(n, rng):
    """Rows of quarters: sums of these are exact, and many of them coincide."""
    drawn = rng.integers(n, size=(n, 4))
    return np.array([np.bincount(row, minlength=n) for row in drawn]) / 4


@st.composite
def quarters_and_labels(draw, min_size=1, max_size=6):
    rng = np.random.default_rng(draw(chains.seeds))
    n = draw(st.integers(min_size, max_size))
    return quarters(n, rng), renumbered(rng.integers(draw(st.integers(1, 3)), size=n))


def expanded(n, k, degree, rng):
    """Sparse chain whose k groups lead to ``degree`` groups each, and the groups: a random quotient, expanded.

    What a group owes another is split unevenly between two states there, which two differs from state to state.
    """
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    members = [np.flatnonzero(labels == group) for group in range(k)]
    targets = np.array([rng.choice(k, size=degree, replace=False) for _ in range(k)])
    weights = rng.dirichlet(np.ones(degree), size=k)
    matrix = sparse.lil_array((n, n))
    for x, group in enumerate(labels):
        for target, weight in zip(targets[group], weights[group], strict=True):
            share = rng.random()
            for part in (share, 1 - share):
                matrix[x, rng.choice(members[target])] += part * weight
    order = rng.permutation(n)
    return sparse.csr_array(matrix.tocsr()[order][:, order]), labels[order]


# The coarsest


@given(quarters_and_labels())
@settings(max_examples=60)
def test_it_is_the_coarsest_of_all_partitions(drawn):
    P, initial = drawn
    (coarsest,) = coarsest_lumpings(P, initial)
    assert same_partition(lump(P, initial).labels, coarsest)


@given(quarters_and_labels(min_size=10, max_size=40))
def test_it_is_the_fixed_point_of_splitting(drawn):
    P, initial = drawn
    assert same_partition(lump(P, initial).labels, coarsest_lumping(P, initial))


@given(chains.lumpable(max_groups=5, max_members=4), chains.seeds)
def test_expanded_quotients(drawn, seed):
    P, planted = drawn
    initial = coarsened(renumbered(planted), np.random.default_rng(seed))
    answer = lump(P, initial)
    assert is_finer(answer.labels, initial)
    assert is_finer(planted, answer.labels)
    assert same_partition(answer.labels, coarsest_lumping(P, initial))
    assert answer.bisimulation.epsilon < 1e-13
    assert answer.costs.lumpability < 1e-12


def test_large_expanded_quotient_is_found(rng):
    matrix, planted = expanded(800, 80, 3, rng)
    found = refine(matrix, (planted % 2).astype(np.int32), 1e-10)
    assert same_partition(found.labels, planted)
    assert found.rounds == 1


def test_without_labels_the_answer_is_one_group_and_says_so():
    answer = lump([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
    assert answer.labels.tolist() == [0, 0, 0]
    (note,) = answer.notes
    assert note.startswith("trivial: one group of all states is always an exact lumping")
    assert f"note: {note}" in str(answer)


def test_it_says_so_if_nothing_can_be_lumped(rng):
    P = rng.dirichlet(np.ones(5), size=5)
    answer = lump(P, [0, 0, 0, 0, 1])
    assert answer.n_states == 5
    assert answer.notes == ("nothing can be lumped: every group is a single state",)


# Rounding and tolerance


def shots(weights):
    """From each of the states, a goal with the probability given; else a miss. Goal and miss are last."""
    n = len(weights)
    P = np.zeros((n + 2, n + 2))
    P[:n, n], P[:n, n + 1] = weights, 1 - np.asarray(weights)
    P[n, n] = P[n + 1, n + 1] = 1
    return P, [0] * n + [1, 2]


@given(
    chains.matrices_and_labels(min_size=4, max_size=12),
    st.sampled_from([0.0, 1e-10, 1e-3, 0.03, 0.2, 0.5, 1.0]),
)
def test_the_answer_is_lumpable_within_the_tolerance(drawn, tolerance):
    P, initial, _ = drawn
    answer = lump(P, initial, tolerance=tolerance)
    assert is_finer(answer.labels, initial)
    assert klump.is_lumpable(P, answer.labels, tolerance)
    assert is_lumpable(P, answer.labels, max(tolerance, 1e-11) + 1e-14)
    assert answer.bisimulation.epsilon <= max(tolerance, 1e-11) * answer.n_states


@pytest.mark.parametrize("tolerance", [0.05, 0.1, 0.2])
def test_tolerances_that_add_up_are_corrected(tolerance):
    """The largest part of a block is never a splitter; here the spread of the weight into it exceeds the tolerance."""
    rounds = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        P = rng.dirichlet(np.ones(40), size=40)
        found = refine(P, rng.integers(2, size=40).astype(np.int32), tolerance)
        rounds.append(found.rounds)
        assert is_lumpable(P, found.labels, tolerance + 1e-14)
    assert max(rounds) > 1


def test_noisy_groups_need_a_tolerance(rng):
    clean, planted = expanded(120, 8, 3, rng)
    noise = clean.copy()
    noise.data = noise.data * rng.uniform(-1e-4, 1e-4, noise.nnz)
    noisy = klump.MarkovChain(clean + noise, normalize=True)
    initial = planted % 3
    assert same_partition(lump(noisy, initial, tolerance=1e-3).labels, planted)
    assert lump(noisy, initial).n_states > 100


def test_near_equal_values_do_not_make_a_group_wider_than_the_tolerance():
    tolerance = 1e-3
    P, initial = shots(0.2 + 0.6e-3 * np.arange(11))
    labels = lump(P, initial, tolerance=tolerance).labels[:11]
    assert len(set(labels)) == 6
    assert all(np.ptp(P[:11, 11][labels == group]) <= tolerance for group in set(labels))


def test_equal_values_are_not_cut_apart_where_the_tolerance_ends():
    """As 0.2, 0.2 + 0.7 and 0.2 + 1 times the tolerance; what is last differs by rounding alone."""
    last = 0.2 + 1e-10 + 1e-16 * np.arange(-3, 4)
    assert (last - 0.2 > 1e-10).any()
    assert (last - 0.2 <= 1e-10).any()
    P, initial = shots([0.2, 0.2 + 0.7e-10, *last])
    labels = lump(P, initial).labels[:9]
    assert len(set(labels[2:])) == 1


@given(chains.matrices())
def test_one_group_is_lumpable_whatever_the_rounding(P):
    assert lump(P, tolerance=0.0).n_states == 1
    assert klump.is_lumpable(P, [0] * len(P), tolerance=0.0)


def test_probabilities_below_the_tolerance_count_as_none():
    P, initial = shots([0.0, 1e-12, 0.5, 0.5 + 1e-12, 1e-6])
    assert same_partition(lump(P, initial).labels, [0, 0, 1, 1, 2, 3, 4])


def test_probabilities_down_to_the_smallest(rng):
    tiny = np.full((6, 6), 1e-300)
    np.fill_diagonal(tiny, 1.0)
    tiny[np.arange(6), (np.arange(6) + 1) % 6] = 1e-150
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = lump(sparse.csr_array(tiny), [0, 0, 0, 1, 1, 1])
        assert answer.labels.tolist() == [0, 0, 0, 1, 1, 1]
        assert answer.trace[-1] == pytest.approx(answer.cost, abs=1e-10)
        assert answer.bisimulation.epsilon <= 1e-100


# Work


@pytest.mark.parametrize("kind", ["quotient", "walk", "tree", "dense"])
def test_each_transition_is_visited_a_logarithmic_number_of_times(kind, rng):
    """Visiting all transitions after each split would need as many visits as there are groups."""
    if kind == "quotient":
        matrix, planted = expanded(4000, 400, 3, rng)
        initial, groups = planted % 2, 400
    elif kind == "walk":  # both ends are marked; distance to the nearer one tells states apart
        n = 4001
        matrix = sparse.diags_array([np.full(n - 1, 0.5)] * 2, offsets=[-1, 1]).tolil()
        matrix[0, 1] = matrix[n - 1, n - 2] = 1
        initial, groups = np.bincount([0, n - 1], minlength=n), 2001
    elif kind == "tree":  # all leaves alike: depth tells states apart
        n = 2**12 - 1
        parent = (np.arange(1, n) - 1) // 2
        matrix = sparse.coo_array((np.full(n - 1, 0.5), (parent, np.arange(1, n))), shape=(n, n)).tolil()
        for leaf in range(n // 2, n):
            matrix[leaf, 0] = 1
        initial, groups = np.bincount([0], minlength=n), 12
    else:
        matrix, initial, groups = rng.dirichlet(np.ones(150), size=150), np.arange(150) % 2, 150
    matrix = sparse.csr_array(matrix)
    found = refine(matrix, initial.astype(np.int32), 1e-10)
    assert found.labels.max() + 1 == groups
    assert 0 < found.visits <= matrix.nnz * math.log2(matrix.shape[0])


# What every method promises


def test_dense_and_sparse_agree(rng):
    for _ in range(20):
        P = quarters(15, rng)
        initial = renumbered(rng.integers(2, size=15))
        for tolerance in (0.0, 1e-10, 0.1, 0.3):
            expected = lump(P, initial, tolerance=tolerance).labels
            for form in (sparse.csr_array, sparse.coo_matrix, sparse.csc_array):
                assert np.array_equal(lump(form(P), initial, tolerance=tolerance).labels, expected)


def test_the_order_of_stored_entries_does_not_matter(rng):
    P = rng.dirichlet(np.ones(12), size=12)
    row, col = np.nonzero(P)
    for tolerance in (0.0, 0.05):
        expected = lump(sparse.csr_array(P), np.arange(12) % 2, tolerance=tolerance).labels
        order = rng.permutation(len(row))
        shuffled = sparse.coo_array((P[row[order], col[order]], (row[order], col[order])), shape=P.shape)
        assert np.array_equal(lump(shuffled, np.arange(12) % 2, tolerance=tolerance).labels, expected)


def test_names_of_groups_and_order_of_states_do_not_matter(rng):
    matrix, planted = expanded(60, 6, 2, rng)
    initial = planted % 2
    expected = lump(matrix, initial).labels
    assert same_partition(expected, planted)
    assert np.array_equal(lump(matrix, 1 - initial).labels, expected)
    assert np.array_equal(lump(matrix, ["even" if group else "odd" for group in initial]).labels, expected)
    order = rng.permutation(60)
    assert same_partition(lump(matrix[order][:, order], initial[order]).labels, expected[order])


def test_seeds_and_restarts_do_not_matter(rng):
    matrix, planted = expanded(40, 4, 2, rng)
    expected = lump(matrix, planted % 2)
    other = lump(matrix, planted % 2, random_state=7, n_init=1, n_jobs=2, step=0.5, max_sweeps=1)
    assert np.array_equal(other.labels, expected.labels)
    assert other.random_state == 7


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_names_masses_and_costs_of_an_irreducible_chain(beta, rng):
    matrix, planted = expanded(30, 5, 3, rng)
    names = [f"state {i}" for i in range(30)]
    chain = klump.MarkovChain(0.9 * matrix.toarray() + 0.1 / 30, names)
    told = []
    answer = lump(chain, planted % 2, beta=beta, progress=lambda *step: told.append(step))
    assert sorted(name for group in answer.groups for name in group) == sorted(names)
    assert list(answer.masses) == sorted(answer.masses, reverse=True)
    assert answer.trace[-1] == pytest.approx(answer.cost, abs=1e-10)
    assert answer.cost == pytest.approx(klump.score(chain, answer.mapping).at(beta), abs=1e-10)
    assert told == [(1, 1, answer.trace[-1])]
    assert answer.method == "exact"
    assert answer.notes == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 2}, "n_states=2 is not for method='exact'"),
        ({"tolerance": -0.1}, "tolerance=-0.1"),
        ({"tolerance": 1.5}, "tolerance=1.5"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"tolerance": "small"}, "tolerance='small'"),
        ({"tolerance": True}, "tolerance=True"),
        ({"initial": [0, 1]}, "2 entries"),
        ({"initial": [0, 2, 2]}, "empty"),
        ({"initial": [[0.5, 0.5]] * 3}, "deterministic"),
    ],
)
def test_bad_questions_get_one_clear_error(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        klump.aggregate([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], method="exact", **arguments)
    assert "\n" not in str(caught.value)


def test_more_groups_than_are_kept_dense(monkeypatch, rng):
    matrix, planted = expanded(60, 12, 3, rng)
    chain = klump.MarkovChain(0.9 * matrix + sparse.csr_array(np.full((60, 60), 0.1 / 60)))
    for labels in (planted, planted % 5):
        dense = klump.Aggregation.from_labels(chain, labels)
        expected = dense.costs, dense.bisimulation, dense.lift()
        monkeypatch.setattr(costs_module, "_MAX_DENSE_GROUPS", 4)
        other = klump.Aggregation.from_labels(chain, labels)
        assert not dense.chain.is_sparse
        assert other.chain.is_sparse
        np.testing.assert_allclose(
            other.chain.transition_matrix.toarray(), dense.chain.transition_matrix, atol=1e-15
        )
        assert other.costs.lumpability == pytest.approx(expected[0].lumpability, abs=1e-13)
        assert other.bisimulation.epsilon == pytest.approx(expected[1].epsilon, abs=1e-13)
        lifted = other.lift().transition_matrix.toarray()
        np.testing.assert_allclose(lifted, expected[2].transition_matrix.toarray(), atol=1e-13)
        monkeypatch.undo()


# is_lumpable


@given(chains.lumpable(max_groups=4), chains.seeds)
def test_lumpable_is_told_from_not_lumpable(drawn, seed):
    P, planted = drawn
    assert klump.is_lumpable(P, renumbered(planted))
    assert klump.is_lumpable(sparse.csr_array(P), renumbered(planted))
    labels = renumbered(np.random.default_rng(seed).integers(3, size=len(P)))
    for tolerance in (1e-10, 0.1, 0.4):
        assert klump.is_lumpable(P, labels, tolerance) == is_lumpable(P, labels, tolerance)


def test_is_lumpable_takes_names_answers_and_chains():
    P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    chain = klump.MarkovChain(P)
    assert klump.is_lumpable(chain, ["a", "a", "b"])
    assert not klump.is_lumpable(chain, ["a", "b", "b"])
    assert klump.is_lumpable(chain, ["a", "b", "b"], tolerance=0.4)
    assert klump.is_lumpable(chain, klump.Aggregation.from_labels(chain, [0, 0, 1]))
    assert klump.is_lumpable(np.eye(3), [0, 0, 1])
    with pytest.raises(InvalidArgumentError, match="deterministic"):
        klump.is_lumpable(P, [[0.5, 0.5]] * 3)
    with pytest.raises(InvalidArgumentError, match="tolerance=2"):
        klump.is_lumpable(P, [0, 0, 1], 2)
    with pytest.raises(InvalidArgumentError, match="2 entries"):
        klump.is_lumpable(P, [0, 1])


# Chains that are not irreducible


@pytest.fixture(params=[np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def ruin(request):
    """A fair game between 0 and 6, given up at either end; names count backwards."""
    P = np.zeros((7, 7))
    P[0, 0] = P[6, 6] = 1
    for money in range(1, 6):
        P[money, money - 1] = P[money, money + 1] = 0.5
    return klump.MarkovChain(request.param(P), states=[f"{6 - money} left" for money in range(7)])


def test_an_absorbing_chain_is_lumped(ruin):
    answer = lump(ruin, [0, 1, 1, 1, 1, 1, 0])
    assert answer.labels.tolist() == [0, 1, 2, 3, 2, 1, 0]
    assert answer.groups == [("6 left", "0 left"), ("5 left", "1 left"), ("4 left", "2 left"), ("3 left",)]
    expected = [[1, 0, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]]
    np.testing.assert_allclose(answer.chain.transition_matrix, expected, atol=1e-15)
    certificate = answer.bisimulation
    assert certificate.epsilon < 1e-15
    assert certificate.bound == np.inf
    assert np.isnan(certificate.mean)
    assert certificate.horizon(1000) < 1e-12
    assert answer.trace == ()
    for ask in (lambda: answer.masses, lambda: answer.costs, lambda: answer.cost, lambda: answer.lift()):
        with pytest.raises(ReducibleChainError, match="restart"):
            ask()
    (note,) = answer.notes
    assert note.startswith("the chain is not irreducible")
    assert "'5 left' '1 left'" in str(answer)
    assert note in str(answer)


def test_an_absorbing_chain_is_lumped_approximately():
    P, initial = shots([0.5, 0.504, 0.9])
    answer = lump(P, initial, tolerance=0.01)
    assert answer.labels.tolist() == [0, 0, 1, 2, 3]
    np.testing.assert_allclose(answer.chain.transition_matrix[0], [0, 0, 0.502, 0.498])
    epsilon = exact_epsilon(P, np.full(5, 0.2), answer.labels, 4)
    assert answer.bisimulation.epsilon == pytest.approx(epsilon, abs=1e-15) == pytest.approx(0.002)


def test_lumpable_labels_from_elsewhere_have_a_chain_too(ruin):
    answer = klump.Aggregation.from_labels(ruin, [0, 1, 2, 3, 2, 1, 0])
    assert answer.chain.n_states == 4
    assert "'6 left' '0 left'" in str(answer)
    with pytest.raises(ReducibleChainError):
        klump.Aggregation.from_labels(ruin, [0, 0, 1, 1, 1, 1, 1]).chain  # noqa: B018


def test_saved_and_loaded(ruin, tmp_path):
    answer = lump(ruin, [0, 1, 1, 1, 1, 1, 0])
    answer.save(tmp_path / "answer.npz")
    again = klump.load(tmp_path / "answer.npz")
    assert again.groups == answer.groups
    assert again.original.is_sparse == ruin.is_sparse
    assert np.array_equal(again.chain.transition_matrix, answer.chain.transition_matrix)
    assert str(again) == str(answer)
    with pytest.raises(ReducibleChainError):
        again.costs  # noqa: B018
    assert klump.is_lumpable(ruin, again)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "answer.npz").read_bytes()


def test_a_stationary_distribution_that_is_not_unique_is_not_believed(ruin, tmp_path):
    lump(ruin, [0, 1, 1, 1, 1, 1, 0]).save(tmp_path / "answer.npz")
    with np.load(tmp_path / "answer.npz") as archive:
        content = dict(archive)
    np.savez(tmp_path / "bad.npz", **content, stationary_distribution=np.ones(7) / 7)
    with pytest.raises(FileFormatError, match="damaged"):
        klump.load(tmp_path / "bad.npz")


# Classic models


def knuth_yao(_):
    """A fair die by tossing coins: seven states that toss, six that show a number."""
    ways = [(1, 2), (3, 4), (5, 6), (1, 7), (8, 9), (10, 11), (2, 12)]
    P = np.zeros((13, 13))
    for state, way in enumerate(ways):
        P[state, list(way)] = 0.5
    P[range(7, 13), range(7, 13)] = 1
    return P, ["tossing"] * 7 + ["shown"] * 6


def herman(processes):
    """Self-stabilisation on a ring: a process with its left neighbour's bit tosses a coin, others copy that bit."""
    n = 2**processes
    P = np.zeros((n, n))
    labels = []
    for state in range(n):
        bits = [state >> i & 1 for i in range(processes)]
        token = [bits[i] == bits[i - 1] for i in range(processes)]
        labels.append("stable" if sum(token) == 1 else "unstable")
        successors = {0: 1.0}
        for i in range(processes):
            nexts = {}
            for found, weight in successors.items():
                for bit in (0, 1) if token[i] else (bits[i - 1],):
                    nexts[found | bit << i] = weight * (0.5 if token[i] else 1.0)
            successors = nexts
        P[state, list(successors)] = list(successors.values())
    return P, labels


def machines(count):
    """Identical machines that fail and are repaired one by one or together; most of them must work."""
    one = np.array([[0.95, 0.05], [0.3, 0.7]])
    P = np.ones((1, 1))
    for _ in range(count):
        P = np.kron(P, one)
    failed = [bin(state).count("1") for state in range(2**count)]
    return P, ["up" if 2 * down < count else "down" for down in failed]


def election(processes, numbers=3):
    """All draw a number until the largest is drawn by one alone: state 0 draws, the last one has a leader."""
    draws = np.indices((numbers,) * processes).reshape(processes, -1).T
    n = len(draws) + 2
    P = np.zeros((n, n))
    P[0, 1:-1] = 1 / len(draws)
    for state, drawn in enumerate(draws, start=1):
        P[state, -1 if (drawn == drawn.max()).sum() == 1 else 0] = 1
    P[-1, -1] = 1
    return P, ["electing"] * (n - 1) + ["elected"]


def gossip(members):
    """A rumour among people who call each other at random: who knows it, and whether all do."""
    n = 2**members - 1  # at least one knows it
    P = np.zeros((n, n))
    for state in range(n):
        for caller in range(members):
            for called in range(members):
                knows = state + 1
                if called != caller:
                    heard = knows | 1 << called if knows >> caller & 1 else knows
                    P[state, heard - 1] += 1 / (members * (members - 1))
    return P, ["some"] * (n - 1) + ["all"]


MODELS = {
    "die": (knuth_yao, None, 5),
    "herman 5": (herman, 5, None),
    "herman 7": (herman, 7, None),
    "machines": (machines, 6, 7),
    "election": (election, 4, 4),
    "gossip": (gossip, 6, 6),
}


@pytest.mark.parametrize("name", MODELS)
def test_classic_models_have_the_known_quotient(name):
    model, size, known = MODELS[name]
    P, labels = model(size)
    answer = lump(sparse.csr_array(P), labels)
    assert same_partition(answer.labels, coarsest_lumping(P, renumbered(labels)))
    assert answer.n_states < len(P)
    assert known in (None, answer.n_states)


@pytest.mark.parametrize("name", MODELS)
def test_the_quotient_is_as_large_as_storms(name):
    model, size, _ = MODELS[name]
    P, labels = model(size)
    assert lump(P, labels).n_states == storm_quotient(P, labels)


def storm_quotient(P, labels):
    """Number of states that strong bisimulation leaves in Storm, where every label is observed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stormpy = pytest.importorskip("stormpy", minversion="2.0")
        from stormpy import datastructures, models, transformations

    n = len(P)
    builder = datastructures.SparseMatrixBuilder[float](n, n, np.count_nonzero(P))
    for row, column in np.argwhere(P):
        builder.add_next_value(int(row), int(column), float(P[row, column]))
    labeling = models.StateLabeling(n)
    for label in ("init", *sorted(set(labels))):
        labeling.add_label(label)
    labeling.add_label_to_state("init", 0)
    for state, label in enumerate(labels):
        labeling.add_label_to_state(label, state)
    parts = models.SparseModelComponents(transition_matrix=builder.build(), state_labeling=labeling)
    observed = stormpy.parse_properties(";".join(f'P=? [F "{label}"]' for label in sorted(set(labels))))
    return transformations.perform_bisimulation(models.SparseDtmc(parts), observed).nr_states
