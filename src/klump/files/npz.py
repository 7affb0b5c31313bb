"""``.npz``: NumPy arrays, or a sparse matrix in the format of ``scipy.sparse.save_npz``.

State names are in the additional array ``states``, which SciPy ignores; names that are neither all strings nor all
integers are in ``states_json``, one JSON value per state. Labels, initial distribution, rewards and restart are as in
:mod:`klump.files.attributes`. Pickled objects are neither read nor written.
"""

from __future__ import annotations

import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import FileFormatError
from klump.files.archives import Archive, open_archive
from klump.files.attributes import KEYS, StoredAttributes, decode_attributes, encode_attributes
from klump.files.compressed_matrices import build_compressed
from klump.files.gate import FETCH_AGAIN, guard_place, one_line
from klump.files.limits import require_plausible_states
from klump.files.registry import Contents
from klump.files.state_names import name_from_json, name_to_json

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names", "labels", "initial", "rewards")
# Names of the array with a dense transition matrix, by precedence.
_MATRIX_KEYS = ("transition_matrix", "P")
# Names of the array with state names, by precedence.
NAME_KEYS = ("states", "states_json")
# Arrays of index type in the formats of scipy.sparse.save_npz; "data" and "shape" are in all of them.
_INDEX_KEYS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "dia": ("offsets",),
    "coo": ("row", "col"),
}
_MATRIX = "its sparse matrix"


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a dense or sparse matrix and its state names."""
    _require_archive(path)
    with open_archive(path) as archive:
        if "metadata" in archive.members:
            raise FileFormatError(
                "this is an aggregation that klump saved",
                remedy="klump.load reads it, and its chain is .original",
            )
        names = _read_names(archive)
        is_sparse = "format" in archive.members and "shape" in archive.members
        matrix = _sparse_matrix(archive) if is_sparse else _dense_matrix(archive)
        return _contents(matrix, names, read_attributes(archive, matrix.shape[0]))


def _contents(matrix: Any, names: list[Hashable] | None, found: StoredAttributes) -> Contents:
    return Contents(
        matrix, names, found.labels, found.initial, found.rewards, restart=found.restart, rate=found.rate
    )


def read_attributes(archive: Archive, n_states: int) -> StoredAttributes:
    """Read labels, initial distribution, rewards and restart, as far as there are any."""
    return decode_attributes(lambda key: archive.read(key) if key in archive.members else None, n_states)


def map_matrix(path: Path) -> Contents | None:
    """Memory-map an unvalidated CSR matrix inside the archive, its CRC checked, and read what else there is.

    None if the matrix is dense, compressed, or sparse in another format.
    """
    _require_archive(path)
    with open_archive(path) as archive:
        if not {"data", "indices", "indptr", "shape", "format"} <= archive.members.keys():
            return None
        stored = all(archive.is_stored(key) for key in ("data", "indices", "indptr"))
        if not stored or _sparse_format(archive) != "csr":
            return None
        shape = _shape(archive)
        data, indices, indptr = (archive.map(key) for key in ("data", "indices", "indptr"))
        names, attributes = _read_names(archive), read_attributes(archive, shape[0])
    if not all(part.dtype.isnative for part in (data, indices, indptr)):
        return None
    with guard_place(_MATRIX):
        _require_kinds({"data": data, "indices": indices, "indptr": indptr})
        require_plausible_states(max(shape), len(data))
        return _contents(sparse.csr_array((data, indices, indptr), shape=shape), names, attributes)


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, uncompressed: compression takes about 100 times as long and saves little."""
    matrix: Any = chain.transition_matrix
    content: dict[str, Any] = encode_names(chain.states) if chain.has_names else {}
    content |= encode_attributes(chain)
    if chain.is_sparse:
        content |= {
            "indices": matrix.indices,
            "indptr": matrix.indptr,
            "format": np.array(b"csr"),
            "shape": np.array(matrix.shape),
            "data": matrix.data,
            "_is_array": np.array(True),
        }
    else:
        content["transition_matrix"] = matrix
    # An open file, because np.savez appends ".npz" to file names such as "model.NPZ".
    with path.open("wb") as file:
        np.savez(file, **content)


def _require_archive(path: Path) -> None:
    if zipfile.is_zipfile(path):
        return
    with path.open("rb") as file:
        start = file.read(64)
    if not start:
        raise FileFormatError("the file is empty", remedy=FETCH_AGAIN)
    if start.startswith(b"PK"):
        raise FileFormatError("the .npz archive is truncated", remedy=FETCH_AGAIN)
    if start.startswith(b"\x93NUMPY"):
        raise FileFormatError("this is a single .npy array, not an .npz archive", remedy="rename it to .npy")
    text = all(byte >= 32 or byte in b"\t\r\n" for byte in start)
    kind = "a text file" if text else "something else"
    raise FileFormatError(
        f"this is {kind}, not an .npz archive", remedy="give it the suffix of its format (.csv, .mtx)"
    )


def _sparse_format(archive: Archive) -> str:
    """Value of the array ``format``: text, or bytes in files of older versions of SciPy."""
    array = archive.read("format")
    value = array.item() if array.size == 1 else ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _shape(archive: Archive) -> tuple[int, int]:
    array = archive.read("shape")
    if array.shape != (2,) or array.dtype.kind not in "iu" or array.min() < 0:
        raise FileFormatError(f"{_MATRIX} is damaged: its shape is not two numbers", remedy=FETCH_AGAIN)
    rows, columns = array.tolist()
    return rows, columns


def _require_kinds(parts: dict[str, Any]) -> None:
    """Refuse values that are not numbers, and indices that are not integers."""
    for key, part in parts.items():
        is_index = key != "data"
        if part.dtype.kind not in ("iu" if is_index else "biufc") or (is_index and part.ndim != 1):
            raise FileFormatError(
                f"{_MATRIX} is damaged: its array {key!r} is a {part.ndim}-dimensional {part.dtype} array",
                remedy=FETCH_AGAIN,
            )


def _sparse_matrix(archive: Archive) -> sparse.csr_array:
    kind = _sparse_format(archive)
    if kind not in _INDEX_KEYS:
        raise FileFormatError(
            f"{_MATRIX} is damaged: its format is {one_line(kind)!r}",
            remedy=f"write one of {', '.join(_INDEX_KEYS)}",
        )
    keys = ("data", *_INDEX_KEYS[kind])
    if kind == "coo" and "coords" in archive.members:
        keys = ("data", "coords")
    missing = [key for key in keys if key not in archive.members]
    if missing:
        raise FileFormatError(
            f"{_MATRIX} is damaged: its array {missing[0]!r} is missing", remedy=FETCH_AGAIN
        )
    shape = _shape(archive)
    parts = {key: archive.read(key) for key in keys}
    with guard_place(_MATRIX):
        if "coords" in parts:
            parts["row"], parts["col"] = parts.pop("coords")
        _require_kinds(parts)
        require_plausible_states(max(shape), parts["data"].size)
        data, *indices = (part if key == "data" else part.astype(np.int64) for key, part in parts.items())
        data = data.astype(np.complex128 if data.dtype.kind == "c" else np.float64, copy=False)
        if kind == "coo":
            return sparse.csr_array(sparse.coo_array((data, tuple(indices)), shape=shape))
        if kind == "dia":
            return sparse.csr_array(sparse.dia_array((data, *indices), shape=shape))
        return sparse.csr_array(build_compressed(kind, (data, *indices), shape))


def _dense_matrix(archive: Archive) -> NDArray[Any]:
    for key in _MATRIX_KEYS:
        if key in archive.members:
            return archive.read(key)
    arrays = {key: archive.read(key) for key in archive.members if key not in (*NAME_KEYS, *KEYS)}
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if len(tables) == 1:
        return arrays[tables[0]]
    raise FileFormatError(
        f"{len(tables)} of its arrays ({one_line(', '.join(archive.members))}) are matrices, so the choice is "
        "ambiguous",
        remedy="name the transition matrix transition_matrix",
    )


def _read_names(archive: Archive) -> list[Hashable] | None:
    for key in NAME_KEYS:
        if key in archive.members:
            return decode_names(key, archive.read(key))
    return None


def decode_names(key: str, array: NDArray[Any]) -> list[Hashable]:
    """State names from the array ``key``."""
    names: list[Any] = array.ravel().tolist()
    if key == "states":
        return names
    with guard_place(f"its array {key!r}"):
        return [name_from_json(name) for name in names]


def encode_names(states: Sequence[Hashable]) -> dict[str, Any]:
    """Key and array for state names."""
    # type(...) is, because True would be read back as 1; NumPy strips trailing NULs of strings.
    if all(type(name) is str and not name.endswith("\0") for name in states):
        return {"states": np.array(states, dtype=np.str_)}
    if all(type(name) is int and abs(name) < 2**63 for name in states):
        return {"states": np.array(states, dtype=np.int64)}
    return {"states_json": np.array([name_to_json(name) for name in states], dtype=np.str_)}
