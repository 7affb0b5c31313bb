"""Draw the pictures of the pages: ``python docs/figures/make_figures.py [FOLDER]`` writes them beside this file.

They show numbers that klump computes here, on the chains of the pages.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import klump
from klump.views import PALETTE

TEXT = "#222222"
PALE = "#dcdfe2"
STYLE = {
    "font.size": 10,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "svg.fonttype": "none",
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": "#8a8f98",
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "klump",
}

WEATHER = ["clear", "fair", "cloudy", "front", "rain", "showers"]
WEATHER_P = np.array(
    [
        [0.60, 0.25, 0.10, 0.05, 0.00, 0.00],
        [0.30, 0.40, 0.20, 0.10, 0.00, 0.00],
        [0.10, 0.30, 0.30, 0.30, 0.00, 0.00],
        [0.00, 0.00, 0.10, 0.10, 0.60, 0.20],
        [0.00, 0.00, 0.10, 0.00, 0.50, 0.40],
        [0.20, 0.30, 0.10, 0.00, 0.20, 0.20],
    ]
)
# Positions of the six kinds of weather on a ring, in the order in which they mostly follow each other.
RING = [(np.cos(angle), np.sin(angle)) for angle in np.radians([90, 150, 210, 270, 330, 30])]


def weather() -> klump.MarkovChain:
    """The chain of the page on Markov aggregation."""
    return klump.MarkovChain(WEATHER_P, states=WEATHER)


def draw_chain(
    ax: Axes, chain: klump.MarkovChain, places: list[tuple[float, float]], colours: list[str]
) -> None:
    """Draw states as discs whose area is their mass, and transitions as arrows whose width is their probability."""
    P = np.asarray(chain.transition_matrix)
    radii = 0.37 * np.sqrt(chain.stationary_distribution / chain.stationary_distribution.max())
    for i, j in itertools.permutations(range(chain.n_states), 2):
        if P[i, j] > 0:
            start, end = np.array(places[i]), np.array(places[j])
            along = (end - start) / np.linalg.norm(end - start)
            across = 0.05 * np.array([-along[1], along[0]])
            arrow = FancyArrowPatch(
                start + along * (radii[i] + 0.02) + across,
                end - along * (radii[j] + 0.03) + across,
                connectionstyle="arc3,rad=-0.12",
                arrowstyle="-|>",
                mutation_scale=7 + 12 * P[i, j],
                linewidth=0.4 + 5 * P[i, j],
                color="#8a8f98",
                shrinkA=0,
                shrinkB=0,
            )
            ax.add_patch(arrow)
    for (x, y), radius, colour, name in zip(places, radii, colours, chain.states, strict=True):
        ax.add_patch(plt.Circle((x, y), radius, color=colour, zorder=3))
        is_inside = 14 * radius > len(str(name)) * 0.45
        ax.text(
            x,
            y if is_inside else y + np.sign(y) * (radius + 0.1),
            str(name),
            ha="center",
            va="center",
            color="white" if is_inside else TEXT,
            zorder=4,
            fontsize=10 if len(str(name)) < 6 else 8.5,
        )
    ax.set_aspect("equal")
    ax.axis("off")


def draw_matrix(ax: Axes, chain: klump.MarkovChain, colours: list[str], borders: list[int]) -> None:
    """Draw a transition matrix with its numbers, names coloured by group, and lines between groups."""
    P = np.asarray(chain.transition_matrix)
    ax.imshow(P, cmap="Greys", vmin=0, vmax=1.1)
    for (i, j), value in np.ndenumerate(P):
        if value > 0:
            ax.text(
                j,
                i,
                f"{value:.2f}",
                ha="center",
                va="center",
                color="white" if value > 0.55 else TEXT,
                fontsize=9,
            )
    ax.set_xticks(range(chain.n_states), chain.states, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(chain.n_states), chain.states)
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        for tick, colour in zip(ticks, colours, strict=True):
            tick.set_color(colour)
            tick.set_fontweight("bold")
    for border in borders:
        ax.axhline(border - 0.5, color="#d32f2f", linewidth=1.5)
        ax.axvline(border - 0.5, color="#d32f2f", linewidth=1.5)
    ax.tick_params(length=0)


def chain_figure() -> Figure:
    """The six kinds of weather: a graph and its matrix."""
    chain = weather()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained")
    draw_chain(left, chain, RING, ["#4a5560"] * 6)
    left.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45))
    left.set_title("disc: share of days; arrow: probability", fontsize=10)
    draw_matrix(right, chain, [TEXT] * 6, [])
    right.set_title("from the row to the column", fontsize=10)
    return figure


def aggregation_figure() -> Figure:
    """The same chain in three groups, and the chain of the groups."""
    answer = klump.aggregate(weather(), 3).with_names(["dry", "wet", "turning"])
    order = np.array([0, 1, 2, 4, 5, 3])
    colours = [PALETTE[answer.labels[i]] for i in order]
    figure, axes = plt.subplots(1, 3, figsize=(10.2, 3.7), layout="constrained", width_ratios=[6, 4.2, 4.6])
    ordered = klump.MarkovChain(WEATHER_P[np.ix_(order, order)], [WEATHER[i] for i in order])
    draw_matrix(axes[0], ordered, colours, [3, 5])
    axes[0].set_title("6 states, ordered by group", fontsize=10)
    small = klump.MarkovChain(answer.chain.transition_matrix, answer.names)
    draw_matrix(axes[1], small, list(PALETTE[:3]), [])
    axes[1].set_title("3 groups", fontsize=10)
    draw_chain(axes[2], small, [(-0.75, 0), (0.75, 0.05), (0, 0.95)], list(PALETTE[:3]))
    axes[2].set(xlim=(-1.2, 1.2), ylim=(-0.6, 1.4))
    return figure


def bits_figure() -> Figure:
    """What today tells about tomorrow, and what the groups keep of it."""
    chain = weather()
    answer = klump.aggregate(chain, 3)
    kept = chain.redundancy_rate - answer.costs.predictability
    parts = [
        (f"new every day\nH(X2|X1) = {chain.entropy_rate:.3f}", chain.entropy_rate, PALE, TEXT),
        (f"groups keep\nI(Y1;Y2) = {kept:.3f}", kept, PALETTE[0], "white"),
        (f"lost\n{answer.costs.predictability:.3f}", answer.costs.predictability, PALETTE[1], TEXT),
    ]
    figure, ax = plt.subplots(figsize=(8.4, 1.9), layout="constrained")
    left = 0.0
    for text, width, colour, ink in parts:
        ax.barh(0, width, left=left, color=colour, edgecolor="white", linewidth=2)
        ax.text(left + width / 2, 0, text, ha="center", va="center", color=ink, fontsize=9)
        left += width
    ax.annotate("", (chain.entropy_rate, 0.58), (left, 0.58), arrowprops={"arrowstyle": "<->", "color": TEXT})
    middle = (chain.entropy_rate + left) / 2
    ax.text(
        middle, 0.66, f"known from today: I(X1;X2) = {chain.redundancy_rate:.3f}", ha="center", fontsize=9
    )
    ax.set(xlim=(0, left), ylim=(-0.45, 0.95), yticks=[], xlabel="bits about tomorrow's weather")
    ax.spines[["left", "right", "top"]].set_visible(False)
    return figure


def beta_figure() -> Figure:
    """Groups at three betas, and all 90 partitions in the plane of the two costs."""
    chain = weather()
    figure = plt.figure(figsize=(9.6, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.35])
    found = {beta: klump.aggregate(chain, 3, beta=beta) for beta in (1.0, 0.5, 0.0)}
    for ax, (beta, answer) in zip(top.subplots(1, 3), found.items(), strict=True):
        colours = [PALETTE[label] for label in answer.labels]
        ring = [(1.35 * x, y) for x, y in RING]
        for (x, y), colour, name in zip(ring, colours, WEATHER, strict=True):
            ax.text(
                x,
                y,
                name,
                ha="center",
                va="center",
                color="white",
                bbox={"boxstyle": "round", "fc": colour, "ec": "none"},
            )
        ax.text(0, 0, f"keeps\n{100 * answer.kept:.0f} %", ha="center", va="center")
        ax.set(xlim=(-2, 2), ylim=(-1.35, 1.35))
        ax.set_title(f"beta = {beta:g}", fontsize=11)
        ax.axis("off")
    ax = bottom.subplots()
    for labels in partitions(6, 3):
        costs = klump.score(chain, labels)
        ax.plot(costs.lumpability, costs.predictability, "o", color="#b4bac1", markersize=5)
    for beta, answer in found.items():
        costs = answer.costs
        ax.plot(costs.lumpability, costs.predictability, "o", color=PALETTE[3], markersize=9)
        text = f"cheapest at beta = {beta:g}"
        place = (costs.lumpability, costs.predictability)
        offset = (9, -13) if beta > 0 else (-6, 18)
        ax.annotate(text, place, offset, textcoords="offset points", fontsize=9)
    ax.axhline(chain.redundancy_rate, color="#8a8f98", linestyle=":")
    ax.text(0.378, chain.redundancy_rate + 0.008, "nothing kept", ha="right", fontsize=9)
    ax.set(xlim=(-0.01, 0.38), ylim=(0.15, 0.88))
    ax.set(
        xlabel="lumpability (bits): how states of a group differ",
        ylabel="predictability (bits): lost",
    )
    ax.set_title("all 90 partitions in three groups", fontsize=10)
    ax.spines[["right", "top"]].set_visible(False)
    return figure


def partitions(n: int, k: int) -> list[list[int]]:
    """List all partitions of n elements in k groups, as labels in order of first appearance."""
    return [
        list(labels)
        for labels in itertools.product(range(k), repeat=n)
        if list(dict.fromkeys(labels)) == list(range(k))
    ]


def roles_figure() -> Figure:
    """Links of the four planted chains of the page on roles."""
    shapes = {
        "communities": np.eye(3),
        "roles: a cycle": np.roll(np.eye(3), 1, axis=1),
        "roles: two sides": 1 - np.eye(2),
        "roles: core and rim": np.array([[1, 1], [1, 0]]),
    }
    figure, axes = plt.subplots(1, 4, figsize=(10.2, 2.9), layout="constrained")
    for ax, (title, shape) in zip(axes, shapes.items(), strict=True):
        groups = np.repeat(np.arange(len(shape)), 20)
        likely = np.where(shape[np.ix_(groups, groups)] == 1, 0.5, 0.04)
        links = np.random.default_rng(0).random(likely.shape) < likely
        ax.imshow(links, cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
        for border in np.flatnonzero(np.diff(groups)) + 1:
            ax.axhline(border - 0.5, color="#d32f2f", linewidth=1.3)
            ax.axvline(border - 0.5, color="#d32f2f", linewidth=1.3)
        ax.set(xticks=[], yticks=[], xlabel="to", ylabel="from")
        ax.set_title(title, fontsize=10)
    return figure


def shop_figure() -> Figure:
    """Overview of the answer of the tutorial."""
    page = (Path(__file__).parents[1] / "tutorial.md").read_text(encoding="utf-8")
    namespace: dict = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], namespace)
    answer = klump.aggregate(namespace["chain"], n_states=3, beta=0.5)
    return klump.plots.overview(answer.with_names(["looking", "buying", "asking"]))


FIGURES = {
    "shop.svg": shop_figure,
    "weather_chain.svg": chain_figure,
    "weather_groups.svg": aggregation_figure,
    "weather_bits.svg": bits_figure,
    "weather_betas.svg": beta_figure,
    "roles.svg": roles_figure,
}


def main(folder: Path) -> None:
    """Write every figure to a folder."""
    with plt.rc_context(STYLE):
        for name, draw in FIGURES.items():
            figure = draw()
            figure.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.15)
            plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
