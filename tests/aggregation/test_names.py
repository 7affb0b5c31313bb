"""Names of groups: from the heaviest members or given, distinct, and kept wherever an answer goes."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from scipy import sparse

import klump
from cells import CELLS, T, make_anndata
from klump.aggregation import Aggregation
from klump.aggregation.names import default_names
from klump.errors import FileFormatError, InvalidArgumentError
from klump.sources.random_chains import random_chain

P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
WEATHER = klump.MarkovChain(P, states=("sun", "cloud", "rain"))
NAMES = ("dry", "wet")


@pytest.fixture
def answer():
    return Aggregation.from_labels(WEATHER, [0, 0, 1])


@pytest.fixture
def named(answer):
    return answer.with_names(NAMES)


# Default names


def test_the_heaviest_members_come_first():
    found = klump.aggregate(klump.datasets.letter_bigrams(), 4, effort="quick")
    for name, members in zip(found.names, found.groups, strict=True):
        assert name.startswith(klump.chain.wording.format_state(members[0]))
    assert "e a o" in found.names


@given(
    st.lists(st.lists(st.text(max_size=40) | st.integers() | st.none(), max_size=5).map(tuple), max_size=8)
)
def test_names_are_distinct_short_and_printable(groups):
    names = default_names(groups)
    assert len(set(names)) == len(names) == len(groups)
    assert all(name.strip() and name.isprintable() and len(name) <= 30 for name in names)
    assert names == default_names(groups)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([("a", "b", "c", "d")], ("a b c",)),
        ([(" ", "\n", "")], ("' ' '\\n' ''",)),
        ([(1, 2), ("1", 2), (1.0,)], ("1 2", "1 2 (2)", "1.0")),
        ([("x" * 30,), ("x" * 31,)], ("x" * 21 + "...", "x" * 21 + "... (2)")),
        ([("s=0,d=1,phase=2", "s=0,d=2,phase=2")], ("s=0,d=1,phase=2",)),
        ([("group 1",), ()], ("'group 1'", "group 1")),
        ([("a",), ("a (2)",), ("a",)], ("a", "'a (2)'", "a (2)")),
    ],
)
def test_default_names(groups, names):
    assert default_names(groups) == names


def test_a_soft_group_without_most_probable_members_has_a_name():
    soft = Aggregation.from_labels(P, [[0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    assert sorted(soft.names[0]) == sorted("0 1 2")
    assert soft.names[1] == "group 1"
    assert "1 group 1" in str(soft)


def test_names_follow_the_members_along_a_path():
    path = klump.beta_path(random_chain(12, random_state=0), 3, n_init=2)
    for found in path:
        assert found.names == default_names(found.groups)


# Given names


def test_texts_as_labels_are_names():
    found = Aggregation.from_labels(WEATHER, ["dry", "dry", "wet"])
    assert found.names == NAMES
    assert Aggregation.from_labels(WEATHER, found).names == NAMES
    assert Aggregation.from_labels(WEATHER, np.array(["dry", "dry", "wet"])).names == NAMES
    assert all(
        type(name) is str for name in Aggregation.from_labels(WEATHER, np.array(["a", "b", "b"])).names
    )


def test_renaming_returns_another_answer(answer):
    answer.cost  # noqa: B018  computed before, and kept
    named = answer.with_names(NAMES)
    assert (named.names, answer.names) == (NAMES, ("sun cloud", "rain"))
    assert named.__dict__["costs"] is answer.costs
    assert named.with_names({"dry": "fine"}).names == ("fine", "wet")
    assert named.with_names({0: "wet", 1: "dry"}).names == ("wet", "dry")
    assert named.chain.states == answer.chain.states


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["dry"], "names has 1 entries, but there are 2 groups"),
        (["dry", "dry"], "names holds 'dry' twice"),
        (["dry", " "], "names holds ' '"),
        (["dry", None], "names holds None"),
        (["dry", 3], "names holds 3"),
        ("ab", "names='ab' must list"),
        (7, "names=7 must list"),
        ({2: "x"}, "names renames 2, which is no group"),
        ({True: "x"}, "names renames True"),
        ({"snow": "x"}, "names renames 'snow'"),
        ({0: "rain"}, "names holds 'rain' twice"),
    ],
)
def test_bad_names_get_one_clear_error(answer, names, message):
    with pytest.raises(InvalidArgumentError, match=message):
        answer.with_names(names)


# Kept


def test_save_and_load(named, answer, tmp_path):
    named.save(tmp_path / "named.npz")
    answer.save(tmp_path / "default.npz")
    assert klump.load(tmp_path / "named.npz").names == NAMES
    again = klump.load(tmp_path / "default.npz")
    assert (again.names, again.group_names) == (answer.names, None)


def test_paths_and_grids_keep_names(tmp_path):
    path = klump.beta_path(random_chain(8, random_state=0), 2, betas=[1, 0.5], n_init=2).with_names(NAMES)
    path.save(tmp_path / "path.npz")
    assert [found.names for found in klump.load(tmp_path / "path.npz")] == [NAMES, NAMES]


def change_names(path, names):
    """Rewrite the names in the metadata of a saved answer."""
    arrays = dict(np.load(path))
    metadata = json.loads(arrays["metadata"].item())
    if names is None:
        del metadata["aggregations"][0]["names"]
    else:
        metadata["aggregations"][0]["names"] = names
    arrays["metadata"] = np.array(json.dumps(metadata).encode("ascii"))
    with path.open("wb") as file:
        np.savez(file, **arrays)


def test_files_without_names_are_read(named, answer, tmp_path):
    named.save(tmp_path / "old.npz")
    change_names(tmp_path / "old.npz", None)
    assert klump.load(tmp_path / "old.npz").names == answer.names


@pytest.mark.parametrize("names", [["one"], ["a", "a"], ["a", 1], "ab", 3, {"a": "b"}, [["a"], ["b"]]])
def test_damaged_names_are_refused(named, tmp_path, names):
    named.save(tmp_path / "bad.npz")
    change_names(tmp_path / "bad.npz", names)
    with pytest.raises(FileFormatError, match="the file is damaged"):
        klump.load(tmp_path / "bad.npz")


def test_pickle_and_harden(named):
    assert pickle.loads(pickle.dumps(named)).names == NAMES
    soft = Aggregation.from_labels(WEATHER, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]).with_names(NAMES)
    assert soft.harden().names == NAMES


def test_other_packages(named):
    assert named.to_dict()["names"] == list(NAMES)
    if pytest.importorskip("pandas"):
        assert named.to_frame()["name"].tolist() == ["dry", "dry", "wet"]
    if pytest.importorskip("networkx"):
        assert [named.to_networkx().nodes[group]["name"] for group in (0, 1)] == list(NAMES)


def test_categories_of_cells_are_given_names_or_numbers():
    pytest.importorskip("pandas")
    adata = make_anndata()
    found = klump.aggregate(klump.MarkovChain(T, states=CELLS), 2)
    found.to_anndata(adata)
    assert list(adata.obs["klump"].cat.categories) == ["0", "1"]
    found.with_names(NAMES).to_anndata(adata)
    assert list(adata.obs["klump"].cat.categories) == list(NAMES)
    assert adata.uns["klump"]["names"] == list(NAMES)


# Text


def test_text_has_groups_costs_and_matrix(named):
    lines = str(named).splitlines()
    assert lines[1].split()[:3] == ["group", "name", "states"]
    assert lines[2].split() == ["0", "dry", "2", "0.6667", "sun", "cloud"]
    assert lines[-3].split() == ["from\\to", "0", "1"]
    assert lines[-2].split() == ["0", "dry", "0.9000", "0.1000"]
    assert lines[-1].split() == ["1", "wet", "0.2000", "0.8000"]


@pytest.mark.parametrize("n_groups", [1, 2, 8, 9, 40, 60])
@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_text_is_a_screenful(n_groups, stored):
    matrix = random_chain(60, random_state=0).transition_matrix
    chain = klump.MarkovChain(
        sparse.csr_array(matrix) if stored == "sparse" else matrix,
        states=[f"a rather long name of state {number}" for number in range(60)],
    )
    answer = Aggregation.from_labels(chain, np.arange(60) % n_groups)
    lines = [line for line in str(answer).splitlines() if not line.startswith("note: ")]
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert (f"  ...  +{n_groups - 8} group" in str(answer)) == (n_groups > 8)


def test_printed_matrix_is_that_of_the_aggregated_chain():
    answer = Aggregation.from_labels(random_chain(60, random_state=1), np.arange(60) % 20)
    lines = str(answer).splitlines()
    header = next(place for place, line in enumerate(lines) if "from\\to" in line)
    rows = [[float(cell) for cell in line.split()[-9:-1]] for line in lines[header + 1 : header + 9]]
    np.testing.assert_allclose(rows, answer.chain.transition_matrix[:8, :8], atol=5.1e-5)


def test_names_of_wide_characters_stay_in_their_column():
    answer = Aggregation.from_labels(P, ["晴れ", "晴れ", "雨"])
    lines = str(answer).splitlines()
    assert len({cell_len(line.split("0.")[0]) for line in lines[-2:]}) == 1


def test_path_is_printed_as_a_table():
    path = klump.beta_path(random_chain(10, random_state=3), 3, n_init=2)
    lines = str(path).splitlines()
    assert lines[0] == "10 states in 3 groups, annealing; costs in bits"
    assert lines[1].split() == [
        "beta",
        "cost",
        "lumpability",
        "predictability",
        "kept",
        "epsilon",
        "moved",
    ]
    assert [float(line.split()[0]) for line in lines[2:]] == pytest.approx(path.betas)
    moved = [int((one.labels != other.labels).sum()) for one, other in pairwise(path)]
    assert [line.split()[-1] for line in lines[2:]] == ["-", *map(str, moved)]
    assert repr(path).startswith("AggregationPath(betas=[1, 0.9")


def test_long_paths_are_cut():
    path = klump.beta_path(random_chain(6, random_state=3), 2, n_init=1, step=0.02)
    lines = str(path).splitlines()
    assert len(lines) == 24
    assert lines[13].strip() == "..."
    assert (lines[2].split()[0], lines[-1].split()[0]) == ("1", "0")


def test_empty_and_soft_paths_have_a_text():
    assert str(klump.AggregationPath(())) == "no aggregations"
    soft = Aggregation.from_labels(P, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    assert "soft" in str(klump.AggregationPath((soft,)))
