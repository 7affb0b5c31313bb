"""First-passage times, committors and absorption probabilities against exact fractions and other packages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import chains
import klump
import reference
from klump.dynamics import killed
from klump.errors import ConvergenceError, InvalidArgumentError, ReducibleChainError

WEATHER = np.array([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]])
GAMBLER = np.array(
    [[1, 0, 0, 0, 0], [0.6, 0, 0.4, 0, 0], [0, 0.6, 0, 0.4, 0], [0, 0, 0.6, 0, 0.4], [0, 0, 0, 0, 1.0]]
)


def nearly_decomposable(coupling):
    P = np.array([[0.5, 0.5, 0, 0], [0.3, 0.7, 0, 0], [0, 0, 0.2, 0.8], [0, 0, 0.6, 0.4]], dtype=float)
    P[0, 2] = P[3, 1] = coupling
    return P


@pytest.mark.parametrize("kind", chains.KINDS)
def test_times_between_all_states_equal_those_of_exact_fractions(kind, rng):
    for n in (2, 6, 9):
        P = chains.random_matrix(kind, n + n % 2, rng)
        found = klump.MarkovChain(P).first_passage_times()
        for target in range(len(P)):
            expected = reference.first_passage_times_to(P, [target])
            np.testing.assert_allclose(found[:, target], expected, rtol=1e-12)


@pytest.mark.parametrize("coupling", [1e-3, 1e-8, 1e-13, 1e-30])
def test_times_are_relatively_accurate_however_rarely_blocks_are_left(coupling):
    """I - P loses 16 digits at a coupling of 1e-16; elimination without subtractions loses none."""
    P = nearly_decomposable(coupling)
    chain = klump.MarkovChain._from_parts(P, None, None, np.arange(4), ())
    found = chain.first_passage_times()
    for target in range(4):
        np.testing.assert_allclose(
            found[:, target], reference.first_passage_times_to(P, [target]), rtol=1e-13
        )
    np.testing.assert_allclose(
        chain.first_passage_times(target=[2, 3])[:2],
        reference.first_passage_times_to(P, [2, 3])[:2],
        rtol=1e-13,
    )


@pytest.mark.parametrize("kind", ["dense", "sparse", "decomposable", "nonreversible", "reversible"])
def test_first_passage_and_committors_equal_those_of_deeptime(kind, rng):
    analysis = pytest.importorskip("deeptime.markov.tools.analysis")
    for n in (5, 12, 30):
        P = chains.random_matrix(kind, n, rng)
        if kind == "decomposable":  # deeptime solves with I - P
            P = chains.normalized(P + 1e-3)
        chain = klump.MarkovChain(P)
        source, target = [0, 1], [2, 4]
        assert chain.first_passage_times(target, source) == pytest.approx(
            float(np.ravel(analysis.mfpt(P, target, origin=source))[0]), rel=1e-8
        )
        for number in range(n):
            np.testing.assert_allclose(chain.first_passage_times(number), analysis.mfpt(P, number), rtol=1e-8)
        for forward in (True, False):
            np.testing.assert_allclose(
                chain.committor(source, target, forward=forward),
                analysis.committor(P, source, target, forward=forward),
                atol=1e-8,
            )


@pytest.mark.filterwarnings("ignore")
def test_first_passage_and_committors_equal_those_of_pydtmc(rng):
    pydtmc = pytest.importorskip("pydtmc")
    for kind in ("dense", "sparse", "reversible", "nonreversible"):
        P = chains.random_matrix(kind, 7, rng)
        chain, other = klump.MarkovChain(P), pydtmc.MarkovChain(P.tolist())
        np.testing.assert_allclose(
            chain.first_passage_times(0), other.mean_first_passage_times_to(0), rtol=1e-8
        )
        np.testing.assert_allclose(
            chain.committor([0], [2]), other.committor_probabilities("forward", [0], [2]), atol=1e-8
        )


@pytest.mark.parametrize("kind", chains.KINDS)
def test_absorption_probabilities_equal_those_of_exact_fractions(kind, rng):
    P = chains.random_matrix(kind, 8, rng)
    targets = [[0], [3, 4], [7]]
    found = klump.MarkovChain(P).absorption_probabilities(targets)
    np.testing.assert_allclose(found, reference.hitting_probabilities(P, targets), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        klump.MarkovChain(P).committor(0, 7), reference.hitting_probabilities(P, [[0], [7]])[:, 1], rtol=1e-11
    )


def test_the_ruin_of_a_gambler():
    """The textbook's chain: absorbing, without a stationary distribution."""
    chain = klump.MarkovChain(GAMBLER)
    ratio = 0.6 / 0.4
    win = (ratio ** np.arange(5) - 1) / (ratio**4 - 1)
    np.testing.assert_allclose(chain.absorption_probabilities()[:, 1], win, rtol=1e-14)
    np.testing.assert_allclose(chain.committor(0, 4), win, rtol=1e-14)
    duration = np.arange(5) / 0.2 - 4 / 0.2 * win
    np.testing.assert_allclose(chain.first_passage_times([0, 4]), duration, rtol=1e-13, atol=1e-13)
    # Either end alone may never be reached.
    assert np.isinf(chain.first_passage_times(0)[1:]).all()
    assert np.isinf(chain.first_passage_times()[1:4, 4]).all()
    with pytest.raises(ReducibleChainError):
        chain.committor(0, 4, forward=False)


def test_targets_that_are_not_reached():
    """From the state 0 the chain is lost with probability 1/2 before it reaches 1."""
    P = np.array([[0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
    chain = klump.MarkovChain(P, states=["start", "goal", "trap", "gate"])
    assert chain.absorption_probabilities(["goal"]).ravel().tolist() == [0.5, 1, 0, 0.5]
    assert chain.first_passage_times("goal").tolist() == [np.inf, 0, np.inf, np.inf]
    assert chain.first_passage_times("start").tolist() == [0, np.inf, np.inf, 1]
    assert chain.committor("trap", "goal").tolist() == [0.5, 1, 0, 0.5]


def test_backward_and_forward_committors_of_a_reversible_chain_sum_to_1(rng):
    chain = klump.MarkovChain(chains.random_matrix("reversible", 9, rng))
    forward, backward = chain.committor(0, [3, 5]), chain.committor(0, [3, 5], forward=False)
    np.testing.assert_allclose(forward + backward, 1.0, atol=1e-12)


def test_sparse_chains_give_the_same_as_dense_ones(rng):
    P = chains.random_matrix("sparse", 40, rng)
    dense, thin = klump.MarkovChain(P), klump.MarkovChain(sparse.csr_array(P))
    np.testing.assert_array_equal(dense.first_passage_times(), thin.first_passage_times())
    np.testing.assert_allclose(dense.committor([0, 1], 5), thin.committor([0, 1], 5), rtol=1e-13)


@pytest.fixture
def low_limits(monkeypatch):
    """Sparse elimination, or iteration, on chains that are small enough for the dense solver."""
    monkeypatch.setattr(killed, "DENSE_LIMIT", 5)
    monkeypatch.setattr(killed, "_FULL_LIMIT", 5)


def path(coupling, rng):
    """Random walk on a path of 16 states whose halves are coupled."""
    P = np.diag(rng.random(16)) + np.diag(rng.random(15), 1) + np.diag(rng.random(15), -1)
    P[7, 8] = P[8, 7] = coupling
    return chains.normalized(P)


@pytest.mark.parametrize("coupling", [0.1, 1e-8, 1e-14])
def test_sparse_elimination_is_as_accurate_as_dense(coupling, low_limits, monkeypatch, rng):
    monkeypatch.setattr(killed, "_solve_iteratively", lambda *_: None)
    for P in (path(coupling, rng), chains.random_matrix("sparse", 12, rng)):
        chain = klump.MarkovChain(sparse.csr_array(P))
        for target in ([3], [0, 11]):
            expected = reference.first_passage_times_to(P, target)
            np.testing.assert_allclose(chain.first_passage_times(target), expected, rtol=1e-12)
        found = chain.absorption_probabilities([[0], [7, 8]])
        np.testing.assert_allclose(found, reference.hitting_probabilities(P, [[0], [7, 8]]), rtol=1e-11)


@pytest.mark.parametrize("kind", ["dense", "sparse", "nonreversible", "reversible", "periodic"])
def test_iteration_meets_its_tolerance(kind, low_limits, monkeypatch, rng):
    monkeypatch.setattr(killed, "factorise", lambda *_: None)
    P = chains.random_matrix(kind, 60, rng)
    found = klump.MarkovChain(sparse.csr_array(P)).first_passage_times([3])
    np.testing.assert_allclose(found, reference.first_passage_times_to(P, [3]), rtol=1e-8)


def test_a_system_that_no_method_solves_is_an_error(monkeypatch):
    monkeypatch.setattr(killed, "factorise", lambda *_: None)
    monkeypatch.setattr(killed, "_solve_iteratively", lambda *_: None)
    with pytest.raises(ConvergenceError, match="aggregate the chain first"):
        klump.MarkovChain(sparse.csr_array(WEATHER)).first_passage_times(0)


def test_states_by_name_index_label_and_set():
    chain = klump.MarkovChain(WEATHER, states=["a", "b", "c"], labels={"wet": ["b", "c"]})
    times = chain.first_passage_times()
    np.testing.assert_array_equal(chain.first_passage_times("a"), times[:, 0])
    np.testing.assert_array_equal(chain.first_passage_times(1), times[:, 1])
    np.testing.assert_array_equal(chain.first_passage_times(np.int64(2)), times[:, 2])
    np.testing.assert_array_equal(
        chain.first_passage_times("wet"), chain.first_passage_times(np.array([1, 2]))
    )
    np.testing.assert_allclose(chain.first_passage_times(source="a"), times[0])
    mu = chain.stationary_distribution
    expected = (mu[1] * times[1, 0] + mu[2] * times[2, 0]) / (mu[1] + mu[2])
    assert chain.first_passage_times("a", source="wet") == pytest.approx(expected, rel=1e-14)
    assert chain.absorption_probabilities({"left": "a", "right": 2}).shape == (3, 2)


def test_numbers_are_names_where_a_name_is_a_number():
    """An index would be mistaken for a name, or a name for an index."""
    chain = klump.MarkovChain(WEATHER, states=[1, 2, 3])
    np.testing.assert_array_equal(chain.first_passage_times(1), [0, 12, 22])
    with pytest.raises(InvalidArgumentError, match="target=0 is neither"):
        chain.first_passage_times(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda chain: chain.first_passage_times("x"), "target='x' is neither the name nor the index"),
        (lambda chain: chain.first_passage_times([]), "target=.* has no state"),
        (lambda chain: chain.first_passage_times(3), "target=3 is neither"),
        (
            lambda chain: chain.committor(["a"], ["a", "b"]),
            "target has the state 'a', which is in the source",
        ),
        (lambda chain: chain.absorption_probabilities(["a", ["a", "b"]]), "targets has the state 'a' twice"),
        (lambda chain: chain.absorption_probabilities([]), "targets has no target"),
    ],
)
def test_states_that_do_not_exist_are_errors(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call(klump.MarkovChain(WEATHER, states=["a", "b", "c"]))


def test_the_matrix_of_a_large_chain_is_refused():
    n = 5001
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    chain = klump.MarkovChain(ring)
    with pytest.raises(InvalidArgumentError, match=r"limited to 5,000 states .* pass target"):
        chain.first_passage_times()
    assert chain.first_passage_times(0).tolist() == [0, *range(n - 1, 0, -1)]


def rare_end(n=60):
    """Random walk whose masses 2e-8^i underflow, and whose times 5e7^i overflow."""
    P = np.diag(np.full(n - 1, 1e-8), 1) + np.diag(np.full(n - 1, 0.5), -1)
    return P + np.diag(1 - P.sum(axis=1))


def test_times_beyond_the_range_of_floats_are_errors():
    chain = klump.MarkovChain(rare_end())
    with pytest.raises(ConvergenceError, match="range of float64; pass target"):
        chain.first_passage_times()
    with pytest.raises(ConvergenceError, match="range of float64"):
        chain.committor(0, 59, forward=False)
    times = chain.first_passage_times(0)
    assert times[1] == pytest.approx(1 / (0.5 - 1e-8), rel=1e-7)
    assert np.isfinite(times).all()


def test_sets_whose_mass_underflows_are_errors():
    chain = klump.MarkovChain(rare_end())
    with pytest.raises(InvalidArgumentError, match=r"source has a stationary mass below .*58, 59"):
        chain.first_passage_times(0, [58, 59])
    with pytest.raises(InvalidArgumentError, match=r"start has a stationary mass below .*58, 59"):
        chain.simulate(3, start=[58, 59])
    assert chain.first_passage_times(0, 59) > 0
    assert chain.simulate(3, start=59)[0] == 59


def test_masks_are_sets():
    chain = klump.MarkovChain(WEATHER)
    expected = chain.first_passage_times([0, 2])
    for mask in (np.array([True, False, True]), [True, False, True]):
        np.testing.assert_array_equal(chain.first_passage_times(mask), expected)
    with pytest.raises(
        InvalidArgumentError, match="target is a mask of length 2, but the chain has 3 states"
    ):
        chain.first_passage_times(np.array([True, False]))
    with pytest.raises(InvalidArgumentError, match="has no state"):
        chain.first_passage_times(np.zeros(3, bool))
    for given in (True, np.True_, [0, True]):
        with pytest.raises(InvalidArgumentError, match="neither the name nor the index"):
            chain.first_passage_times(given)
    named = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]], states=[True, False])
    assert named.first_passage_times(False, True) == 2
