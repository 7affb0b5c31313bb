"""Round trips in every format."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io, sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.registry import MODULES

P = np.array([[0.1, 0.2, 0.7], [1 / 3, 2 / 3, 0.0], [1e-300, 0.5, 0.5]])


def same_matrix(a, b):
    a, b = (m.toarray() if sparse.issparse(m) else m for m in (a.transition_matrix, b.transition_matrix))
    return np.array_equal(a, b)


@pytest.mark.parametrize("suffix", MODULES)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_numbers_and_storage_survive(tmp_path, suffix, kind):
    chain = klump.MarkovChain(kind(P))
    path = tmp_path / f"model{suffix}"
    klump.write_chain(chain, path)
    back = klump.read_chain(path)
    assert same_matrix(back, chain)
    assert back.is_sparse == (
        suffix != ".npy" and (chain.is_sparse or not suffix.startswith((".npz", ".mtx", ".csv", ".tsv")))
    )
    assert back.states == (0, 1, 2)


NAMED = [
    ".npz",
    ".mapped",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".tra",
    ".storm.tra.gz",
    ".drn",
    ".graphml",
    ".parquet",
]


@pytest.mark.parametrize("suffix", NAMED)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "states",
    [
        (",", '"', " "),
        ("", "#", "a\nb"),
        ("from", "to", "weight"),
        (" a", "a ", "a\t"),
        ("ä", "中", "🙂"),
        (7, -2, 12),
        (-3, -1, -2),
        (2, 1, 0),
        ("a\rb", "\r", "\r\n"),
        ("\0", "a\0", "-0"),
        ("nan", "1e5", "0.5"),
        (" ", "\u2028", "\x85"),
        ("s=0,b=true", "s=-1,b=true", "s=2,b=false"),
        ("name=1", "name=2", "name=3"),
        ("]", "//[x]", "<&>"),
    ],
)
def test_names_survive(tmp_path, suffix, kind, states):
    chain = klump.MarkovChain(kind(P), states)
    path = tmp_path / f"model{suffix}"
    klump.write_chain(chain, path)
    back = klump.read_chain(path)
    assert back.states == states
    assert same_matrix(back, chain)


# Surrogates are not text: MarkovChain refuses them.
text = st.text(st.characters(codec="utf-8"))


@given(
    st.lists(text, min_size=1, max_size=5, unique=True)
    | st.lists(st.integers(), min_size=1, max_size=5, unique=True),
    st.sampled_from([np.array, sparse.csr_array]),
    st.sampled_from([".csv", ".tsv", ".csv.gz"]),
)
def test_csv_keeps_names_and_their_order(tmp_path_factory, states, kind, suffix):
    n = len(states)
    matrix = np.arange(1.0, n * n + 1).reshape(n, n)
    chain = klump.MarkovChain(kind(matrix / matrix.sum(axis=1, keepdims=True)), states)
    path = tmp_path_factory.getbasetemp() / f"names{suffix}"
    klump.write_chain(chain, path)
    back = klump.read_chain(path)
    assert [str(name) for name in back.states] == [str(name) for name in states]
    assert same_matrix(back, chain)


def test_integers_that_are_not_ascending_are_marked(tmp_path):
    for states, first in (((0, 1, 2), "from,to,probability"), ((2, 0, 1), "# states in order of appearance")):
        klump.write_chain(klump.MarkovChain(sparse.csr_array(P), states), tmp_path / "model.csv")
        assert (tmp_path / "model.csv").read_text().splitlines()[0] == first


names = (
    text
    | st.integers()
    | st.tuples(st.text(st.characters(codec="utf-8"), max_size=3), st.integers())
    | st.none()
    | st.booleans()
)


@given(st.lists(names, min_size=1, max_size=5, unique_by=lambda name: str(name)))
def test_npz_keeps_names_of_any_plain_kind(tmp_path_factory, states):
    if len(set(states)) < len(states):  # True == 1
        return
    path = tmp_path_factory.getbasetemp() / "names.npz"
    klump.write_chain(klump.MarkovChain(np.eye(len(states)), states), path)
    back = klump.read_chain(path).states
    assert [(type(name), name) for name in back] == [(type(name), name) for name in states]


def test_npz_refuses_names_that_need_pickle(tmp_path):
    chain = klump.MarkovChain(np.eye(1), [frozenset({1})])
    with pytest.raises(InvalidArgumentError, match=r"model.npz: the state name frozenset.* without pickle"):
        klump.write_chain(chain, tmp_path / "model.npz")


def test_scipy_reads_what_klump_writes(tmp_path):
    chain = klump.MarkovChain(sparse.csr_array(P), ["a", "b", "c"])
    klump.write_chain(chain, tmp_path / "model.npz")
    assert np.array_equal(sparse.load_npz(tmp_path / "model.npz").toarray(), P)
    klump.write_chain(chain, tmp_path / "model.mtx.gz")
    assert np.array_equal(io.mmread(tmp_path / "model.mtx.gz").toarray(), P)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "bsr_array", "dia_array"])
def test_klump_reads_what_scipy_writes(tmp_path, kind):
    sparse.save_npz(tmp_path / "model.npz", getattr(sparse, kind)(P))
    chain = klump.read_chain(tmp_path / "model.npz")
    assert chain.is_sparse
    assert np.array_equal(chain.transition_matrix.toarray(), P)


def test_suffix_in_capitals_is_the_same(tmp_path):
    chain = klump.MarkovChain(P)
    for name in ("MODEL.NPZ", "Model.Csv", "model.TSV"):
        klump.write_chain(chain, tmp_path / name)
        assert (tmp_path / name).exists()
        assert same_matrix(klump.read_chain(tmp_path / name), chain)


def test_path_may_be_text(tmp_path):
    klump.write_chain(P, str(tmp_path / "model.npz"))
    assert same_matrix(klump.read_chain(str(tmp_path / "model.npz")), klump.MarkovChain(P))


def test_csv_gz_is_compressed(tmp_path):
    klump.write_chain(P, tmp_path / "model.csv.gz")
    assert gzip.decompress((tmp_path / "model.csv.gz").read_bytes()).startswith(b"0.1,0.2,0.7\n")


def test_cannot_be_written(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"nowhere.model\.csv: cannot be written: No such file or directory"
    ):
        klump.write_chain(P, tmp_path / "nowhere" / "model.csv")
    with pytest.raises(
        FileFormatError, match=r"model\.xlsx: the suffix '\.xlsx' is not known; .*\.npz, \.npy, \.mtx"
    ):
        klump.write_chain(P, tmp_path / "model.xlsx")
    with pytest.raises(FileFormatError, match="a state name has more than 131,072 characters"):
        klump.write_chain(klump.MarkovChain(P, ["a", "b", "x" * 200_000]), tmp_path / "model.csv")
    chain = klump.MarkovChain(P, [1, "1", 2])
    with pytest.raises(FileFormatError, match="two state names are the same when written as text"):
        klump.write_chain(chain, tmp_path / "model.csv")
