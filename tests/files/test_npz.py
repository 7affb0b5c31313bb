"""Archives of NumPy and SciPy: lookup of the matrix, and refused files."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidChainError

P = np.array([[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize("key", ["transition_matrix", "P", "anything"])
def test_the_matrix_is_found(tmp_path, key):
    np.savez(tmp_path / "model.npz", **{key: P}, other=np.arange(3), states=np.array(["a", "b"]))
    chain = klump.read_chain(tmp_path / "model.npz")
    assert np.array_equal(chain.transition_matrix, P)
    assert chain.states == ("a", "b")


def test_compressed_and_single_precision(tmp_path):
    np.savez_compressed(tmp_path / "model.npz", P=np.full((3, 3), 1 / 3, dtype=np.float32))
    matrix = klump.read_chain(tmp_path / "model.npz").transition_matrix
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-15)


def test_saved_aggregation(tmp_path):
    klump.Aggregation.from_labels(P, [0, 1]).save(tmp_path / "answer.npz")
    with pytest.raises(
        FileFormatError, match=r"answer.npz: this is an aggregation that klump saved; klump.load"
    ):
        klump.read_chain(tmp_path / "answer.npz")


def test_two_matrices_are_ambiguous(tmp_path):
    np.savez(tmp_path / "model.npz", A=P, B=P)
    with pytest.raises(FileFormatError, match=r"model.npz: 2 of its arrays \(A, B\) .* transition_matrix$"):
        klump.read_chain(tmp_path / "model.npz")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("key", ["P", "states"])
def test_pickled_objects_are_refused(tmp_path, key):
    content = {"P": P, "states": np.array(["a", "b"])}
    content[key] = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "model.npz", **content)
    with pytest.raises(FileFormatError, match=rf"its array '{key}' holds pickled Python objects"):
        klump.read_chain(tmp_path / "model.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"from,to,weight\na,a,1\n", "this is a text file, not an .npz archive"),
        (b"\x00\x01\x02\x03", "this is something else, not an .npz archive"),
        (b"\x93NUMPY\x01\x00", "this is a single .npy array"),
    ],
)
def test_mislabelled(tmp_path, content, message):
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match=f"model.npz: {message}"):
        klump.read_chain(tmp_path / "model.npz", format="npz")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_truncated_archives(tmp_path, share, kind):
    path = tmp_path / "model.npz"
    klump.write_chain(klump.MarkovChain(kind(P)), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match=r"model.npz: the .npz archive is truncated"):
        klump.read_chain(path)


def test_damaged_inside(tmp_path):
    path = tmp_path / "model.npz"
    klump.write_chain(klump.MarkovChain(P), path)
    content = bytearray(path.read_bytes())
    where = content.index(P.tobytes())
    content[where] ^= 255
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"model.npz: its array 'transition_matrix' is damaged: .*CRC"):
        klump.read_chain(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"indices": [0, 9, 0, 1]},
        {"indptr": [0, 2, 9]},
        {"format": "xyz"},
        {"indices": None},
        {"indptr": [0]},
        {"indptr": [0, 10**9, 0]},
        {"indptr": [0, 3, 2]},
        {"indptr": [0.0, 2.0, 4.0]},
        {"indices": [[0, 1], [0, 1]]},
        {"shape": (2, 2, 2)},
        {"shape": (-2, 2)},
        {"data": ["a", "b", "c", "d"]},
        {"format": b"dia"},
        {"format": b"coo"},
        {"format": np.array([b"csr", b"csr"])},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [b"csr", b"csc", b"bsr"])
def test_sparse_matrix_that_is_inconsistent(tmp_path, form, wrong):
    """SciPy crashes on an index pointer that goes up and back to 0."""
    entries = {
        "format": form,
        "shape": (2, 2),
        "data": P.reshape(-1, 1, 1) if form == b"bsr" else P.ravel(),
        "indices": [0, 1, 0, 1],
        "indptr": [0, 2, 4],
    }
    entries = {key: value for key, value in (entries | wrong).items() if value is not None}
    np.savez(tmp_path / "model.npz", **entries)
    with pytest.raises(FileFormatError, match=r"model.npz: its sparse matrix is damaged"):
        klump.read_chain(tmp_path / "model.npz")


def test_not_a_chain_names_the_file(tmp_path):
    np.savez(tmp_path / "model.npz", P=[[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(InvalidChainError, match=r"model.npz: row 0 .* sums to 1.1 .*normalize=True"):
        klump.read_chain(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", P=[["a", "b"], ["c", "d"]])
    with pytest.raises(InvalidChainError, match=r"model.npz: .*must hold numbers"):
        klump.read_chain(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", P=P, states=["a"])
    with pytest.raises(InvalidChainError, match=r"model.npz: states has 1 names, but the chain has 2 states"):
        klump.read_chain(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", P=P, states=["a", "a"])
    with pytest.raises(InvalidChainError, match=r"model.npz: state name 'a' is given twice"):
        klump.read_chain(tmp_path / "model.npz")


def test_names_given_as_json_that_is_broken(tmp_path):
    np.savez(tmp_path / "model.npz", P=P, states_json=["1", "["])
    with pytest.raises(FileFormatError, match="its array 'states_json' is damaged"):
        klump.read_chain(tmp_path / "model.npz")
