"""Partitions from files of any tool, as labels in the order of the chain's states."""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.chain.wording import counted
from klump.errors import FileFormatError, KlumpError

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def read_labels(path: str, chain: MarkovChain) -> Any:
    """Read a partition (or a stochastic map) of the chain's states.

    ``.npy`` holds labels, or a map as a matrix; ``.npz`` an aggregation that klump saved; ``.json`` a list,
    or an object with ``labels`` or a ``mapping`` (and ``states``, if they are in another order); ``.csv`` the columns
    ``state`` and ``group``, and for a soft map ``share_0``, ``share_1``, ...; any other file has a label in each line.
    """
    reader = _READERS.get(Path(path).suffix.lower(), _from_lines)
    try:
        return reader(Path(path), chain)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not UTF-8 text; check the suffix") from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except KlumpError as error:
        # klump.load names the file itself.
        raise type(error)(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _from_npy(path: Path, chain: MarkovChain) -> Any:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FileFormatError("not a .npy array of numbers or text, or cut short") from error
    if array.ndim == 2:
        return _as_map(array, chain)
    return _as_numbers(array.ravel().tolist(), chain)


def _from_npz(path: Path, chain: MarkovChain) -> Any:
    from klump.aggregation import Aggregation, AggregationGrid, load

    loaded = load(path)
    if not isinstance(loaded, Aggregation):
        kind = "grid" if isinstance(loaded, AggregationGrid) else "path"
        raise FileFormatError(
            f"this is a {kind} of {counted(len(loaded), 'aggregation')}; save the one that is to be scored"
        )
    labels = loaded.map.labels
    return _as_map(loaded.mapping, chain) if labels is None else _as_numbers(labels.tolist(), chain)


def _from_json(path: Path, chain: MarkovChain) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise FileFormatError("not a list of labels: it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise FileFormatError(f"line {error.lineno}: not valid JSON: {error.msg}") from error
    labels = content.get("labels") if isinstance(content, dict) else content
    if isinstance(content, dict) and content.get("mapping") is not None:
        return _shares(content["mapping"], content.get("states"), chain)
    if not isinstance(labels, list) or any(isinstance(label, list | dict) for label in labels):
        raise FileFormatError("expected a list of labels, or an object with the key labels")
    states = content.get("states") if isinstance(content, dict) else None
    if not isinstance(states, list):
        return _as_numbers(labels, chain)
    if len(states) != len(labels):
        raise FileFormatError(f"it has {counted(len(states), 'state')}, but {counted(len(labels), 'label')}")
    return _by_name([(str(state), label) for state, label in zip(states, labels, strict=True)], chain)


def _from_csv(path: Path, chain: MarkovChain) -> Any:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = next(reader, [])
            if not {"state", "group"} <= set(header):
                raise FileFormatError("line 1: the header must have the columns state and group")
            state_at, group_at = header.index("state"), header.index("group")
            share_at = [place for place, name in enumerate(header) if name.startswith("share_")]
            pairs, shares = [], []
            for record in filter(None, reader):
                if len(record) != len(header):
                    raise FileFormatError(
                        f"line {reader.line_num} has {counted(len(record), 'field')} instead of {len(header)}"
                    )
                pairs.append((record[state_at], record[group_at]))
                shares.append([record[place] for place in share_at])
        except csv.Error as error:
            raise FileFormatError(f"line {reader.line_num}: {error}") from error
    if share_at:
        return _shares(shares, [state for state, _ in pairs], chain)
    return _by_name(pairs, chain)


def _from_lines(path: Path, chain: MarkovChain) -> Any:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    while lines and not lines[-1]:
        lines.pop()
    return _as_numbers(lines, chain)


_READERS = {".npy": _from_npy, ".npz": _from_npz, ".json": _from_json, ".csv": _from_csv}


def _shares(rows: Any, states: Any, chain: MarkovChain) -> NDArray[Any]:
    """Turn the shares of states in groups into a map, in the chain's order."""
    try:
        array = np.array(rows, dtype=float)
    except (TypeError, ValueError) as error:
        raise FileFormatError("the shares in groups must be numbers, as many for each state") from error
    if array.ndim != 2 or (isinstance(states, list) and len(states) != len(array)):
        raise FileFormatError("the shares in groups must be a list for each state")
    if isinstance(states, list):
        array = array[_in_order([(str(state), place) for place, state in enumerate(states)], chain)]
    return _as_map(array, chain)


def _by_name(pairs: Sequence[tuple[str, Hashable]], chain: MarkovChain) -> list[int]:
    """Turn labels that are given by name into numbers, in the chain's order."""
    return _as_numbers(_in_order(pairs, chain), chain)


def _in_order(pairs: Sequence[tuple[str, Any]], chain: MarkovChain) -> list[Any]:
    """Bring what is given by name into the chain's order."""
    label: dict[str, Any] = {}
    for state, group in pairs:
        if state in label:
            raise FileFormatError(f"the state {state!r} is given twice")
        label[state] = group
    names = [str(state) for state in chain.states]
    missing = [state for state in names if state not in label]
    if missing:
        raise FileFormatError(f"the state {missing[0]!r} has no label{_such(missing)}")
    known = set(names)
    unknown = [state for state in label if state not in known]
    # A restricted chain is a part of the one that was labelled.
    if unknown and not chain.applied:
        raise FileFormatError(f"the chain has no state {unknown[0]!r}{_such(unknown)}")
    return [label[state] for state in names]


def _such(states: Sequence[str]) -> str:
    return f" ({len(states)} such states)" if len(states) > 1 else ""


def _as_map(array: NDArray[Any], chain: MarkovChain) -> NDArray[Any]:
    from klump.aggregation.mapping import as_mapping

    if len(array) != chain.n_states:
        raise FileFormatError(
            f"a map with {counted(len(array), 'row')}, but the chain has {counted(chain.n_states, 'state')}"
        )
    as_mapping(array, chain.n_states)  # refuses what is no map while it is known which file is to blame
    return array


def _as_numbers(labels: Sequence[Any], chain: MarkovChain) -> list[int]:
    """Turn labels of any kind into numbers of groups: 0, 1, ... stay, others count by first occurrence."""
    if len(labels) != chain.n_states:
        raise FileFormatError(
            f"{counted(len(labels), 'label')}, but the chain has {counted(chain.n_states, 'state')}"
        )
    empty = next((position for position, label in enumerate(labels) if label in ("", None)), None)
    if empty is not None:
        raise FileFormatError(f"label {empty + 1} is empty")
    texts = [str(label) for label in labels]
    kinds = dict.fromkeys(texts)
    if set(kinds) == {str(number) for number in range(len(kinds))}:
        return [int(text) for text in texts]
    numbering = {text: number for number, text in enumerate(kinds)}
    return [numbering[text] for text in texts]
