"""Small pictures of transition matrices: squares whose opacity is the density of transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.aggregation.costs import aggregated_matrix
from klump.aggregation.mapping import from_labels
from klump.chain.wording import format_count
from klump.notebooks.budget import MAX_ENTRIES, count_entries
from klump.notebooks.markup import element, text
from klump.views import colour_of, ordered_matrix

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain

# Most bins per side.
_BINS = 60
# Stored entries that are read of a matrix with more than MAX_ENTRIES.
_SAMPLED = 300_000
# Side of a picture, and largest side of a square, in pixels.
_SIDE = 180
_MAX_SQUARE = 44
# Width of the strips in the colours of the groups, in pixels.
_STRIP = 6
# Steps of opacity; the faintest one is still visible.
_LEVELS = 10
# Most groups with borders.
_MAX_BORDERS = 30


@dataclass(frozen=True, eq=False)
class BinnedMatrix:
    """A transition matrix averaged over bins of successive states."""

    density: NDArray[np.float64]
    n_rows: int
    """Number of rows that were read: all, or equally spaced ones."""


def bin_matrix(chain: MarkovChain, n_bins: int = _BINS, max_entries: int = MAX_ENTRIES) -> BinnedMatrix:
    """Average a transition matrix over bins of successive states; of a large one equally spaced rows are read.

    >>> from klump import MarkovChain
    >>> bin_matrix(MarkovChain([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]), 2).density
    array([[0.375, 0.25 ], [0.25 , 0.5  ]])
    """
    n, matrix = chain.n_states, chain.transition_matrix
    starts = np.unique(np.ceil(np.linspace(0, n, min(n, n_bins) + 1)).astype(np.intp))
    if len(starts) == n + 1:
        whole: Any = matrix
        return BinnedMatrix(whole.toarray() if chain.is_sparse else np.asarray(whole), n)
    lengths = np.diff(starts)
    bin_of_state = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    if count_entries(chain) <= max_entries:
        mean: Any = aggregated_matrix(np.full(n, 1.0 / n), from_labels(bin_of_state, len(lengths)), matrix)
        return BinnedMatrix((mean.toarray() if sparse.issparse(mean) else mean) / lengths, n)
    wanted = max(len(lengths), n * _SAMPLED // count_entries(chain))
    rows = np.unique(np.linspace(0, n - 1, wanted).astype(np.intp))
    part: Any = sparse.coo_array(matrix[rows])
    pairs = bin_of_state[rows][part.row].astype(np.int64) * len(lengths) + bin_of_state[part.col]
    sums = np.bincount(pairs, weights=part.data, minlength=len(lengths) ** 2).reshape(len(lengths), -1)
    counts = np.bincount(bin_of_state[rows], minlength=len(lengths))
    return BinnedMatrix(sums / np.maximum(counts, 1)[:, None] / lengths, len(rows))


def chain_picture(chain: MarkovChain) -> str:
    """Picture of a transition matrix in the order of the states."""
    found = bin_matrix(chain)
    words = f"Transition matrix of {format_count(chain.n_states, 'state')}, the first at the top left"
    if len(found.density) < chain.n_states:
        words += f", in {len(found.density)} x {len(found.density)} bins"
    if found.n_rows < chain.n_states:
        words += f", from {found.n_rows:,} equally spaced rows"
    return _draw(found.density, np.array([0, len(found.density)]), (), words)


def answer_picture(answer: Aggregation) -> str:
    """Picture of the transition matrix with the states ordered by group, and borders between groups."""
    view = ordered_matrix(answer, _BINS)
    words = f"Transition matrix of {format_count(answer.original.n_states, 'state')}, ordered by group"
    if view.is_binned:
        words += f", in {len(view.density)} x {len(view.density)} bins"
    if answer.n_states > _MAX_BORDERS:
        return _draw(view.density, np.array([0, len(view.density)]), (), words)
    borders = np.searchsorted(view.bins, view.borders)
    return _draw(view.density, borders, tuple(map(colour_of, answer.identities)), words)


def _draw(
    density: NDArray[np.float64], borders: NDArray[np.intp], colours: tuple[str, ...], words: str
) -> str:
    """Draw squares of equal size, and a strip per group at the left and at the top if there are colours."""
    size = len(density)
    pixels = max(min(_SIDE // size, _MAX_SQUARE), 1)
    margin = _STRIP / pixels if colours else 0.0
    side = size * pixels + (_STRIP if colours else 0)
    parts = [element("title", text(words, 200)), *_squares(density, borders, colours)]
    edges = "".join(f"M{at} 0V{size}M0 {at}H{size}" for at in sorted({0, size, *borders.tolist()}))
    style = "fill:none;stroke:currentColor;stroke-opacity:.4;stroke-width:1"
    parts.append(element("path", d=edges, style=style, vector_effect="non-scaling-stroke"))
    for colour, start, end in zip(colours, borders[:-1].tolist(), borders[1:].tolist(), strict=False):
        if end > start:
            thick, at = f"{0.7 * margin:.4g}", f"{-margin:.4g}"
            parts.append(element("rect", x=at, y=start, width=thick, height=end - start, fill=colour))
            parts.append(element("rect", x=start, y=at, width=end - start, height=thick, fill=colour))
    box = f"{-margin:.4g} {-margin:.4g} {size + margin:.4g} {size + margin:.4g}"
    return element(
        "svg",
        "".join(parts),
        width=side,
        height=side,
        viewBox=box,
        role="img",
        aria_label=words,
        style="display:block;max-width:100%;overflow:visible",
    )


def _squares(density: NDArray[np.float64], borders: NDArray[np.intp], colours: tuple[str, ...]) -> list[str]:
    """Paths of horizontal runs of squares, one path per colour and step of opacity.

    Squares between states of one group have its colour, all others that of the text.
    """
    highest = float(np.max(density, initial=0.0))
    if not highest > 0.0:
        return []
    levels = np.ceil(_LEVELS * np.sqrt(np.clip(density / highest, 0.0, 1.0))).astype(np.int64)
    group = np.searchsorted(borders, np.arange(len(density)), side="right") - 1
    inside = (group[:, None] == group[None, :]) & bool(colours)
    paints = levels * (len(colours) + 1) + np.where(inside, group[:, None] + 1, 0)
    drawn = np.where(levels > 0, paints, -1)
    # A run begins where the paint differs from that of the square to the left.
    begins = np.ones_like(inside)
    begins[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    row, col = np.nonzero(begins)
    ends = np.where(np.append(row[1:] == row[:-1], False), np.append(col[1:], 0), len(density))
    runs: dict[int, list[str]] = {}
    for y, x, end, paint in zip(
        row.tolist(), col.tolist(), ends.tolist(), drawn[row, col].tolist(), strict=True
    ):
        if paint >= 0:
            runs.setdefault(paint, []).append(f"M{x} {y}h{end - x}")
    lines = []
    for paint, found in sorted(runs.items()):
        level, number = divmod(paint, len(colours) + 1)
        colour = colours[number - 1] if number else "currentColor"
        opacity = f"{level / _LEVELS:g}"
        lines.append(element("path", d="".join(found), stroke=colour, stroke_opacity=opacity))
    style = "fill:none;stroke-width:1;shape-rendering:crispEdges"
    return [element("g", "".join(lines), transform="translate(0 .5)", style=style)]
