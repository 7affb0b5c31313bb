"""Reading in all formats: suffixes, missing files, remedies for reducible chains."""

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError, InvalidArgumentError

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
    chain = klump.read_chain(absorbing, restrict="largest")
    assert chain.states == ("done",)
    assert chain.applied == ("restricted to the largest closed class, 1 of 3 states",)


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
