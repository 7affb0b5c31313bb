"""``klump.select``: every column by its definition, the recommendation, and what is refused."""

import json
import math

import numpy as np
import pytest

import klump
from counted import COUNTS, FEW
from klump.aggregation.agreement import adjusted_rand_index
from klump.documents import plain
from klump.errors import InvalidArgumentError, ReducibleChainError
from klump.sources.random_chains import block_chain, random_chain

CHAIN, PLANTED = block_chain((8, 10, 12), alpha=0.8, eps=0.3, random_state=4)


@pytest.fixture(scope="module")
def choice():
    return klump.select(CHAIN, range(2, 6), [0.5, 1.0])


def test_the_planted_groups_are_recommended(choice):
    assert (choice.n_states, choice.beta) == (3, 0.5)
    assert adjusted_rand_index(choice.aggregation.labels, PLANTED) == 1.0
    assert choice.reason.startswith("3 groups at beta 0.5: the step from 2 lowers the cost by ")
    assert "the next step gains" in choice.reason
    assert "no more than chance" in choice.reason
    assert "restarts agree (adjusted Rand index 1.00)" in choice.reason
    assert repr(choice) == "Selection(30 states: 3 groups, beta=0.5)"
    assert "3 groups stand out at beta 1 (adjusted Rand index of the groups 1.00), too" in choice.notes


def test_rows_are_those_of_a_grid(choice):
    grid = klump.grid(CHAIN, range(2, 8), [0.5, 1.0], effort="quick")
    assert [(row.n_states, row.beta) for row in choice.table] == [
        (k, b) for b in (0.5, 1.0) for k in range(2, 6)
    ]
    for row in choice.table:
        cell = grid[row.n_states, row.beta]
        assert row.cost == cell.cost
        assert (row.lumpability, row.predictability) == (cell.costs.lumpability, cell.costs.predictability)
        assert row.bottleneck == cell.costs.bottleneck
        assert row.kept == cell.kept
        assert (row.epsilon, row.mean_variation) == (cell.bisimulation.epsilon, cell.bisimulation.mean)
        single = row.beta * CHAIN.redundancy_rate
        gains = -np.diff([single, *(grid[k, row.beta].cost for k in range(2, 8))])
        assert row.gain == pytest.approx(gains[row.n_states - 2], abs=1e-12)
        later = max(*gains[row.n_states - 1 :], 1e-3 * single)
        assert row.bend == pytest.approx(gains[row.n_states - 2] / later, rel=1e-9)
    np.testing.assert_array_equal(choice.aggregation.labels, grid[3, 0.5].labels)


def test_gaps_are_those_of_the_spectrum(choice):
    moduli = np.sort(np.abs(np.linalg.eigvals(CHAIN.transition_matrix)))[::-1]
    np.testing.assert_allclose(choice.spectrum, moduli[:6], atol=1e-9)
    for row in choice.table:
        assert row.gap == pytest.approx(moduli[row.n_states - 1] - moduli[row.n_states], abs=1e-9)
    assert "the largest gap of the spectrum is after 3 eigenvalues" in " ".join(choice.notes)


def test_restarts_agree_where_there_are_groups_alone(choice):
    assert choice.table[3, 0.5].restart_agreement == 1.0
    without = klump.select(CHAIN, [3], [0.5], n_restarts=0, **FEW)
    assert without.table[3, 0.5].restart_agreement is None
    structureless = klump.select(random_chain(40), [8], [0.5], method="sequential", n_init=1, n_restarts=3)
    assert structureless.table[8, 0.5].restart_agreement < 0.5


def test_resamples_are_those_of_the_bootstrap():
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    choice = klump.select(chain, [2, 3, 4], [0.5, 1.0], n_resamples=6, seed=2, **FEW)
    for row in choice.table:
        sure = klump.bootstrap(COUNTS, row.n_states, row.beta, n_samples=6, seed=2, **FEW)
        assert row.resample_agreement == pytest.approx(sure.agreement.mean(), abs=1e-12)
    assert len({row.resample_agreement for row in choice.table}) > 1


def test_whole_sequences_are_resampled():
    walks = np.random.default_rng(0).integers(4, size=(20, 30))
    counts = klump.SequenceCounts(list(walks))
    choice = klump.select(counts, [2, 3], [0.5], n_resamples=4, **FEW)
    sure = klump.bootstrap(counts, 2, n_samples=4, **FEW)
    assert choice.table[2, 0.5].resample_agreement == pytest.approx(sure.agreement.mean(), abs=1e-12)


@pytest.mark.parametrize(
    "chain",
    [
        CHAIN,
        klump.MarkovChain(COUNTS / 7.3, normalize=True),
        klump.MarkovChain(COUNTS + COUNTS.T, normalize=True),
    ],
    ids=["probabilities", "weights", "symmetric weights"],
)
def test_only_counts_are_resampled(chain):
    assert klump.select(chain, [2], [0.5], **FEW).table[2, 0.5].resample_agreement is None
    with pytest.raises(InvalidArgumentError, match="n_resamples=3 needs the numbers of observed transitions"):
        klump.select(chain, [2], [0.5], n_resamples=3, **FEW)


def test_held_out_sequences_have_a_column_and_a_note():
    chain = klump.MarkovChain.from_counts(COUNTS, states="abcdefg")
    choice = klump.select(chain, [2, 3], [0.5], held_out=["abababcdcdefgz"], n_resamples=0, **FEW)
    assert all(0 < row.held_out < 4 for row in choice.table)
    best = min(choice.table, key=lambda row: row.held_out)
    notes = " ".join(choice.notes)
    assert (
        f"held-out sequences take the fewest bits per step, {best.held_out:.4f}, with {best.n_states}"
        in notes
    )
    assert "1 held-out transition of 13 have a state that the chain lacks, and are left out" in notes
    assert "held-out" in str(choice.table).splitlines()[0]
    assert "held-out" not in str(klump.select(chain, [2], [0.5], n_resamples=0, **FEW).table)


def test_a_structureless_chain_has_no_clear_answer():
    choice = klump.select(random_chain(40, random_state=1), range(2, 7), [0.5])
    assert choice.n_states is None
    assert choice.beta is None
    assert choice.aggregation is None
    assert choice.reason.startswith(
        "no clear answer: the cost falls gradually. The most outstanding step, to "
    )
    assert repr(choice) == "Selection(40 states: no clear answer)"
    assert choice.to_dict()["n_groups"] is None


def test_trivial_groups_are_not_recommended():
    """At beta = 0 every partition of a lumpable chain costs about nothing, and there is nothing to gain."""
    choice = klump.select(CHAIN, [2, 3], [0.0, 0.1], **FEW)
    assert choice.n_states is None


def test_two_levels_are_both_named():
    between = np.kron(np.eye(2), np.full((2, 2), 0.17)) + 0.005 + 0.4 * np.eye(4)
    labels = np.repeat(np.arange(4), 9)
    blocks = between[np.ix_(labels, labels)] * np.random.default_rng(0).uniform(0.8, 1.2, (36, 36))
    choice = klump.select(klump.MarkovChain(blocks, normalize=True), range(2, 7), [0.5])
    assert choice.n_states == 4
    assert any(note.startswith("2 groups, a coarser level, stand out as well") for note in choice.notes)


def test_an_exactly_lumpable_chain_has_a_bend_without_end():
    between = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    choice = klump.select(np.kron(between, np.full((4, 4), 0.25)), range(2, 6), [0.5])
    assert choice.n_states == 3
    assert choice.aggregation.costs.predictability == pytest.approx(0, abs=1e-9)


def test_same_seed_same_answer_on_every_engine():
    documents = [
        json.dumps(plain(klump.select(CHAIN, [2, 3, 4], [0.5], seed=3, n_jobs=jobs, **FEW).to_dict()))
        for jobs in (None, 2, None)
    ]
    assert len(set(documents)) == 1


def test_a_sparse_chain_stays_sparse_and_gives_the_same_answer():
    from scipy import sparse

    one, other = (
        klump.select(P, [2, 3, 4], [0.5], **FEW)
        for P in (CHAIN.transition_matrix, sparse.csr_array(CHAIN.transition_matrix))
    )
    assert one.n_states == other.n_states == 3
    assert other.original.is_sparse


def test_table_as_values_and_frame(choice):
    pytest.importorskip("pandas")
    frame = choice.table.to_frame()
    assert list(frame["n_states"]) == [row.n_states for row in choice.table]
    assert frame["cost"].tolist() == [row.cost for row in choice.table]
    document = choice.to_dict()
    assert [row["n_groups"] for row in document["rows"]] == frame["n_states"].tolist()
    assert document["labels"] == choice.aggregation.labels.tolist()
    lines = str(choice).splitlines()
    assert lines[0].split()[:5] == ["groups", "beta", "cost", "gain", "bend"]
    assert len({len(line) for line in lines[:9]}) == 1
    with pytest.raises(InvalidArgumentError, match=r"n_states=9, beta=0\.5 is not in this table"):
        choice.table[9, 0.5]
    with pytest.raises(InvalidArgumentError, match="3 is not a cell of the table"):
        choice.table[3]


@pytest.mark.parametrize("when", [1, 5, 12])
def test_ctrl_c_keeps_what_is_found(when):
    def press(done, total, best_cost):
        assert math.isnan(best_cost)
        if done == when:
            raise KeyboardInterrupt

    choice = klump.select(CHAIN, [2, 3, 4], [0.5, 1.0], n_restarts=1, **FEW, progress=press)
    assert choice.interrupted
    assert choice.interrupted_after is None
    assert choice.n_states is None
    assert choice.reason == "no answer: interrupted before all searches were complete"
    assert len(choice.table) == min(when, 6)
    assert str(choice).endswith("interrupted: this is what was found so far")


def test_the_time_limit_keeps_what_is_found():
    choice = klump.select(CHAIN, [2, 3], [0.5], time_limit=1e-9)
    assert choice.interrupted_after == 1e-9
    assert [row.interrupted for row in choice.table] == [True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 3}, "n_states=3 must be several whole numbers, like range"),
        ({"n_states": []}, "n_states is empty"),
        ({"n_states": [1, 2]}, "n_states=1 is a single group of all states"),
        ({"n_states": [2, 31]}, "n_states=31 must lie between 1 and the 30 states of the chain"),
        ({"betas": []}, "betas is empty"),
        ({"betas": [2]}, "beta=2 must lie between 0"),
        ({"method": "stochastic"}, "method='stochastic' returns soft maps"),
        ({"method": "exact"}, "method='exact' finds the number of groups itself"),
        ({"n_shuffles": 0}, "n_shuffles=0 must be a whole number"),
        ({"n_restarts": -1}, "n_restarts=-1 must be a whole number"),
        ({"effort": "high"}, "effort='high' is not known"),
        ({"effort": "quick", "method": "sequential"}, "effort='quick' is not for method='sequential'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        klump.select(CHAIN, **options)


def test_chains_without_groups_to_choose():
    with pytest.raises(InvalidArgumentError, match="a chain of one state has no groups to choose"):
        klump.select([[1.0]])
    with pytest.raises(ReducibleChainError):
        klump.select([[1.0, 0.0], [0.5, 0.5]])
    two = klump.select([[0.5, 0.5], [0.4, 0.6]])
    assert two.reason == "no clear answer: there is no larger number of groups to compare with"


@pytest.mark.long
def test_recovery_on_other_chains_than_those_of_the_benchmark():
    right = refused = 0
    for seed in range(100, 105):
        k = 2 + seed % 5
        chain, _ = block_chain([80 // k] * k, (0.5, 0.95)[seed % 2], 0.4, random_state=seed)
        right += klump.select(chain, n_restarts=1).n_states == k
        refused += klump.select(random_chain(80, random_state=seed), n_restarts=1).n_states is None
    assert right >= 4
    assert refused == 5
