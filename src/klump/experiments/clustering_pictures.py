"""Pictures of the clustered points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from klump.chain import MarkovChain
from klump.experiments.clustering import ALONE, BETAS, PAPER_RIGHT, RIGHT, Runs, Search
from klump.experiments.colours import DEFAULT, PAPER, PUBLISHED, SECONDARY, THIRD
from klump.experiments.partitions import align
from klump.experiments.points import SIZES, Array, Labels, chain_of, draw_points
from klump.experiments.result import MODES
from klump.experiments.shares import Share
from klump.plots.figure import GRID, TEXT, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP_COLOURS = (DEFAULT, PUBLISHED, THIRD)
# One colour per beta, from the thickest line to the thinnest.
BETA_COLOURS = ("#c9b3dc", THIRD, TEXT)
# Line widths per beta, in points.
BETA_WIDTHS = (7.0, 4.0, 1.5)
# Colour and marker per search.
SEARCHES: dict[Search, tuple[str, str]] = {
    "as published": (PUBLISHED, "o"),
    "Algorithm 1": (SECONDARY, "^"),
    "default": (DEFAULT, "s"),
}


def draw_groups(data_set: str, runs: Runs, seed: int) -> Figure:
    """Draw the chains of one draw and the groups found."""
    points, truth = draw_points(data_set, seed)
    neighbors = [k for name, k in PAPER_RIGHT if name == data_set]
    figure = new_figure(10, 9.2 if data_set == "circles" else 7.2)
    halves: Any = figure.subfigures(len(neighbors), 1)
    for half, k in zip(halves, neighbors, strict=True):
        mosaic = [["chain", *(f"{mode}, beta = {beta:g}" for beta in BETAS)] for mode in MODES]
        places = half.subplot_mosaic(mosaic, width_ratios=[1.5, 1, 1, 1])
        chain = places.pop("chain")
        _draw_chain(chain, chain_of(points, k), SIZES[data_set])
        chain.set_title(f"k = {k}", fontweight="bold")
        draws = runs[data_set, k]
        for mode in MODES:
            for j, beta in enumerate(BETAS):
                axes = places[f"{mode}, beta = {beta:g}"]
                labels = np.array([int(digit) for digit in draws.labels[mode][j]])
                _draw_points(axes, points, truth, labels)
                axes.set_title(f"{mode}, beta = {beta:g}\nARI {draws.ari[mode][0, j]:.2f}", fontsize=9)
    return figure


def _draw_chain(axes: Axes, chain: MarkovChain, sizes: tuple[int, ...]) -> None:
    matrix = np.asarray(chain.transition_matrix)
    # A square-root scale: a few probabilities are far larger than all others.
    axes.imshow(np.sqrt(matrix), cmap="Greys", interpolation="nearest", vmin=0.0)
    edges = np.cumsum((0, *sizes)) - 0.5
    for edge in edges[1:-1]:
        axes.axhline(edge, color=GROUP_COLOURS[1], linewidth=0.8)
        axes.axvline(edge, color=GROUP_COLOURS[1], linewidth=0.8)
    axes.set(xticks=[], yticks=[], xlabel="to point", ylabel="from point")


def _draw_points(axes: Axes, points: Array, truth: Labels, labels: Labels) -> None:
    matched = align(labels, truth)
    for group, colour in enumerate(GROUP_COLOURS):
        x, y = points[matched == group].T
        axes.scatter(x, y, s=9, color=colour, linewidths=0)
    x, y = points[matched != truth].T
    axes.scatter(x, y, s=26, facecolors="none", edgecolors=PAPER, linewidths=0.6)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    for spine in axes.spines.values():
        spine.set_color(GRID)


def draw_recovery(runs: Runs) -> Figure:
    """Draw the share of draws that come out right per search, and the paper's draw."""
    figure = new_figure(10, 4.2)
    panels = figure.subplots(1, len(runs), sharey=True)
    for axes, (setting, draws) in zip(panels, runs.items(), strict=True):
        axes.plot(
            BETAS,
            [PAPER_RIGHT[setting]] * len(BETAS),
            "_",
            color=PAPER,
            ms=26,
            mew=2,
            label="paper, one draw",
        )
        for shift, (search, (colour, marker)) in zip((-0.05, 0.0, 0.05), SEARCHES.items(), strict=True):
            betas = np.array([ALONE] if search == "Algorithm 1" else BETAS)
            shares = [Share.true(column) for column in draws.right(search).T]
            label = "Algorithm 1 alone, as published" if search == "Algorithm 1" else search
            _draw_shares(axes, betas + shift, shares, colour, marker, label)
        axes.set(title=f"{setting[0]}, k = {setting[1]}", xlabel="beta", xticks=BETAS, xlim=(0.08, 0.92))
        tidy(axes, grid="y")
    panels[0].set(ylabel="share of draws right", ylim=(-0.04, 1.04))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_by_neighbors(neighbors: dict[int, Array], runs: Runs) -> Figure:
    """Draw the share of draws in which the circles come out right against the number of neighbours."""
    figure = new_figure(8, 4)
    axes = figure.subplots()
    counts = np.array(list(neighbors))
    # The curves of the betas nearly coincide: thin lines on top of thick ones keep all visible. One has an interval.
    for j, (beta, colour, width) in enumerate(zip(BETAS, BETA_COLOURS, BETA_WIDTHS, strict=True)):
        values = [Share.true(neighbors[k][:, j] >= RIGHT).value for k in counts]
        axes.plot(counts, values, color=colour, linewidth=width, label=f"beta = {beta:g}")
    low, high = np.array([Share.true(neighbors[k][:, 1] >= RIGHT).interval for k in counts]).T
    words = f"beta = {BETAS[1]:g}"
    shade: dict[str, Any] = {"color": BETA_COLOURS[1], "alpha": 0.15, "linewidth": 0}
    axes.fill_between(counts, low, high, label=f"{words}, interval", **shade)
    alternative = {
        k: Share.true(draws.alternative[:, 1] >= RIGHT).value
        for (name, k), draws in runs.items()
        if name == "circles"
    }
    axes.plot(
        list(alternative),
        list(alternative.values()),
        "*",
        color=PAPER,
        markersize=11,
        label=f"{words}, a point is not its own neighbour",
        zorder=3,
    )
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(k) for k in counts])
    axes.minorticks_off()
    axes.set(xlabel="k, neighbours that set the scale", ylabel="share of draws right", ylim=(-0.04, 1.04))
    axes.legend(frameon=False, loc="upper right", fontsize="small")
    tidy(axes, grid="y")
    return figure


def _draw_shares(
    axes: Axes, places: Array, shares: list[Share], colour: str, marker: str, label: str
) -> None:
    values = np.array([share.value for share in shares])
    low, high = np.array([share.interval for share in shares]).T
    # Lists, because matplotlib 3.8 converts an array of one element to a scalar, which NumPy deprecates.
    lengths = [(values - low).tolist(), (high - values).tolist()]
    axes.errorbar(
        places, values, lengths, fmt=marker, color=colour, label=label, ms=5, elinewidth=1, capsize=2
    )
