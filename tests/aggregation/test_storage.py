"""Saved answers round-trip exactly, and other files get one clear error."""

from __future__ import annotations

import dataclasses
import enum
import io
import json
import os
import zipfile
from collections import namedtuple
from datetime import date

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
from klump.aggregation import storage
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.constraints import GroupConstraints
from klump.aggregation.mapping import as_mapping
from klump.aggregation.path import AggregationPath
from klump.aggregation.storage import load, save
from klump.chain import MarkovChain
from klump.errors import FileFormatError, InvalidArgumentError
from klump.search.method import Record

P = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.05, 0.05, 0.9]])
FACTS = {
    "beta": 0.3,
    "gamma": 0.2,
    "n_asked": 4,
    "method": "annealing",
    "random_state": 7,
    "trace": (0.5, 1 / 3, 0.1),
    "interrupted": True,
    "interrupted_after": 2.5,
    "constraints": GroupConstraints(fixed=((0, 1), (1, "x")), must_link=((0, 1),), min_mass=0.125),
    "effort": "thorough",
    "lag": 3,
    "microstates": 2,
    "made_with": (("klump", "0.1.0"), ("numpy", "2.0")),
    "group_names": None,
    "group_identities": None,
}


def answer_for(chain=None, labels=(0, 0, 1), **facts):
    chain = MarkovChain(P) if chain is None else chain
    return Aggregation(chain, as_mapping(labels, chain.n_states), **(FACTS | facts))


def there_and_back(answer, tmp_path):
    save(answer, tmp_path / "answer.npz")
    return load(tmp_path / "answer.npz")


def assert_same_chain(one, other):
    assert one.is_sparse == other.is_sparse
    if one.is_sparse:
        for part in ("data", "indices", "indptr"):
            a, b = getattr(one.transition_matrix, part), getattr(other.transition_matrix, part)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_array_equal(one.transition_matrix, other.transition_matrix)
    np.testing.assert_array_equal(one.stationary_distribution, other.stationary_distribution)
    np.testing.assert_array_equal(one.original_index, other.original_index)
    assert one.applied == other.applied
    assert one.has_names == other.has_names
    assert repr(one.states) == repr(other.states)


def assert_same_answer(one, other):
    assert_same_chain(one.original, other.original)
    np.testing.assert_array_equal(one.mapping, other.mapping)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.labels.dtype == other.labels.dtype
    for name in FACTS:
        assert getattr(one, name) == getattr(other, name)
    assert one.costs == other.costs
    assert one.cost == other.cost
    assert str(one) == str(other)


def test_identities_of_a_grid_are_kept(tmp_path):
    answer = answer_for(group_identities=(4, 1))
    again = there_and_back(answer, tmp_path)
    assert again.group_identities == again.identities == (4, 1)


def test_every_field_is_covered_here():
    """A field that is added to Aggregation must be saved too."""
    assert {field.name for field in dataclasses.fields(Aggregation)} == {"original", "map", "record", *FACTS}
    assert {field.name for field in dataclasses.fields(AggregationPath)} == {"aggregations"}


# Round trips


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chains.matrices_and_labels(), st.booleans(), chains.seeds)
def test_deterministic_maps(tmp_path, drawn, stored_sparse, seed):
    P, labels, _ = drawn
    chain = MarkovChain(sparse.csr_array(P) if stored_sparse else P)
    trace = tuple(np.random.default_rng(seed).random(3))
    answer = answer_for(chain, labels, trace=trace)
    again = there_and_back(answer, tmp_path)
    assert_same_answer(answer, again)
    assert again.bisimulation == answer.bisimulation


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chains.matrices_and_maps(), st.booleans())
def test_stochastic_maps(tmp_path, drawn, stored_sparse):
    P, W = drawn
    answer = answer_for(MarkovChain(sparse.csr_array(P) if stored_sparse else P), W)
    again = there_and_back(answer, tmp_path)
    assert_same_answer(answer, again)
    assert again.map.labels is None


def test_what_a_method_recorded_comes_back(tmp_path):
    columns = {"first": np.array([0, 2]), "cost": np.array([0.25, np.inf])}
    again = there_and_back(answer_for(record=Record("mine", columns)), tmp_path).record
    assert again.kind == "mine"
    assert list(again.columns) == list(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(again.columns[name], column)
        assert not again.columns[name].flags.writeable
    assert there_and_back(answer_for(), tmp_path).record is None


def test_path_with_hard_and_soft_steps(tmp_path):
    chain = MarkovChain(sparse.csr_array(P), states=["a", "b", "c"])
    steps = (
        answer_for(chain, beta=1.0),
        answer_for(chain, [[1, 0], [0.2, 0.8], [0, 1]], beta=0.5, random_state=None, trace=()),
        answer_for(chain, [0, 1, 2], beta=0.0, interrupted=False, method="given"),
    )
    again = there_and_back(AggregationPath(steps), tmp_path)
    assert isinstance(again, AggregationPath)
    assert len(again) == 3
    for one, other in zip(steps, again, strict=True):
        assert_same_answer(one, other)
        assert other.original is again[0].original


def test_path_of_one_step_stays_a_path(tmp_path):
    assert isinstance(there_and_back(AggregationPath((answer_for(),)), tmp_path), AggregationPath)


@pytest.mark.parametrize("stored", [np.array, sparse.csr_array])
def test_restricted_and_restarted_chains(stored, tmp_path):
    absorbing = np.array([[0.5, 0.25, 0.25], [0.0, 0.4, 0.6], [0.0, 0.7, 0.3]])
    restricted = MarkovChain(stored(absorbing), states="xyz", restrict="largest")
    restarted = MarkovChain(stored(absorbing), restart=0.1, initial=0)
    assert restricted.original_index.tolist() == [1, 2]
    for chain in (restricted, restarted):
        answer = answer_for(chain, list(range(chain.n_states)))
        assert answer.original.applied
        assert_same_answer(answer, there_and_back(answer, tmp_path))


def test_supplied_stationary_distribution_is_kept_bit_for_bit(tmp_path):
    mu = MarkovChain(P).stationary_distribution * (1 + 1e-10)
    chain = MarkovChain(P, stationary_distribution=mu)
    assert_same_chain(chain, there_and_back(answer_for(chain), tmp_path).original)


def test_loaded_chains_are_whole(tmp_path):
    chain = there_and_back(answer_for(MarkovChain(sparse.csr_array(P), states="abc")), tmp_path).original
    assert chain.is_irreducible
    assert chain.redundancy_rate == MarkovChain(sparse.csr_array(P)).redundancy_rate
    assert repr(chain) == "MarkovChain(3 states, 9 transitions)"
    for array in (chain.transition_matrix.data, chain.stationary_distribution, chain.original_index):
        assert not array.flags.writeable
    with pytest.raises(AttributeError, match="immutable"):
        chain.applied = ()


plain = st.one_of(
    st.text(st.characters(codec=None), max_size=4),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=4),
)
names = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(names, min_size=3, max_size=3))
def test_names_keep_kind_and_value(tmp_path, states):
    if len(set(states)) < 3:
        states = [(number, name) for number, name in enumerate(states)]
    answer = answer_for(MarkovChain(P, states=states))
    again = there_and_back(answer, tmp_path).original.states
    # As text, because NaN differs from itself, and True and 1.0 do not differ from 1.
    assert repr(again) == repr(tuple(states))


def test_numpy_names_become_plain_ones(tmp_path):
    states = [np.int64(3), np.str_("x"), (np.float32(0.5), np.bool_(True), np.bytes_(b"\0\xff"))]
    again = there_and_back(answer_for(MarkovChain(P, states=states)), tmp_path).original.states
    assert again == (3, "x", (0.5, True, b"\0\xff"))
    assert [type(name) for name in again[:2]] == [int, str]
    assert [type(part) for part in again[2]] == [float, bool, bytes]


class Colour(enum.IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "name",
    [
        frozenset({1}),
        1 + 2j,
        date(2020, 1, 1),
        Colour.RED,
        Point(1, 2),
        np.datetime64("2020-01-01", "ns"),
        np.timedelta64(5, "ns"),
        ("nested", ("deep", frozenset())),
        object(),
    ],
    ids=lambda name: type(name).__name__,
)
def test_other_names_are_refused_before_anything_is_written(name, tmp_path):
    answer = answer_for(MarkovChain(P, states=["fine", "too", name]))
    target = tmp_path / "answer.npz"
    target.write_bytes(b"precious")
    with pytest.raises(InvalidArgumentError, match=r"cannot be saved without pickle.*states=") as caught:
        save(answer, target)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert target.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["answer.npz"]


# The file


@pytest.mark.parametrize("name", ["answer", "answer.npz", "answer.klump", "answer.NPZ", "answer.tar.gz"])
def test_name_of_the_file_is_the_one_given(name, tmp_path):
    answer = answer_for()
    answer.save(str(tmp_path / name))
    assert os.listdir(tmp_path) == [name]
    assert_same_answer(answer, load(tmp_path / name))


def test_format_is_open(tmp_path):
    """NumPy, SciPy and a zip program read it without klump, and without pickle."""
    chain = MarkovChain(sparse.csr_array(P), states=["a", "b", "c"])
    answer_for(chain, [[1, 0], [0.2, 0.8], [0, 1]]).save(tmp_path / "answer.npz")
    np.testing.assert_array_equal(sparse.load_npz(tmp_path / "answer.npz").toarray(), P)
    with np.load(tmp_path / "answer.npz", allow_pickle=False) as archive:
        metadata = json.loads(archive["metadata"].item())
        assert metadata["format"] == "klump/aggregation"
        assert metadata["version"] == 1
        assert metadata["states"] == ["a", "b", "c"]
        assert metadata["aggregations"][0]["beta"] == 0.3
        assert archive["map_0_data"].tolist() == [1.0, 0.2, 0.8, 1.0]
    with zipfile.ZipFile(tmp_path / "answer.npz") as archive:
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    answer_for().save(tmp_path / "dense.npz")
    with np.load(tmp_path / "dense.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["transition_matrix"], P)
        assert archive["labels_0"].dtype == np.int32


def test_equal_answers_give_equal_files(tmp_path):
    for name in ("one", "other"):
        answer_for().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_files_of_format_1_stay_readable(tmp_path):
    """Written out entry by entry, so that a change of the writer alone cannot break old files unnoticed."""
    metadata = {
        "format": "klump/path",
        "version": 1,
        "states": ["a", {"bytes": "00ff"}, [1, {"float": "inf"}]],
        "applied": ["restarted at state a with probability 0.1"],
        "aggregations": [
            {
                "beta": 0.5,
                "method": "auto",
                "random_state": None,
                "trace": [0.25, 0.125],
                "interrupted": False,
                "made_with": {"klump": "0.1.0"},
                "n_groups": 2,
            }
        ],
    }
    np.savez(
        tmp_path / "old.npz",
        metadata=np.array(json.dumps(metadata).encode()),
        transition_matrix=P,
        stationary_distribution=MarkovChain(P).stationary_distribution,
        original_index=np.arange(3),
        labels_0=np.array([0, 0, 1], dtype=np.int32),
    )
    (answer,) = load(tmp_path / "old.npz")
    assert answer.original.states == ("a", b"\x00\xff", (1, float("inf")))
    assert answer.original.applied == ("restarted at state a with probability 0.1",)
    assert answer.trace == (0.25, 0.125)
    assert answer.made_with == (("klump", "0.1.0"),)
    assert answer.labels.tolist() == [0, 0, 1]
    assert (answer.effort, answer.interrupted_after) == (None, None)


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "answer.npz"
    answer_for().save(target)
    before = target.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.np.lib.format, "write_array", full)
    with pytest.raises(FileFormatError, match=r"answer.npz: cannot be written: No space left on device"):
        answer_for(beta=0.9).save(target)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["answer.npz"]


def test_saving_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    answer_for().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same_answer(answer_for(), load(tmp_path / "real"))


def test_what_cannot_be_saved(tmp_path):
    for wrong, message in [
        ("text", "only an Aggregation"),
        (AggregationPath(()), "path is empty"),
        (AggregationPath((answer_for(), answer_for())), "different chains"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            save(wrong, tmp_path / "answer.npz")
    with pytest.raises(FileFormatError, match=r"nowhere/answer.npz: cannot be written: No such file"):
        save(answer_for(), tmp_path / "nowhere" / "answer.npz")
    assert os.listdir(tmp_path) == []


# Files that hold no answer


def content_of(answer, tmp_path):
    save(answer, tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def refusal(path):
    with pytest.raises(FileFormatError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"label,group\na,0\n", "not an .npz archive; give a file that Aggregation.save wrote"),
        (b"PK\x03\x04 and then the line went dead", "cut short"),
    ],
)
def test_something_else(content, message, tmp_path):
    (tmp_path / "answer.npz").write_bytes(content)
    assert message in refusal(tmp_path / "answer.npz")


def test_missing_file_and_directory(tmp_path):
    assert "cannot be read: No such file or directory" in refusal(tmp_path / "nothing.npz")
    assert "cannot be read: Is a directory" in refusal(tmp_path)


def test_other_archives(tmp_path):
    np.savez(tmp_path / "chain.npz", P=P)
    assert "klump saved no answer in it; read chains with klump.read_chain" in refusal(tmp_path / "chain.npz")
    np.savez(tmp_path / "other.npz", metadata=np.array(b'{"format": "other", "version": 1}'))
    assert "klump saved no answer in it" in refusal(tmp_path / "other.npz")
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "klump saved no answer in it" in refusal(tmp_path / "text.zip")


def test_every_truncation_is_noticed(tmp_path):
    answer_for().save(tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    for length in [*range(1, len(whole), 97), len(whole) - 1]:
        (tmp_path / "short.npz").write_bytes(whole[:length])
        message = refusal(tmp_path / "short.npz")
        assert "cut short" in message or "not an .npz archive" in message


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_flipped_bits_are_noticed_or_harmless(flip, tmp_path):
    """Every byte of the data is covered by a checksum; some in the directory are never used."""
    answer = answer_for(MarkovChain(P, states="abc"))
    answer.save(tmp_path / "good.npz")
    whole = bytearray((tmp_path / "good.npz").read_bytes())
    noticed = 0
    for place in range(0, len(whole), 5):
        whole[place] ^= flip
        (tmp_path / "bad.npz").write_bytes(whole)
        try:
            assert_same_answer(answer, load(tmp_path / "bad.npz"))
        except FileFormatError:
            noticed += 1
        whole[place] ^= flip
    assert noticed > 0.7 * len(whole) / 5


def test_newer_format(tmp_path):
    content = content_of(answer_for(), tmp_path)
    metadata = json.loads(content["metadata"].item()) | {"version": 3}
    np.savez(tmp_path / "new.npz", **(content | {"metadata": np.array(json.dumps(metadata).encode())}))
    assert refusal(tmp_path / "new.npz").endswith("written by a newer klump (format 3); upgrade klump")


@pytest.mark.parametrize("stored", [np.array, sparse.csr_array])
def test_missing_entries(stored, tmp_path):
    soft = [[1, 0], [0.2, 0.8], [0, 1]]
    content = content_of(answer_for(MarkovChain(stored(P)), soft), tmp_path)
    needed = set(content) - {"format", "_is_array"}  # those two are for SciPy alone
    for name in needed - {"metadata"}:
        np.savez(tmp_path / "bad.npz", **{key: array for key, array in content.items() if key != name})
        message = refusal(tmp_path / "bad.npz")
        assert "is missing; save the answer again" in message


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("transition_matrix", P * 1.1),
        ("transition_matrix", P * (1 + 1e-9)),
        ("transition_matrix", -P),
        ("transition_matrix", P[:2]),
        ("transition_matrix", P.astype(np.float32)),
        ("transition_matrix", np.array([["a"]])),
        ("stationary_distribution", np.ones(3) / 3),
        ("stationary_distribution", np.array([0.5, 0.5])),
        ("stationary_distribution", np.array([np.nan, 0.5, 0.5])),
        ("original_index", np.arange(4)),
        ("original_index", np.arange(3.0)),
        ("labels_0", np.array([0, 0, 2], dtype=np.int32)),
        ("labels_0", np.array([0, -1, 1], dtype=np.int32)),
        ("labels_0", np.array([0, 1], dtype=np.int32)),
        ("labels_0", np.array([0, 1, 2], dtype=np.int32)),
        ("labels_0", np.array([[0, 0, 1]], dtype=np.int32)),
        ("metadata", np.array(b"{not json")),
        ("metadata", np.array(b"[]")),
        ("metadata", np.array(b"[" * 100000)),
        ("metadata", np.array(b'{"format": "klump/aggregation"}')),
        ("metadata", np.array(b'{"format": "klump/aggregation", "version": "1"}')),
        ("metadata", np.array(b'{"format": "klump/aggregation", "version": 1}')),
        ("metadata", np.array(3.0)),
    ],
)
def test_contents_that_do_not_fit(entry, value, tmp_path):
    content = content_of(answer_for(), tmp_path)
    assert entry in content
    np.savez(tmp_path / "bad.npz", **(content | {entry: value}))
    assert "the file is damaged" in refusal(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("states", ["a", "b"]),
        ("states", ["a", "a", "b"]),
        ("states", [{"set": "1"}, 2, 3]),
        ("states", [{"bytes": "zz"}, 2, 3]),
        ("states", [{"bytes": 3}, 2, 3]),
        ("states", 5),
        ("applied", None),
        ("aggregations", []),
        ("aggregations", [{}]),
        ("aggregations", 7),
        ("beta", 1.5),
        ("beta", None),
        ("trace", "steep"),
        ("n_groups", 3),
        ("n_groups", "two"),
        ("made_with", ["klump"]),
    ],
)
def test_metadata_that_do_not_fit(key, value, tmp_path):
    content = content_of(answer_for(), tmp_path)
    metadata = json.loads(content["metadata"].item())
    (metadata if key in metadata else metadata["aggregations"][0])[key] = value
    np.savez(tmp_path / "bad.npz", **(content | {"metadata": np.array(json.dumps(metadata).encode())}))
    assert "the file is damaged" in refusal(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("indices", np.array([0, 1, 9] * 3, dtype=np.int32)),
        ("indptr", np.array([0, 3, 6, 99], dtype=np.int32)),
        ("indptr", np.array([0, 6, 3, 9], dtype=np.int32)),
        ("shape", np.array([3, 4])),
        ("shape", np.array([-3, 3])),
        ("data", np.full(9, np.nan)),
        ("map_0_indices", np.array([0, 1, 0, 5], dtype=np.int32)),
        ("map_0_indptr", np.array([0, 1, 3], dtype=np.int32)),
        ("map_0_data", np.array([1.0, 0.2, 0.7, 1.0])),
    ],
)
def test_sparse_parts_that_do_not_fit(entry, value, tmp_path):
    """Kernels do not check bounds, so that load must refuse indices out of range."""
    chain = MarkovChain(sparse.csr_array(P))
    content = content_of(answer_for(chain, [[1, 0], [0.2, 0.8], [0, 1]]), tmp_path)
    np.savez(tmp_path / "bad.npz", **(content | {entry: value}))
    assert "the file is damaged" in refusal(tmp_path / "bad.npz")


def test_pickles_are_never_read(tmp_path):
    content = content_of(answer_for(), tmp_path)
    with open(tmp_path / "bad.npz", "wb") as file:
        np.savez(file, **(content | {"original_index": np.array([{}, [], 3], dtype=object)}))
    assert "original_index" in refusal(tmp_path / "bad.npz")


def test_entries_that_are_no_arrays(tmp_path):
    content = content_of(answer_for(), tmp_path)
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in content.items() if name != "labels_0"})
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("labels_0.npy", "0 0 1")
    (tmp_path / "bad.npz").write_bytes(buffer.getvalue())
    assert "its array 'labels_0' is damaged: not a .npy array" in refusal(tmp_path / "bad.npz")


@pytest.mark.parametrize("n_groups", [10**9, 0, -1, "2", 2.0, True, None])
def test_numbers_of_groups_that_are_none(n_groups, tmp_path):
    """A soft map of three states and a billion groups would take gigabytes."""
    content = content_of(answer_for(labels=[[1, 0], [0.2, 0.8], [0, 1]]), tmp_path)
    metadata = json.loads(content["metadata"].item())
    metadata["aggregations"][0]["n_groups"] = n_groups
    np.savez(tmp_path / "bad.npz", **(content | {"metadata": np.array(json.dumps(metadata).encode())}))
    assert "its metadata have" in refusal(tmp_path / "bad.npz")


def test_a_grid_of_too_many_cells(tmp_path):
    grid = klump.grid(P, [2], betas=[0.5], method="sequential", n_init=1)
    content = content_of(grid, tmp_path)
    metadata = json.loads(content["metadata"].item())
    metadata["grid"] |= {"n_states": [2] * 20_000, "betas": [0.5] * 20_000}
    np.savez(tmp_path / "bad.npz", **(content | {"metadata": np.array(json.dumps(metadata).encode())}))
    assert "its grid has more than 1,000,000 cells" in refusal(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    "change",
    [
        {"first": [0, 9]},
        {"first": [0, -1]},
        {"first": [0, 0]},
        {"second": [3, 2]},
        {"second": [1]},
        {"leaf": [0, 1, 1]},
        {"leaf": [0, 1]},
        {"cost": [0.1, np.nan]},
        {"cost": [1, 2]},
        {"first": [0.0, 3.0]},
        {"cost": None},
    ],
)
@pytest.mark.parametrize("kind", ["merges", "relaxed merges"])
def test_merges_that_make_no_tree(change, kind, tmp_path):
    """Cutting the tree would follow them out of bounds, or for ever."""
    good = {"leaf": [0, 1, 2], "first": [0, 2], "second": [1, 3], "cost": [0.1, 0.2]}
    assert there_and_back(answer_for(record=record_of(kind, good)), tmp_path).tree.cut(2).n_states == 2
    save(answer_for(record=record_of(kind, good | change)), tmp_path / "bad.npz")
    assert "its merges make no tree" in refusal(tmp_path / "bad.npz") or "record" in refusal(
        tmp_path / "bad.npz"
    )


def record_of(kind, columns):
    return Record(kind, {name: np.array(values) for name, values in columns.items() if values is not None})


def test_splits_of_different_lengths(tmp_path):
    columns = {"temperature": [0.5], "groups": [2, 3]}
    save(answer_for(record=record_of("splits", columns)), tmp_path / "bad.npz")
    assert "the columns of its splits differ in length" in refusal(tmp_path / "bad.npz")
