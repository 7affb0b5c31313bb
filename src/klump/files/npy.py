"""``.npy``: one NumPy array; the format cannot hold state names or sparse matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.npz import FETCH_AGAIN, needs_pickle
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a dense matrix."""
    try:
        array = np.load(path, allow_pickle=False)
    except EOFError as error:
        raise FileFormatError("the file is empty", remedy=FETCH_AGAIN) from error
    except ValueError as error:
        if needs_pickle(error):
            raise FileFormatError(
                "it is not a .npy array of numbers", remedy="write it with numpy.save"
            ) from error
        raise FileFormatError("the .npy array is truncated", remedy=FETCH_AGAIN) from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise FileFormatError("this is an .npz archive, not a single array", remedy="rename it to .npz")
    return Contents(array)


def write(chain: MarkovChain, path: Path) -> None:
    """Write the matrix of a dense chain without state names."""
    if chain.is_sparse or chain.has_names:
        what = "a sparse matrix" if chain.is_sparse else "the names of the states"
        raise InvalidArgumentError(f"a .npy file cannot hold {what}", remedy="write an .npz file instead")
    with path.open("wb") as file:
        np.save(file, chain.transition_matrix)
