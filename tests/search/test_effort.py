"""Effort and time limit: how long a search goes on, and what it returns after that."""

import itertools
import pickle
from itertools import groupby

import numpy as np
import pytest
from scipy import sparse

import klump
from fake_clock import FakeClock
from klump.errors import InvalidArgumentError
from klump.search import deadline
from klump.search.deadline import Deadline, TimeLimitReached, check_deadline, run_until, search_in_progress
from klump.search.portfolio import EFFORTS, make_plan
from klump.search.registry import DEFAULT_EFFORT, EFFORT_NAMES, METHODS
from klump.sources.random_chains import block_chain

SEARCHES = [name for name, traits in METHODS.items() if not traits.lumps]


@pytest.fixture(scope="module")
def chain():
    return block_chain((10, 10, 20), eps=0.6, random_state=0)[0]


@pytest.fixture(scope="module")
def large_chain():
    """Sparse, and with enough states for multilevel search."""
    rng = np.random.default_rng(0)
    n, block = 400, np.repeat(np.arange(4), 100)
    rows = np.repeat(np.arange(n), 6)
    columns = np.where(rng.random(rows.size) < 0.7, 100 * block[rows] + rng.integers(0, 100, rows.size), 0)
    columns = np.where(columns == 0, rng.integers(0, n, rows.size), columns)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
    matrix = matrix + sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    return klump.MarkovChain(matrix, normalize=True)


@pytest.fixture
def clock(monkeypatch):
    return FakeClock(monkeypatch)


# Effort


def test_every_effort_has_a_budget():
    assert tuple(EFFORTS) == EFFORT_NAMES
    assert DEFAULT_EFFORT in EFFORT_NAMES


def test_the_effort_reaches_the_search(chain, monkeypatch):
    efforts = []
    monkeypatch.setattr(
        "klump.search.portfolio.make_plan", lambda task: efforts.append(task.effort) or make_plan(task)
    )
    for effort in EFFORT_NAMES:
        assert klump.aggregate(chain, 3, effort=effort).effort == effort
    klump.aggregate(chain, 3)
    klump.grid(chain, [3], effort="quick")
    klump.cluster(np.random.default_rng(0).normal(size=(30, 2)), 3, effort="quick")
    # A search is planned twice: for the announcement of its time, too.
    assert [effort for effort, _ in groupby(efforts)] == [*EFFORT_NAMES, "balanced", "quick"]


def test_the_default_effort_is_balanced(chain):
    one, other = klump.aggregate(chain, 3), klump.aggregate(chain, 3, effort="balanced")
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.trace == other.trace


def test_more_effort_is_never_costlier(large_chain):
    costs = [klump.aggregate(large_chain, 4, effort=effort).cost for effort in ("quick", "balanced")]
    assert costs[1] <= costs[0] + 1e-12


def test_other_methods_record_no_effort(chain):
    assert klump.aggregate(chain, 3, method="spectral").effort is None


@pytest.mark.parametrize("effort", ["high", 3, None, ["quick"]])
def test_unknown_efforts(chain, effort):
    with pytest.raises(InvalidArgumentError) as caught:
        klump.aggregate(chain, 3, effort=effort)
    assert (caught.value.argument, caught.value.value) == ("effort", effort)
    assert all(name in caught.value.remedy for name in EFFORT_NAMES)


@pytest.mark.parametrize("method", [name for name, traits in METHODS.items() if not traits.takes_effort])
def test_an_effort_of_other_methods_is_an_error_that_names_n_init(chain, method):
    n_states = None if METHODS[method].finds_number else 3
    with pytest.raises(InvalidArgumentError, match=f"effort='quick' is not for method='{method}'.* n_init"):
        klump.aggregate(chain, n_states, method=method, effort="quick")
    klump.aggregate(chain, n_states, method=method, effort="balanced", n_init=2)


# Time limit


def assert_marked(answer, chain, n_groups, seconds):
    assert answer.interrupted
    assert answer.interrupted_after == seconds
    assert [note.kind for note in answer.notes].count("interrupted") == 1
    assert any(f"the time limit of {seconds:g} s" in note for note in answer.notes)
    assert answer.n_states == n_groups
    assert np.bincount(answer.labels, minlength=n_groups).all()
    assert answer.cost == pytest.approx(
        klump.score(chain, answer.map.weights.toarray()).at(answer.beta), abs=1e-9
    )
    if answer.trace:
        assert answer.cost == pytest.approx(answer.trace[-1], abs=1e-9)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("method", SEARCHES)
def test_a_limit_that_passes_at_once_still_gives_an_answer(chain, clock, method, beta):
    answer = klump.aggregate(chain, 3, beta, method=method, time_limit=0.5)
    assert_marked(answer, chain, 3, 0.5)
    assert answer.method == method


@pytest.mark.parametrize("method", ["auto", "sequential", "stochastic"])
def test_a_longer_limit_is_never_costlier(chain, clock, method):
    costs = []
    for seconds in (0.5, 3, 10, 40):
        clock.readings = 0
        answer = klump.aggregate(chain, 4, 0.3, method=method, time_limit=seconds, n_init=50)
        assert_marked(answer, chain, 4, seconds)
        costs.append(answer.cost)
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(costs))
    assert klump.aggregate(chain, 4, 0.3, method=method, n_init=50).cost <= costs[-1] + 1e-12


@pytest.mark.parametrize("seconds", [0.5, 5, 20])
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_multilevel_search_within_a_limit(large_chain, clock, beta, seconds):
    answer = klump.aggregate(large_chain, 4, beta, time_limit=seconds)
    assert_marked(answer, large_chain, 4, seconds)


def test_the_limit_ends_the_whole_portfolio(chain, clock):
    """Not only the component that noticed it: the other components would read the clock dozens of times."""
    klump.aggregate(chain, 4, time_limit=30)
    # The deadline is reading 1 + 30; the portfolio reads once more when it takes the component's incumbent.
    assert clock.readings in (31, 32)


@pytest.mark.parametrize("method", SEARCHES)
def test_a_limit_that_is_not_reached_changes_nothing(chain, clock, method):
    unlimited = klump.aggregate(chain, 3, 0.3, method=method, n_init=5)
    limited = klump.aggregate(chain, 3, 0.3, method=method, n_init=5, time_limit=1e9)
    np.testing.assert_array_equal(limited.mapping, unlimited.mapping)
    assert limited.trace == unlimited.trace
    assert not limited.interrupted
    assert limited.interrupted_after is None


def test_without_a_limit_no_clock_is_read(chain, clock):
    klump.aggregate(chain, 3)
    klump.grid(chain, [2, 3])
    klump.beta_path(chain, 3)
    assert clock.readings == 0


def test_parallel_starts_are_checked_by_the_thread_that_waits(chain, clock):
    answer = klump.aggregate(chain, 3, method="sequential", n_init=40, n_jobs=2, time_limit=4)
    assert_marked(answer, chain, 3, 4.0)


def test_ctrl_c_is_not_the_limit(chain, clock):
    def impatient(done, total, best):
        raise KeyboardInterrupt

    answer = klump.aggregate(chain, 3, method="sequential", time_limit=1e9, progress=impatient)
    assert answer.interrupted
    assert answer.interrupted_after is None
    assert "interrupted: this is the best found so far" in answer.notes


def test_a_complete_answer_is_not_marked(clock):
    """All partitions are enumerated, and there is one only: the limit passes with the last report."""
    small = klump.MarkovChain([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    for n_groups in (1, 2, 3):
        assert not klump.aggregate(small, n_groups, time_limit=0.5).interrupted


def test_given_labels_are_the_start_of_the_one_descent(chain, clock):
    best = klump.aggregate(chain, 3).labels
    answer = klump.aggregate(chain, 3, method="deterministic-annealing", initial=best, time_limit=0.5)
    assert_marked(answer, chain, 3, 0.5)
    np.testing.assert_array_equal(answer.labels, best)


def test_the_path_ends_its_restarts_at_the_limit(chain, clock):
    path = klump.beta_path(chain, 3, [1.0, 0.5], time_limit=2, n_init=50)
    assert path.interrupted
    assert path.interrupted_after == 2.0
    assert [answer.interrupted_after for answer in path] == [2.0, 2.0]
    assert not klump.beta_path(chain, 3, [1.0, 0.5], time_limit=1e9).interrupted


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "5", True])
def test_bad_limits(chain, seconds):
    with pytest.raises(InvalidArgumentError, match="must be a number of seconds above 0; leave it out"):
        klump.aggregate(chain, 3, time_limit=seconds)


def test_exact_takes_no_limit(chain):
    with pytest.raises(InvalidArgumentError, match="time_limit=3 is not for method='exact'"):
        klump.aggregate(chain, method="exact", time_limit=3)


# Grids, comparisons and bootstraps


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_keeps_the_cells_of_its_time(chain, clock, n_jobs, tmp_path):
    whole = klump.grid(chain, [2, 3, 4, 5], method="sequential", n_init=10)
    found = klump.grid(chain, [2, 3, 4, 5], method="sequential", n_init=10, time_limit=60, n_jobs=n_jobs)
    assert found.interrupted
    assert found.interrupted_after == 60.0
    assert 0 < len(found) < 4
    assert found.not_run == tuple((n, 0.5) for n in (2, 3, 4, 5)[len(found) :])
    complete = [answer for answer in found if not answer.interrupted]
    assert [answer.cost for answer in complete] == [whole[answer.n_states, 0.5].cost for answer in complete]
    assert str(found).splitlines()[-1].startswith("interrupted by the time limit of 60 s: ")
    with pytest.raises(InvalidArgumentError, match="was not run before the end of the time limit"):
        found[5, 0.5]
    found.save(tmp_path / "grid.npz")
    again = klump.load(tmp_path / "grid.npz")
    assert again.interrupted_after == 60.0
    assert found.to_dict()["interrupted_after"] == 60.0


# The thread of joblib's pool may look for a call that was cancelled in between (a KeyError in loky).
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_grid_in_processes_is_checked_between_cells(chain, clock):
    """Workers have clocks of their own: a cell is complete."""
    import joblib

    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = klump.grid(chain, [2, 3, 4], method="sequential", n_init=2, time_limit=0.5)
    assert len(found) == 1
    assert not found.aggregations[0].interrupted
    assert found.interrupted_after == 0.5


def test_a_comparison_keeps_the_rows_of_its_time(chain, clock):
    found = klump.compare(
        chain, 3, methods=["spectral", "sequential", "annealing"], outside=False, time_limit=20
    )
    assert [row.name for row in found if row.interrupted] == ["sequential"]
    assert found.named("sequential").interrupted_after == 20.0
    assert found.named("spectral").interrupted_after is None
    assert found.not_run == ("annealing",)
    assert found.interrupted
    assert found.interrupted_after == 20.0
    assert "! interrupted by the time limit of 20 s: the best found until then" in str(found)
    assert "interrupted by the time limit of 20 s before: annealing" in str(found)
    assert found.to_dict()["interrupted_after"] == 20.0


def test_a_comparison_of_efforts(chain):
    found = klump.compare(chain, 3, methods=["auto", "spectral"], outside=False, effort=["quick", "balanced"])
    assert {row.name: row.to_dict()["effort"] for row in found} == {
        "auto (quick)": "quick",
        "auto": "balanced",
        "spectral": None,
    }
    quick = klump.aggregate(chain, 3, effort="quick")
    np.testing.assert_array_equal(found.named("auto (quick)").labels, quick.labels)
    assert klump.compare(chain, 3, methods=["auto"], outside=False, effort="quick")[0].name == "auto (quick)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "high"}, "effort='high' is not known; choose one of quick, balanced, thorough"),
        ({"effort": ["quick", 3]}, "effort=3 is not known"),
        ({"effort": 3}, "effort=3 is not known"),
        ({"effort": []}, "effort is empty"),
        ({"effort": "quick", "methods": ["spectral"]}, "effort='quick' is for no method that is compared"),
    ],
)
def test_bad_efforts_of_a_comparison(chain, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        klump.compare(chain, 3, outside=False, **options)


COUNTS = [[80, 15, 5, 0], [20, 70, 10, 2], [2, 3, 95, 30], [1, 1, 40, 60]]


def test_a_bootstrap_keeps_the_samples_of_its_time(clock):
    options = {"n_samples": 8, "method": "sequential", "n_init": 3}
    whole = klump.bootstrap(COUNTS, 2, **options)
    found = klump.bootstrap(COUNTS, 2, **options, time_limit=30)
    assert found.interrupted
    assert found.interrupted_after == 30.0
    assert 0 < found.n_samples < 8
    np.testing.assert_array_equal(found.labels, whole.labels[: found.n_samples])
    assert "interrupted by the time limit of 30 s: these are fewer samples" in str(found)
    assert whole.interrupted_after is None


@pytest.mark.parametrize("seconds", [0.5, 12])
def test_a_bootstrap_without_a_sample_is_an_error(clock, seconds):
    with pytest.raises(
        InvalidArgumentError, match="passed before the first sample was complete; pass a longer"
    ):
        klump.bootstrap(COUNTS, 2, n_samples=8, method="sequential", time_limit=seconds)


# Deadlines


def test_a_deadline_does_not_travel():
    assert pickle.loads(pickle.dumps(Deadline(5.0))) is None


def test_a_deadline_waits_for_an_incumbent(monkeypatch):
    monkeypatch.setattr(deadline, "monotonic", itertools.chain([0.0], itertools.repeat(9.0)).__next__)
    with run_until(Deadline(5.0)):
        with search_in_progress(lambda: False):
            check_deadline()
            with search_in_progress(lambda: True), pytest.raises(TimeLimitReached):
                check_deadline()
            check_deadline()
        with pytest.raises(TimeLimitReached) as caught:
            check_deadline()
        with run_until(None):
            check_deadline()
    assert caught.value.seconds == 5.0
    check_deadline()
