"""Conversion between formats; sparse archives become mapped folders out of core."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import chains
import klump
from klump.chain import rows
from klump.errors import FileFormatError, InvalidArgumentError, InvalidChainError, ReducibleChainError
from klump.files import npz
from klump.files.conversion import convert_chain
from klump.files.registry import format_of


@pytest.fixture
def matrix(rng):
    return chains.random_matrix("sparse", 20, rng)


@pytest.fixture
def out_of_core(monkeypatch):
    """Forbid reading archives to memory, and make row blocks small."""
    monkeypatch.setattr(npz, "read", None)
    monkeypatch.setattr(sparse, "load_npz", None)
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 9)


@pytest.mark.parametrize("target", ["b.npz", "b.csv", "b.mtx", "b.mapped"])
@pytest.mark.parametrize("source", ["a.npz", "a.csv.gz", "a.mtx", "a.mapped"])
def test_every_pair_of_formats(tmp_path, matrix, source, target):
    klump.write_chain(sparse.csr_array(matrix), tmp_path / source)
    returned = convert_chain(tmp_path / source, tmp_path / target)
    for chain in (returned, klump.read_chain(tmp_path / target)):
        assert np.array_equal(chain.transition_matrix.toarray(), matrix)


@pytest.mark.parametrize("writer", ["klump", "scipy"])
def test_archive_is_converted_by_row_blocks(tmp_path, matrix, out_of_core, writer):
    names = tuple(f"state {i}" for i in range(20))
    if writer == "klump":
        klump.write_chain(klump.MarkovChain(sparse.csr_array(matrix), names), tmp_path / "a.npz")
    else:
        names = tuple(range(20))
        # int64 index arrays, and unsorted indices.
        stored = sparse.csr_array(matrix)
        stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
        sparse.save_npz(tmp_path / "a.npz", stored, compressed=False)
    chain = convert_chain(tmp_path / "a.npz", tmp_path / "a.mapped", stationary=True)
    assert np.array_equal(chain.transition_matrix.toarray(), matrix)
    assert chain.states == names
    back = klump.read_chain(tmp_path / "a.mapped")
    assert back.states == names
    assert np.array_equal(back.transition_matrix.toarray(), matrix)
    assert np.array_equal(back.stationary_distribution, chain.stationary_distribution)
    assert (tmp_path / "a.mapped" / "stationary.npy").exists()


def test_options_apply_to_blocks(tmp_path, matrix, out_of_core):
    larger = np.zeros((22, 22))
    larger[:20, :20] = matrix
    larger[20:, :] = 1.0
    counts = larger * 8.0
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(counts), compressed=False)
    for options in (
        {"restrict": "largest"},
        {"restrict": "connected"},
        {"restart": 0.25, "initial": "21"},
        {"restart": 0.25},
    ):
        chain = convert_chain(tmp_path / "a.npz", tmp_path / "a", mmap=True, normalize=True, **options)
        expected = klump.MarkovChain(
            sparse.csr_array(counts),
            normalize=True,
            **(options | ({"initial": 21} if "initial" in options else {})),
        )
        back = klump.read_chain(tmp_path / "a")
        for found in (chain, back):
            np.testing.assert_allclose(
                found.transition_matrix.toarray(), expected.transition_matrix.toarray(), rtol=1e-15
            )
            assert found.applied == expected.applied
            assert found.original_index.tolist() == expected.original_index.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.npz"]


def test_dead_ends_are_mended(tmp_path, matrix):
    counts = np.zeros((22, 22))
    counts[:20, :20] = matrix * 8.0
    counts[3, 21] = 1.0
    stored = sparse.csr_array(counts)
    stored.data[-1] = 0.0  # a zero that is stored is no transition
    sparse.save_npz(tmp_path / "a.npz", stored, compressed=False)
    for options in ({"restrict": "connected"}, {"restart": 0.25}):
        chain = convert_chain(tmp_path / "a.npz", tmp_path / "a", mmap=True, normalize=True, **options)
        expected = klump.MarkovChain(stored, normalize=True, **options)
        assert chain.applied == expected.applied
        assert klump.read_chain(tmp_path / "a").states == expected.states
    with pytest.raises(InvalidChainError, match=r"a.npz: row 20 .*all zero"):
        convert_chain(tmp_path / "a.npz", tmp_path / "a", mmap=True, normalize=True)


@pytest.mark.parametrize("kind", [np.array, sparse.csc_array, sparse.coo_array, "compressed"])
def test_other_archives_are_read_to_memory(tmp_path, matrix, kind):
    if kind is np.array:
        np.savez(tmp_path / "a.npz", P=matrix)
    elif kind == "compressed":
        sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(matrix), compressed=True)
    else:
        sparse.save_npz(tmp_path / "a.npz", kind(matrix), compressed=False)
    convert_chain(tmp_path / "a.npz", tmp_path / "a.mapped")
    assert np.array_equal(klump.read_chain(tmp_path / "a.mapped").transition_matrix.toarray(), matrix)


def test_stationary_distribution_is_kept(tmp_path, matrix):
    chain = klump.MarkovChain(sparse.csr_array(matrix))
    law = chain.stationary_distribution
    klump.write_chain(chain, tmp_path / "a.mapped")
    convert_chain(tmp_path / "a.mapped", tmp_path / "b.mapped")
    assert np.array_equal(np.load(tmp_path / "b.mapped" / "stationary.npy"), law)


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [("indices", 3, 20), ("indices", 3, -1), ("indptr", 1, 10**6), ("indptr", 0, 1)],
)
def test_damaged_archives(tmp_path, matrix, part, place, value):
    stored = sparse.csr_array(matrix)
    parts = {name: getattr(stored, name).copy() for name in ("data", "indices", "indptr")}
    parts[part][place] = value
    np.savez(tmp_path / "a.npz", format=b"csr", shape=stored.shape, **parts)
    with pytest.raises(FileFormatError, match=r"a\.npz: its sparse matrix is damaged: "):
        convert_chain(tmp_path / "a.npz", tmp_path / "a.mapped")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_errors_name_the_invalid_file_and_leave_the_other_unchanged(tmp_path, matrix):
    klump.write_chain(np.eye(2), tmp_path / "old.mapped")
    sparse.save_npz(tmp_path / "counts.npz", sparse.csr_array(3 * matrix), compressed=False)
    with pytest.raises(InvalidChainError, match=r"^[^:]*counts\.npz: row 0 .* sums to 3 instead of 1"):
        convert_chain(tmp_path / "counts.npz", tmp_path / "old.mapped")
    klump.write_chain(sparse.csr_array(np.eye(3)), tmp_path / "eye.npz")
    with pytest.raises(ReducibleChainError, match=r"^[^:]*eye\.npz: the chain is not irreducible"):
        convert_chain(tmp_path / "eye.npz", tmp_path / "old.mapped", stationary=True)
    with pytest.raises(InvalidArgumentError, match=r"^[^:]*eye\.npz: initial='x' is not the name of a state"):
        convert_chain(tmp_path / "eye.npz", tmp_path / "old.mapped", restart=0.5, initial="x")
    assert klump.read_chain(tmp_path / "old.mapped").n_states == 2
    with pytest.raises(FileFormatError, match=r"^[^:]*new\.xyz: the suffix '\.xyz' is not known"):
        convert_chain(tmp_path / "eye.npz", tmp_path / "new.xyz")
    with pytest.raises(FileFormatError, match=r"^[^:]*new\.mapped: cannot be written: No such file"):
        convert_chain(tmp_path / "eye.npz", tmp_path / "nowhere" / "new.mapped")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.npz", "eye.npz", "old.mapped"]


@pytest.mark.parametrize("name", ["chain.npz", "chain.csv", "chain.mtx", "chain.npy"])
def test_a_failed_write_leaves_the_existing_file_unchanged(name, tmp_path, monkeypatch):
    chain = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    path = tmp_path / name
    klump.write_chain(chain, path)
    before = path.read_bytes()
    module = format_of(path)
    write = module.write

    def stopped(chain, place):
        write(chain, place)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write", stopped)
    with pytest.raises(KeyboardInterrupt):
        klump.write_chain(chain, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_a_flipped_bit_is_found(tmp_path, matrix, part):
    """The archive is memory-mapped, which checks no CRC by itself."""
    stored = sparse.csr_array(matrix)
    klump.write_chain(klump.MarkovChain(stored), tmp_path / "a.npz")
    content = bytearray((tmp_path / "a.npz").read_bytes())
    raw = getattr(klump.read_chain(tmp_path / "a.npz").transition_matrix, part).tobytes()
    # The lowest bit of the last value: the matrix stays stochastic up to rounding.
    content[content.index(raw) + len(raw) - (8 if part == "data" else 4)] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"a\.npz: its array '{part}' is damaged: .*CRC"):
        convert_chain(tmp_path / "a.npz", tmp_path / "b.mapped")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
