"""What ``benchmarks.cliffs`` found: a table, a file of figures, a picture of time against transitions."""

from __future__ import annotations

import json
import os
from itertools import groupby

from benchmarks.measure import RESULTS
from benchmarks.report import environment, progress

__all__ = ["RESULTS", "draw", "progress", "show", "write"]

HEADINGS = (
    "chain",
    "states",
    "k",
    "beta",
    "before",
    "its ratio",
    "auto",
    "stationary",
    "annealing",
    "ratio",
)
COSTS = ("C auto", "C annealing", "C planted")
COLOURS = {"dense": "#7f7f7f", "noisy": "#d62728", "metastable": "#0072b2", "attachment": "#009e73"}
# Colour of degenerate chains, of which there are too many for a colour each.
OTHER_COLOUR = "#000000"
MARKERS = "osDvP*X"
LIMIT = "^"


def write(name: str, record: dict) -> None:
    """Keep the figures beside the machine and the versions that made them; a reader sees a whole file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    whole = path.with_suffix(".json.new")
    whole.write_text(json.dumps({**environment(), **record}, indent=1) + "\n")
    os.replace(whole, path)


def show(figures) -> None:
    """One line per row; ``>`` where a limit was exceeded."""
    from rich.console import Console
    from rich.table import Table

    extra = sorted({method for each in figures for method in each.row.methods} - {"auto", "annealing"})
    table = Table(title='CPU seconds of "auto", before and now, and cost in bits', title_justify="left")
    for heading in (*HEADINGS, *COSTS, *(f"{word}{method}" for method in extra for word in ("", "C "))):
        table.add_column(heading, justify="left" if heading == "chain" else "right")
    table.add_column("failure")
    for each in figures:
        table.add_row(*cells_of(each, extra))
    Console(width=None if os.isatty(1) else 180).print(table)


def cells_of(figures, extra) -> list[str]:
    """The texts of one line."""
    row = figures.row
    stationary = figures.median("auto", "stationary")
    failures = [f"{cell.method}: {cell.error}" for cell in figures.cells if cell.error]
    return [
        row.kind,
        f"{row.n_states:,}",
        str(row.n_groups),
        f"{row.beta:g}",
        row.before,
        row.ratio_before,
        seconds_of(figures, "auto"),
        "" if stationary is None else f"{stationary:.2g}",
        seconds_of(figures, "annealing"),
        ratio_of(figures),
        *(cost_of(figures, method) for method in ("auto", "annealing", "planted")),
        *(text(figures, method) for method in extra for text in (seconds_of, cost_of)),
        "; ".join(failures),
    ]


def seconds_of(figures, method) -> str:
    limit, seconds = figures.limit(method), figures.median(method)
    if limit is not None:
        return f"> {limit:g}"
    return "" if seconds is None else f"{seconds:.3g}"


def ratio_of(figures) -> str:
    ratio = figures.ratio
    return "" if ratio is None else f"{'> ' if figures.limit('auto') else ''}{ratio:.2g}"


def cost_of(figures, method) -> str:
    cost = figures.median(method, "cost")
    return "" if cost is None else f"{cost:.6f}"


def draw(name: str, figures) -> None:
    """Time against transitions, one panel per beta: "auto" solid, annealing dashed, limits as triangles."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    betas = sorted({each.row.beta for each in figures})
    figure, axes = plt.subplots(
        1,
        len(betas),
        figsize=(4.6 * len(betas), 4.8),
        squeeze=False,
        layout="constrained",
        sharex=True,
        sharey=True,
    )
    lines = sorted({(each.row.kind, each.row.n_groups) for each in figures})
    markers = {k: MARKERS[i % len(MARKERS)] for i, k in enumerate(sorted({k for _, k in lines}))}
    for panel, beta in zip(axes.flat, betas, strict=True):
        chosen = sorted((each for each in figures if each.row.beta == beta), key=_line)
        for (kind, k), family in groupby(chosen, _line):
            look = {
                "color": COLOURS.get(kind, OTHER_COLOUR),
                "marker": markers[k],
                "linewidth": 1,
                "markersize": 5,
            }
            _draw_family(panel, sorted(family, key=lambda each: each.row.n_states), look)
        panel.set(xscale="log", yscale="log", title=f"beta = {beta:g}", xlabel="transitions")
        panel.grid(alpha=0.25)
    axes[0, 0].set_ylabel("CPU seconds")
    handles = [
        plt.Line2D([], [], color=COLOURS.get(kind, OTHER_COLOUR), marker=markers[k], label=f"{kind}, k = {k}")
        for kind, k in lines
    ]
    looks = {"annealing, 20 starts": {"linestyle": "--", "marker": "o", "fillstyle": "none"}}
    if any(cell.limit for each in figures for cell in each.cells):
        looks["over the limit"] = {"linestyle": "", "marker": LIMIT, "fillstyle": "none"}
    handles += [plt.Line2D([], [], color="black", label=name, **look) for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 * len(betas), fontsize=8)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=130)
    plt.close(figure)


def _line(figures):
    return figures.row.kind, figures.row.n_groups


def _draw_family(panel, family, look) -> None:
    for method, style, fill in (("auto", "-", "full"), ("annealing", "--", "none")):
        points = [
            (each.transitions, seconds)
            for each in family
            if each.limit(method) is None and (seconds := each.median(method)) is not None
        ]
        limits = [(each.transitions, each.limit(method)) for each in family if each.limit(method) is not None]
        if points:
            panel.plot(*zip(*points, strict=True), linestyle=style, fillstyle=fill, **look)
        if limits:
            marker = {"marker": LIMIT, "markersize": 9}
            panel.plot(*zip(*limits, strict=True), linestyle="", fillstyle=fill, **look | marker)
