"""``.mapped``: a folder with a sparse chain that is used where it lies, so that it need not fit in memory.

``chain.json``
    What this is: the format and its version, the numbers of states and transitions, what was applied to the chain.
``data.npy``, ``indices.npy``, ``indptr.npy``
    The transitions row by row, as in a ``csr_array`` of SciPy: probabilities, increasing columns, ends of rows.
``stationary.npy``
    The stationary law, if it was known when the chain was written: it need not be solved again.
``states.npy`` or ``states_json.npy``, ``original_index.npy``
    The names of the states, as in ``.npz``, if they have names; their places in the chain that they are a part of.

A folder is complete or not there: it is written beside its place, and moved there in the end.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from klump.chain import MarkovChain, validation
from klump.chain.rows import row_blocks
from klump.errors import FileFormatError, InvalidArgumentError, InvalidChainError
from klump.files.npz import NAME_KEYS, names_entry, names_from
from klump.files.registry import Contents

_FORMAT, _VERSION = "klump/mapped-chain", 1
_FACTS = "chain.json"
_TRANSITIONS = ("data", "indices", "indptr")
_FILES = {_FACTS, *(f"{name}.npy" for name in (*_TRANSITIONS, *NAME_KEYS, "stationary", "original_index"))}
# SciPy wants columns and ends of rows to be of one kind: 64 bits if there are this many transitions or more.
_WIDE = 2**31 - 1
_HEADER = 128  # bytes; room for the length of any array
_REWRITTEN = 2**20


def read(path: Path, *, add_up: bool) -> Contents:
    """Map the transitions of a chain; they are looked through once, and stay in their files."""
    facts = _facts(path)
    try:
        n, n_transitions = int(facts["n_states"]), int(facts["n_transitions"])
        applied = tuple(str(words) for words in facts["applied"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(f"{_FACTS} lacks something ({error})") from error
    index = np.int64 if n_transitions >= _WIDE else np.int32
    transitions = (
        _mapped(path, "data", np.float64, n_transitions),
        _mapped(path, "indices", index, n_transitions),
        _mapped(path, "indptr", index, n + 1),
    )
    found = _names(path)
    law = _optional(path, "stationary", np.float64, n)
    place = _optional(path, "original_index", np.intp, n)
    try:
        matrix = sparse.csr_array(transitions, shape=(n, n))
        validation.require_as_kept(matrix)
        matrix.has_canonical_format = True
        names = None if found is None else validation.state_names(found, n)
        if law is not None:
            validation.supplied_distribution(law, matrix)
    except ValueError as error:  # of SciPy, or about the chain
        raise _damaged(str(error)) from error
    place = np.arange(n) if place is None else place
    return Contents(MarkovChain._restored(matrix, law, names, place, applied))


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, and its stationary law if that is known."""
    law = None
    if chain._known_law is not None and chain.is_irreducible:
        law = chain.stationary_distribution
    blocks = (block for _, block in row_blocks(chain.transition_matrix))
    moved = not np.array_equal(chain.original_index, np.arange(chain.n_states))
    arrays = {"stationary": law, "original_index": chain.original_index if moved else None}
    states = chain.states if chain.has_names else None
    write_blocks(path, blocks, states=states, applied=chain.applied, arrays=arrays)


def write_blocks(
    path: Path,
    blocks: Iterable[Any],
    *,
    states: Sequence[Hashable] | None = None,
    normalize: bool = False,
    applied: Sequence[str] = (),
    arrays: dict[str, NDArray[Any] | None] | None = None,
) -> None:
    """Write a chain that comes in blocks of rows, one after the other, with arrays that go with it."""
    with put_in_place(path) as folder:
        n, n_transitions = _write_transitions(folder, blocks, normalize=normalize)
        more = dict(arrays or {})
        if states is not None:
            more |= names_entry(validation.state_names(states, n))
        for name, array in more.items():
            if array is not None:
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
        facts = {
            "format": _FORMAT,
            "version": _VERSION,
            "n_states": n,
            "n_transitions": n_transitions,
            "applied": list(applied),
        }
        (folder / _FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def write_law(folder: Path, law: NDArray[np.float64]) -> None:
    """Put a stationary law to a chain that has been written."""
    np.save(folder / "stationary.npy", law)


def is_mapped(path: Path) -> bool:
    """Whether this is a folder with a chain in it, whatever its name."""
    return (path / _FACTS).is_file()


def parts(path: Path) -> list[Path]:
    """Files that say what the chain is: its transitions and the names of its states."""
    names = [f"{name}.npy" for name in (*_TRANSITIONS, *NAME_KEYS)]
    return [path / name for name in names if (path / name).is_file()]


# Reading


def _damaged(what: str) -> FileFormatError:
    return FileFormatError(f"the mapped chain is damaged: {what}; write it again")


def _facts(path: Path) -> dict[str, Any]:
    if path.is_file():
        raise FileFormatError("a mapped chain is a folder, but this is a file; check the suffix")
    if path.is_dir() and not is_mapped(path):
        raise FileFormatError(f"there is no {_FACTS} in this folder; klump convert makes a mapped chain")
    try:
        facts = json.loads((path / _FACTS).read_text(encoding="utf-8"))
        kind, version = facts["format"], facts["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(f"{_FACTS} cannot be understood") from error
    if kind != _FORMAT or type(version) is not int or version < 1:
        raise _damaged(f"{_FACTS} says that it is {kind!r}, version {version!r}")
    if version > _VERSION:
        raise FileFormatError(f"written by a newer klump (format {version}); upgrade klump")
    return dict(facts)


def _mapped(path: Path, name: str, dtype: DTypeLike, size: int) -> NDArray[Any]:
    file = path / f"{name}.npy"
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:
        raise _damaged(f"{file.name} is cut short or no array ({' '.join(str(error).split())})") from error
    except FileNotFoundError:
        raise _damaged(f"{file.name} is missing") from None
    if array.dtype != dtype or array.shape != (size,):
        raise _damaged(
            f"{file.name} has shape {array.shape} of {array.dtype} instead of {(size,)} of {np.dtype(dtype)}"
        )
    return array


def _optional(path: Path, name: str, dtype: DTypeLike, size: int) -> NDArray[Any] | None:
    """Array of one number for each state, in memory, if there is one."""
    if not (path / f"{name}.npy").exists():
        return None
    return np.array(_mapped(path, name, dtype, size))


def _names(path: Path) -> list[Hashable] | None:
    for key in NAME_KEYS:
        file = path / f"{key}.npy"
        if file.exists():
            try:
                return names_from(key, np.load(file, allow_pickle=False))
            except (EOFError, ValueError) as error:
                raise _damaged(f"{file.name} does not hold the names of states") from error
    return None


# Writing


def require_free(path: Path) -> None:
    """Refuse to replace anything but a mapped chain, and nothing that somebody has put beside one."""
    if path.is_symlink():
        raise FileFormatError("this is a link; name the folder that it leads to")
    if path.is_dir():
        there = {entry.name for entry in path.iterdir()}
        foreign = sorted(there - _FILES)
        if foreign or (there and not _is_own(path)):
            other = f" ({foreign[0]})" if foreign else ""
            raise FileFormatError(f"the folder holds something else than a chain{other}; choose another name")
    if path.is_file():
        raise FileFormatError("there is a file of this name, but a mapped chain is a folder; remove it first")


def _is_own(path: Path) -> bool:
    try:
        _facts(path)
    except (FileFormatError, OSError, ValueError):
        return False
    return True


@contextmanager
def put_in_place(path: Path) -> Iterator[Path]:
    """Give a folder to write to, which takes the place of an older one when it is finished."""
    require_free(path)
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    folder.mkdir()
    try:
        yield folder
        if path.is_dir():
            # Whoever has mapped the old files keeps them until they are no longer used.
            old = folder.with_name(f"{folder.name}.old")
            path.rename(old)
            folder.rename(path)
            shutil.rmtree(old)
        else:
            folder.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_transitions(folder: Path, blocks: Iterable[Any], *, normalize: bool) -> tuple[int, int]:
    """Check blocks of rows and write them; return the numbers of states and of transitions."""
    n, n_rows, lengths = -1, 0, []
    with _array_file(folder, "data", np.float64) as data, _array_file(folder, "indices", np.int32) as indices:
        for block in blocks:
            n = _width(block) if n < 0 else n
            rows = validation.transition_rows(block, n, n_rows, normalize=normalize)
            data.append(rows.data)
            indices.append(rows.indices)
            lengths.append(np.diff(rows.indptr))
            n_rows += rows.shape[0]
    if n < 1 or n_rows != n:
        shape = (n_rows, max(n, 0))
        raise InvalidChainError(f"the transition matrix must be square, but its blocks make {shape}")
    ends = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    wide = data.size >= _WIDE
    if wide:
        _widen(folder)
    np.save(folder / "indptr.npy", ends if wide else ends.astype(np.int32))
    return n, data.size


def _width(block: Any) -> int:
    shape = getattr(block, "shape", None)
    if shape is None:
        shape = np.shape(block)
    if len(shape) != 2 or shape[1] >= _WIDE:
        raise InvalidArgumentError(
            f"a block must be some rows of the transition matrix, sparse or dense, but its shape is {tuple(shape)}"
        )
    return int(shape[1])


def _widen(folder: Path) -> None:
    """Write the columns once more, with 64 bits."""
    narrow = np.load(folder / "indices.npy", mmap_mode="r")
    with _array_file(folder, "wide", np.int64) as wide:
        for start in range(0, len(narrow), _REWRITTEN):
            wide.append(narrow[start : start + _REWRITTEN])
    (folder / "wide.npy").replace(folder / "indices.npy")


class _ArrayFile:
    """A ``.npy`` file of one array that grows."""

    def __init__(self, file: IO[bytes], dtype: DTypeLike) -> None:
        self._file, self._dtype = file, np.dtype(dtype)
        self.size = 0
        file.write(bytes(_HEADER))

    def append(self, piece: NDArray[Any]) -> None:
        """Write a piece behind the others."""
        self._file.write(np.ascontiguousarray(piece, dtype=self._dtype).data)
        self.size += piece.size

    def finish(self) -> None:
        """Say in front what the array is, as the format of NumPy wants it."""
        facts = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.size,)}
        text = f"{facts!r}".encode("ascii").ljust(_HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)


@contextmanager
def _array_file(folder: Path, name: str, dtype: DTypeLike) -> Iterator[_ArrayFile]:
    with (folder / f"{name}.npy").open("wb") as file:
        array = _ArrayFile(file, dtype)
        yield array
        array.finish()
