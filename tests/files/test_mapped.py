"""Mapped folders: round trips, row blocks, replacement, and damage reported in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

import chains
import klump
from klump.chain import rows
from klump.errors import FileFormatError, InvalidArgumentError, InvalidChainError
from klump.files import mapped, write_mapped

P = np.array([[0.1, 0.2, 0.7, 0], [1 / 3, 2 / 3, 0, 0], [1e-300, 0.5, 0, 0.5], [0.25, 0, 0.75, 0]])


@pytest.fixture
def folder(tmp_path):
    klump.write_chain(P, tmp_path / "chain.mapped")
    return tmp_path / "chain.mapped"


def cut(matrix, *ends):
    return [matrix[begin:end] for begin, end in zip((0, *ends), (*ends, len(matrix)), strict=True)]


# Round trip


def test_transitions_are_memory_mapped(folder):
    chain = klump.read_chain(folder)
    matrix = chain.transition_matrix
    assert np.array_equal(matrix.toarray(), P)
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        while isinstance(array.base, np.ndarray):
            array = array.base
        assert isinstance(array, np.memmap)
        assert str(array.filename) == str(folder / f"{name}.npy")
        assert not getattr(matrix, name).flags.writeable
    assert json.loads((folder / "chain.json").read_text()) == {
        "format": "klump/mapped-chain",
        "version": 1,
        "n_states": 4,
        "n_transitions": 10,
        "applied": [],
    }


def test_numpy_reads_the_arrays(folder):
    parts = [np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")]
    assert np.array_equal(sparse.csr_array(tuple(parts), shape=P.shape).toarray(), P)


def test_stationary_distribution_is_kept_bit_for_bit(tmp_path, rng, monkeypatch):
    chain = klump.MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 30, rng)))
    klump.write_chain(chain, tmp_path / "without.mapped")
    assert not (tmp_path / "without.mapped" / "stationary.npy").exists()
    law = chain.stationary_distribution
    klump.write_chain(chain, tmp_path / "with.mapped")
    monkeypatch.setattr("klump.chain.stationary.stationary_distribution", None)
    assert np.array_equal(klump.read_chain(tmp_path / "with.mapped").stationary_distribution, law)
    restricted = klump.read_chain(tmp_path / "with.mapped", restrict="largest", normalize=True)
    assert np.array_equal(restricted.stationary_distribution, law)


def test_a_restarted_chain_does_not_inherit_the_stationary_distribution(tmp_path, rng):
    chain = klump.MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 30, rng)))
    law = chain.stationary_distribution
    klump.write_chain(chain, tmp_path / "with.mapped")
    restarted = klump.read_chain(tmp_path / "with.mapped", restart=0.5, initial="3")
    assert restarted.stationary_distribution[3] > 0.5 > law[3]


def test_supplied_distribution_of_a_reducible_chain_is_not_kept(tmp_path):
    chain = klump.MarkovChain(np.eye(2), stationary_distribution=[0.5, 0.5])
    klump.write_chain(chain, tmp_path / "two.mapped")
    back = klump.read_chain(tmp_path / "two.mapped")
    with pytest.raises(klump.errors.ReducibleChainError):
        _ = back.stationary_distribution


def test_applied_changes_are_kept(tmp_path):
    larger = np.zeros((6, 6))
    larger[0, 1] = larger[1, 2] = 1.0
    larger[2:, 2:] = P
    chain = klump.MarkovChain(larger, list("abcdef"), restrict="largest")
    klump.write_chain(chain, tmp_path / "part.mapped")
    back = klump.read_chain(tmp_path / "part.mapped")
    assert (
        back.applied
        == chain.applied
        == ("restricted to the largest closed class, 4 of 6 states; dropped 'a', 'b'",)
    )
    assert back.original_index.tolist() == [2, 3, 4, 5]
    assert back.states == ("c", "d", "e", "f")


def test_folder_of_any_name_is_read(folder, tmp_path):
    folder.rename(tmp_path / "chain")
    assert klump.read_chain(tmp_path / "chain").n_states == 4


def test_int64_indices_beyond_int32(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "_INT64_FROM", 10)
    monkeypatch.setattr(mapped, "_COPY_CHUNK", 3)
    klump.write_chain(P, tmp_path / "wide.mapped")
    assert np.load(tmp_path / "wide.mapped" / "indices.npy").dtype == np.int64
    assert np.load(tmp_path / "wide.mapped" / "indptr.npy").dtype == np.int64
    assert not (tmp_path / "wide.mapped" / "wide.npy").exists()
    assert np.array_equal(klump.read_chain(tmp_path / "wide.mapped").transition_matrix.toarray(), P)


# Row blocks


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_blocks_of_rows(tmp_path, kind):
    write_mapped(tmp_path / "a.mapped", map(kind, cut(P, 1, 3)), states="wxyz")
    chain = klump.read_chain(tmp_path / "a.mapped")
    assert np.array_equal(chain.transition_matrix.toarray(), P)
    assert chain.states == ("w", "x", "y", "z")


def test_blocks_of_counts(tmp_path):
    counts = np.array([[3, 1, 0], [0, 0, 5], [1, 1, 2]])
    write_mapped(tmp_path / "a.mapped", cut(counts, 2), normalize=True)
    chain = klump.read_chain(tmp_path / "a.mapped")
    expected = klump.MarkovChain.from_counts(counts).transition_matrix
    assert np.array_equal(chain.transition_matrix.toarray(), expected)
    assert chain.n_transitions == 6


def test_unsorted_blocks_become_canonical(tmp_path):
    repeated = sparse.csr_array(([0.25, 0.25, 0.5, 0.0, 1.0], [1, 1, 0, 1, 0], [0, 3, 5]), shape=(2, 2))
    write_mapped(tmp_path / "a.mapped", [repeated])
    matrix = klump.read_chain(tmp_path / "a.mapped").transition_matrix
    assert (matrix.data.tolist(), matrix.indices.tolist()) == ([0.5, 0.5, 1.0], [0, 1, 0])


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        (cut(P * [[1], [1], [1], [2]], 2), InvalidChainError, r"row 3 of the transition matrix sums to 2 "),
        (cut(P - np.eye(4, k=-1), 2), InvalidChainError, r"row 1 of .* has -0\.6.* in column 0: probab"),
        ([P[:2], P[2:, :3]], InvalidChainError, r"row 2 .* block of shape \(2, 3\); pass rows of 4 entries"),
        (
            [P[:2], P[2:3]],
            InvalidChainError,
            r"blocks must make a square matrix, but make one of shape \(3, 4\)",
        ),
        ([P, P[:1]], InvalidChainError, r"blocks must make a square matrix, but make one of shape \(5, 4\)"),
        ([], InvalidChainError, r"blocks must make a square matrix, but make one of shape \(0, 0\)"),
        ([[0.5, 0.5]], InvalidArgumentError, r"blocks must be 2-D, but hold one of shape \(2,\)"),
    ],
)
def test_invalid_blocks(tmp_path, blocks, error, message):
    with pytest.raises(error, match=rf"a\.mapped: .*{message}"):
        write_mapped(tmp_path / "a.mapped", blocks)
    assert list(tmp_path.iterdir()) == []


def test_all_zero_row_is_named(tmp_path):
    with pytest.raises(InvalidChainError, match="row 2 of the transition matrix is all zero"):
        write_mapped(tmp_path / "a.mapped", [np.eye(3)[:2], np.zeros((1, 3))], normalize=True)


# Replacing an existing folder


def test_a_mapped_chain_can_overwrite_itself(folder):
    chain = klump.read_chain(folder)
    law = chain.stationary_distribution
    klump.write_chain(chain, folder)
    assert np.array_equal(chain.transition_matrix.toarray(), P)
    again = klump.read_chain(folder)
    assert np.array_equal(again.transition_matrix.toarray(), P)
    assert np.array_equal(again.stationary_distribution, law)
    assert [path.name for path in folder.parent.iterdir()] == ["chain.mapped"]


def test_failure_leaves_the_old_chain(folder):
    with pytest.raises(InvalidChainError):
        write_mapped(folder, [np.eye(3)[:2]])
    assert np.array_equal(klump.read_chain(folder).transition_matrix.toarray(), P)
    assert [path.name for path in folder.parent.iterdir()] == ["chain.mapped"]


def test_only_chains_are_replaced(tmp_path):
    (tmp_path / "a.mapped").mkdir()
    klump.write_chain(P, tmp_path / "a.mapped")  # an empty folder is fine
    (tmp_path / "b.mapped").mkdir()
    (tmp_path / "b.mapped" / "thesis.tex").touch()
    with pytest.raises(FileFormatError, match=r"b\.mapped: the folder holds files other than a chain"):
        klump.write_chain(P, tmp_path / "b.mapped")
    (tmp_path / "c.mapped").touch()
    with pytest.raises(FileFormatError, match=r"c\.mapped: there is a file of this name"):
        klump.write_chain(P, tmp_path / "c.mapped")
    with pytest.raises(FileFormatError, match=r"d\.mapped: cannot be written: No such file or directory"):
        klump.write_chain(P, tmp_path / "nowhere" / "d.mapped")


# Damaged folders


def put(folder, name, change):
    array = np.load(folder / f"{name}.npy")
    np.save(folder / f"{name}.npy", change(array.copy()))


def at(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("data", at(0, -0.1), r"a probability in rows 0 to 3 is not positive"),
        ("data", at(1, np.nan), r"a probability in rows 0 to 3 is not positive"),
        ("data", at(1, 0.3), r"row 0 does not sum to 1"),
        ("indices", at(2, 4), r"the columns of rows 0 to 3 are not in order"),
        ("indices", at(0, -1), r"the columns of rows 0 to 3 are not in order"),
        ("indices", at(1, 0), r"the columns of rows 0 to 3 are not in order"),
        ("indptr", at(1, 7), r"its index pointer is not increasing"),
        ("indptr", at(0, 1), r"index pointer should start with 0"),
        ("data", lambda array: array[:-1], r"data\.npy has shape \(9,\) of float64 instead of \(10,\)"),
        ("data", np.float32, r"data\.npy has shape \(10,\) of float32 instead of \(10,\) of float64"),
        ("indices", np.int64, r"indices\.npy has shape \(10,\) of int64 instead of \(10,\) of int32"),
    ],
)
def test_damaged_arrays(folder, name, change, message):
    put(folder, name, change)
    with pytest.raises(
        FileFormatError, match=rf"chain\.mapped: the mapped chain is damaged: {message}.*; write"
    ):
        klump.read_chain(folder)


def test_damage_is_found_in_every_block(folder, monkeypatch):
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 3)
    put(folder, "data", at(9, 0.5))
    with pytest.raises(FileFormatError, match="row 3 does not sum to 1"):
        klump.read_chain(folder)
    put(folder, "data", at(9, 0.75))
    put(folder, "indices", at(9, 0))
    with pytest.raises(FileFormatError, match="the columns of rows 3 to 3 are not in order"):
        klump.read_chain(folder)


def test_truncated_and_missing_files(folder):
    whole = (folder / "indices.npy").read_bytes()
    for part in (whole[:-1], whole[:20], b""):
        (folder / "indices.npy").write_bytes(part)
        with pytest.raises(FileFormatError, match=r"damaged: indices\.npy is truncated or not an array"):
            klump.read_chain(folder)
    (folder / "indices.npy").unlink()
    with pytest.raises(FileFormatError, match=r"damaged: indices\.npy is missing"):
        klump.read_chain(folder)


def test_wrong_stationary_distribution(folder):
    np.save(folder / "stationary.npy", np.full(4, 0.25))
    with pytest.raises(FileFormatError, match=r"damaged: stationary_distribution is not stationary"):
        klump.read_chain(folder)
    np.save(folder / "stationary.npy", np.full(3, 1 / 3))
    with pytest.raises(FileFormatError, match=r"damaged: stationary\.npy has shape \(3,\)"):
        klump.read_chain(folder)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (np.array(["a", "b"]), "states has 2 names, but the chain has 4 states"),
        (np.array(["a", "b", "a", "c"]), "state name 'a' is given twice"),
    ],
)
def test_invalid_state_names(folder, names, message):
    np.save(folder / "states.npy", names)
    with pytest.raises(FileFormatError, match=rf"damaged: {message}"):
        klump.read_chain(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"damaged: chain\.json is not valid metadata"),
        ("[]", r"damaged: chain\.json is not valid metadata"),
        ('{"format": "other", "version": 1}', r"damaged: chain\.json has format 'other', version 1"),
        ('{"format": "klump/mapped-chain", "version": 1}', r"damaged: chain\.json lacks an entry"),
        ('{"format": "klump/mapped-chain", "version": 9}', r"written by a newer klump \(format 9\); upgrade"),
    ],
)
def test_invalid_metadata(folder, text, message):
    (folder / "chain.json").write_text(text)
    with pytest.raises(FileFormatError, match=rf"chain\.mapped: .*{message}"):
        klump.read_chain(folder)


def test_paths_without_a_chain(tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.mapped: cannot be read: No such file or directory"):
        klump.read_chain(tmp_path / "a.mapped")
    (tmp_path / "a.mapped").mkdir()
    with pytest.raises(FileFormatError, match=r"a\.mapped: there is no chain\.json in this folder"):
        klump.read_chain(tmp_path / "a.mapped")
    (tmp_path / "b.mapped").touch()
    with pytest.raises(FileFormatError, match=r"b\.mapped: a mapped chain is a folder, but this is a file"):
        klump.read_chain(tmp_path / "b.mapped")


def test_a_foreign_folder_is_never_replaced(tmp_path):
    chain = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    foreign = tmp_path / "mine.mapped"
    foreign.mkdir()
    (foreign / "chain.json").write_text('{"supply": "chain"}')
    with pytest.raises(FileFormatError, match="files other than a chain"):
        klump.write_chain(chain, foreign)
    assert (foreign / "chain.json").read_text() == '{"supply": "chain"}'


def test_a_folder_with_a_foreign_file_is_not_replaced(tmp_path):
    chain = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    folder = tmp_path / "chain.mapped"
    klump.write_chain(chain, folder)
    (folder / "thesis.txt").write_text("work of years")
    with pytest.raises(FileFormatError, match=r"thesis\.txt"):
        klump.write_chain(chain, folder)
    assert (folder / "thesis.txt").exists()


def test_the_name_of_another_format_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"\.npz"):
        klump.write_mapped(tmp_path / "chain.npz", [np.eye(2)])


def test_a_symbolic_link_is_refused(tmp_path):
    chain = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    klump.write_chain(chain, tmp_path / "real.mapped")
    (tmp_path / "link.mapped").symlink_to(tmp_path / "real.mapped")
    with pytest.raises(FileFormatError, match="link"):
        klump.write_chain(chain, tmp_path / "link.mapped")


@pytest.mark.parametrize("name", ["chain.json", "data.npy", "indptr.npy", "stationary.npy", "states.npy"])
def test_links_inside_the_folder_are_refused(folder, tmp_path, name):
    """They may point to any file of the machine."""
    outside = tmp_path / "outside"
    source = folder / name
    outside.write_bytes(source.read_bytes() if source.exists() else b"")
    source.unlink(missing_ok=True)
    source.symlink_to(outside)
    with pytest.raises(FileFormatError, match=rf"{name} is a symbolic link or no file; copy the file itself"):
        klump.read_chain(folder)


@pytest.mark.parametrize("count", ["-1", "0", "1.5", "true", '"4"', "9" * 400, "1e999", "[4]"])
def test_counts_that_are_none(folder, count):
    text = (folder / "chain.json").read_text()
    (folder / "chain.json").write_text(text.replace('"n_states": 4', f'"n_states": {count}'))
    with pytest.raises(FileFormatError, match=r"chain\.json lacks an entry|has shape \(5,\)"):
        klump.read_chain(folder)
