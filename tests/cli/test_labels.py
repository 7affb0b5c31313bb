"""Partitions from files of every kind."""

import gzip
import json
import lzma

import numpy as np
import pytest

import klump
from klump.cli.labels import read_labels
from klump.errors import FileFormatError

CHAIN = klump.MarkovChain(np.full((4, 4), 0.25), ["a", " ", ",", "d"])


def read_numbers(path, chain):
    """Labels as numbers; names of groups in the order in which they appear."""
    found = read_labels(path, chain)
    names = list(dict.fromkeys(found))
    return [names.index(label) for label in found] if isinstance(found[0], str) else found


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("labels.txt", "0\n1\n1\n0\n", [0, 1, 1, 0]),
        ("labels.txt", "1\n0\n0\n1\n\n", [1, 0, 0, 1]),
        ("labels", "x\ny\nx\nz", [0, 1, 0, 2]),
        ("labels.txt", "7\n7\n9\n7\n", [0, 0, 1, 0]),
        ("labels.json", "[2, 0, 1, 0]", [2, 0, 1, 0]),
        ("labels.json", '["x", "y", 1, "1"]', [0, 1, 2, 2]),
        ("labels.json", '{"labels": [0, 1, 1, 1]}', [0, 1, 1, 1]),
        ("labels.json", '{"labels": [0, 1, 2, 3], "states": ["d", ",", " ", "a"]}', [3, 2, 1, 0]),
        ("labels.csv", 'state,group\n",",1\nd,0\na,1\n ,0\n', [1, 0, 1, 0]),
        ("labels.csv", 'group,note,state\nx,,a\ny,,d\ny,,","\nx,, \n', [0, 0, 1, 1]),
    ],
)
def test_text(tmp_path, name, content, labels):
    (tmp_path / name).write_text(content)
    assert read_numbers(str(tmp_path / name), CHAIN) == labels


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("labels.txt", "0\n1\n1\n0\n", [0, 1, 1, 0]),
        ("labels.json", "[2, 0, 1, 0]", [2, 0, 1, 0]),
        ("labels.csv", 'state,group\n",",1\nd,0\na,1\n ,0\n', [1, 0, 1, 0]),
        ("labels.csv", "state;group\n,;1\nd;0\na;1\n ;0\n", [1, 0, 1, 0]),
        ("labels.tsv", "state\tgroup\n,\t1\nd\t0\na\t1\n \t0\n", [1, 0, 1, 0]),
        ("labels.csv", 'state group\n, 1\nd 0\na  1\n" " 0\n', [1, 0, 1, 0]),
    ],
)
def test_compressed_text_and_delimiters(tmp_path, name, content, labels, compress):
    suffix = ".gz" if compress is gzip.compress else ".xz"
    (tmp_path / f"{name}{suffix}").write_bytes(compress(content.encode()))
    assert read_numbers(str(tmp_path / f"{name}{suffix}"), CHAIN) == labels


@pytest.mark.parametrize(
    "labels", [[0, 1, 1, 0], ["x", "y", "y", "x"], [5, -1, -1, 5], [True, False, False, True]]
)
def test_arrays(tmp_path, labels):
    np.save(tmp_path / "labels.npy", labels)
    assert read_numbers(str(tmp_path / "labels.npy"), CHAIN) == [0, 1, 1, 0]


def test_stochastic_map(tmp_path):
    mapping = np.array([[1, 0], [0.5, 0.5], [0, 1], [1, 0]])
    np.save(tmp_path / "map.npy", mapping)
    assert np.array_equal(read_labels(str(tmp_path / "map.npy"), CHAIN), mapping)


def test_names_of_a_restricted_chain(tmp_path):
    matrix = [[0.5, 0.5, 0], [0.5, 0.5, 0], [1, 0, 0]]
    chain = klump.MarkovChain(matrix, ["a", "b", "gone"], restrict="largest")
    (tmp_path / "labels.csv").write_text("state,group\na,0\nb,1\ngone,2\n")
    assert read_numbers(str(tmp_path / "labels.csv"), chain) == [0, 1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("labels.txt", b"0\n1\n", "2 labels, but the chain has 4 states"),
        ("labels.txt", b"0\n\n1\n1\n", "label 2 is empty"),
        ("labels.txt", b"\xff\xfe0", "not UTF-8 text"),
        ("labels.json", b"[0, 1", "line 1: not valid JSON"),
        ("labels.json", b"3", "the JSON document has no labels"),
        (
            "labels.json",
            b'{"clusters": []}',
            "the JSON document has no labels; write a list of them, or an object with the key labels",
        ),
        ("labels.json", b"[[0], [1], [1], [0]]", "the JSON document has no labels"),
        ("labels.json", b"[0, 1, null, 1]", "label 3 is empty"),
        ("labels.json", b'{"labels": [0], "states": []}', "the JSON document has 0 states, but 1 label;"),
        ("labels.csv", b"", "line 1: the header must have the columns state and group"),
        ("labels.csv", b"a,0\nb,1\n", "line 1: the header must have the columns state and group"),
        ("labels.csv", b"state,group\na,0\na,1\n", "the state 'a' is given twice"),
        ("labels.csv", b"state,group\na\n", "line 2 has 1 field instead of 2"),
        ("labels.csv", b"state,group\na,0\n", r"the state ' ' has no label \(3 such states\)"),
        (
            "labels.csv",
            b'state,group\na,0\n ,0\n",",0\nd,0\ne,1\n',
            r"the chain has no state 'e'; remove it",
        ),
        ("labels.csv", b'state,group\n"a,0\n', "line 2: unexpected end of data"),
        ("labels.npy", b"hello", "not a .npy array"),
        ("labels.npy", b"", "not a .npy array"),
    ],
)
def test_wrong_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=f"{name}: {message}"):
        read_labels(str(tmp_path / name), CHAIN)


def test_pickle_is_refused(tmp_path):
    np.save(tmp_path / "labels.npy", np.array([{}, 1, 2, 3], dtype=object))
    with pytest.raises(FileFormatError, match=r"not a .npy array of numbers or strings"):
        read_labels(str(tmp_path / "labels.npy"), CHAIN)


def test_own_output_with_names_that_json_does_not_have(tmp_path):
    chain = klump.MarkovChain(np.full((2, 2), 0.5), [(0, 1), (1, 0)])
    (tmp_path / "labels.json").write_text(json.dumps({"states": ["(1, 0)", "(0, 1)"], "labels": ["x", "y"]}))
    assert read_numbers(str(tmp_path / "labels.json"), chain) == [0, 1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.json", f"[0, 1, 1, {'9' * 5000}]".encode()),
        ("labels.json", b"[" * 100_000),
        ("labels.json", f'{{"mapping": [[{10**400}, 0], [0, 1], [0, 1], [1, 0]]}}'.encode()),
        ("labels.json", b'{"mapping": [[{}], 1]}'),
        ("labels.json", b"\xff\xfe[0]"),
        ("labels.csv", b"state,group\n" + b"x" * 200_000 + b",1\n"),
        ("labels.csv", b"state,group\na,0\n\xff,1\n"),
        ("labels.npy", b"\x93NUMPY\x01\0\x10\0{'shape': (1,)}\n"),
    ],
    ids=[
        "long integer",
        "nesting",
        "overflow",
        "ragged",
        "encoding",
        "long field",
        "encoding in csv",
        "header",
    ],
)
def test_hostile_files_are_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        read_labels(str(tmp_path / name), CHAIN)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}: ")
    assert message.isprintable()
    assert len(message) < 500


def test_an_archive_that_is_named_npy(tmp_path):
    with (tmp_path / "labels.npy").open("wb") as file:
        np.savez(file, labels=np.zeros(4))
    with pytest.raises(FileFormatError, match=r"labels\.npy: not a \.npy array"):
        read_labels(str(tmp_path / "labels.npy"), CHAIN)
