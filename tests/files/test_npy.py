"""Chains in ``.npy`` files."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError

P = np.array([[0.9, 0.1], [0.25, 0.75]])


def test_round_trip(tmp_path):
    klump.write_chain(P, tmp_path / "model.npy")
    chain = klump.read_chain(tmp_path / "model.npy")
    assert np.array_equal(chain.transition_matrix, P)
    assert not chain.has_names


def test_counts_need_normalize(tmp_path):
    np.save(tmp_path / "counts.npy", np.array([[8, 2], [1, 3]]))
    with pytest.raises(klump.KlumpError, match=r"counts\.npy: .*normalize"):
        klump.read_chain(tmp_path / "counts.npy")
    assert klump.read_chain(tmp_path / "counts.npy", normalize=True).transition_matrix[0, 0] == 0.8


@pytest.mark.parametrize(
    ("chain", "what"),
    [(sparse.csr_array(P), "a sparse matrix"), (klump.MarkovChain(P, ["a", "b"]), "the names of the states")],
)
def test_names_and_sparse_chains_are_refused(tmp_path, chain, what):
    with pytest.raises(InvalidArgumentError, match=f"cannot hold {what}; write an .npz"):
        klump.write_chain(chain, tmp_path / "model.npy")


def test_damaged_and_mislabelled_files(tmp_path):
    path = tmp_path / "model.npy"
    np.save(path, P)
    whole = path.read_bytes()
    for content, message in (
        (b"", "empty"),
        (whole[:-5], "truncated"),
        (b"a,b\n1,0\n", "not a .npy array"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=message) as caught:
            klump.read_chain(path)
        assert str(caught.value).startswith(str(path))
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"not a \.npy array of numbers"):
        klump.read_chain(path)
    with path.open("wb") as file:
        np.savez(file, P=P)
    with pytest.raises(FileFormatError, match=r"rename it to \.npz"):
        klump.read_chain(path)
    np.save(path, np.ones(3))
    with pytest.raises(klump.KlumpError, match=r"square|matrix"):
        klump.read_chain(path)
