"""``.drn``: Storm's explicit format, with labels, initial states and rewards of states.

Rewards of a state and of its only action are added up: both are earned once per step. Valuations of states, which Storm
writes as comments, become state names. In a CTMC the numbers are rates, and ``!`` precedes the exit rate of a state.
Models with choices, intervals or parameters are an error.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import Matrix, row_blocks
from klump.errors import FileFormatError
from klump.files.drn_header import Header, read_header
from klump.files.explicit_labels import all_labels, check_text, split_initial
from klump.files.explicit_lines import parse_number
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.limits import require_plausible_states
from klump.files.rate_matrices import rates_of
from klump.files.registry import Contents
from klump.files.state_names import NAME, format_valuation, name_from_json, name_to_json, parse_valuations
from klump.files.streams import create_text, open_text

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names", "used labels", "initial states", "initial label", "state rewards")
_STATE = re.compile(
    r"state\s+([0-9]{1,10})(?=[\s!{\[]|$)\s*(?:!\s*([^\s\[{]+))?\s*(?:\{[^}]*\})?\s*(?:\[([^\]]*)\])?\s*(.*)"
)
_ACTION = re.compile(r"action\s+(?:\"[^\"]*\"|[^\s\[]+)\s*(?:\[([^\]]*)\])?\s*")
_TRANSITION = re.compile(r"([0-9]{1,10})\s*:\s*(\S.*)")
_LABEL = re.compile(r'\s*(?:"([^"]*)"|([^\s"]+))(?=\s|$)')
_VALUATION = re.compile(r"//\s*\[(.*)\]\s*")
_PLAIN_LABEL = re.compile(r"[A-Za-z_]\w*")
# Largest relative difference between an exit rate and the sum of its rates, or between a sum of probabilities and 1.
_TOLERANCE = 1e-6


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a chain; probabilities of a transition that is given twice are added up."""
    with open_text(path) as stream:
        lines = enumerate(stream, start=1)
        header = read_header(lines)
        model = _Model(header)
        for number, line in lines:
            model.add_line(line.strip(), number)
    return model.contents()


class _Model:
    """The states and transitions that were read so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.source, self.target, self.weight = array("q"), array("q"), array("d")
        self.exit_rates = array("d")
        self.n_states, self.n_actions = 0, 0
        self.members: dict[str, array[int]] = {}
        self.rewards = [array("d") for _ in header.rewards]
        self.names: list[Hashable] = []

    def add_line(self, line: str, number: int) -> None:
        """Parse a line of the model."""
        if line.startswith("//"):
            if len(self.names) == self.n_states - 1 and (found := _VALUATION.fullmatch(line)):
                self.names += _parse_name(found[1])
        elif found := _TRANSITION.fullmatch(line):
            self._add_transition(found, number)
        elif found := _STATE.fullmatch(line):
            self._add_state(found, number)
        elif found := _ACTION.fullmatch(line):
            self.n_actions += 1
            if self.n_actions > self.n_states:
                raise FileFormatError(
                    f"line {number}: state {self.n_states - 1} has a second action, so that this is no Markov chain",
                    remedy="give a DTMC or CTMC: fix a strategy first",
                )
            self._add_rewards(found[1], number)
        elif line:
            raise _error(number, f"{quote(line)} is neither a state, an action nor a transition")

    def _add_state(self, found: re.Match[str], number: int) -> None:
        if int(found[1]) != self.n_states or self.n_states == self.header.n_states:
            raise _error(
                number, f"state {found[1]} where state {self.n_states} of {self.header.n_states:,} is due"
            )
        self.n_states += 1
        self.n_actions = self.n_states - 1
        if self.header.time == "continuous":
            rate = np.nan if found[2] is None else self._number(found[2], number)
            self.exit_rates.append(rate)
        for reward in self.rewards:
            reward.append(0.0)
        self._add_rewards(found[3], number)
        text, position = found[4], 0
        while position < len(text):
            label = _LABEL.match(text, position)
            if label is None:
                raise _error(number, f"{quote(text)} is not a list of labels")
            name = label[2] if label[1] is None else label[1]
            marked = self.members.setdefault(name, array("q"))
            if not marked or marked[-1] != self.n_states - 1:
                marked.append(self.n_states - 1)
            position = label.end()

    def _add_rewards(self, text: str | None, number: int) -> None:
        """Add the rewards in brackets to those of the last state."""
        if text is None or not text.strip():
            return
        values = [self._number(word.strip(), number) for word in text.split(",")]
        if len(values) != len(self.rewards) or not self.n_states:
            raise _error(
                number, f"{len(values)} rewards, but the header names {len(self.rewards)} reward models"
            )
        for reward, value in zip(self.rewards, values, strict=True):
            reward[-1] += value

    def _add_transition(self, found: re.Match[str], number: int) -> None:
        if not self.n_states:
            raise _error(number, "a transition before the first state")
        if int(found[1]) >= self.header.n_states:
            raise _error(number, f"there is no state {found[1]}, as there are {self.header.n_states:,}")
        self.source.append(self.n_states - 1)
        self.target.append(int(found[1]))
        self.weight.append(self._number(found[2], number))

    def _number(self, word: str, number: int) -> float:
        word = self.header.placeholders.get(word, word)
        value = parse_number(word)
        if value is None:
            what = "an interval, which klump does not read" if word.startswith("[") else "not a finite number"
            raise _error(number, f"{quote(word)} is {what}")
        return value

    def contents(self) -> Contents:
        """Return everything that was read, after a check for missing states."""
        n = self.n_states
        if n != self.header.n_states:
            raise FileFormatError(
                f"the header announces {self.header.n_states:,} states, but {n:,} follow", remedy=FETCH_AGAIN
            )
        require_plausible_states(n, len(self.weight))
        source, target, weight = np.array(self.source), np.array(self.target), np.array(self.weight)
        if self.header.time == "continuous":
            weight = weight * self._scale(source, weight)[source]
        dead = np.setdiff1d(np.arange(n), source)
        data = np.concatenate([weight, np.ones(len(dead))])
        places = (np.concatenate([source, dead]), np.concatenate([target, dead]))
        labels = {name: np.array(marked, dtype=np.intp) for name, marked in self.members.items()}
        rest, initial = split_initial(labels, n)
        unique = len(self.names) == n and len(set(self.names)) == n
        return Contents(
            sparse.csr_array((data, places), shape=(n, n)),
            self.names if unique else None,
            rest or None,
            initial,
            {name: np.array(reward) for name, reward in zip(self.header.rewards, self.rewards, strict=True)}
            or None,
            self.header.time,
        )

    def _scale(self, source: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factor per state that makes rates of what the file holds: rates, or probabilities and an exit rate."""
        exit_rates = np.array(self.exit_rates)
        sums = np.bincount(source, weight, minlength=self.n_states)
        given = ~np.isnan(exit_rates)
        are_rates = ~given | (np.abs(sums - exit_rates) <= _TOLERANCE * np.maximum(sums, 1e-300))
        are_probabilities = given & (np.abs(sums - 1.0) <= _TOLERANCE)
        wrong = np.flatnonzero(~are_rates & ~are_probabilities & (sums > 0))
        if wrong.size:
            state = int(wrong[0])
            raise FileFormatError(
                f"state {state} has the exit rate {exit_rates[state]:g}, but its rates sum to {sums[state]:g}",
                remedy="correct one of the two",
            )
        return np.where(are_rates, 1.0, np.nan_to_num(exit_rates, nan=1.0))


def _error(line: int, problem: str) -> FileFormatError:
    return FileFormatError(f"line {line}: {problem}", remedy=FETCH_AGAIN)


def _parse_name(text: str) -> list[Hashable]:
    """State name of the valuation in a comment, as a list; an empty one if there is none."""
    if text.startswith(f"{NAME}="):
        try:
            name = name_from_json(text.removeprefix(f"{NAME}="))
            hash(name)
        except (ValueError, TypeError, RecursionError):
            return []
        return [name]
    parts = [part.strip() for part in text.split("&")]
    if not all(parts):
        return []
    pairs = [
        part.split("=", 1) if "=" in part else [part.removeprefix("!"), str(part[0] != "!").lower()]
        for part in parts
    ]
    return [format_valuation(*zip(*pairs, strict=True))]


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain; floats round-trip exactly, and rewards of transitions are left out."""
    _write(chain, chain.transition_matrix, path)


def write_rates(chain: MarkovChain, path: Path) -> None:
    """Write the rates of a uniformised chain."""
    rates = rates_of(chain)
    _write(chain, rates, path, np.asarray(rates.sum(axis=1)).ravel())


def _write(
    chain: MarkovChain, matrix: Matrix, path: Path, exit_rates: NDArray[np.float64] | None = None
) -> None:
    rewards = {name: reward for name, reward in chain.rewards.items() if not sparse.issparse(reward)}
    for name in rewards:
        check_text(name, "reward", blanks=False)
    n = chain.n_states
    with create_text(path) as stream:
        kind = "DTMC" if exit_rates is None else "CTMC"
        stream.write(f"// Exported by klump\n@type: {kind}\n@value_type: double\n@parameters\n\n")
        stream.write(f"@reward_models\n{' '.join(rewards)}\n@nr_states\n{n}\n@nr_choices\n{n}\n@model\n")
        leaves = None if exit_rates is None else exit_rates.tolist()
        _write_states(chain, matrix, leaves, [reward.tolist() for reward in rewards.values()], stream)


def _write_states(
    chain: MarkovChain,
    matrix: Matrix,
    exit_rates: list[float] | None,
    rewards: Sequence[list[float]],
    stream: TextIO,
) -> None:
    marks: dict[int, list[str]] = {}
    for name, members in all_labels(chain).items():
        check_text(name, "label")
        for state in members.tolist():
            marks.setdefault(state, []).append(name if _PLAIN_LABEL.fullmatch(name) else f'"{name}"')
    comments = _comments(chain)
    nothing = f" [{', '.join(['0'] * len(rewards))}]" if rewards else ""
    for rows, block in row_blocks(matrix):
        block = sparse.csr_array(block)
        target, weight = block.indices.tolist(), block.data.tolist()
        bounds = block.indptr.tolist()
        for i, state in enumerate(range(rows.start, rows.start + block.shape[0])):
            earned = f" [{', '.join(repr(reward[state]) for reward in rewards)}]" if rewards else ""
            labels = "".join(f" {mark}" for mark in marks.get(state, ()))
            leaves = "" if exit_rates is None else f" !{exit_rates[state]!r}"
            stream.write(f"state {state}{leaves}{earned}{labels}\n")
            if comments is not None:
                stream.write(f"//[{comments[state]}]\n")
            stream.write(f"\taction 0{nothing}\n")
            stream.writelines(f"\t\t{target[at]} : {weight[at]!r}\n" for at in range(*bounds[i : i + 2]))


def _comments(chain: MarkovChain) -> list[str] | None:
    """Valuations, or names in JSON, of the states; None if they have no names."""
    if not chain.has_names:
        return None
    found = parse_valuations(chain.states)
    if found is None:
        return [f"{NAME}={name_to_json(name)}" for name in chain.states]
    variables, rows = found
    return ["\t& ".join(f"{v}={x}" for v, x in zip(variables, values, strict=True)) for values in rows]
