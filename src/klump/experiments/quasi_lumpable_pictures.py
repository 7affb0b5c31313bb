"""Pictures of the experiment with planted groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from klump.experiments.colours import THIRD
from klump.experiments.quasi_lumpable import ALPHAS
from klump.experiments.result import MIN_DRAWS
from klump.plots.figure import KLUMP, OUTSIDE, new_figure, tidy
from klump.sources.random_chains import block_chain

if TYPE_CHECKING:
    from klump.experiments.quasi_lumpable import Comparison, Curve, Quantity
    from klump.experiments.result import Sample

# Colour per alpha.
COLOURS = dict(zip(ALPHAS, (OUTSIDE, KLUMP, THIRD), strict=True))
_PUBLISHED = {"linewidth": 0.9, "marker": "o", "markersize": 3.6, "markeredgewidth": 0.0}
_DEFAULT = {"linewidth": 1.6, "linestyle": (0, (4, 1.6))}
_PAPER = {"linewidth": 6.0, "alpha": 0.3, "solid_capstyle": "butt"}
_LABELS = {"cost": "cost in bits", "ari": "ARI with the planted groups"}


def draw_curves(curves: Sequence[Curve], betas: Sequence[float]) -> Any:
    """Draw the paper's six panels, klump's curves on top of the paper's."""
    figure = new_figure(13.0, 8.0)
    panels = list(dict.fromkeys(curve.panel for curve in curves))
    for axes, panel in zip(figure.subplots(2, 3).flat, panels, strict=True):
        shown = [curve for curve in curves if curve.panel == panel]
        for curve in shown:
            colour = COLOURS[curve.alpha]
            mean, std = _arrays(curve.paper)
            axes.fill_between(betas, mean - std, mean + std, color=colour, alpha=0.1, linewidth=0.0)
            axes.plot(betas, mean, color=colour, **_PAPER)
            for samples, style in ((curve.published, _PUBLISHED), (curve.default, _DEFAULT)):
                if _are_shown(samples):
                    axes.plot(betas, _arrays(samples)[0], color=colour, **style)
        _label(axes, shown[0].title.replace("eps", "ε"), _LABELS[shown[0].quantity])
        axes.set_ylim((-0.12, 1.08) if shown[0].quantity == "ari" else (0.0, 0.26))
    styles = {"paper (± standard deviation)": _PAPER}
    if _are_shown(curves[0].published):
        styles["klump as published"] = _PUBLISHED
    if _are_shown(curves[0].default):
        styles["klump's default"] = _DEFAULT
    _legend(figure, styles)
    return figure


def draw_matrices(sizes: Sequence[int], seed: int) -> Any:
    """Draw four transition matrices; the last one is the third with its states shuffled."""
    from matplotlib.colors import PowerNorm

    matrices = {
        f"α = {alpha:g}, ε = {eps:g}": block_chain(sizes, alpha, eps, random_state=seed)[0].transition_matrix
        for alpha, eps in ((0.0, 0.0), (0.95, 0.8), (0.95, 0.4))
    }
    title, last = list(matrices.items())[-1]
    order = np.random.default_rng(seed).permutation(sum(sizes))
    matrices[f"{title}, shuffled"] = last[np.ix_(order, order)]
    figure = new_figure(13.0, 3.5)
    # A square-root scale keeps the noise visible.
    norm = PowerNorm(0.5, vmin=0.0, vmax=max(float(matrix.max()) for matrix in matrices.values()))
    every = figure.subplots(1, 4)
    for axes, (title, matrix) in zip(every, matrices.items(), strict=True):
        image = axes.imshow(matrix, cmap="magma", norm=norm, interpolation="nearest")
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("to state")
    every[0].set_ylabel("from state")
    figure.colorbar(image, ax=list(every), label="transition probability", shrink=0.8)
    return figure


def draw_gain(comparisons: Sequence[Comparison], betas: Sequence[float]) -> Any:
    """Draw the cost saved and the ARI gained by the default, one column per eps."""
    figure = new_figure(13.0, 6.8)
    columns = list(dict.fromkeys(comparison.eps for comparison in comparisons))
    grid = figure.subplots(2, len(columns), sharex=True, sharey="row")
    rows: tuple[tuple[Quantity, float, str], ...] = (
        ("cost", -1000.0, "cost saved, in millibits"),
        ("ari", 1.0, "ARI gained"),
    )
    for row, (quantity, scale, label) in zip(grid, rows, strict=True):
        for axes, eps in zip(row, columns, strict=True):
            axes.axhline(0.0, color="black", linewidth=0.8)
            for comparison in comparisons:
                if comparison.eps == eps:
                    samples = comparison.change.samples(quantity)
                    mean, band = scale * _arrays(samples)[0], _two_errors(samples, abs(scale))
                    colour = COLOURS[comparison.alpha]
                    axes.fill_between(
                        betas, mean - band, mean + band, color=colour, alpha=0.15, linewidth=0.0
                    )
                    axes.plot(betas, mean, color=colour, linewidth=1.6, marker="o", markersize=3.6)
            _label(axes, f"{label}, ε = {eps:g}", label if eps == columns[0] else "")
    _legend(figure, {})
    return figure


def _are_shown(samples: Sequence[Sample]) -> bool:
    return samples[0].size >= MIN_DRAWS


def _arrays(samples: Sequence[Sample]) -> tuple[Any, Any]:
    return np.array([sample.mean for sample in samples]), np.array([sample.std for sample in samples])


def _two_errors(samples: Sequence[Sample], scale: float) -> Any:
    return 2.0 * scale * np.array([sample.error for sample in samples])


def _label(axes: Any, title: str, label: str) -> None:
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("β")
    axes.set_ylabel(label)
    axes.set_xlim(-0.02, 1.02)
    tidy(axes, grid="both")


def _legend(figure: Any, styles: dict[str, dict[str, Any]]) -> None:
    """Add a legend of colours and line styles below all panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, linewidth=4.0) for colour in COLOURS.values()]
    names = [f"α = {alpha:g}" for alpha in COLOURS]
    handles += [Line2D([], [], color="black", **style) for style in styles.values()]
    figure.legend(
        handles,
        [*names, *styles],
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        handlelength=3.0,
    )
