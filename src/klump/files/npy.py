"""``.npy``: one NumPy array; the format cannot hold state names or sparse matrices."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.arrays import PickleError, read_array_file
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a dense matrix."""
    try:
        return Contents(read_array_file(path))
    except PickleError as error:
        raise FileFormatError(
            "it is not a .npy array of numbers", remedy="write it with numpy.save"
        ) from error
    except FileFormatError as error:
        if zipfile.is_zipfile(path):
            problem = "this is an .npz archive, not a single array"
            raise FileFormatError(problem, remedy="rename it to .npz") from error
        raise


def write(chain: MarkovChain, path: Path) -> None:
    """Write the matrix of a dense chain without state names."""
    if chain.is_sparse or chain.has_names:
        what = "a sparse matrix" if chain.is_sparse else "the names of the states"
        raise InvalidArgumentError(f"a .npy file cannot hold {what}", remedy="write an .npz file instead")
    with path.open("wb") as file:
        np.save(file, chain.transition_matrix)
