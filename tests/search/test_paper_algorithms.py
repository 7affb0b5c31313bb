"""Algorithms 1 and 2 against literal versions of the paper's pseudocode."""

import itertools

import numpy as np
import pytest

import chains
import klump
from klump.aggregation.numbering import number_along_path
from klump.search.annealing import schedule
from klump.sources.random_chains import block_chain, random_chain
from reference import algorithm_1, algorithm_2, cost_of_labels, same_partition


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("allow_empty", [False, True])
def test_algorithm_1_takes_the_steps_of_the_pseudocode(beta, allow_empty):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        chain = random_chain(7, kind="dense", random_state=rng)
        start = rng.permutation(np.arange(7) % 3)
        ours = klump.aggregate(
            chain, 3, beta=beta, method="sequential", initial=start, allow_empty=allow_empty
        )
        law = np.asarray(chain.transition_matrix), chain.stationary_distribution
        theirs = algorithm_1(*law, start, 3, beta, 100, allow_empty)
        assert same_partition(ours.labels, theirs)
        assert ours.cost == pytest.approx(cost_of_labels(*law, theirs, 3, beta), abs=1e-10)


SWEEPS = (1, 2, 50)


def start_with_gaps(n, k, rng):
    """A start map that leaves at least one group empty."""
    labels, empty = rng.integers(k, size=n), rng.integers(k)
    labels[labels == empty] = (empty + 1) % k
    return labels


# Groups of a periodic chain may tie up to rounding, and the pseudocode does not define the tie-break.
@pytest.mark.parametrize("kind", [kind for kind in chains.KINDS if kind != "periodic"])
def test_algorithms_1_and_2_are_the_pseudocode_empty_groups_included(kind, rng):
    """42 chains at 1, 2 and 50 sweeps: the labels of a literal transcription, and its numbers along the path."""
    for _ in range(7):
        n, k = 6, int(rng.integers(3, 5))
        P, start = chains.random_matrix(kind, n, rng), start_with_gaps(n, k, rng)
        law = P, klump.MarkovChain(P).stationary_distribution
        for max_sweeps in SWEEPS:
            ask = {"initial": start, "allow_empty": True, "max_sweeps": max_sweeps}
            beta = float(rng.choice([0.0, 0.3, 0.5, 0.8, 1.0]))
            ours = klump.aggregate(P, k, beta=beta, method="sequential", **ask)
            assert same_partition(ours.labels, algorithm_1(*law, start, k, beta, max_sweeps))
            theirs = algorithm_2(*law, start, k, 0.0, 0.25, max_sweeps)
            path = klump.beta_path(P, k, betas=[beta for beta, _ in theirs], step=0.25, **ask)
            for answer, (beta, labels) in zip(path, theirs, strict=True):
                assert same_partition(answer.labels, labels)
                assert answer.n_states == len(set(labels))
                assert answer.cost == pytest.approx(cost_of_labels(*law, labels, k, beta), abs=1e-12)
            annealed = klump.aggregate(P, k, beta=0.0, method="annealing", step=0.25, **ask)
            assert same_partition(annealed.labels, theirs[-1][1])


def test_groups_keep_their_numbers_along_a_path_when_one_runs_empty(rng):
    """A number of klump's stands for one number of the pseudocode, as long as that group has members."""
    emptied = 0
    for _ in range(30):
        P = chains.random_matrix("dense", 7, rng)
        start = rng.integers(4, size=7)
        law = P, klump.MarkovChain(P).stationary_distribution
        theirs = [labels for _, labels in algorithm_2(*law, start, 4, 0.0, 0.25, 50)]
        path = klump.beta_path(
            P, 4, betas=[1, 0.75, 0.5, 0.25, 0], step=0.25, initial=start, allow_empty=True
        )
        alive = [set(labels) for labels in theirs]
        refilled = any(later - earlier for earlier, later in itertools.pairwise(alive))
        number = {}
        for answer, labels in zip(path, theirs, strict=True):
            if not refilled:
                for ours, other in zip(answer.labels.tolist(), labels, strict=True):
                    assert number.setdefault(other, ours) == ours
            assert set(answer.labels.tolist()) == set(range(answer.n_states))
        emptied += alive[-1] < alive[0] and not refilled
    assert emptied >= 5


def test_a_group_that_is_filled_again_is_a_new_one():
    steps = [np.array(labels) for labels in ([0, 1, 2], [0, 0, 2], [0, 1, 2], [1, 1, 2])]
    numbered = number_along_path(steps, rank=np.array([0, 1, 2], dtype=np.int32))
    # The second group runs empty and comes back; then the first runs empty: the others move up.
    assert [labels.tolist() for labels in numbered] == [[1, 2, 0], [1, 1, 0], [1, 2, 0], [1, 1, 0]]


def test_the_trace_at_beta_1_is_that_of_the_only_run_there():
    chain, _ = block_chain((8, 8, 16), alpha=0.5, eps=0.4, random_state=1)
    start = np.random.default_rng(0).permutation(np.arange(32) % 3)
    path = klump.beta_path(chain, 3, betas=[1, 0.9], initial=start)
    assert path[0].trace[0] == pytest.approx(klump.score(chain, start).at(1), abs=1e-12)
    assert len(path[0].trace) > 2
    assert path[0].trace[-1] == pytest.approx(path[0].cost, abs=1e-12)
    assert path[1].trace[0] == pytest.approx(path[0].costs.at(0.9), abs=1e-12)


def test_an_initial_map_with_empty_groups_needs_allow_empty():
    P = chains.random_matrix("dense", 6, np.random.default_rng(0))
    ask = {"beta": 0.5, "method": "sequential"}
    for start, words in (
        ([0, 0, 2, 2, 2, 0], "initial leaves group 1 empty.*allow_empty=True"),
        ([0, 0, 1, 1, 1, 0], "initial has 2 groups"),
    ):
        with pytest.raises(klump.errors.InvalidArgumentError, match=words):
            klump.aggregate(P, 3, initial=start, **ask)
        assert klump.aggregate(P, 3, initial=start, allow_empty=True, **ask).n_states <= 3
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"initial has 4 groups.*at most 3"):
        klump.aggregate(P, 3, initial=[0, 1, 2, 3, 0, 0], allow_empty=True, **ask)
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"initial has 1099511627776 at state 5"):
        klump.aggregate(P, 3, initial=[0, 1, 2, 0, 0, 2**40], allow_empty=True, **ask)


def test_a_published_run_can_be_continued(rng):
    """Sweep by sweep, each from where the last one ended, as in one run."""
    continued = 0
    for _ in range(20):
        P = chains.random_matrix("dense", 8, rng)
        start = rng.integers(4, size=8)
        ask = {"beta": 0.0, "method": "sequential", "allow_empty": True}
        whole = klump.aggregate(P, 4, initial=start, max_sweeps=3, **ask)
        labels = start
        for _ in range(3):
            labels = klump.aggregate(P, 4, initial=labels, max_sweeps=1, **ask).labels
        assert same_partition(whole.labels, labels)
        continued += whole.n_states < 4
    assert continued > 0


def test_algorithm_2_keeps_every_intermediate_aggregation():
    chain = random_chain(7, kind="dense", random_state=4)
    start = np.arange(7) % 3
    betas = [1.0, 0.75, 0.5, 0.25, 0.0]
    path = klump.beta_path(chain, 3, betas=betas, initial=start, step=0.25)
    law = np.asarray(chain.transition_matrix), chain.stationary_distribution
    theirs = algorithm_2(*law, start, 3, 0.0, 0.25, 100, allow_empty=False)
    assert path.betas.tolist() == [beta for beta, _ in theirs] == betas
    for answer, (beta, labels) in zip(path, theirs, strict=True):
        assert same_partition(answer.labels, labels)
        assert answer.cost == pytest.approx(cost_of_labels(*law, labels, 3, beta), abs=1e-10)


def test_a_path_holds_what_annealing_finds_for_each_beta():
    chain, _ = block_chain((8, 8, 16), alpha=0.5, eps=0.4, random_state=1)
    path = klump.beta_path(chain, 3, n_init=3)
    assert len(path) == 11
    for answer in path:
        alone = klump.aggregate(chain, 3, beta=answer.beta, method="annealing", n_init=3)
        assert alone.cost == pytest.approx(answer.cost, abs=1e-12)
    assert path.at(0.3).beta == pytest.approx(0.3)
    with pytest.raises(klump.errors.InvalidArgumentError, match="not on this path"):
        path.at(0.123)


def test_restarts_at_beta_1_help():
    chain, _ = block_chain((8, 8, 16), eps=0.7, random_state=3)
    one = klump.beta_path(chain, 4, betas=[1], n_init=1, random_state=5)[0].cost
    many = klump.beta_path(chain, 4, betas=[1], n_init=30, random_state=5)[0].cost
    assert many < one


def test_schedules_step_down_to_the_target_beta():
    assert schedule([0.5], 0.25) == [1.0, 0.75, 0.5]
    assert schedule([1.0], 0.1) == [1.0]
    assert schedule([0.6], 0.25) == [1.0, 0.75, 0.6]
    assert np.allclose(schedule([1.0, 0.55, 0.0], 0.5), [1.0, 0.55, 0.5, 0.0])
    assert len(schedule([1 - 0.1 * i for i in range(11)], 0.1)) == 11


def test_groups_may_run_empty_only_if_allowed():
    chain, _ = block_chain((5, 5, 10), random_state=0)
    counts = []
    for seed in range(10):
        ask = {"beta": 0.0, "method": "sequential", "n_init": 1, "random_state": seed}
        counts.append(klump.aggregate(chain, 6, allow_empty=True, **ask).n_states)
        assert klump.aggregate(chain, 6, **ask).n_states == 6
    assert min(counts) < 6


def test_a_tie_moves_nothing():
    independent = np.full((6, 6), 1 / 6)
    start = [0, 1, 2, 0, 1, 2]
    for beta in (0.0, 0.5, 1.0):
        answer = klump.aggregate(independent, 3, beta=beta, method="sequential", initial=start)
        assert answer.labels.tolist() == start


@pytest.mark.parametrize("step", [0.05, 0.3, 1.0])
def test_a_path_without_betas_is_the_schedule_of_algorithm_2(step):
    chain = random_chain(8, kind="dense", random_state=2)
    start = np.arange(8) % 3
    path = klump.beta_path(chain, 3, step=step, initial=start, max_sweeps=1)
    law = np.asarray(chain.transition_matrix), chain.stationary_distribution
    theirs = algorithm_2(*law, start, 3, 0.0, step, 1, allow_empty=False)
    assert path.betas == pytest.approx([beta for beta, _ in theirs], abs=1e-9)
    assert all(
        same_partition(answer.labels, labels) for answer, (_, labels) in zip(path, theirs, strict=True)
    )
    alone = klump.aggregate(chain, 3, beta=0, method="annealing", step=step, initial=start, max_sweeps=1)
    assert same_partition(alone.labels, path[-1].labels)


def test_a_note_says_that_groups_ran_empty(tmp_path):
    chain, _ = block_chain((5, 5, 10), random_state=0)
    ask = {"beta": 0.0, "method": "sequential", "n_init": 1, "random_state": 1}
    answer = klump.aggregate(chain, 6, allow_empty=True, **ask)
    (note,) = [note for note in answer.notes if note.kind == "empty"]
    assert note == f"{6 - answer.n_states} groups of 6 ran empty, as allow_empty lets them"
    answer.save(tmp_path / "answer.npz")
    assert klump.load(tmp_path / "answer.npz").notes == answer.notes
    assert all(note.kind != "empty" for note in klump.aggregate(chain, 6, **ask).notes)
