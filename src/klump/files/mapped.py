"""``.mapped``: a folder with a sparse chain that is memory-mapped, so that it need not fit in memory.

``chain.json``
    Metadata: format and version, numbers of states and transitions, changes applied to the chain.
``data.npy``, ``indices.npy``, ``indptr.npy``
    The transition matrix in SciPy's canonical CSR format: values, sorted column indices, index pointer.
``stationary.npy``
    The stationary distribution, if it was known when the chain was written.
``states.npy`` or ``states_json.npy``, ``original_index.npy``
    State names as in ``.npz``, if there are any; ``MarkovChain.original_index``, if it is not 0 .. n-1.
``attributes.npy``, ``attribute_....npy``
    Labels, initial distribution, rewards and restart as in :mod:`klump.files.attributes`, if there are any.

A folder is written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from klump import signals
from klump.chain import MarkovChain, validation
from klump.chain.attributes import Attributes
from klump.chain.rows import row_blocks
from klump.chain.supplied import check_stationary_distribution
from klump.errors import FileFormatError, InvalidArgumentError, InvalidChainError, KlumpError
from klump.files.arrays import map_array_file, read_array_file
from klump.files.attributes import KEYS as ATTRIBUTE_KEYS
from klump.files.attributes import check_attributes, decode_attributes, encode_attributes
from klump.files.gate import describe, one_line, quote
from klump.files.npz import NAME_KEYS, decode_names, encode_names
from klump.files.registry import Contents

KEEPS = ("names", "labels", "initial", "rewards")
# Value of "format" in the metadata.
_FORMAT = "klump/mapped-chain"
# Value of "version" in the metadata; newer versions are an error.
_VERSION = 1
_METADATA = "chain.json"
_TRANSITIONS = ("data", "indices", "indptr")
_ARRAYS = (*_TRANSITIONS, *NAME_KEYS, *ATTRIBUTE_KEYS, "stationary", "original_index")
_FILES = {_METADATA, *(f"{name}.npy" for name in _ARRAYS)}
# Transitions from which on indices and indptr, which SciPy wants in one dtype, are int64 instead of int32.
_INT64_FROM = 2**31 - 1
# Size of the .npy header: a multiple of 64, as NumPy wants it, with space for the length of any array.
_HEADER_BYTES = 128
# Elements per chunk when indices are rewritten as int64.
_COPY_CHUNK = 2**20


def read(path: Path, *, add_up: bool) -> Contents:
    """Memory-map the transitions of a chain, and validate them in one pass."""
    metadata = _read_metadata(path)
    n, n_transitions = (_read_count(metadata, key) for key in ("n_states", "n_transitions"))
    applied = metadata.get("applied")
    if not isinstance(applied, list) or not all(isinstance(words, str) for words in applied):
        raise _damage_error(f"{_METADATA} lacks an entry ('applied')")
    index_dtype = np.int64 if n_transitions >= _INT64_FROM else np.int32
    transitions = (
        _map_array(path, "data", np.float64, n_transitions),
        _map_array(path, "indices", index_dtype, n_transitions),
        _map_array(path, "indptr", index_dtype, n + 1),
    )
    found = _read_names(path)
    mu = _load_optional(path, "stationary", np.float64, n)
    original = _load_optional(path, "original_index", np.intp, n)
    try:
        matrix = sparse.csr_array(transitions, shape=(n, n))
        validation.require_canonical_form(matrix)
        matrix.has_canonical_format = True
        names = None if found is None else validation.state_names(found, n)
        if mu is not None:
            check_stationary_distribution(mu, matrix)
        attributes = _read_attributes(path, range(n) if names is None else names)
    except FileFormatError:
        raise
    except ValueError as error:  # from SciPy, or an InvalidChainError
        problem = error.render(with_remedy=False) if isinstance(error, KlumpError) else describe(error)
        raise _damage_error(problem) from error
    original = np.arange(n) if original is None else original
    return Contents(MarkovChain._from_parts(matrix, mu, names, original, tuple(applied), attributes))


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, and its stationary distribution if that is known."""
    stationary = None
    if chain._known_stationary is not None and chain.is_irreducible:
        stationary = chain.stationary_distribution
    blocks = (block for _, block in row_blocks(chain.transition_matrix))
    is_part = not np.array_equal(chain.original_index, np.arange(chain.n_states))
    arrays = {"stationary": stationary, "original_index": chain.original_index if is_part else None}
    arrays |= encode_attributes(chain)
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
    """Write a chain given by consecutive row blocks, with further arrays by file name."""
    with staging_folder(path) as folder:
        n, n_transitions = _write_transitions(folder, blocks, normalize=normalize)
        more = dict(arrays or {})
        if states is not None:
            more |= encode_names(validation.state_names(states, n))
        for name, array in more.items():
            if array is not None:
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
        metadata = {
            "format": _FORMAT,
            "version": _VERSION,
            "n_states": n,
            "n_transitions": n_transitions,
            "applied": list(applied),
        }
        (folder / _METADATA).write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")


def write_stationary(folder: Path, mu: NDArray[np.float64]) -> None:
    """Add the stationary distribution to a mapped folder."""
    np.save(folder / "stationary.npy", mu)


def is_mapped(path: Path) -> bool:
    """Whether ``path`` is a mapped folder, whatever its suffix."""
    return (path / _METADATA).is_file()


def parts(path: Path) -> list[Path]:
    """Files that define the chain: its transitions and state names."""
    names = [f"{name}.npy" for name in (*_TRANSITIONS, *NAME_KEYS)]
    return [path / name for name in names if (path / name).is_file()]


# Reading


def _damage_error(what: str) -> FileFormatError:
    return FileFormatError(f"the mapped chain is damaged: {what}", remedy="write it again")


def _read_metadata(path: Path) -> dict[str, Any]:
    if path.is_file():
        raise FileFormatError("a mapped chain is a folder, but this is a file", remedy="check the suffix")
    if path.is_dir() and not is_mapped(path):
        raise FileFormatError(
            f"there is no {_METADATA} in this folder", remedy="make a mapped chain with klump convert"
        )
    _require_own_file(path / _METADATA)
    try:
        metadata = json.loads((path / _METADATA).read_text(encoding="utf-8"))
        kind, version = metadata["format"], metadata["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damage_error(f"{_METADATA} is not valid metadata") from error
    if kind != _FORMAT or type(version) is not int or version < 1:
        raise _damage_error(f"{_METADATA} has format {quote(str(kind))}, version {one_line(version)}")
    if version > _VERSION:
        raise FileFormatError(f"written by a newer klump (format {version})", remedy="upgrade klump")
    return dict(metadata)


def _read_count(metadata: dict[str, Any], key: str) -> int:
    count = metadata.get(key)
    if type(count) is not int or count < 1:
        raise _damage_error(f"{_METADATA} lacks an entry ({key!r})")
    return count


class _LinkError(FileFormatError):
    """A file of a mapped folder is a symbolic link, or no file."""


def _require_own_file(file: Path) -> None:
    """Refuse symbolic links, which may point outside the folder, devices and FIFOs."""
    if not stat.S_ISREG(file.lstat().st_mode):
        raise _LinkError(
            f"{file.name} is a symbolic link or no file", remedy="copy the file itself into the folder"
        )


def _map_array(path: Path, name: str, dtype: DTypeLike, size: int) -> NDArray[Any]:
    file = path / f"{name}.npy"
    try:
        _require_own_file(file)
        array = map_array_file(file)
    except (EOFError, ValueError) as error:  # FileFormatError is a ValueError
        if isinstance(error, _LinkError):
            raise
        raise _damage_error(f"{file.name} is truncated or not an array ({describe(error)})") from error
    except FileNotFoundError:
        raise _damage_error(f"{file.name} is missing") from None
    if array.dtype != dtype or array.shape != (size,):
        raise _damage_error(
            f"{file.name} has shape {array.shape} of {array.dtype} instead of {(size,)} of {np.dtype(dtype)}"
        )
    return array


def _load_optional(path: Path, name: str, dtype: DTypeLike, size: int) -> NDArray[Any] | None:
    """In-memory copy of an array with one element per state; None if there is no such file."""
    if not os.path.lexists(path / f"{name}.npy"):
        return None
    return np.array(_map_array(path, name, dtype, size))


def _read_attributes(path: Path, states: Sequence[Hashable]) -> Attributes:
    def read_optional(key: str) -> NDArray[Any] | None:
        file = path / f"{key}.npy"
        if not os.path.lexists(file):
            return None
        _require_own_file(file)
        return read_array_file(file)

    return check_attributes(decode_attributes(read_optional, len(states)), states)


def _read_names(path: Path) -> list[Hashable] | None:
    for key in NAME_KEYS:
        file = path / f"{key}.npy"
        if os.path.lexists(file):
            _require_own_file(file)
            try:
                return decode_names(key, read_array_file(file))
            except (EOFError, ValueError) as error:
                raise _damage_error(f"{file.name} does not hold state names") from error
    return None


# Writing


def require_replaceable(path: Path) -> None:
    """Raise unless ``path`` is free, an empty folder, or a mapped folder without foreign files."""
    if path.is_symlink():
        raise FileFormatError("this is a symbolic link", remedy="name its target")
    if path.is_dir():
        existing = {entry.name for entry in path.iterdir()}
        foreign = sorted(existing - _FILES)
        if foreign or (existing and not _is_mapped_chain(path)):
            other = f" ({foreign[0]})" if foreign else ""
            raise FileFormatError(
                f"the folder holds files other than a chain{other}", remedy="choose another name"
            )
    if path.is_file():
        raise FileFormatError(
            "there is a file of this name, but a mapped chain is a folder", remedy="remove it first"
        )


def _is_mapped_chain(path: Path) -> bool:
    try:
        _read_metadata(path)
    except (FileFormatError, OSError, ValueError):
        return False
    return True


@contextmanager
def staging_folder(path: Path) -> Iterator[Path]:
    """Temporary folder to write to, renamed to ``path`` on success; an older folder there is replaced."""
    require_replaceable(path)
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with signals.removing(folder):
        folder.mkdir()
        try:
            yield folder
            if path.is_dir():
                # Memory maps of the old files stay valid: deleting a file does not end its maps.
                old = folder.with_name(f"{folder.name}.old")
                with signals.hold():
                    path.rename(old)
                    folder.rename(path)
                with signals.removing(old):
                    shutil.rmtree(old)
            else:
                folder.rename(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _write_transitions(folder: Path, blocks: Iterable[Any], *, normalize: bool) -> tuple[int, int]:
    """Validate and write row blocks; return the numbers of states and of transitions."""
    n, n_rows, lengths = -1, 0, []
    with _open_npy(folder, "data", np.float64) as data, _open_npy(folder, "indices", np.int32) as indices:
        for block in blocks:
            n = _n_columns(block) if n < 0 else n
            rows = validation.transition_rows(block, n, n_rows, normalize=normalize)
            data.append(rows.data)
            indices.append(rows.indices)
            lengths.append(np.diff(rows.indptr))
            n_rows += rows.shape[0]
    if n < 1 or n_rows != n:
        shape = (n_rows, max(n, 0))
        raise InvalidChainError(
            f"must make a square matrix, but make one of shape {shape}",
            argument="blocks",
            remedy="pass one row and one column per state",
        )
    indptr = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    is_wide = data.size >= _INT64_FROM
    if is_wide:
        _widen_indices(folder)
    np.save(folder / "indptr.npy", indptr if is_wide else indptr.astype(np.int32))
    return n, data.size


def _n_columns(block: Any) -> int:
    shape = getattr(block, "shape", None)
    if shape is None:
        shape = np.shape(block)
    if len(shape) != 2 or shape[1] >= _INT64_FROM:
        raise InvalidArgumentError(
            f"must be 2-D, but hold one of shape {tuple(shape)}",
            argument="blocks",
            remedy="pass arrays or sparse matrices of rows",
        )
    return int(shape[1])


def _widen_indices(folder: Path) -> None:
    """Rewrite the column indices as int64."""
    narrow = np.load(folder / "indices.npy", mmap_mode="r")
    with _open_npy(folder, "wide", np.int64) as wide:
        for start in range(0, len(narrow), _COPY_CHUNK):
            wide.append(narrow[start : start + _COPY_CHUNK])
    (folder / "wide.npy").replace(folder / "indices.npy")


class _NpyWriter:
    """Writer of a 1-D ``.npy`` array by chunks; the header is written last."""

    def __init__(self, file: IO[bytes], dtype: DTypeLike) -> None:
        self._file, self._dtype = file, np.dtype(dtype)
        self.size = 0
        file.write(bytes(_HEADER_BYTES))

    def append(self, chunk: NDArray[Any]) -> None:
        """Append a chunk."""
        self._file.write(np.ascontiguousarray(chunk, dtype=self._dtype).data)
        self.size += chunk.size

    def write_header(self) -> None:
        """Write the header of the ``.npy`` format, version 1.0, in the space reserved for it."""
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.size,)}
        text = f"{header!r}".encode("ascii").ljust(_HEADER_BYTES - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)


@contextmanager
def _open_npy(folder: Path, name: str, dtype: DTypeLike) -> Iterator[_NpyWriter]:
    with (folder / f"{name}.npy").open("wb") as file:
        array = _NpyWriter(file, dtype)
        yield array
        array.write_header()
