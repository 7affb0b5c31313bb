"""What a run found: tables in the terminal, a file of figures, pictures of time against quality."""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import asdict
from importlib import metadata

from benchmarks.measure import RESULTS
from benchmarks.peers import CONTESTANTS

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "igraph",
    "networkit",
    "pymetis",
    "infomap",
    "sib-clustering",
    "deeptime",
    "pygpcca",
    "PyDTMC",
)
COLUMNS = 3
# Colours of the contestants other than klump; the marker tells those of one colour apart.
PALETTE = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
MARKERS = ("o", "s", "^", "v", "D", "P")


def progress(text: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(text, style="dim", highlight=False)


def show(workload, scores) -> None:
    """One table: the fastest first, failures last."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=str(workload), title_justify="left")
    for heading in ("contestant", "seconds", "peak MiB", f"C_{workload.beta:g}", "ARI", "groups", "rounds"):
        table.add_column(heading, justify="left" if heading == "contestant" else "right")
    table.add_column("failure")
    for score in sorted(scores, key=_order):
        table.add_row(*_cells(score), style="bold" if score.contestant.startswith("klump") else None)
    Console(width=None if os.isatty(1) else 160).print(table)


def _order(score):
    seconds = score.median("seconds")
    return score.error is not None, math.inf if seconds is None else seconds


def _cells(score):
    figures = (("seconds", ".3g"), ("peak", ".0f"), ("cost", ".4f"), ("ari", ".3f"), ("groups", ".0f"))
    cells = ["" if (value := score.median(what)) is None else f"{value:{form}}" for what, form in figures]
    return score.contestant, *cells, str(len(score.rounds)), score.error or ""


def show_growth(growth) -> None:
    """Exponents of the time in transitions."""
    for family, exponents in growth.items():
        fitted = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
        print(f"exponent of the time in transitions, {family}: {fitted}")


def write(settings, scores, growth, verdicts) -> None:
    """Keep every figure beside the machine and the versions that made it."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        **environment(),
        "settings": asdict(settings),
        "scores": [score.record() for score in scores],
        "growth": growth,
        "verdicts": [{**asdict(verdict), "kept": verdict.kept} for verdict in verdicts],
    }
    (RESULTS / f"{settings.name}.json").write_text(json.dumps(record, indent=1) + "\n")


def environment() -> dict:
    """The machine and the versions that figures depend on."""
    return {
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def draw(settings, scores) -> None:
    """Two pictures: time against quality for each workload, and time against size for each family."""
    import matplotlib

    matplotlib.use("Agg")
    RESULTS.mkdir(exist_ok=True)
    workloads = dict.fromkeys(score.workload for score in scores)
    panels = [[score for score in scores if score.workload == workload] for workload in workloads]
    _figure(panels, _panel, RESULTS / f"{settings.name}.png")
    sparse = [score for score in scores if score.workload.is_sparse]
    families = dict.fromkeys(score.workload.family for score in sparse)
    panels = [[score for score in sparse if score.workload.family == family] for family in families]
    panels = [panel for panel in panels if len({score.workload for score in panel}) > 1]
    if panels:
        _figure(panels, _growth_panel, RESULTS / f"{settings.name}-growth.png")


def _figure(panels, fill, path):
    """Panels side by side, one legend for all of them."""
    import matplotlib.pyplot as plt

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.2 * columns, 3.4 * rows + 0.6), squeeze=False, layout="constrained"
    )
    for axis, scores in zip(axes.flat, panels, strict=False):
        fill(axis, scores)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    answered = {score.contestant for scores in panels for score in scores if score.rounds}
    names = [name for name in CONTESTANTS if name in answered]
    handles = [plt.Line2D([], [], linestyle="", label=name, **_look(name)) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 * columns, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _look(name):
    """The same in every picture of every run."""
    if name.startswith("klump"):
        return {"color": "#d62728", "marker": "*" if name == "klump" else "X", "markersize": 12, "zorder": 3}
    number = list(CONTESTANTS).index(name)
    marker = MARKERS[(number // len(PALETTE) + number % 2 * 3) % len(MARKERS)]
    return {"color": PALETTE[number % len(PALETTE)], "marker": marker, "markersize": 7}


def _growth_panel(panel, scores):
    for name in CONTESTANTS:
        points = sorted(
            (score.n_transitions, score.median("seconds"))
            for score in scores
            if score.contestant == name and score.rounds
        )
        if points:
            panel.plot(*zip(*points, strict=True), linewidth=1, **_look(name))
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_title(scores[0].workload.family, fontsize=10)
    panel.set_xlabel("transitions", fontsize=9)
    panel.set_ylabel("seconds", fontsize=9)
    panel.grid(alpha=0.25)


def _panel(panel, scores):
    """Seconds to the right, quality upwards: the best place is top left."""
    from matplotlib.ticker import LogLocator, NullFormatter

    workload = scores[0].workload
    planted = any(score.contestant == "planted" for score in scores)
    what = "ari" if planted else "cost"
    for score in scores:
        seconds, value = score.median("seconds"), score.median(what)
        if seconds is not None and value is not None:
            panel.plot(seconds, value, linestyle="", **_look(score.contestant))
    panel.set_xscale("log")
    # Panels of less than a decade have ticks too, and none of them overlap.
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 3) if _decades(panel) < 2 else (1,)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    if planted:
        panel.set_ylim(-0.2, 1.08)
    else:
        panel.invert_yaxis()  # better is up in every panel
    panel.set_title(f"{workload.family}, {workload.n_states:,} states, k = {workload.n_groups}", fontsize=10)
    panel.set_ylabel("ARI with planted groups" if planted else f"C_{workload.beta:g} in bits", fontsize=9)
    panel.set_xlabel("seconds", fontsize=9)
    panel.grid(alpha=0.25)
    failed = [score.contestant for score in scores if score.error is not None]
    if failed:
        panel.text(
            0.02,
            0.03,
            "no answer: " + ", ".join(failed),
            transform=panel.transAxes,
            fontsize=6,
            color="#555555",
            wrap=True,
        )


def _decades(panel):
    low, high = panel.get_xlim()
    return math.log10(high / low)
