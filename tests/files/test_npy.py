"""Chains in ``.npy`` files."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files import losses, npy

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


def test_sparse_chains_become_dense_and_names_are_lost(tmp_path, monkeypatch):
    chain = klump.MarkovChain(sparse.csr_array(P), ["a", "b"])
    assert losses(chain, "model.npy") == ["state names"]
    klump.write_chain(chain, tmp_path / "model.npy")
    back = klump.read_chain(tmp_path / "model.npy")
    assert np.array_equal(back.transition_matrix, P)
    assert back.states == (0, 1)
    monkeypatch.setattr(npy, "_MAX_DENSE", 1)
    with pytest.raises(InvalidArgumentError, match=r"2 states are too many for a dense one; write an \.npz"):
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
    assert np.array_equal(klump.read_chain(path).transition_matrix, P)
    with pytest.raises(FileFormatError, match=r"rename it to \.npz"):
        klump.read_chain(path, format="npy")
    np.save(path, np.ones(3))
    with pytest.raises(klump.KlumpError, match=r"square|matrix"):
        klump.read_chain(path)
