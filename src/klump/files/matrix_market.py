"""``.mtx``: Matrix Market, sparse (coordinate) or dense (array).

The format has no room for state names: they are neither read nor written.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.io import mmread, mmwrite

from klump.errors import FileFormatError
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a matrix; SciPy expands symmetric ones and gives pattern entries the weight 1."""
    try:
        return Contents(mmread(path))
    except ValueError as error:
        raise FileFormatError(_explained(" ".join(str(error).split()))) from error


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, every number with as many digits as it needs to come back the same."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "wb") as file:
        mmwrite(file, chain.transition_matrix, symmetry="general")


def _explained(message: str) -> str:
    missing = re.search(r"Truncated file. Expected another (\d+) lines", message)
    if missing:
        return f"the file is cut short: {missing[1]} of the entries that its header promises are missing"
    if "Missing banner" in message:
        return "line 1: not a Matrix Market file, which starts with %%MatrixMarket; check the suffix"
    return re.sub(r"^Line", "line", message)
