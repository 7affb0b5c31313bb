"""``.arrows``: a file format to copy, text with one transition per line.

Such a file looks like this::

    sun -> sun 0.9
    sun -> rain 0.1

To make it yours, copy this file to ``src/klump/files/<your_format>.py``, change ``read`` and ``write``, and add one
line for each suffix to ``MODULES`` in ``src/klump/files/registry.py``::

    ".arrows": "klump.files.arrows",

``klump.read_chain``, ``klump.write_chain`` and every command then know the suffix, and
``tests/files/test_round_trip.py`` runs for it. Add an entry to ``tests/fuzzing/formats.py``, so that ``make fuzz``
tries mutants of such files. Name the suffix in the docstrings of ``read_chain`` and ``write_chain``, in the help of
the command line and in docs/file_formats.md. A format whose first bytes tell it gets a line in
``src/klump/files/recognition.py`` too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from scipy import sparse

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.registry import Contents

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# What the format can hold besides the transitions: of "names", "labels", "initial" and "rewards".
KEEPS = ("names",)
_LINE = re.compile(r"(\S+) -> (\S+) (\S+)")


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a matrix and the names of its states; weights of a transition given twice may be added if ``add_up``."""
    # Check only what has to do with the format. That rows sum to 1 and so on is checked by MarkovChain; of files that
    # do not exist, are cut short or are not UTF-8, and of whatever else is raised here, the caller makes one line that
    # starts with the file's name.
    number: dict[str, int] = {}
    weights: dict[tuple[int, int], float] = {}
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            # An error names the place, the value and the remedy, on one line.
            raise FileFormatError(f"line {place}: {line!r} is not a transition; write 'from -> to weight'")
        origin, target, text = match.groups()
        try:
            weight = float(text)
        except ValueError as error:
            raise FileFormatError(f"line {place}: {text!r} is not a number") from error
        pair = number.setdefault(origin, len(number)), number.setdefault(target, len(number))
        if pair in weights and not add_up:
            raise FileFormatError(f"line {place}: {origin} -> {target} is given twice; keep one of the lines")
        weights[pair] = weights.get(pair, 0.0) + weight
    rows, columns = [i for i, _ in weights], [j for _, j in weights]
    n = len(number)
    return Contents(sparse.csr_array((list(weights.values()), (rows, columns)), shape=(n, n)), list(number))


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain, so that ``read`` gives the same numbers back; refuse what the format has no room for."""
    # The path is that of a temporary file, which takes the place of an older file once it is complete.
    names = [str(state) for state in chain.states]
    if any(re.search(r"\s", name) or not name for name in names):
        raise InvalidArgumentError(
            "an .arrows file cannot hold names with blanks; write an .npz file instead"
        )
    entries = sparse.coo_array(chain.transition_matrix)
    with path.open("w", encoding="utf-8") as file:
        for i, j, weight in zip(entries.row, entries.col, entries.data, strict=True):
            file.write(f"{names[i]} -> {names[j]} {float(weight)!r}\n")  # repr keeps every digit
