"""Every method on one chain: what the rows say, in which order they come, and that none spoils it for the others."""

import json
import sys
import warnings

import numpy as np
import pytest

import klump
from klump.comparison import contestant_names
from klump.comparison.outside import OUTSIDE, Tool
from klump.search.method import Found
from klump.search.registry import METHODS, Method, names_of
from klump.sources.random_chains import block_chain


@pytest.fixture
def chain():
    return block_chain((3, 4, 5), alpha=0.4, eps=0.3, random_state=1)[0]


@pytest.fixture
def tools(monkeypatch):
    """Replace all outside tools by those that a test makes up; their module is one that is always there."""
    for name in list(OUTSIDE):
        monkeypatch.delitem(OUTSIDE, name)

    def add(name, find, **facts):
        monkeypatch.setitem(OUTSIDE, name, Tool("numpy", "math", find, **facts))

    return add


def own_method(monkeypatch, name, find, *, finds_number=False):
    monkeypatch.setitem(METHODS, name, Method(name, find, "for a test", finds_number=finds_number))


def thirds(module, task):
    return np.arange(task.chain.n_states) * task.n_groups // task.chain.n_states


def test_rows_are_what_the_methods_find_alone(chain, tools):
    tools("thirds", thirds)
    compared = klump.compare(chain, 3, beta=0.8, methods=["auto", "sequential"], n_init=2, random_state=7)
    assert len(compared) == 3
    assert {row.name for row in compared} == {"auto", "sequential", "thirds"}
    for row in compared:
        labels = row.labels
        if row.kind == "klump":
            alone = klump.aggregate(chain, 3, beta=0.8, method=row.name, n_init=2, random_state=7)
            assert np.array_equal(labels, alone.labels)
            assert (row.package, row.version) == ("klump", klump.__version__)
        else:
            assert (row.package, row.version) == ("numpy", np.__version__)
            assert dict(row.aggregation.made_with)["numpy"] == np.__version__
            assert list(row.aggregation.masses) == sorted(row.aggregation.masses, reverse=True)
        costs = klump.score(chain, labels)
        assert row.cost == pytest.approx(costs.at(0.8), abs=1e-12)
        assert row.costs.lumpability == pytest.approx(costs.lumpability, abs=1e-12)
        assert row.costs.kept == pytest.approx(costs.kept, abs=1e-12)
        assert row.epsilon == row.aggregation.bisimulation.epsilon
        assert row.aggregation.method == row.name
        assert row.aggregation.beta == 0.8
        assert row.aggregation.random_state == 7
        assert row.n_states == 3
        assert row.as_asked
        assert not row.soft
        assert row.error is None
        assert row.seconds >= 0
    assert compared.best is compared[0]
    assert compared.named("auto").cost <= compared.named("sequential").cost + 1e-12


def test_every_method_that_takes_a_number_runs_by_default(chain, tools, monkeypatch):
    def sequential(task):
        return Found(np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups, 0.0, (0.0,))

    for name, method in list(METHODS.items()):
        own_method(monkeypatch, name, sequential, finds_number=method.finds_number)
    own_method(monkeypatch, "fresh", sequential)
    own_method(monkeypatch, "counts", sequential, finds_number=True)
    names = {row.name for row in klump.compare(chain, 2)}
    assert names == set(names_of(lambda method: not method.finds_number))
    assert "fresh" in names


def test_a_method_that_finds_the_number_runs_if_it_is_named(chain, tools, monkeypatch):
    def five(task):
        assert task.n_groups == 1  # it was asked without a number
        return Found(np.arange(12, dtype=np.int32) % 5, 0.0, (0.0,))

    own_method(monkeypatch, "counts", five, finds_number=True)
    compared = klump.compare(chain, 3, methods=["counts", "sequential"], n_init=1)
    assert [(row.name, row.n_states, row.as_asked) for row in compared] == [
        ("sequential", 3, True),
        ("counts", 5, False),
    ]


def test_soft_maps_are_marked(chain, tools, monkeypatch):
    rng = np.random.default_rng(0)

    def soft(task):
        from scipy import sparse

        weights = sparse.csr_array(rng.dirichlet(np.ones(task.n_groups), task.chain.n_states))
        return Found(weights.toarray().argmax(axis=1).astype(np.int32), 0.0, (0.0,), weights=weights)

    own_method(monkeypatch, "soft", soft)
    compared = klump.compare(chain, 2, methods=["soft"])
    (row,) = compared
    assert compared.best is row
    both = klump.compare(chain, 2, methods=["soft", "sequential"], n_init=1)
    assert [row.name for row in both] == ["sequential", "soft"]
    assert both.best.name == "sequential"
    assert "soft maps:\nsoft*  " in str(both)
    assert row.soft
    assert row.as_asked
    assert row.epsilon is None
    assert row.to_dict()["bisimulation"] is None
    assert np.array_equal(row.to_dict()["mapping"], row.aggregation.mapping)
    assert "\nsoft*  " in str(compared)
    assert "* soft map: " in str(compared)


def exits(module, task):
    sys.exit("enough")


def raises(module, task):
    raise RuntimeError("two lines\n  of a message")


def says_nothing(module, task):
    raise KeyError


@pytest.mark.parametrize(
    ("find", "error"),
    [
        (raises, "RuntimeError: two lines of a message"),
        (says_nothing, "KeyError"),
        (exits, "the tool called sys.exit(enough)"),
        (lambda module, task: bytes(2**62), "not enough memory"),
        (lambda module, task: [0, 1], "the tool returned 2 labels for 12 states"),
        (lambda module, task: [[0, 1]] * 12, "the tool returned an array of shape (12, 2) for 12 states"),
        (lambda module, task: [np.nan] * 12, "the tool returned nan as the label of a state"),
        (lambda module, task: [0.5] * 12, "the tool returned 0.5 as the label of a state"),
        (lambda module, task: [-1] * 12, "the tool returned -1 as the label of a state"),
        (lambda module, task: None, "the tool returned an array of shape () for 12 states"),
        (lambda module, task: ["a"] * 12, "the tool returned labels of type <U1"),
    ],
)
def test_a_failure_is_a_row_that_says_why(chain, tools, find, error):
    tools("broken", find)
    tools("thirds", thirds)
    compared = klump.compare(chain, 3, methods=["sequential"], n_init=1)
    assert {row.name for row in compared[:2]} == {"sequential", "thirds"}
    row = compared[2]
    assert (row.name, row.error) == ("broken", error)
    assert row.aggregation is row.labels is row.costs is row.cost is row.epsilon is row.n_states is None
    assert not row.as_asked
    assert not row.interrupted
    assert compared.failures == (row,)
    assert f"failed:\nbroken      {error}" in str(compared)
    json.dumps(compared.to_dict(), allow_nan=False)


def test_own_methods_can_fail_too(chain, tools, monkeypatch):
    def refuse(task):
        raise klump.errors.InvalidArgumentError("this chain is too large")

    own_method(monkeypatch, "picky", refuse)
    compared = klump.compare(chain, 3, methods=["picky"])
    assert [row.error for row in compared] == ["this chain is too large"]
    assert compared.best is None
    assert compared.to_dict()["best"] is None


def test_a_tool_that_cannot_be_imported_is_a_failure(chain, tools, monkeypatch):
    tools("thirds", thirds)
    monkeypatch.setitem(OUTSIDE, "broken", Tool("numpy", "math.missing", thirds))
    compared = klump.compare(chain, 3, methods=[])
    assert "ModuleNotFoundError" in compared.named("broken").error
    assert compared.named("thirds").error is None


def test_what_tools_print_and_warn_of_is_not_seen(chain, tools, capfd):
    def noisy(module, task):
        print("hello")
        print("hello", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        warnings.simplefilter("always")
        return thirds(module, task)

    tools("noisy", noisy)
    before = list(warnings.filters)
    compared = klump.compare(chain, 3, methods=[])
    assert compared[0].error is None
    assert capfd.readouterr() == ("", "")
    assert warnings.filters == before


def test_another_number_of_groups_comes_after_the_right_one(chain, tools):
    tools("few", lambda module, task: np.arange(12) % 2)
    tools("gaps", lambda module, task: 10 * thirds(module, task))
    tools("costly", lambda module, task: np.arange(12) % 3)
    compared = klump.compare(chain, 3, beta=0, methods=[])
    assert [row.name for row in compared] == ["gaps", "costly", "few"]
    assert [row.n_states for row in compared] == [3, 3, 2]
    assert compared.best.name == "gaps"
    assert "another number of groups:\nfew          2  " in str(compared)
    few = klump.compare(chain, 3, methods=[], outside=["few"])
    assert few.best is None
    assert len(few) == 1


def test_questions_that_are_too_large_for_a_tool_are_refused(chain, tools):
    tools("dense", thirds, most_states=11, reason="works on dense matrices")
    tools("sparse", thirds, most_states=12, reason="works on dense matrices")
    tools("slow", thirds, most_groups=2)
    compared = klump.compare(chain, 3, methods=[])
    assert compared.named("sparse").error is None
    assert compared.named("slow").error == (
        "n_states=3 is refused: the tool takes hours for more than 2 groups"
    )
    assert compared.named("dense").error == (
        "refused: the tool works on dense matrices and gets at most 11 states, and the chain has 12"
    )


def test_missing_tools_are_named_once(chain, tools, monkeypatch):
    tools("thirds", thirds)
    for name in ("lost", "gone"):
        monkeypatch.setitem(OUTSIDE, name, Tool("lost", "a_module_that_nobody_has", thirds))
    compared = klump.compare(chain, 3, methods=["sequential"], n_init=1)
    assert compared.not_installed == ("lost", "gone")
    assert {row.name for row in compared} == {"sequential", "thirds"}
    assert str(compared).count("not installed: lost, gone; pip install 'klump[compare]'") == 1
    assert not compared.interrupted


def test_same_seed_same_rows(chain, tools):
    def random(module, task):
        return np.random.default_rng(task.seed).permutation(12) % 3

    tools("random", random)

    def rows(**options):
        found = klump.compare(chain, 3, methods=["auto", "annealing"], n_init=2, **options).to_dict()
        for row in found["rows"]:
            del row["seconds"]
        return found

    assert rows(random_state=5) == rows(random_state=5, n_jobs=2)
    assert rows(random_state=5) != rows(random_state=6)


def test_progress_counts_methods_in_the_order_of_their_names(chain, tools):
    tools("thirds", thirds)
    calls = []
    compared = klump.compare(
        chain, 3, methods=["sequential"], n_init=1, progress=lambda *call: calls.append(call)
    )
    assert [call[:2] for call in calls] == [(0, 2), (1, 2), (2, 2)]
    assert np.isnan(calls[0][2])
    assert calls[1][2] == compared.named("sequential").cost
    assert calls[2][2] == compared.best.cost
    assert contestant_names(["sequential"]) == ["sequential", "thirds"]


def press_ctrl_c(*_):
    raise KeyboardInterrupt


def test_ctrl_c_keeps_the_finished_rows(chain, tools):
    tools("thirds", thirds)
    tools("endless", press_ctrl_c)
    tools("later", thirds)
    compared = klump.compare(chain, 3, methods=[])
    assert [row.name for row in compared] == ["thirds"]
    assert compared.not_run == ("endless", "later")
    assert compared.interrupted
    assert "interrupted before: endless, later" in str(compared)


def test_ctrl_c_within_a_method_keeps_its_best(chain, tools, monkeypatch):
    def endless(task):
        return Found(np.arange(12, dtype=np.int32) % 3, 0.0, (0.0,), interrupted=True)

    own_method(monkeypatch, "endless", endless)
    compared = klump.compare(chain, 3, methods=["endless", "sequential"])
    assert [(row.name, row.interrupted) for row in compared] == [("endless", True)]
    assert compared.not_run == ("sequential",)
    assert "\nendless!  " in str(compared)


def test_ctrl_c_before_anything_is_finished(chain, tools):
    tools("endless", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        klump.compare(chain, 3, methods=[])


def test_sparse_chains_stay_sparse(chain, tools):
    from scipy import sparse

    tools("thirds", thirds)
    matrix = sparse.csr_array(chain.transition_matrix)
    dense = klump.compare(chain, 3, methods=["sequential"], n_init=2)
    other = klump.compare(matrix, 3, methods=["sequential"], n_init=2)
    assert other.original.is_sparse
    for row in dense:
        assert other.named(row.name).cost == pytest.approx(row.cost, abs=1e-12)


def test_table_fits_its_width(chain, tools):
    from klump.comparison.table import lines

    tools("a-name-that-is-rather-long", thirds)
    tools("broken", lambda module, task: [0] * 100)
    compared = klump.compare(chain, 3, methods=["sequential"], n_init=1)
    wide, narrow = lines(compared, 100), lines(compared, 80)
    assert wide[2].split() == [
        *("method", "groups", "cost", "lumpab.", "predict.", "bottl.", "kept", "epsilon", "seconds")
    ]
    assert narrow[2].split() == ["method", "groups", "cost", "lumpab.", "kept", "epsilon", "seconds"]
    assert max(map(len, narrow)) <= 80
    tight = lines(compared, 60)
    assert max(map(len, tight)) <= 60
    assert tight[3].split() == ["method", "groups", "cost", "kept", "seconds"]
    assert lines(compared, 52)[3].split() == ["method", "groups", "cost", "kept"]
    row = compared[0]
    cells = wide[3].split()
    assert cells[:5] == [
        row.name,
        "3",
        *(f"{value:.4f}" for value in (row.cost, row.costs.lumpability, row.costs.predictability)),
    ]


def test_seconds_are_those_of_the_question_itself(chain, tools, monkeypatch):
    """What happens once, at the first question, is not counted: imports, compilation."""
    now, prepared = [0.0], set()
    monkeypatch.setattr("klump.comparison.contest.time.perf_counter", lambda: now[0])

    def work(name, task):
        now[0] += 1.0 if name in prepared else 100.0
        prepared.add(name)
        return np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups

    own_method(monkeypatch, "own", lambda task: Found(work("own", task), 0.0, (0.0,)))
    tools("other", lambda module, task: work("other", task))
    compared = klump.compare(chain, 3, methods=["own"])
    assert {row.name: row.seconds for row in compared} == {"own": 1.0, "other": 1.0}


def test_ctrl_c_before_the_clock_starts(chain, tools, monkeypatch):
    """A method that answers Ctrl-C with its best must not go on with the question itself."""
    asked = []

    def endless(task):
        asked.append(task.chain.n_states)
        labels = np.arange(task.chain.n_states, dtype=np.int32) % task.n_groups
        return Found(labels, 0.0, (0.0,), interrupted=len(asked) == 1)

    own_method(monkeypatch, "endless", endless)
    compared = klump.compare(chain, 3, methods=["sequential", "endless"], n_init=1)
    assert [row.name for row in compared] == ["sequential"]
    assert compared.not_run == ("endless",)
    assert len(asked) == 1
    assert asked[0] != 12


def test_rows_as_records(chain, tools):
    """A record is the row's dictionary, flat; both agree with the row itself."""
    tools("thirds", thirds)
    tools("broken", lambda module, task: [0])
    for row in klump.compare(chain, 3, methods=["stochastic"], n_init=1):
        nested, flat = row.to_dict(), row.to_record()
        for name in nested.keys() & flat.keys():
            assert nested[name] == flat[name]
        assert flat["epsilon"] == row.epsilon
        costs = nested["costs"] or dict.fromkeys(
            ("cost", "lumpability", "predictability", "bottleneck", "generated", "kept")
        )
        assert costs == {name: flat[name] for name in costs}
        assert nested["notes"] == (None if row.aggregation is None else list(row.aggregation.notes))


def test_trivial_answers_are_called_trivial(tools):
    tools("half", lambda module, task: np.arange(6) % 2)
    chain = klump.MarkovChain(np.full((6, 6), 1 / 6) + 0.1 * np.kron(np.eye(3), [[1, -1], [-1, 1]]))
    assert "half: nearly trivial" not in str(klump.compare(chain, 2, methods=[]))
    tools("half", lambda module, task: np.arange(6) // 3)
    assert "half: nearly trivial" in str(klump.compare(chain, 2, methods=[]))


def test_frame(chain, tools):
    pytest.importorskip("pandas")
    tools("thirds", thirds)
    tools("broken", lambda module, task: [0])
    compared = klump.compare(chain, 3, methods=["sequential"], n_init=1)
    frame = compared.to_frame()
    assert list(frame["name"]) == [row.name for row in compared]
    assert frame["cost"].iloc[0] == compared[0].cost
    assert frame["cost"].isna().sum() == 1
    assert frame["epsilon"].iloc[1] == compared[1].epsilon


def test_frame_without_pandas(chain, tools, monkeypatch):
    tools("thirds", thirds)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(klump.errors.MissingPackageError, match="pip install pandas"):
        klump.compare(chain, 3, methods=[]).to_frame()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 0}, "n_states=0 must lie between 1 and"),
        ({"n_states": None}, "n_states is missing"),
        ({"n_states": 2, "beta": 2}, "beta=2"),
        ({"n_states": 2, "methods": ["magic"]}, "methods has 'magic'; choose from auto, "),
        ({"n_states": 2, "methods": "auto"}, "methods='auto' must be a list"),
        ({"n_states": 2, "methods": [["auto"]]}, "methods has "),
        ({"n_states": 2, "outside": ["magic"]}, "outside has 'magic'; choose from thirds"),
        ({"n_states": 2, "outside": "thirds"}, "outside='thirds' must be a list"),
        ({"n_states": 2, "outside": 3}, "outside=3 must be a list"),
        ({"n_states": 2, "methods": [], "outside": False}, "nothing to compare"),
        ({"n_states": 2, "n_init": 0}, "n_init=0"),
        ({"n_states": 2, "random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_questions_get_one_clear_error(chain, tools, arguments, message):
    tools("thirds", thirds)
    with pytest.raises(klump.errors.InvalidArgumentError, match=message) as caught:
        klump.compare(chain, **arguments)
    assert "\n" not in str(caught.value)


def test_unknown_row(chain, tools):
    tools("thirds", thirds)
    with pytest.raises(
        klump.errors.InvalidArgumentError, match=r"name='auto' was not compared; there are thirds"
    ):
        klump.compare(chain, 3, methods=[]).named("auto")
