"""``.npz``: NumPy arrays, or a sparse matrix in the format of ``scipy.sparse.save_npz``.

State names are in the additional array ``states``, which SciPy ignores; names that are neither all strings nor all
integers are in ``states_json``, one JSON value per state. Pickled objects are neither read nor written.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Names of the array with a dense transition matrix, by precedence.
_MATRIX_KEYS = ("transition_matrix", "P")
# Names of the array with state names, by precedence.
NAME_KEYS = ("states", "states_json")
# Remedy for a truncated or damaged file.
FETCH_AGAIN = "fetch or write it again"


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a dense or sparse matrix and its state names."""
    _require_archive(path)
    with np.load(path, allow_pickle=False) as archive:
        if "metadata" in archive.files:
            raise FileFormatError(
                "this is an aggregation that klump saved",
                remedy="klump.load reads it, and its chain is .original",
            )
        names = _read_names(archive)
        if "format" in archive.files and "shape" in archive.files:
            return Contents(_sparse_matrix(path), names)
        return Contents(_dense_matrix(archive), names)


def map_matrix(path: Path) -> tuple[sparse.csr_array, Sequence[Hashable] | None] | None:
    """Memory-map an unvalidated CSR matrix inside the archive, and read its state names.

    None if the matrix is dense, compressed, or sparse in another format.
    """
    _require_archive(path)
    with np.load(path, allow_pickle=False) as archive:
        if not {"data", "indices", "indptr", "shape", "format"} <= set(archive.files):
            return None
        shape, kind = _array(archive, "shape"), _array(archive, "format").item()
        if kind not in (b"csr", "csr") or shape.shape != (2,):
            return None
        parts = [_map_array(path, archive.zip.getinfo(f"{key}.npy")) for key in ("data", "indices", "indptr")]
        names = _read_names(archive)
    if any(part is None for part in parts):
        return None
    try:
        return sparse.csr_array(tuple(parts), shape=tuple(shape.tolist())), names
    except (TypeError, ValueError) as error:
        raise FileFormatError(
            f"its sparse matrix is damaged: {one_line(error)}", remedy=FETCH_AGAIN
        ) from error


def _map_array(path: Path, entry: zipfile.ZipInfo) -> NDArray[Any] | None:
    """Memory map of an uncompressed 1-D array in a zip archive, else None."""
    if entry.compress_type != zipfile.ZIP_STORED:
        return None
    with path.open("rb") as file:
        # Zip local file header: 30 bytes, whose last 4 are the lengths of the file name and extra field that follow.
        file.seek(entry.header_offset + 26)
        lengths = file.read(4)
        file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), os.SEEK_CUR)
        major, _ = np.lib.format.read_magic(file)
        read_header = (
            np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read_header(file)
        if dtype.hasobject or len(shape) != 1 or not shape[0]:
            return None
        return np.memmap(path, dtype, "r", file.tell(), shape)


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, uncompressed: compression takes about 100 times as long and saves little."""
    matrix: Any = chain.transition_matrix
    content: dict[str, Any] = encode_names(chain.states) if chain.has_names else {}
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


def _sparse_matrix(path: Path) -> sparse.csr_array:
    try:
        matrix = sparse.csr_array(sparse.load_npz(path))
        # Indices out of range would be followed blindly by compiled code later on.
        matrix.check_format(full_check=True)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"its sparse matrix is damaged: {one_line(error)}", remedy=FETCH_AGAIN
        ) from error
    return matrix


def _dense_matrix(archive: Any) -> NDArray[Any]:
    arrays = {key: _array(archive, key) for key in archive.files if key not in NAME_KEYS}
    for key in _MATRIX_KEYS:
        if key in arrays:
            return arrays[key]
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if len(tables) == 1:
        return arrays[tables[0]]
    raise FileFormatError(
        f"{len(tables)} of its arrays ({', '.join(archive.files)}) are matrices, so the choice is ambiguous",
        remedy="name the transition matrix transition_matrix",
    )


def _array(archive: Any, key: str) -> NDArray[Any]:
    try:
        array = archive[key]
    except ValueError as error:
        if needs_pickle(error):
            raise FileFormatError(
                f"its array {key!r} holds pickled Python objects, which are not read",
                remedy="write numbers or text",
            ) from error
        raise FileFormatError(
            f"its array {key!r} is damaged: {one_line(error)}", remedy=FETCH_AGAIN
        ) from error
    if not isinstance(array, np.ndarray):
        raise FileFormatError(f"its entry {key!r} is not an array", remedy="write it with numpy.savez")
    return array


def _read_names(archive: Any) -> list[Hashable] | None:
    for key in NAME_KEYS:
        if key not in archive.files:
            continue
        return decode_names(key, _array(archive, key))
    return None


def decode_names(key: str, array: NDArray[Any]) -> list[Hashable]:
    """State names from the array ``key``."""
    names: list[Any] = array.ravel().tolist()
    if key == "states":
        return names
    try:
        return [_from_json(name) for name in names]
    except (TypeError, ValueError) as error:
        raise FileFormatError(
            f"its array {key!r} is damaged: {one_line(error)}", remedy=FETCH_AGAIN
        ) from error


def encode_names(states: Sequence[Hashable]) -> dict[str, Any]:
    """Key and array for state names."""
    # type(...) is, because True would be read back as 1; NumPy strips trailing NULs of strings.
    if all(type(name) is str and not name.endswith("\0") for name in states):
        return {"states": np.array(states, dtype=np.str_)}
    if all(type(name) is int and abs(name) < 2**63 for name in states):
        return {"states": np.array(states, dtype=np.int64)}
    for name in states:
        if repr(_from_json(json.dumps(name, default=str))) != repr(name):
            raise InvalidArgumentError(
                f"the state name {name!r} cannot be written without pickle",
                state=name,
                remedy="use text, numbers or tuples",
            )
    return {"states_json": np.array([json.dumps(name) for name in states], dtype=np.str_)}


def _from_json(text: str) -> Any:
    return _lists_to_tuples(json.loads(text))


def _lists_to_tuples(value: Any) -> Any:
    """Convert JSON lists to tuples, recursively: names are hashable, so every list was a tuple."""
    return tuple(_lists_to_tuples(item) for item in value) if isinstance(value, list) else value


def needs_pickle(error: ValueError) -> bool:
    """Whether ``np.load(..., allow_pickle=False)`` failed because the file holds, or is taken for, a pickle."""
    return "pickle" in str(error) or "Object arrays" in str(error)


def one_line(error: Exception) -> str:
    """Message of an error, with white space collapsed."""
    return " ".join(str(error).split())
