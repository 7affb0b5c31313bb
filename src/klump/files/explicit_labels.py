"""``.lab``: labels of states, and the initial states, in the formats of PRISM and of Storm.

PRISM declares labels by number, ``0="init" 1="goal"``, and lists them per state, ``3: 0 1``; Storm declares them
between ``#DECLARATION`` and ``#END``, and lists them by name, ``3 init goal``. The label ``init`` marks the initial
states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.streams import create_text, open_text

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Label of the initial states.
INIT = "init"
# Label of the states without transitions.
DEADLOCK = "deadlock"
_DECLARATION = re.compile(r'([0-9]{1,9})="([^"]*)"')
_STATE = re.compile(r"([0-9]{1,10})\s*:?\s+(.*)|([0-9]{1,10})\s*:?")

Labels = dict[str, NDArray[np.intp]]


def read_labels(path: Path, n_states: int) -> tuple[Labels, NDArray[np.float64] | None]:
    """Read the labels, and the initial distribution: uniform over the initial states, None if there are none."""
    with open_text(path) as stream:
        lines = _Lines(stream)
        first = next(lines, "")
        if first == "#DECLARATION":
            known = _declare([(name, name) for name in _declared_by_storm(lines)], lines)
        elif declared := _DECLARATION.findall(first):
            if _DECLARATION.sub("", first).strip():
                raise lines.error(f"{quote(first)} is not a list of labels")
            known = _declare(declared, lines)
        else:
            raise lines.error(f"{quote(first)} is neither a list of labels, nor #DECLARATION")
        members: dict[str, list[int]] = {name: [] for name in known.values()}
        for line in lines:
            state, marks = _parse_state(line, n_states, lines)
            for mark in marks:
                if mark not in known:
                    raise lines.error(f"the label {quote(mark)} is not declared")
                members[known[mark]].append(state)
    return split_initial(
        {name: np.unique(np.array(m, dtype=np.intp)) for name, m in members.items()}, n_states
    )


def _declare(declared: list[tuple[str, str]], lines: _Lines) -> dict[str, str]:
    """Label of each mark; a label or a mark that is declared twice is an error."""
    for position, what in ((1, "label"), (0, "number")):
        seen: set[str] = set()
        for pair in declared:
            if pair[position] in seen:
                raise lines.error(f"the {what} {quote(pair[position])} is declared twice")
            seen.add(pair[position])
    return dict(declared)


def split_initial(labels: Labels, n_states: int) -> tuple[Labels, NDArray[np.float64] | None]:
    """Separate the label of the initial states: labels, and the uniform distribution over these."""
    rest = {name: members for name, members in labels.items() if name != INIT}
    return drop_deadlock(rest), uniform(labels.get(INIT, np.zeros(0, np.intp)), n_states)


def drop_deadlock(labels: Labels) -> Labels:
    """Drop the label ``deadlock`` if no state has it: PRISM and Storm always declare it."""
    return {name: members for name, members in labels.items() if name != DEADLOCK or len(members)}


def uniform(members: NDArray[np.intp], n_states: int) -> NDArray[np.float64] | None:
    """Uniform distribution over some states; None if there are none."""
    if not len(members):
        return None
    distribution = np.zeros(n_states)
    distribution[members] = 1.0 / len(members)
    return distribution


class _Lines:
    """Lines that are not blank, stripped, and the number of the current one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._stream:
            self._number += 1
            if line.strip():
                return line.strip()
        raise StopIteration

    def error(self, problem: str) -> FileFormatError:
        return FileFormatError(f"line {self._number}: {problem}", remedy=FETCH_AGAIN)


def _declared_by_storm(lines: _Lines) -> list[str]:
    names: list[str] = []
    for line in lines:
        if line == "#END":
            return names
        names += line.split()
    raise lines.error("#END is missing")


def _parse_state(line: str, n_states: int, lines: _Lines) -> tuple[int, list[str]]:
    found = _STATE.fullmatch(line)
    if found is None:
        raise lines.error(f"{quote(line)} does not begin with the number of a state")
    state = int(found[1] or found[3])
    if state >= n_states:
        raise lines.error(f"there is no state {state}, as there are {n_states:,} and they count from 0")
    return state, (found[2] or "").split()


def all_labels(chain: MarkovChain) -> Labels:
    """Labels of a chain with that of the initial states, which comes first."""
    initial = chain.labels.get(INIT, np.zeros(0, np.intp))
    if chain.initial is not None:
        initial = np.flatnonzero(chain.initial)
    return {INIT: initial, **{name: members for name, members in chain.labels.items() if name != INIT}}


def check_text(name: str, what: str, *, blanks: bool = True) -> None:
    """Refuse a name with quotation marks or control characters, or with blanks."""
    if '"' in name or not name.isprintable() or (not blanks and (" " in name or not name)):
        others = "quotation marks or control characters" if blanks else "blanks or quotation marks"
        raise FileFormatError(
            f"the {what} {quote(name)} has {others}, which the format cannot hold",
            remedy="rename it, or write an .npz file",
        )


def write_prism_labels(chain: MarkovChain, path: Path) -> None:
    """Write labels for PRISM, which wants ``deadlock`` declared too."""
    labels = all_labels(chain)
    labels = {INIT: labels[INIT], DEADLOCK: labels.get(DEADLOCK, np.zeros(0, np.intp)), **labels}
    for name in labels:
        check_text(name, "label")
    with create_text(path) as stream:
        stream.write(" ".join(f'{number}="{name}"' for number, name in enumerate(labels)) + "\n")
        for state, marks in _by_state(labels):
            stream.write(f"{state}: {' '.join(map(str, marks))}\n")


def write_storm_labels(chain: MarkovChain, path: Path) -> None:
    """Write labels for Storm."""
    labels = all_labels(chain)
    names = list(labels)
    for name in names:
        check_text(name, "label", blanks=False)
    with create_text(path) as stream:
        stream.write(f"#DECLARATION\n{' '.join(names)}\n#END\n")
        for state, marks in _by_state(labels):
            stream.write(f"{state} {' '.join(names[mark] for mark in marks)}\n")


def _by_state(labels: Labels) -> Iterator[tuple[int, list[int]]]:
    """States that have labels, in order, and the numbers of their labels."""
    marks: dict[int, list[int]] = {}
    for number, members in enumerate(labels.values()):
        for state in members.tolist():
            marks.setdefault(state, []).append(number)
    yield from sorted(marks.items())
