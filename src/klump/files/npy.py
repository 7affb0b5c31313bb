"""``.npy``: one NumPy array; the format cannot hold state names, and a sparse chain is written as a dense one."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.arrays import PickleError, read_array_file
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ()
# Largest number of states of a sparse chain that is written as a dense array, of 800 MB.
_MAX_DENSE = 10_000


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
    """Write the transition matrix as a dense array, without state names."""
    matrix = chain.transition_matrix
    if isinstance(matrix, sparse.csr_array):
        if chain.n_states > _MAX_DENSE:
            raise InvalidArgumentError(
                f"a .npy file cannot hold a sparse matrix, and {chain.n_states:,} states are too many for a dense one",
                remedy="write an .npz file instead",
            )
        matrix = matrix.toarray()
    with path.open("wb") as file:
        np.save(file, matrix)
