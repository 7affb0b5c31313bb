"""``.tra``: explicit Markov chains of PRISM and Storm, with their sibling files.

PRISM
    The numbers of states and transitions, then ``source target probability [action]`` per line, or the row of a state
    per line, ``source probability:target probability:target``. States count from 0; ``#`` starts a comment.
Storm
    The first line is ``dtmc`` or ``ctmc``, and there are no counts.

Files of the same stem are read with it: ``.sta`` (valuations, which become state names), ``.lab`` (labels, and the
initial states), ``.srew`` and ``.trew`` (rewards of states and transitions). A state without a transition is a
deadlock: as in PRISM, it gets a transition to itself. Models with choices, such as MDPs, are an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

import numpy as np
from scipy import sparse

from klump.chain.rows import Matrix, entries
from klump.errors import FileFormatError
from klump.files import explicit_siblings
from klump.files.explicit_lines import read_table
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.limits import require_plausible_states
from klump.files.matrix_market_lines import Lines
from klump.files.rate_matrices import rates_of
from klump.files.registry import Contents
from klump.files.streams import create_text, open_bytes

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names", "labels", "initial states", "initial label", "rewards")
# Model types that a .tra file may name, and what they stand for.
_CHAINS: dict[str, Literal["discrete", "continuous"]] = {"dtmc": "discrete", "ctmc": "continuous"}
_TYPE = re.compile(rb"(?:#\s*transitions\s*\(\s*)?([a-z]{2,6})\s*\)?", re.IGNORECASE)
# Largest number of states beyond that of the transitions; all states but the initial ones are targets of some.
_MAX_UNREACHED = 100_000
# Shortest entry in bytes: ":1 1" of the rows variant, of which "0 " and the line break are shared.
_SHORTEST = 4


class _Header(NamedTuple):
    """Type of the model, and the announced numbers; None if the file does not say."""

    time: Literal["discrete", "continuous"] | None
    n_states: int | None
    n_transitions: int | None


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a chain and its siblings; probabilities of a transition that is given twice are added up."""
    with open_bytes(path) as (stream, length):
        lines = Lines(stream)
        header = _read_header(lines, length)
        (source, target), weight = read_table(lines, header.n_states, 2, rows=True)
    if header.n_transitions is not None and len(weight) != header.n_transitions:
        raise FileFormatError(
            f"the header announces {header.n_transitions:,} transitions, but {len(weight):,} follow",
            remedy=FETCH_AGAIN,
        )
    n = header.n_states
    if n is None:
        n = 1 + int(max(source.max(initial=-1), target.max(initial=-1)))
        _require_plausible_states(n, len(weight))
    if n == 0:
        raise FileFormatError("there is no transition", remedy="write one per line")
    dead = np.setdiff1d(np.arange(n, dtype=np.int32), source)
    rows, columns = np.concatenate([source, dead]), np.concatenate([target, dead])
    matrix = sparse.csr_array((np.concatenate([weight, np.ones(len(dead))]), (rows, columns)), shape=(n, n))
    found = explicit_siblings.read_siblings(path, n)
    return Contents(matrix, found.states, found.labels, found.initial, found.rewards, header.time)


def write(chain: MarkovChain, path: Path) -> None:
    """Write the transitions for PRISM."""
    with create_text(path) as stream:
        stream.write(f"{chain.n_states} {chain.n_transitions}\n")
        write_transitions(chain.transition_matrix, stream)


def write_rates(chain: MarkovChain, path: Path) -> None:
    """Write the rates of a uniformised chain for PRISM, which reads them with -ctmc."""
    rates = rates_of(chain)
    with create_text(path) as stream:
        stream.write(f"{chain.n_states} {rates.nnz}\n")
        write_transitions(rates, stream)


def write_transitions(matrix: Matrix, stream: TextIO) -> None:
    """Write one transition per line; floats round-trip exactly."""
    for row, col, probability in entries(matrix):
        triples = zip(row.tolist(), col.tolist(), probability.tolist(), strict=True)
        stream.writelines(f"{i} {j} {weight!r}\n" for i, j, weight in triples)


def siblings(chain: MarkovChain, path: Path) -> dict[Path, Callable[[Path], None]]:
    """Return the sibling files that hold the rest of the chain, and their writers."""
    return explicit_siblings.writers(chain, path, explicit_siblings.write_prism_labels)


def known_siblings(path: Path) -> list[Path]:
    """Existing sibling files, which belong to the chain."""
    return explicit_siblings.existing(path)


def _read_header(lines: Lines, length: int) -> _Header:
    """Parse the comments, and the type of the model or the numbers of states and transitions."""
    time: Literal["discrete", "continuous"] | None = None
    while True:
        line = lines.next_line()
        if not line:
            raise FileFormatError("the file has no header", remedy=FETCH_AGAIN)
        if lines.number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        line = line.strip()
        found = _TYPE.fullmatch(line)
        if found and (line.startswith(b"#") or found[0] == found[1]):
            time = _model_time(found[1].decode(), lines.number)
            if not line.startswith(b"#"):
                return _Header(time, None, None)
        elif line and not line.startswith(b"#"):
            break
    words = line.split()
    if not all(re.fullmatch(rb"[0-9]{1,18}", word) for word in words) or not 2 <= len(words) <= 4:
        raise FileFormatError(
            f"line {lines.number}: {quote(line)} is not the number of states and of transitions, nor a type such as "
            "dtmc",
            remedy="check the suffix",
        )
    if len(words) > 2:
        raise FileFormatError(
            f"line {lines.number}: {len(words)} numbers are the header of an MDP, or of another model with choices",
            remedy="give a DTMC: fix a strategy first",
        )
    n_states, n_transitions = map(int, words)
    if n_transitions * _SHORTEST > length or n_states == 0:
        raise FileFormatError(
            f"line {lines.number}: {n_states:,} states and {n_transitions:,} transitions do not fit a file of "
            f"{length:,} bytes",
            remedy=FETCH_AGAIN,
        )
    _require_plausible_states(n_states, n_transitions)
    return _Header(time, n_states, n_transitions)


def _require_plausible_states(n_states: int, n_transitions: int) -> None:
    """Refuse many states that no transition leads to: tools write states that can be reached."""
    require_plausible_states(n_states, n_transitions + _MAX_UNREACHED)
    if n_states > n_transitions + _MAX_UNREACHED:
        raise FileFormatError(
            f"{n_states:,} states, but {n_transitions:,} transitions, so that most states cannot be reached",
            remedy="correct the number of states",
        )


def _model_time(word: str, line: int) -> Literal["discrete", "continuous"]:
    kind = _CHAINS.get(word.lower())
    if kind is None:
        raise FileFormatError(
            f"line {line}: the model is of type {word.upper()}, not a Markov chain",
            remedy="give a DTMC or CTMC: fix a strategy first",
        )
    return kind
