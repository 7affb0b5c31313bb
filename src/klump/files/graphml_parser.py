"""Parser of GraphML: a stream of XML, without document types and entities, of bounded depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any
from xml.parsers import expat

from klump.errors import FileFormatError
from klump.files.gate import quote

# Bytes per read.
_CHUNK = 2**16
# Deepest nesting of elements: graphml, graph, node, data, and graphics of other tools inside it.
_MAX_DEPTH = 64
_NOT_READ = ("hyperedge", "port")


@dataclass(frozen=True)
class Key:
    """Declaration of an attribute."""

    id: str
    domain: str
    """``node``, ``edge``, ``graph`` or ``all``."""
    name: str
    type: str
    default: str | None = None


@dataclass
class Graph:
    """Nodes, edges and their attributes, as they are in the file."""

    undirected: bool = False
    keys: dict[str, Key] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    """Number of each identifier."""
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    node_data: dict[str, dict[int, str]] = field(default_factory=dict)
    """Values by attribute and node."""
    edge_data: dict[str, dict[int, str]] = field(default_factory=dict)
    """Values by attribute and edge."""


def parse_graph(stream: IO[bytes]) -> Graph:
    """Parse a document with one graph."""
    parser = expat.ParserCreate()
    handler = _Handler(parser)
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = handler.refuse
    parser.EntityDeclHandler = handler.refuse
    parser.buffer_text = True
    try:
        while chunk := stream.read(_CHUNK):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise FileFormatError(
            f"line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}",
            remedy="fetch or write it again",
        ) from error
    if not handler.has_graph:
        raise FileFormatError("there is no element graph inside graphml", remedy="check the suffix")
    return handler.finish()


class _Handler:
    """Events of the parser."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._graph = Graph()
        self._path: list[str] = []
        self._pieces: list[str] | None = None
        # Attribute whose value or default is being read, and the numbers of the node or edge that it belongs to.
        self._key: str | None = None
        self._declared: dict[str, str] = {}
        self._owner: tuple[dict[str, dict[int, str]], int] | None = None
        self._edges: list[tuple[str, str, int]] = []
        self.has_graph = False

    def refuse(self, *_: object) -> None:
        """Raise for a document type or an entity."""
        raise self._error(
            "it declares a document type or an entity, which is not read", "remove the declaration"
        )

    def _error(self, problem: str, remedy: str = "fetch or write it again") -> FileFormatError:
        return FileFormatError(f"line {self._parser.CurrentLineNumber}: {problem}", remedy=remedy)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = tag.rpartition(":")[2]
        if not self._path and name != "graphml":
            raise self._error(f"the document is {quote(name)}, not graphml", "check the suffix")
        if len(self._path) >= _MAX_DEPTH:
            raise self._error(f"elements are nested more than {_MAX_DEPTH} deep")
        if name in _NOT_READ:
            raise self._error(f"the element {name} is not read", "give a graph of nodes and edges")
        self._path.append(name)
        begin: Callable[[dict[str, str]], None] | None = getattr(self, f"_start_{name}", None)
        if begin is not None and (name not in ("data", "default") or self._is_value()):
            begin(attributes)

    def _is_value(self) -> bool:
        """Whether the element belongs to a node, an edge or a key, and not to graphics inside a value."""
        return self._path[-2:] in (["node", "data"], ["edge", "data"], ["key", "default"])

    def end(self, _: str) -> None:
        """End an element."""
        name = self._path.pop()
        if name in ("data", "default") and self._pieces is not None and self._path[-1] in _OWNERS[name]:
            text = "".join(self._pieces)
            self._pieces = None
            if name == "default":
                self._declared["default"] = text
            elif self._owner is not None and self._key is not None:
                data, number = self._owner
                data.setdefault(self._key, {})[number] = text
        elif name == "key":
            self._add_key(self._declared)
        elif name in ("node", "edge"):
            self._owner = None

    def text(self, data: str) -> None:
        """Collect text of a value."""
        if self._pieces is not None:
            self._pieces.append(data)

    def _start_graph(self, attributes: dict[str, str]) -> None:
        if self.has_graph:
            raise self._error("there is a second graph", "give a file with one graph")
        self.has_graph = True
        self._graph.undirected = attributes.get("edgedefault", "directed") == "undirected"

    def _start_key(self, attributes: dict[str, str]) -> None:
        self._declared = dict(attributes)

    def _add_key(self, given: dict[str, str]) -> None:
        identifier = self._require(given, "id", "key")
        if identifier in self._graph.keys:
            raise self._error(f"the key {quote(identifier)} is declared twice")
        self._graph.keys[identifier] = Key(
            identifier,
            given.get("for", "all"),
            given.get("attr.name", identifier),
            given.get("attr.type", "string").lower(),
            given.get("default"),
        )

    def _start_node(self, attributes: dict[str, str]) -> None:
        identifier = self._require(attributes, "id", "node")
        if identifier in self._graph.nodes:
            raise self._error(f"the node {quote(identifier)} is given twice")
        self._graph.nodes[identifier] = len(self._graph.nodes)
        self._owner = (self._graph.node_data, len(self._graph.nodes) - 1)

    def _start_edge(self, attributes: dict[str, str]) -> None:
        ends = (self._require(attributes, "source", "edge"), self._require(attributes, "target", "edge"))
        is_directed = {"true": True, "false": False}.get(attributes.get("directed", ""))
        if is_directed is not None and is_directed == self._graph.undirected:
            raise self._error(
                "directed and undirected edges are mixed", "write each undirected edge as two directed ones"
            )
        self._owner = (self._graph.edge_data, len(self._edges))
        self._edges.append((*ends, self._parser.CurrentLineNumber))

    def _start_data(self, attributes: dict[str, str]) -> None:
        self._key = self._require(attributes, "key", "data")
        self._pieces = []

    def _start_default(self, _: dict[str, str]) -> None:
        self._pieces = []

    def _require(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name not in attributes:
            raise self._error(f"the element {tag} has no {name}")
        return attributes[name]

    def finish(self) -> Graph:
        """Return the graph; edges may precede their nodes."""
        for source, target, line in self._edges:
            for end in (source, target):
                if end not in self._graph.nodes:
                    raise FileFormatError(
                        f"line {line}: there is no node {quote(end)}", remedy="declare every node"
                    )
            self._graph.sources.append(self._graph.nodes[source])
            self._graph.targets.append(self._graph.nodes[target])
        return self._graph


_OWNERS = {"data": ("node", "edge"), "default": ("key",)}
