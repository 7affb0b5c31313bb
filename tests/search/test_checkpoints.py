"""A search that is killed and resumed gives the same answer, bit for bit, wherever it was killed."""

import contextlib
import math

import joblib
import numpy as np
import pytest

import klump
from journals import boundaries, prefixes
from klump.checkpoints import open_checkpoint
from klump.errors import FileFormatError, InvalidArgumentError
from klump.search import descent
from klump.sources.random_chains import random_chain, sparse_block_chain

COUNTS = np.random.default_rng(4).integers(1, 40, (12, 12))


def auto(**options):
    return klump.aggregate(random_chain(30, seed=1), 4, 0.7, effort="quick", n_init=5, **options)


def auto_at_small_beta(**options):
    return klump.aggregate(random_chain(25, seed=2), 3, 0.2, effort="quick", n_init=3, **options)


def multilevel(**options):
    chain, _ = sparse_block_chain(600, 5, kind="noisy", seed=3)
    return klump.aggregate(chain, 5, 0.8, n_init=4, **options)


def multilevel_with_singletons(**options):
    chain, _ = sparse_block_chain(400, 4, seed=3)
    return klump.aggregate(chain, 4, 0.3, effort="quick", n_init=4, **options)


def sequential(**options):
    return klump.aggregate(random_chain(40, "sparse", seed=1), 4, method="sequential", n_init=12, **options)


def annealing(**options):
    return klump.aggregate(random_chain(40, seed=1), 4, 0.3, method="annealing", n_init=6, **options)


def stochastic(**options):
    chain = random_chain(12, seed=3)
    return klump.aggregate(chain, 3, 0.5, method="stochastic", n_init=5, **options)


def agglomerative(**options):
    return klump.aggregate(random_chain(20, seed=1), 4, method="agglomerative", **options)


def exact(**options):
    labels = [0, *[1] * 18, 0]
    return klump.aggregate(random_chain(20, seed=1), method="exact", initial=labels, **options)


def path(**options):
    return klump.beta_path(random_chain(30, seed=1), 3, n_init=6, **options)


def grid(**options):
    return klump.grid(random_chain(15, seed=1), [2, 3], [0.5, 1.0], n_init=3, effort="quick", **options)


def bootstrap(**options):
    return klump.bootstrap(COUNTS, 2, n_samples=6, n_init=2, method="annealing", **options)


def constrained(**options):
    links = {"must_link": [(0, 1), (5, 9)], "cannot_link": [(2, 3)], "min_mass": 0.05}
    return klump.aggregate(random_chain(30, seed=1), 4, 0.7, effort="quick", n_init=5, **links, **options)


def constrained_multilevel(**options):
    chain, _ = sparse_block_chain(600, 5, kind="noisy", seed=3)
    links = {"must_link": [(0, 1), (5, 9)], "cannot_link": [(2, 3)]}
    return klump.aggregate(chain, 5, 0.8, effort="quick", n_init=4, **links, **options)


def select(**options):
    chain = klump.MarkovChain.from_counts(COUNTS)
    return klump.select(chain, [2, 3], [0.5], n_init=2, n_shuffles=2, n_resamples=2, **options)


RUNS = [
    auto,
    constrained,
    constrained_multilevel,
    select,
    auto_at_small_beta,
    multilevel,
    multilevel_with_singletons,
    sequential,
    annealing,
    stochastic,
    agglomerative,
    exact,
    path,
    grid,
    bootstrap,
]
every_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)


def saved(answer, folder):
    """Bytes of the file that an answer is saved to, or its content where there is no such file."""
    if isinstance(answer, klump.Bootstrap):
        parts = (answer.labels, answer.posterior.transition_matrices, answer.posterior.masses)
        return (*(part.tobytes() for part in parts), repr(answer.costs), repr(answer.posterior.costs))
    if isinstance(answer, klump.Selection):
        return repr(answer.to_dict())
    answer.save(folder / "answer.npz")
    return (folder / "answer.npz").read_bytes()


@every_run
def test_killed_anywhere_and_resumed(run, tmp_path):
    file = tmp_path / "run.ckpt"
    expected = saved(run(), tmp_path)
    assert saved(run(checkpoint=file), tmp_path) == expected
    complete = file.read_bytes()
    for content in prefixes(file, at_most=9):
        file.write_bytes(content)
        assert saved(run(checkpoint=file, resume=True), tmp_path) == expected
        # No unit ran twice, and none was left out.
        assert file.read_bytes() == complete


@every_run
def test_a_finished_run_is_not_run_again(run, tmp_path, monkeypatch):
    file = tmp_path / "run.ckpt"
    expected = saved(run(checkpoint=file), tmp_path)

    def fail(*arguments, **options):
        raise AssertionError("a search is run")

    monkeypatch.setattr(descent.LocalSearch, "descend", fail)
    assert saved(run(checkpoint=file, resume=True), tmp_path) == expected


@pytest.mark.parametrize("run", [sequential, annealing, auto, grid, bootstrap, path])
def test_at_most_one_restart_is_lost(run, tmp_path, monkeypatch):
    """Between two records, there is no more than one descent, or the few of one start or cycle."""
    file, descents, most = tmp_path / "run.ckpt", [], 0
    descend, append = descent.LocalSearch.descend, klump.checkpoints.journal.Journal.append

    def count(self, *arguments, **options):
        descents.append(1)
        return descend(self, *arguments, **options)

    def reset(self, *arguments):
        nonlocal most
        most = max(most, len(descents))
        descents.clear()
        append(self, *arguments)

    monkeypatch.setattr(descent.LocalSearch, "descend", count)
    monkeypatch.setattr(klump.checkpoints.journal.Journal, "append", reset)
    run(checkpoint=file)
    # A start of the portfolio is annealed at up to 10 betas.
    assert most <= (11 if run in (auto, grid) else 1)


@pytest.mark.parametrize("run", [auto, multilevel, sequential, annealing, stochastic, path, grid])
def test_interrupted_and_resumed(run, tmp_path):
    """A search that Ctrl-C ended is no finished one."""
    expected, calls = saved(run(), tmp_path), []
    run(progress=lambda *progress: calls.append(progress))
    for stop in range(0, len(calls), max(1, len(calls) // 6)):
        file, done = tmp_path / f"{stop}.ckpt", []

        def interrupt(*progress, done=done, stop=stop):
            done.append(progress)
            if len(done) == stop + 1:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            run(progress=interrupt, checkpoint=file)
        assert saved(run(checkpoint=file, resume=True), tmp_path) == expected


@pytest.mark.parametrize("engine", ["threading", "loky"])
@pytest.mark.parametrize("run", [sequential, grid, bootstrap])
def test_engines(run, engine, tmp_path):
    file = tmp_path / "run.ckpt"
    expected = saved(run(), tmp_path)
    with joblib.parallel_config(engine, n_jobs=2):
        assert saved(run(checkpoint=file), tmp_path) == expected
        for content in prefixes(file, at_most=3):
            file.write_bytes(content)
            assert saved(run(checkpoint=file, resume=True), tmp_path) == expected
            assert saved(run(checkpoint=file, resume=True, n_jobs=1), tmp_path) == expected


@pytest.mark.parametrize("run", [auto, sequential, stochastic, multilevel])
def test_progress_of_a_resumed_run_reaches_the_end(run, tmp_path):
    """Also where all of the steps are stored; the cost never increases."""
    file = tmp_path / "run.ckpt"
    answer = run(checkpoint=file)
    for content in [*prefixes(file, at_most=3), file.read_bytes()]:
        file.write_bytes(content)
        calls = []
        run(checkpoint=file, resume=True, progress=lambda *call, calls=calls: calls.append(call))
        done, total, cost = calls[-1]
        assert done == total
        assert cost == pytest.approx(answer.cost, abs=1e-12)
        costs = [call[2] for call in calls if not math.isnan(call[2])]
        assert costs == sorted(costs, reverse=True)


P = random_chain(20, seed=1).transition_matrix
ASKED = {"n_states": 3, "beta": 0.5, "method": "sequential", "n_init": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_states": 4}, r"this is the checkpoint of n_states=3, not n_states=4; pass n_states=3"),
        ({"beta": 0.75}, r"of beta=0.5, not beta=0.75"),
        ({"method": "annealing"}, r"of method='sequential', not method='annealing'"),
        ({"n_init": 3}, r"of n_init=2, not n_init=3"),
        ({"seed": 1}, r"of random_state=0, not random_state=1"),
        ({"gamma": 0.5}, r"of gamma=0.0, not gamma=0.5"),
        ({"max_sweeps": 7}, r"of max_sweeps=100, not max_sweeps=7"),
        ({"allow_empty": True}, r"of allow_empty=False, not allow_empty=True"),
        ({"step": 0.2}, r"of step=0.1, not step=0.2"),
        ({"initial": np.arange(20) % 3}, r"this is the checkpoint of another initial; delete it"),
    ],
)
def test_another_question(tmp_path, changes, message):
    file = tmp_path / "run.ckpt"
    klump.aggregate(P, **ASKED, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(FileFormatError, match=rf"run\.ckpt: .*{message}"):
        klump.aggregate(P, **ASKED | changes, checkpoint=file, resume=True)
    assert file.read_bytes() == before


def test_another_chain(tmp_path):
    file = tmp_path / "run.ckpt"
    klump.aggregate(P, **ASKED, checkpoint=file)
    changed = np.array(P)
    changed[3] = np.roll(changed[3], 1)
    with pytest.raises(FileFormatError, match=r"of a chain with other probabilities; delete it"):
        klump.aggregate(changed, **ASKED, checkpoint=file, resume=True)
    with pytest.raises(FileFormatError, match=r"of a chain of 20 states and 400 transitions, not 9 states"):
        klump.aggregate(random_chain(9), **ASKED, checkpoint=file, resume=True)
    with pytest.raises(FileFormatError, match=r"a checkpoint of aggregate, not of beta_path"):
        klump.beta_path(P, 3, checkpoint=file, resume=True)


def test_another_version(tmp_path, monkeypatch):
    from klump.checkpoints import opening

    file, versions = tmp_path / "run.ckpt", opening._versions()
    klump.aggregate(P, **ASKED, checkpoint=file)
    for name, message in (
        ("klump", rf"written with klump {klump.__version__}, not 9; delete it"),
        ("numba", r"written with numba [\d.]+, not 9"),
        ("code of klump", r"written with another code of klump"),
    ):
        monkeypatch.setattr(opening, "_versions", lambda name=name: versions | {name: "9"})
        with pytest.raises(FileFormatError, match=message):
            klump.aggregate(P, **ASKED, checkpoint=file, resume=True)


def test_what_does_not_change_the_answer_may_change(tmp_path):
    file = tmp_path / "run.ckpt"
    expected = klump.aggregate(P, **ASKED, checkpoint=file)
    again = klump.aggregate(
        P, **ASKED, checkpoint=file, resume=True, n_jobs=2, time_limit=1e6, progress=lambda *_: None
    )
    np.testing.assert_array_equal(again.labels, expected.labels)


def test_counts_are_part_of_the_question(tmp_path):
    file = tmp_path / "run.ckpt"
    bootstrap(checkpoint=file)
    # The same chain, but twice as many observations.
    with pytest.raises(FileFormatError, match="of another draws"):
        klump.bootstrap(
            2 * COUNTS, 2, n_samples=6, n_init=2, method="annealing", checkpoint=file, resume=True
        )


def test_resume_needs_a_checkpoint():
    with pytest.raises(InvalidArgumentError, match="resume=True needs checkpoint; name the file"):
        klump.aggregate(P, 2, resume=True)


def test_a_question_within_another_one(tmp_path):
    """As a choice of the number of groups has it: a grid and a bootstrap in one checkpoint."""
    file = tmp_path / "run.ckpt"

    def ask():
        with open_checkpoint(file, resume=True, question={"function": "select"}) as scope:
            return grid(checkpoint=scope), bootstrap(checkpoint=scope)

    expected = [saved(answer, tmp_path) for answer in (grid(), bootstrap())]
    assert [saved(answer, tmp_path) for answer in ask()] == expected
    complete = file.read_bytes()
    assert len(boundaries(complete)) > 20
    for content in prefixes(file, at_most=3):
        file.write_bytes(content)
        assert [saved(answer, tmp_path) for answer in ask()] == expected
        assert file.read_bytes() == complete


def test_a_unit_with_other_arguments_runs_again(tmp_path):
    with open_checkpoint(tmp_path / "a.ckpt", resume=False, question={}) as scope:
        assert scope.once("root", lambda: math.sqrt(4.0), given=(4.0,)) == 2.0
    with open_checkpoint(tmp_path / "a.ckpt", resume=True, question={}) as scope:
        assert scope.once("root", lambda: math.sqrt(9.0), given=(9.0,)) == 3.0


def test_random_numbers_go_on_as_they_would_have(tmp_path):
    def draw(resume):
        rng = np.random.default_rng(5)
        with open_checkpoint(tmp_path / "a.ckpt", resume=resume, question={}) as scope:
            return [scope.once("draw", lambda: rng.integers(0, 9, 3), rng).tolist() for _ in range(3)]

    rng = np.random.default_rng(5)
    expected = [rng.integers(0, 9, 3).tolist() for _ in range(3)]
    assert draw(False) == draw(True) == expected
    file = tmp_path / "a.ckpt"
    file.write_bytes(prefixes(file, at_most=3)[1])
    assert draw(True) == expected
