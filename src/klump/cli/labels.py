"""Partitions and soft maps from files of any tool, in the order of the chain's states."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klump.chain.wording import format_count
from klump.errors import FileFormatError, KlumpError
from klump.files.arrays import read_array_file
from klump.files.csv_files import find_delimiter
from klump.files.gate import guard_reading, quote
from klump.files.streams import read_text

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Remedy for labels that do not match the states.
_ONE_LABEL = "write one label per state"


def read_labels(path: str, chain: MarkovChain) -> Any:
    """Read a partition, or a soft map, of the chain's states.

    ``.npy``: labels, or a map as a matrix. ``.npz``: an aggregation that klump saved. ``.json``: a list of labels, or
    an object with ``labels`` or ``mapping``, and with ``states`` if their order is not the chain's. ``.csv``: the
    columns ``state`` and ``group``, and for a soft map ``share_0``, ``share_1``, ...; separated by commas, semicolons,
    tabs or blanks. Other files: one label per line. Text may be compressed: ``.csv.gz``.
    """
    name = re.sub(r"\.(?:gz|xz)$", "", Path(path).name.lower())
    reader = _READERS.get(Path(name).suffix, _read_lines)
    try:
        with guard_reading(path):
            return reader(Path(path), chain)
    except KlumpError as error:
        error.file = path
        raise


def _read_npy(path: Path, chain: MarkovChain) -> Any:
    try:
        array = read_array_file(path)
    except (FileFormatError, EOFError) as error:
        raise FileFormatError(
            "not a .npy array of numbers or strings, or truncated", remedy="write it with numpy.save"
        ) from error
    if array.ndim == 2:
        return _as_map(array, chain)
    return _as_numbers(array.ravel().tolist(), chain)


def _read_npz(path: Path, chain: MarkovChain) -> Any:
    from klump.aggregation import Aggregation, AggregationGrid, load

    loaded = load(path)
    if not isinstance(loaded, Aggregation):
        kind = "grid" if isinstance(loaded, AggregationGrid) else "path"
        raise FileFormatError(
            f"this is a {kind} of {format_count(len(loaded), 'aggregation')}",
            remedy="save the one that is to be scored",
        )
    labels = loaded.map.labels
    return _as_map(loaded.mapping, chain) if labels is None else _as_numbers(labels.tolist(), chain)


def _read_json(path: Path, chain: MarkovChain) -> Any:
    try:
        content = json.loads(read_text(path))
    except RecursionError as error:
        raise FileFormatError(
            "the JSON document is nested too deeply", remedy="write a list of labels"
        ) from error
    except json.JSONDecodeError as error:
        raise FileFormatError(f"line {error.lineno}: not valid JSON: {error.msg}") from error
    labels = content.get("labels") if isinstance(content, dict) else content
    if isinstance(content, dict) and content.get("mapping") is not None:
        return _parse_shares(content["mapping"], content.get("states"), chain)
    if not isinstance(labels, list) or any(isinstance(label, list | dict) for label in labels):
        raise FileFormatError(
            "the JSON document has no labels", remedy="write a list of them, or an object with the key labels"
        )
    states = content.get("states") if isinstance(content, dict) else None
    if not isinstance(states, list):
        return _as_numbers(labels, chain)
    if len(states) != len(labels):
        raise FileFormatError(
            f"the JSON document has {format_count(len(states), 'state')}, but {format_count(len(labels), 'label')}",
            remedy=_ONE_LABEL,
        )
    return _labels_by_name([(str(state), label) for state, label in zip(states, labels, strict=True)], chain)


def _read_csv(path: Path, chain: MarkovChain) -> Any:
    text = read_text(path)
    first, second = [*text.split("\n", 2), "", ""][:2]
    delimiter = find_delimiter(first, second, "\t" if ".tsv" in path.name.lower() else ",")
    with io.StringIO(text, newline="") as stream:
        reader = csv.reader(stream, strict=True, delimiter=delimiter, skipinitialspace=delimiter == " ")
        try:
            header = next(reader, [])
            if not {"state", "group"} <= set(header):
                raise FileFormatError("line 1: the header must have the columns state and group")
            state_column, group_column = header.index("state"), header.index("group")
            share_columns = [column for column, name in enumerate(header) if name.startswith("share_")]
            pairs, shares = [], []
            for record in filter(None, reader):
                if len(record) != len(header):
                    raise FileFormatError(
                        f"line {reader.line_num} has {format_count(len(record), 'field')} instead of {len(header)}"
                    )
                pairs.append((record[state_column], record[group_column]))
                shares.append([record[column] for column in share_columns])
        except csv.Error as error:
            raise FileFormatError(f"line {reader.line_num}: {error}") from error
    if share_columns:
        return _parse_shares(shares, [state for state, _ in pairs], chain)
    return _labels_by_name(pairs, chain)


def _read_lines(path: Path, chain: MarkovChain) -> Any:
    lines = read_text(path).splitlines()
    while lines and not lines[-1]:
        lines.pop()
    return _as_numbers(lines, chain)


_READERS = {".npy": _read_npy, ".npz": _read_npz, ".json": _read_json, ".csv": _read_csv, ".tsv": _read_csv}


def _parse_shares(rows: Any, states: Any, chain: MarkovChain) -> NDArray[Any]:
    """Convert the shares of states in groups to a map, in the order of the chain's states."""
    try:
        array = np.array(rows, dtype=float)
    except (TypeError, ValueError) as error:
        raise FileFormatError(
            "the shares in groups must be numbers", remedy="write one share per state and group"
        ) from error
    if array.ndim != 2 or (isinstance(states, list) and len(states) != len(array)):
        raise FileFormatError(
            "the shares in groups must be one list per state", remedy="write one share per state and group"
        )
    if isinstance(states, list):
        array = array[_reorder([(str(state), row) for row, state in enumerate(states)], chain)]
    return _as_map(array, chain)


def _labels_by_name(pairs: Sequence[tuple[str, Hashable]], chain: MarkovChain) -> list[int] | list[str]:
    """Convert pairs of state name and label to group numbers, in the order of the chain's states."""
    return _as_numbers(_reorder(pairs, chain), chain)


def _reorder(pairs: Sequence[tuple[str, Any]], chain: MarkovChain) -> list[Any]:
    """Return the values of pairs (state name, value) in the order of the chain's states."""
    value_of: dict[str, Any] = {}
    for state, value in pairs:
        if state in value_of:
            raise FileFormatError(
                f"the state {quote(state)} is given twice", state=state, remedy="remove one of the two"
            )
        value_of[state] = value
    names = [str(state) for state in chain.states]
    missing = [state for state in names if state not in value_of]
    if missing:
        raise FileFormatError(
            f"the state {missing[0]!r} has no label{_count_more(missing)}",
            state=missing[0],
            remedy=_ONE_LABEL,
        )
    known = set(names)
    unknown = [state for state in value_of if state not in known]
    # A chain that was restricted lacks states of the file: their labels are ignored.
    if unknown and not chain.applied:
        raise FileFormatError(
            f"the chain has no state {quote(unknown[0])}{_count_more(unknown)}",
            state=unknown[0],
            remedy="remove it, or check the file of the chain",
        )
    return [value_of[state] for state in names]


def _count_more(states: Sequence[str]) -> str:
    return f" ({len(states)} such states)" if len(states) > 1 else ""


def _as_map(array: NDArray[Any], chain: MarkovChain) -> NDArray[Any]:
    from klump.aggregation.mapping import as_mapping

    if len(array) != chain.n_states:
        raise FileFormatError(
            f"the map has {format_count(len(array), 'row')}, but the chain has {format_count(chain.n_states, 'state')}",
            remedy="write one row per state",
        )
    as_mapping(array, chain.n_states)  # raises here, where the file of an invalid map is known
    return array


def _as_numbers(labels: Sequence[Any], chain: MarkovChain) -> list[int] | list[str]:
    """Convert labels to group numbers if they are 0, 1, ...; others are names of groups."""
    if len(labels) != chain.n_states:
        raise FileFormatError(
            f"{format_count(len(labels), 'label')}, but the chain has {format_count(chain.n_states, 'state')}",
            remedy=_ONE_LABEL,
        )
    empty = next((position for position, label in enumerate(labels) if label in ("", None)), None)
    if empty is not None:
        raise FileFormatError(f"label {empty + 1} is empty", remedy=_ONE_LABEL)
    texts = [str(label) for label in labels]
    distinct = dict.fromkeys(texts)
    if set(distinct) == {str(number) for number in range(len(distinct))}:
        return [int(text) for text in texts]
    return texts
