"""Sparse matrices in compressed formats from index arrays that nobody has checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def build_compressed(kind: str, parts: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Build a csr, csc or bsr matrix from data, indices and index pointer; ValueError if they do not fit together.

    SciPy's compiled loops follow indices out of range blindly, and ``check_format`` checks none if the last pointer
    is 0.
    """
    data, indices, indptr = parts
    if not len(indptr) or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("its index pointer is not increasing from 0")
    if indptr[-1] != len(indices) or len(data) != len(indices):
        raise ValueError(
            f"it has {len(data)} values and {len(indices)} indices, but the index pointer ends at {indptr[-1]}"
        )
    matrix = getattr(sparse, f"{kind}_array")((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
