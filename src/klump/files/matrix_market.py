"""``.mtx``: Matrix Market, sparse (coordinate) or dense (array).

The format cannot hold state names: they are neither read nor written.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.io import mmread, mmwrite

from klump.errors import FileFormatError
from klump.files.npz import FETCH_AGAIN, one_line
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a matrix; ``scipy.io.mmread`` expands symmetric ones and gives pattern entries the weight 1."""
    # Older versions of SciPy take a file that is missing for an empty one: opening it raises OSError.
    path.open("rb").close()
    try:
        return Contents(mmread(path))
    except ValueError as error:
        problem, remedy = _explain(one_line(error))
        raise FileFormatError(problem, remedy=remedy) from error


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain; floats round-trip exactly."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "wb") as file:
        mmwrite(file, chain.transition_matrix, symmetry="general")


def _explain(message: str) -> tuple[str, str]:
    """Problem and remedy for a message of ``scipy.io.mmread``."""
    missing = re.search(r"Truncated file. Expected another (\d+) lines", message)
    if missing:
        problem = f"the file is truncated: {missing[1]} of the entries announced in its header are missing"
        return problem, FETCH_AGAIN
    if "Missing banner" in message:
        return "line 1: not a Matrix Market file, which starts with %%MatrixMarket", "check the suffix"
    return re.sub(r"^Line", "line", message), ""
