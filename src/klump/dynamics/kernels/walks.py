"""Random walks along the transitions of a sparse chain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.compilation import kernel

Floats = NDArray[np.float64]


@kernel
def walk(
    indptr: NDArray[Any],  # in
    indices: NDArray[Any],  # in
    weights: Floats,  # in: transition probabilities
    uniform: Floats,  # in: (steps, replicas), in [0, 1)
    begin: int,  # in: time of the first draw
    paths: NDArray[np.intp],  # in, out: (replicas, times); those before ``begin`` are given
) -> None:
    """Extend each trajectory by inversion of the cumulative distribution of the present row."""
    for replica in range(paths.shape[0]):
        state = paths[replica, begin - 1]
        for step in range(uniform.shape[0]):
            last = indptr[state + 1] - 1
            entry, left = indptr[state], uniform[step, replica]
            while entry < last and left >= weights[entry]:
                left -= weights[entry]
                entry += 1
            state = indices[entry]
            paths[replica, begin + step] = state
