"""Data flows one way through the house; imports follow it and never go back."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "klump"
# Later rooms may import earlier ones.
ROOMS = [
    "errors",
    "choices",
    "documents",
    "signals",
    "compilation",
    "information",
    "arguments",
    "parallel",
    "sources",
    "chain",
    "dynamics",
    "files",
    "checkpoints",
    "search",
    "guarantees",
    "aggregation",
    "distributed",
    "resampling",
    "selection",
    "clustering",
    "estimator",
    "comparison",
    "views",
    "notebooks",
    "plots",
    "report",
    "experiments",
    "warm_up",
    "cli",
]
# Lazily, inside functions: what builds finished chains for the user stands in sources, but calls the chain; and
# results can plot themselves and show themselves in notebooks; and dynamics, which compute with finished chains, are
# methods of a chain.
ALLOWED_BACK = {
    ("sources", "chain"),
    ("chain", "dynamics"),
    ("aggregation", "plots"),
    ("aggregation", "report"),
    ("clustering", "plots"),
    ("comparison", "plots"),
    ("dynamics", "plots"),
    ("resampling", "plots"),
    ("selection", "plots"),
    ("chain", "notebooks"),
    ("aggregation", "notebooks"),
    ("resampling", "notebooks"),
    ("selection", "notebooks"),
    ("comparison", "notebooks"),
}
HEAVY = {
    "bokeh",
    "dask",
    "distributed",
    "duckdb",
    "joblib",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "sklearn",
}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem in ROOMS)


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> list[tuple[str, bool]]:
    """Imported module names, and whether the import runs when the module is imported."""

    def within(kind):
        return {id(node) for outer in ast.walk(tree) if kind(outer) for node in ast.walk(outer)}

    inside = within(lambda node: isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for_types = within(lambda node: isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = []
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        at_top = id(node) not in inside
        if isinstance(node, ast.Import):
            found += [(alias.name, at_top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, at_top)]
            if node.module == "klump":
                found += [(f"klump.{alias.name}", at_top) for alias in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_way_through_the_house(path):
    own = room(path)
    for name, at_top in imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] != "klump" or len(parts) == 1 or parts[1].startswith("_"):
            continue
        other = parts[1]
        assert other in ROOMS, f"{path.name} imports {name}, which is in no room"
        lazily_back = not at_top and (own, other) in ALLOWED_BACK
        lazily_to_source = own == "chain" and other == "sources"
        assert ROOMS.index(other) <= ROOMS.index(own) or lazily_back or lazily_to_source, (
            f"{path} imports {name}"
        )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_heavy_libraries_are_imported_inside_functions(path):
    compiled = "kernels" in path.parts or "elimination" in path.stem
    derived = room(path) == "estimator"  # its class has base classes of scikit-learn
    for name, at_top in imports(ast.parse(path.read_text())):
        if at_top and not compiled and not (derived and name.startswith("sklearn")):
            assert name.split(".")[0] not in HEAVY, f"{path} imports {name} when it is itself imported"


def test_every_room_is_on_the_list():
    rooms = {room(path) for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")}
    assert rooms <= set(ROOMS), rooms - set(ROOMS)


# Within a room, lazily: a result can save itself, and an answer of greedy merging knows its tree.
ALLOWED_BACK_WITHIN = {
    ("klump.aggregation.aggregation", "klump.aggregation.storage"),
    ("klump.aggregation.aggregation", "klump.aggregation.tree"),
    ("klump.aggregation.grids", "klump.aggregation.storage"),
    ("klump.aggregation.path", "klump.aggregation.storage"),
}


def named_modules() -> dict[str, Path]:
    return {".".join(("klump", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in modules()}


def imported_modules(path: Path, known: set[str]) -> set[str]:
    """Modules that a module imports, also as names from their package, at any time."""
    found = {name for name, _ in imports(ast.parse(path.read_text()))}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found & known


@pytest.mark.parametrize("own", sorted({room(path) for path in modules()}))
def test_modules_of_a_room_do_not_import_each_other_in_a_circle(own):
    """Take away modules that import no other one of the room, again and again: none may be left."""
    known = {name: path for name, path in named_modules().items() if room(path) == own}
    graph = {
        name: {
            other
            for other in imported_modules(path, set(known) - {name})
            if (name, other) not in ALLOWED_BACK_WITHIN
        }
        for name, path in known.items()
        if path.stem != "__init__"
    }
    while free := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in free:
            del graph[name]
    assert not graph, f"a circle of imports: {sorted(graph)}"
