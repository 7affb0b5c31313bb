"""``.graphml``: graphs in XML, as networkx, igraph, Gephi and yEd write them.

Nodes are the states. Their names are the attribute ``name`` if all nodes have one, else their identifiers; boolean
attributes are labels, ``initial`` is the initial distribution. The weight of an edge is its attribute ``weight``,
``probability``, ``count`` or ``rate``, or 1; an undirected edge counts in both directions. Attributes ``reward:...``
are rewards of nodes or edges. Document types and entities are an error: nothing is expanded, nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import entries
from klump.errors import FileFormatError, Setting
from klump.files.explicit_lines import parse_number
from klump.files.gate import quote
from klump.files.graphml_parser import Graph, Key, parse_graph
from klump.files.registry import Contents
from klump.files.state_names import name_from_json, name_to_json
from klump.files.streams import create_text, open_bytes
from klump.files.transitions import drop_default_names, parse_integers

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names", "labels", "initial", "rewards")
_WEIGHTS = ("weight", "probability", "count", "rate")
_INITIAL = "initial"
_REWARD = "reward:"
_NAME, _NAME_JSON = "name", "name_json"
_TRUE = ("true", "1")


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a graph; parallel edges are an error unless ``add_up``."""
    with open_bytes(path) as (stream, _):
        graph = parse_graph(stream)
    n = len(graph.nodes)
    if not n or not graph.sources:
        raise FileFormatError("the graph has no edge", remedy="write one per transition")
    rows, columns = np.array(graph.sources), np.array(graph.targets)
    weights = _edge_weights(graph)
    lines = np.arange(len(rows))
    if graph.undirected:
        twice = np.flatnonzero(rows != columns)
        rows, columns = np.concatenate([rows, columns[twice]]), np.concatenate([columns, rows[twice]])
        weights, lines = np.concatenate([weights, weights[twice]]), np.concatenate([lines, twice])
    if not add_up:
        _require_no_parallel_edges(rows, columns, graph)
    return Contents(
        sparse.csr_array((weights, (rows, columns)), shape=(n, n)),
        _names(graph),
        _labels(graph) or None,
        _initial(graph),
        _rewards(graph, (rows, columns), lines) or None,
    )


def _edge_weights(graph: Graph) -> NDArray[np.float64]:
    for name in _WEIGHTS:
        if key := _find(graph.keys, "edge", name):
            return _numbers(key, graph.edge_data.get(key.id, {}), len(graph.sources), "edge", default=1.0)
    return np.ones(len(graph.sources))


def _find(keys: Mapping[str, Key], domain: str, name: str) -> Key | None:
    """Attribute of nodes or edges with this name and a numeric or textual type."""
    matches = (key for key in keys.values() if key.domain in (domain, "all") and key.name == name)
    return next((key for key in matches if key.type != "boolean"), None)


def _numbers(key: Key, data: Mapping[int, str], size: int, what: str, default: float) -> NDArray[np.float64]:
    """Values of a numeric attribute; the default of the attribute, or else ``default``, where there is none."""
    values = np.full(size, default if key.default is None else _number(key, key.default, what, -1))
    for place, text in data.items():
        values[place] = _number(key, text, what, place)
    return values


def _number(key: Key, text: str, what: str, place: int) -> float:
    value = parse_number(text.strip())
    if value is None:
        where = "by default" if place < 0 else f"of {what} {place}"
        raise FileFormatError(f"the attribute {quote(key.name)} {where} is {quote(text)}, not a number")
    return value


def _names(graph: Graph) -> Any:
    n = len(graph.nodes)
    for name in (_NAME, _NAME_JSON):
        key = _find(graph.keys, "node", name)
        data = {} if key is None else graph.node_data.get(key.id, {})
        if key is None or len(data) < n:
            continue
        texts = [data[node] for node in range(n)]
        if len(set(texts)) == n:
            return _decode_names(texts, key)
    identifiers = list(graph.nodes)
    return drop_default_names(parse_integers(identifiers) or identifiers)


def _decode_names(texts: list[str], key: Key) -> list[Hashable]:
    if key.name == _NAME_JSON:
        return [name_from_json(text) for text in texts]
    numbers = parse_integers(texts) if key.type in ("int", "long") else None
    return list(texts) if numbers is None else list(numbers)


def _labels(graph: Graph) -> dict[str, NDArray[np.intp]]:
    labels: dict[str, NDArray[np.intp]] = {}
    n = len(graph.nodes)
    for key in graph.keys.values():
        if key.type == "boolean" and key.domain in ("node", "all"):
            mask = np.full(n, (key.default or "").strip().lower() in _TRUE)
            for node, text in graph.node_data.get(key.id, {}).items():
                mask[node] = text.strip().lower() in _TRUE
            labels[key.name] = np.flatnonzero(mask)
    return labels


def _initial(graph: Graph) -> NDArray[np.float64] | None:
    key = _find(graph.keys, "node", _INITIAL)
    if key is None:
        return None
    return _numbers(key, graph.node_data.get(key.id, {}), len(graph.nodes), "node", default=0.0)


def _rewards(
    graph: Graph, places: tuple[NDArray[Any], NDArray[Any]], lines: NDArray[np.intp]
) -> dict[str, Any]:
    rewards: dict[str, Any] = {}
    n = len(graph.nodes)
    for key in graph.keys.values():
        name = key.name.removeprefix(_REWARD)
        if name == key.name or key.type == "boolean":
            continue
        if key.domain == "node":
            rewards[name] = _numbers(key, graph.node_data.get(key.id, {}), n, "node", default=0.0)
        elif key.domain == "edge":
            size = len(graph.sources)
            values = _numbers(key, graph.edge_data.get(key.id, {}), size, "edge", default=0.0)
            rewards[name] = sparse.csr_array((values[lines], places), shape=(n, n))
    return rewards


def _require_no_parallel_edges(rows: NDArray[Any], columns: NDArray[Any], graph: Graph) -> None:
    places = np.sort(rows * np.int64(len(graph.nodes)) + columns)
    again = np.flatnonzero(places[1:] == places[:-1])
    if again.size:
        row, column = divmod(int(places[again[0]]), len(graph.nodes))
        names = list(graph.nodes)
        raise FileFormatError(
            f"there are two edges from {quote(names[row])} to {quote(names[column])}",
            remedy=("remove one, or pass ", Setting("normalize", True), " to add them up"),
        )


def write(chain: MarkovChain, path: Path) -> None:
    """Write a directed graph; floats round-trip exactly."""
    with create_text(path) as stream:
        stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
        stream.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        names = _encode_names(chain)
        columns = [] if names is None else [names]
        columns += [
            (name, "boolean", dict.fromkeys(members.tolist(), "true"))
            for name, members in chain.labels.items()
        ]
        if chain.initial is not None:
            columns.append((_INITIAL, "double", _nonzero(chain.initial)))
        columns += [
            (f"{_REWARD}{name}", "double", _nonzero(reward))
            for name, reward in chain.rewards.items()
            if not sparse.issparse(reward)
        ]
        for number, (name, kind, _) in enumerate(columns):
            default = {"boolean": "false", "double": "0"}.get(kind)
            _write_key(stream, f"n{number}", "node", name, kind, default)
        _write_key(stream, "weight", "edge", "weight", "double", None)
        matrices = {name: reward for name, reward in chain.rewards.items() if sparse.issparse(reward)}
        for number, name in enumerate(matrices):
            _write_key(stream, f"e{number}", "edge", f"{_REWARD}{name}", "double", "0")
        stream.write('  <graph edgedefault="directed">\n')
        for state in range(chain.n_states):
            data = [(f"n{i}", column[2][state]) for i, column in enumerate(columns) if state in column[2]]
            stream.write(f'    <node id="{state}">{_format_data(data)}</node>\n')
        stream.writelines(_edges(chain, list(matrices.values())))
        stream.write("  </graph>\n</graphml>\n")


def _encode_names(chain: MarkovChain) -> tuple[str, str, dict[int, str]] | None:
    if not chain.has_names:
        return None
    if all(type(name) is str and name.isprintable() for name in chain.states):
        return _NAME, "string", {state: str(name) for state, name in enumerate(chain.states)}
    if all(type(name) is int for name in chain.states):
        return _NAME, "long", {state: str(name) for state, name in enumerate(chain.states)}
    return _NAME_JSON, "string", {state: name_to_json(name) for state, name in enumerate(chain.states)}


def _nonzero(values: NDArray[np.float64]) -> dict[int, str]:
    return {state: repr(float(values[state])) for state in np.flatnonzero(values).tolist()}


def _write_key(
    stream: TextIO, identifier: str, domain: str, name: str, kind: str, default: str | None
) -> None:
    if not name.isprintable():
        raise FileFormatError(
            f"the label or reward {quote(name)} has control characters, which XML cannot hold",
            remedy="rename it",
        )
    stream.write(
        f'  <key id="{identifier}" for="{domain}" attr.name={quoteattr(name)} attr.type="{kind}"'
        + ("/>\n" if default is None else f"><default>{default}</default></key>\n")
    )


def _format_data(data: list[tuple[str, str]]) -> str:
    return "".join(f'<data key="{key}">{escape(text)}</data>' for key, text in data)


def _edges(chain: MarkovChain, rewards: list[Any]) -> Iterator[str]:
    matrix: Any = chain.transition_matrix
    for row, col, weight in entries(matrix):
        earned = [np.asarray(reward[row, col]).ravel().tolist() for reward in rewards]
        for at, (i, j, p) in enumerate(zip(row.tolist(), col.tolist(), weight.tolist(), strict=True)):
            data = [("weight", repr(p))]
            data += [(f"e{k}", repr(values[at])) for k, values in enumerate(earned) if values[at]]
            yield f'    <edge source="{i}" target="{j}">{_format_data(data)}</edge>\n'
