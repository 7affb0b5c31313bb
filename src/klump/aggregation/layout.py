"""Answers as plain text: every function returns the lines of one block, the header first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from klump.aggregation.notes import format_interruption
from klump.chain.wording import (
    CUT,
    cell_len,
    fit,
    format_count,
    format_number,
    format_percent,
    format_state,
    list_states,
    pad,
    table_lines,
)

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation
    from klump.aggregation.grids import AggregationGrid
    from klump.aggregation.path import AggregationPath
    from klump.chain import MarkovChain

# Columns of the text of an answer.
_WIDTH = 80
# Groups that the text of an answer lists, and rows of its matrix: 24 lines in all.
_MAX_GROUPS = 8
# Aggregations that the text of a path lists: 24 lines in all.
_MAX_STEPS = 22
# Narrowest and widest column for names of groups, in characters.
_MIN_NAME_WIDTH = 4
_MAX_NAME_WIDTH = 24


def answer_lines(agg: Aggregation) -> list[str]:
    """Describe an answer on a screenful of lines: groups, costs, the matrix of the aggregated chain, and notes."""
    notes = [f"note: {note}" for note in agg.notes]
    limit = max(_MAX_GROUPS - len(notes) // 2, 4)
    return [
        answer_title(agg),
        *group_lines(agg, _WIDTH, limit=limit),
        *(_cost_lines(agg) if agg.original.is_irreducible else []),
        *matrix_lines(agg.chain, _WIDTH, agg.names, limit=limit, cut=True),
        *notes,
    ]


def answer_title(agg: Aggregation) -> str:
    """Sizes, beta, gamma, lag and method of an answer."""
    gamma = f", gamma = {agg.gamma:g}" if agg.gamma > 0 else ""
    lag = f", lag = {agg.lag}" if agg.lag > 1 else ""
    return (
        f"{format_count(agg.original.n_states, 'state')} in {format_count(agg.n_states, 'group')}, "
        f"beta = {agg.beta:g}{gamma}{lag}, {agg.method}"
    )


def _cost_lines(agg: Aggregation) -> list[str]:
    costs = agg.costs
    return [
        f"cost {agg.cost:.6f} bits, kept {agg.kept:.1%}: lumpability {costs.lumpability:.6f},",
        f"predictability {costs.predictability:.6f}, bottleneck {costs.bottleneck:.6f}, "
        f"generated {costs.generated:.6f}",
    ]


def group_rows(
    agg: Aggregation, limit: int | None = None
) -> list[tuple[int, str, str, tuple[Hashable, ...]]]:
    """Number, name, mass and members of each group, at most ``limit``.

    The name is empty unless names were given, the mass unless the chain is irreducible.
    """
    shown = agg.n_states if limit is None else min(agg.n_states, limit)
    names = [""] * shown if agg.group_names is None else agg.names
    masses = map(format_number, agg.masses[:shown].tolist()) if agg.original.is_irreducible else [""] * shown
    return list(zip(range(shown), names[:shown], masses, agg.groups[:shown], strict=True))


def group_lines(agg: Aggregation, width: int, *, full: bool = False, limit: int | None = None) -> list[str]:
    """List groups with their sizes, members and, if the chain is irreducible, stationary masses.

    Names that were given have a column; default names are the first members.
    """
    has_masses, named = agg.original.is_irreducible, agg.group_names is not None
    rows = group_rows(agg, limit)
    names = [fit(name, _MAX_NAME_WIDTH) for _, name, _, _ in rows]
    name_width = max(map(cell_len, ["name", *names]))

    def start(number: Any, name: str, size: Any, mass: str) -> str:
        cells = [f"{number:>5}", *([pad(name, name_width)] if named else []), f"{size:>6}"]
        return "  ".join([*cells, *([f"{mass:>7}"] if has_masses else []), ""])

    order = "members, heaviest first" if has_masses else "members"
    lines = [start("group", "name", "states", "mass") + order]
    indent = " " * len(start("", "", "", ""))
    for label, _, mass, members in rows:
        first = start(label, names[label], len(members), mass)
        if full:
            lines += _wrap_names(first, [format_state(state) for state in members], indent, width)
        else:
            lines.append((first + list_states(members, max(width - cell_len(indent), 1))).rstrip())
    if len(rows) < agg.n_states:
        lines.append(f"{CUT:>5}  +{format_count(agg.n_states - len(rows), 'group')}")
    return lines


def matrix_lines(
    chain: MarkovChain, width: int, names: Sequence[str] = (), *, limit: int, cut: bool = False
) -> list[str]:
    """Print a transition matrix, rows labelled by number and name; none if it exceeds the limit or the width.

    With ``cut`` the first rows and columns of a larger matrix are printed instead.
    """
    k, shown = chain.n_states, min(chain.n_states, limit)
    more = k > shown
    margin = len(f"  {CUT}") if more else 0
    digits = next((digits for digits in (4, 2) if 7 + (4 + digits) * shown + margin <= width), None)
    if digits is None or (more and not cut):
        return []
    part: Any = chain.transition_matrix[:shown, :shown]
    rows = part.toarray() if chain.is_sparse else part
    spare = min(width - 7 - (4 + digits) * shown - margin - 1, _MAX_NAME_WIDTH)
    fitted = [fit(name, spare) for name in names[:shown]] if spare >= _MIN_NAME_WIDTH else []
    name_width = max(map(cell_len, fitted), default=0)

    def label(text: Any, number: int | None = None) -> str:
        if not name_width:
            return f"{text:>7}"
        return f"{text:>7} " + pad("" if number is None else fitted[number], name_width)

    end = [CUT] if more else []
    lines = ["  ".join([label("from\\to"), *(f"{number:>{digits + 2}}" for number in range(shown)), *end])]
    for number, row in enumerate(rows.tolist()):
        lines.append("  ".join([label(number, number), *(f"{value:.{digits}f}" for value in row), *end]))
    if more:
        lines.append(f"{CUT:>7}")
    return lines


def path_table(path: AggregationPath) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of a path, a row per beta; ``moved`` states changed their group since the beta before."""
    varies = len({agg.n_states for agg in path}) > 1
    rows = []
    for number, agg in enumerate(path):
        before = None if number == 0 else path[number - 1]
        moved = "-" if before is None else str(int((agg.labels != before.labels).sum()))
        epsilon = "soft" if agg.map.labels is None else format_number(agg.bisimulation.epsilon)
        rows.append(
            (
                f"{agg.beta:g}",
                *([str(agg.n_states)] if varies else []),
                format_number(agg.cost),
                format_number(agg.costs.lumpability),
                format_number(agg.costs.predictability),
                format_percent(agg.kept),
                epsilon,
                moved,
            )
        )
    groups = ("groups",) if varies else ()
    return ("beta", *groups, "cost", "lumpability", "predictability", "kept", "epsilon", "moved"), rows


def path_lines(path: AggregationPath) -> list[str]:
    """Describe a path as a table of at most a screenful of rows."""
    if not len(path):
        return ["no aggregations"]
    columns, rows = path_table(path)
    return [path_title(path), *table_lines(columns, cut_rows(rows, _MAX_STEPS))]


def path_title(path: AggregationPath) -> str:
    """Sizes, method and gamma of a path that is not empty."""
    first, sizes = path[0], {agg.n_states for agg in path}
    groups = f"{min(sizes)} to " * (len(sizes) > 1) + format_count(max(sizes), "group")
    gamma = f", gamma = {first.gamma:g}" if first.gamma > 0 else ""
    return (
        f"{format_count(first.original.n_states, 'state')} in {groups}, {first.method}{gamma}; costs in bits"
    )


def cut_rows(rows: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    """Rows of a table, of more than ``most`` those at the start and at the end.

    >>> cut_rows([("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")], 3)
    [('1', 'a'), ('...', ''), ('4', 'd')]
    """
    if len(rows) <= most:
        return list(rows)
    half = most // 2
    return [*rows[:half], (CUT, *[""] * (len(rows[0]) - 1)), *rows[half + 1 - most :]]


def grid_lines(grid: AggregationGrid) -> list[str]:
    """Describe a grid as a table of all of its cells."""
    columns, rows = grid_table(grid)
    return [grid_title(grid), *table_lines(columns, rows), *grid_ending(grid)]


def grid_title(grid: AggregationGrid) -> str:
    """Size, method, seed and gamma of a grid."""
    first = grid.aggregations[0]
    gamma = f", gamma = {grid.gamma:g}" if grid.gamma > 0 else ""
    states = format_count(grid.original.n_states, "state")
    return f"{states}, {first.method}, seed {first.random_state}{gamma}; costs in bits"


def grid_table(grid: AggregationGrid) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of a grid, a row per cell that was run."""
    rows: list[tuple[str, ...]] = [
        (
            str(agg.n_states),
            f"{agg.beta:g}",
            f"{agg.cost:.6f}",
            f"{agg.kept:.1%}",
            "soft" if agg.map.labels is None else f"{agg.bisimulation.epsilon:.6f}",
        )
        for agg in grid
    ]
    return ("groups", "beta", "cost", "kept", "epsilon"), rows


def grid_ending(grid: AggregationGrid) -> list[str]:
    """The interruption of a grid, if there was one."""
    if not grid.interrupted:
        return []
    return [f"{format_interruption(grid)}: {format_count(len(grid.not_run), 'cell')} not run"]


def _wrap_names(first: str, words: Iterable[str], indent: str, width: int) -> list[str]:
    """Wrap names behind the start of a line; textwrap counts characters instead of terminal columns."""
    lines, line = [], first
    for word in words:
        fresh = line in (first, indent)
        if not fresh and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, fresh = indent, True
        line += word if fresh else f" {word}"
    return [*lines, line]
