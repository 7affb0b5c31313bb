"""Reading in all formats: suffixes, missing files, remedies for reducible chains."""

import gzip

import numpy as np
import pytest
from scipy import io, sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError, InvalidChainError

ABSORBING = "from,to,weight\nstart,work,1\nwork,work,0.5\nwork,done,0.5\ndone,done,1\n"


@pytest.fixture
def absorbing(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text(ABSORBING)
    return path


def test_unknown_suffix(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"model.xlsx: the suffix '.xlsx' is not known; .* \.npz, \.npy, \.mtx, "
    ):
        klump.read_chain(tmp_path / "model.xlsx")
    with pytest.raises(FileFormatError, match=r"model: the suffix '' is not known"):
        klump.read_chain(tmp_path / "model")


@pytest.mark.parametrize("suffix", [".npz", ".mtx", ".csv", ".csv.gz"])
def test_missing_file_and_folder(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    with pytest.raises(FileFormatError, match=rf"model{suffix}: cannot be read: ") as error:
        klump.read_chain(path)
    assert "\n" not in str(error.value)
    path.mkdir()
    with pytest.raises(FileFormatError, match=rf"model{suffix}: "):
        klump.read_chain(path)


def test_restrict(absorbing):
    for name in ("closed", "largest"):
        chain = klump.read_chain(absorbing, restrict=name)
        assert chain.states == ("done",)
        assert chain.applied == (
            "restricted to the largest closed class, 1 of 3 states; dropped 'start', 'work'",
        )


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".mtx", ".npz"])
def test_counts_with_a_dead_end(tmp_path, suffix):
    """Every format keeps the 2 states that recur, or restarts at the dead end; without a remedy it is an error."""
    counts = sparse.csr_array(np.array([[1, 3, 1], [4, 0, 0], [0, 0, 0]]))
    path = tmp_path / f"counts{suffix}"
    if suffix == ".npz":
        sparse.save_npz(path, counts)
    elif suffix == ".mtx":
        io.mmwrite(path, counts)
    else:
        mark = "\t" if suffix == ".tsv" else ","
        lines = [("from", "to", "count"), (0, 0, 1), (0, 1, 3), (0, 2, 1), (1, 0, 4)]
        text = "".join(mark.join(map(str, line)) + "\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    with pytest.raises(InvalidChainError, match=r"row 2 .*all zero.*pass restrict='connected'"):
        klump.read_chain(path, normalize=True)
    chain = klump.read_chain(path, normalize=True, restrict="connected")
    assert chain.states == (0, 1)
    assert chain.applied == (
        "restricted to the largest connected set, 2 of 3 states and 88.9 % of the counts; dropped 2",
    )
    np.testing.assert_allclose(chain.transition_matrix.toarray(), [[0.25, 0.75], [1.0, 0.0]])
    restarted = klump.read_chain(path, normalize=True, restart=0.5, initial="1")
    np.testing.assert_allclose(restarted.transition_matrix.toarray()[2], [0.0, 1.0, 0.0])


def test_restart(absorbing):
    chain = klump.read_chain(absorbing, restart=0.1, initial="start")
    assert chain.is_irreducible
    with pytest.raises(
        InvalidArgumentError, match=r"model.csv: initial='nowhere' is not the name of a state"
    ):
        klump.read_chain(absorbing, restart=0.1, initial="nowhere")
    with pytest.raises(InvalidArgumentError, match=r"model.csv: restart=2 must be a probability"):
        klump.read_chain(absorbing, restart=2)


def test_initial_state_given_as_text(tmp_path):
    np.savez(tmp_path / "model.npz", P=[[0.0, 1.0], [0.0, 1.0]])
    chain = klump.read_chain(tmp_path / "model.npz", restart=0.5, initial="0")
    assert np.array_equal(chain.transition_matrix, [[0.5, 0.5], [0.5, 0.5]])
    np.savez(tmp_path / "model.npz", P=[[0.0, 1.0], [0.0, 1.0]], states=["1", "0"])
    chain = klump.read_chain(tmp_path / "model.npz", restart=1, initial="0")
    assert np.array_equal(chain.transition_matrix, [[0, 1], [0, 1]])
    with pytest.raises(InvalidArgumentError, match=r"initial=7 is not the name of a state"):
        klump.read_chain(tmp_path / "model.npz", restart=1, initial="7")
