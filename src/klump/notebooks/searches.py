"""Paths, grids and dendrograms in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.layout import cut_rows, grid_ending, grid_table, grid_title, path_table, path_title
from klump.aggregation.notes import format_interruption
from klump.chain.wording import format_number
from klump.notebooks.budget import can_compare, why_no_masses
from klump.notebooks.curves import MAX_CURVES, Curve, curves_picture
from klump.notebooks.markup import cell, never_raises, table, text

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, AggregationGrid, AggregationPath, AggregationTree

# Rows of a table; of more, those at the start and at the end are shown.
_MAX_ROWS = 22
# Last merges of a dendrogram that are shown.
_MAX_MERGES = 12


@never_raises
def path_html(path: AggregationPath) -> str:
    """HTML of a path: costs against beta, and a table with a row per beta.

    Examples
    --------
    >>> import klump
    >>> path = klump.beta_path([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], 2, betas=[1, 0.5])
    >>> path_html(path).count("<polyline")
    3
    """
    answers = list(path)
    if not answers:
        return cell("no aggregations", [])
    notes = [*answers[0].original.applied]
    if path.interrupted:
        notes.append(f"{format_interruption(path)}: this is the best found so far")
    if not can_compare(answers):
        return cell(path_title(path), [_plain_table(answers)], [*notes, _no_costs(answers[0])])
    betas = path.betas.tolist()
    picture = curves_picture(
        [
            Curve("cost", betas, path.costs.tolist(), 0),
            Curve("lumpability", betas, [answer.costs.lumpability for answer in answers], 1),
            Curve("predictability", betas, [answer.costs.predictability for answer in answers], 2),
        ],
        "beta",
        "Cost, lumpability and predictability in bits against beta",
        falling=True,
    )
    header, rows = path_table(path)
    return cell(path_title(path), [picture, table(header, _escape(cut_rows(rows, _MAX_ROWS)))], notes)


@never_raises
def grid_html(grid: AggregationGrid) -> str:
    """HTML of a grid: cost against the number of groups, a curve per beta, and a table with a row per cell."""
    answers = list(grid)
    if not answers:
        return cell("no aggregations", [])
    notes = [*grid.original.applied, *grid_ending(grid)]
    if not can_compare(answers):
        return cell(grid_title(grid), [_plain_table(answers)], [*notes, _no_costs(answers[0])])
    header, rows = grid_table(grid)
    picture, left_out = cost_curves(grid.n_states, grid.betas, grid.costs)
    shown = table(header, _escape(cut_rows(rows, _MAX_ROWS)))
    return cell(grid_title(grid), [picture, shown], [*notes, *left_out])


def cost_curves(
    numbers: tuple[int, ...], betas: tuple[float, ...], costs: NDArray[np.float64]
) -> tuple[str, list[str]]:
    """Picture of costs against numbers of groups, rows of ``costs``, and a note on betas without a curve."""
    order = np.argsort(numbers, kind="stable")
    shown = np.unique(np.linspace(0, len(betas) - 1, min(len(betas), MAX_CURVES)).round().astype(int))
    curves = [
        Curve(
            f"beta = {betas[column]:g}",
            [float(numbers[row]) for row in order],
            costs[order, column].tolist(),
            colour,
        )
        for colour, column in enumerate(shown.tolist())
    ]
    words = "Cost in bits against the number of groups, a curve per beta"
    left_out = len(betas) - len(curves)
    notes = [f"curves of {left_out} other betas are not drawn"] if left_out else []
    return curves_picture(curves, "groups", words), notes


@never_raises
def tree_html(tree: AggregationTree) -> str:
    """HTML of a dendrogram: its last merges and their costs."""
    costs = tree.merge_costs
    last = min(len(costs), _MAX_MERGES)
    # Merge number i, from 0, leaves n_leaves - 1 - i groups.
    groups = list(range(last, 0, -1))
    heights = np.cumsum(costs)[len(costs) - last :].tolist()
    quantity = "I(X1;X2) - I(X2;Y1)" if tree.is_relaxed else "cost"
    rows = [
        (str(number), format_number(cost), format_number(height))
        for number, cost, height in zip(groups, costs[len(costs) - last :].tolist(), heights, strict=True)
    ]
    picture = curves_picture(
        [Curve(f"sum of increases of the {quantity}", groups, heights, 0)],
        "groups",
        f"Sum of the increases of the {quantity} in bits against the number of groups",
        falling=True,
    )
    header = ("groups", f"increase of the {quantity}", "sum")
    notes = [f"the last {last} of {len(costs)} merges"] if last < len(costs) else []
    return cell(repr(tree), [picture, table(header, rows) if rows else ""], notes)


def _no_costs(answer: Aggregation) -> str:
    return f"{why_no_masses(answer.original)}: costs"


def _plain_table(answers: list[Aggregation]) -> str:
    rows = [(f"{answer.beta:g}", str(answer.n_states)) for answer in answers]
    return table(("beta", "groups"), cut_rows(rows, _MAX_ROWS))


def _escape(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[text(value) for value in row] for row in rows]
