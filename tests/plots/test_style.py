"""Pictures leave the caller's axes alone, do not depend on the active style, and tell groups and names apart."""

from itertools import pairwise

import numpy as np
import pytest

import klump
from klump import plots
from klump.plots.figure import TEXT
from klump.plots.text import cut_all, cut_name
from klump.plots.timescales import draw_timescales
from klump.views import graph

pytest.importorskip("matplotlib")


def random_answer(n, k, seed=0, concentration=0.3):
    rng = np.random.default_rng(seed)
    chain = klump.MarkovChain(rng.dirichlet(np.full(n, concentration), n), normalize=True)
    return klump.Aggregation.from_labels(chain, np.arange(n) % k)


def drawn(axes, gid):
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


@pytest.mark.parametrize("kind", ["matrix", "graph", "memberships", "chapman_kolmogorov", "timescales"])
def test_texts_of_the_caller_stay(kind):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    mine = ax.text(0.5, 0.5, "mine")
    random_answer(12, 3).plot(kind=kind, ax=ax)
    assert mine in ax.texts


def test_periodic_chains_have_infinite_timescales():
    answer = klump.Aggregation.from_labels(np.roll(np.eye(6), 1, axis=1), [0, 1, 2, 0, 1, 2])
    ax = answer.plot(kind="timescales")
    marks = drawn(ax, "infinite")
    assert [len(line.get_xdata()) for line in marks] == [5, 2, 2]
    assert np.isnan(np.concatenate([line.get_ydata() for line in ax.lines[::2][:3]])).sum() > 0
    assert [text.get_text() for text in ax.texts] == ["∞"], (
        "and no number that is a rounding error of infinity"
    )
    ax = answer.lag_scan([1, 2, 4]).plot()
    assert sum(len(line.get_xdata()) for line in drawn(ax, "infinite")) == 2 * 3


def test_infinite_timescales_are_above_finite_ones():
    found = {"original": np.array([np.inf, 1e3, 2.0]), "long_time": np.array([3e15, 1e3])}
    ax = draw_timescales(found)
    ax.figure.draw_without_rendering()
    (first, second) = drawn(ax, "infinite")
    assert len(first.get_xdata()) == len(second.get_xdata()) == 1
    level = ax.get_xaxis_transform().transform((1, first.get_ydata()[0]))[1]
    assert ax.transData.transform((1, 1e3))[1] < level < ax.bbox.y1
    # Without an infinite timescale of the original chain a large one is a number.
    ax = draw_timescales({"original": np.array([2e15]), "aggregated": np.array([2e15])})
    assert not drawn(ax, "infinite")


def test_two_closed_classes():
    matrix = np.kron(np.eye(2), np.full((2, 2), 0.5))
    answer = klump.aggregate(klump.MarkovChain(matrix), method="exact")
    ax = answer.plot(kind="timescales")
    assert len(drawn(ax, "infinite")[0].get_xdata()) == 1
    assert ax.get_xlabel() == "timescale, slowest first\n2 below 0.04 steps are not drawn"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["original"], "one chain has marks"


def test_tick_labels_differ():
    e = 1e-9
    answer = klump.Aggregation.from_labels([[1 - e, e], [e, 1 - e]], [0, 1])
    ax = answer.plot(kind="timescales")
    ax.figure.draw_without_rendering()
    words = [label.get_text() for label in ax.get_yticklabels() if label.get_text()]
    assert len(words) > 2 and len(set(words)) == len(words)


def test_ticks_of_many_timescales_do_not_overlap():
    ax = random_answer(60, 3).plot(kind="timescales", n=58)
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(boxes) > 3
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_flow_of_soft_maps_has_soft_masses():
    rng = np.random.default_rng(1)
    chain = klump.MarkovChain(rng.dirichlet(np.ones(8), 8), normalize=True)
    one, other = (klump.Aggregation.from_labels(chain, rng.dirichlet(np.ones(k), 8)) for k in (3, 2))
    ax = plots.flow([one, other])
    heights = [bar.get_height() for bar in drawn(ax, "bar")]
    np.testing.assert_allclose(sorted(heights[:3]), sorted(one.masses))
    np.testing.assert_allclose(sorted(heights[3:]), sorted(other.masses))
    shared = one.mapping.T @ np.diag(chain.stationary_distribution) @ other.mapping
    found = [ribbon.get_xy() for ribbon in drawn(ax, "ribbon")]
    np.testing.assert_allclose(
        sorted(corners[0, 1] - corners[-2, 1] for corners in found), sorted(shared.ravel())
    )


def test_groups_with_one_colour_have_different_hatches_and_markers():
    from matplotlib.colors import to_hex

    answer = random_answer(60, 30)
    fills = {
        area.get_gid(): (to_hex(area.get_facecolor()[0]), area.get_hatch() or "")
        for area in answer.plot(kind="memberships").collections
        if area.get_gid()
    }
    assert (
        len(fills) == 30 == len(set(fills.values())) and len({colour for colour, _ in fills.values()}) == 12
    )
    four = [("red", "blue", "green", "black")[group % 4] for group in range(30)]
    same = answer.chapman_kolmogorov([1, 2, 3]).plot(colours=four)
    handles = same.get_legend().legend_handles
    assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == len(handles) == 8


@pytest.mark.parametrize("style", ["dark_background", "ggplot"])
def test_saved_pictures_do_not_depend_on_the_style(style, tmp_path):
    import matplotlib.pyplot as plt
    from matplotlib.image import imread

    answer = random_answer(12, 3)
    path = klump.beta_path(answer.original, 2, betas=[1, 0.5])
    calls = {
        "costs": lambda file: path.plot(file),
        "matrix": lambda file: answer.plot(file),
        "overview": lambda file: plots.overview(path, file),
        "tree": lambda file: klump.aggregation_tree(answer.original).plot(file),
    }
    for name, draw in calls.items():
        draw(tmp_path / f"{name}.png")
        with plt.style.context({"axes.facecolor": "black", "text.color": "white", "xtick.color": "white"}):
            draw(tmp_path / f"{name}_dark.png")
        one, other = (imread(tmp_path / f"{name}{suffix}.png") for suffix in ("", "_dark"))
        np.testing.assert_array_equal(one, other)
    with plt.style.context(style):
        ax = path.plot(tmp_path / "styled.png")
    assert {label.get_color() for label in ax.get_xticklabels()} == {TEXT}
    assert ax.xaxis.label.get_color() == TEXT


def test_names_that_differ_at_the_end_or_in_the_middle_stay_different():
    ends = [f"a page with a long name {number}" for number in range(12)]
    middles = [f"page number {number} of the catalogue of a shop" for number in range(12)]
    for names in (ends, middles, ["漢" * 20 + mark for mark in "一二三"]):
        for cut in (cut_all(names, 14), cut_all(names, 14, cut_name)):
            assert len(set(cut)) == len(names) and max(map(len, cut)) <= 14
    assert cut_all(["short", "a name that is long"], 10) == ["short", "a name ..."]
    assert cut_all(["same" * 9, "same" * 9], 10) == ["samesam..."] * 2


def test_long_names_of_a_dendrogram_are_cut():
    names = [f"a very long name of a page of a shop that sells everything, number {i}" for i in range(6)]
    chain = klump.MarkovChain(random_answer(6, 2).original.transition_matrix, names)
    labels = [label.get_text() for label in plots.dendrogram(klump.aggregation_tree(chain)).get_xticklabels()]
    assert max(map(len, labels)) <= 20 and len(set(labels)) == 6


@pytest.mark.parametrize("k", [8, 30, 60])
def test_arrows_keep_clear_of_other_groups(k):
    """Nearly all: between close groups there may be no room."""
    view = graph(random_answer(2 * k, k, concentration=0.1))
    struck = 0
    for edge in view.edges:
        for group in set(range(k)) - {edge.source, edge.target}:
            distance = np.linalg.norm(edge.outline - view.positions[group], axis=1).min()
            struck += distance < view.radii[group]
    assert struck <= 0.05 * len(view.edges)


def test_labels_of_arrows_are_on_no_other_arrow():
    from matplotlib.path import Path

    answer = random_answer(30, 6, concentration=0.1)
    ax = answer.plot(kind="graph")
    arrows = [Path(arrow.get_xy()) for arrow in drawn(ax, "arrow")]
    labels = drawn(ax, "probability")
    assert len(labels) > 5
    for label in labels:
        assert sum(arrow.contains_point(label.get_position()) for arrow in arrows) == 0


def test_pictures_say_what_they_leave_out_and_how_widths_compare():
    many = random_answer(70, 70)
    for ax in (many.plot(), many.plot(kind="graph"), plots.flow([many, many])):
        assert "the other 10 groups are not named" in ax.get_xlabel() + ax.get_title()
    ax = random_answer(12, 3).plot(kind="graph")
    assert "relative to the widest" in ax.get_title()
    assert "from row to column" in random_answer(12, 3).plot().get_xlabel()
    assert random_answer(12, 3).plot(kind="memberships").get_xlabel() == "12 states, ordered by group"


def test_leaders_of_a_flow_cross_no_name():
    from matplotlib.text import Text

    answer = random_answer(120, 30)
    answer = klump.Aggregation.from_labels(answer.original, np.maximum(np.arange(120) - 90, 0))
    ax = plots.flow([answer, answer])
    ax.figure.draw_without_rendering()
    names = drawn(ax, "group name")
    boxes = [Text.get_window_extent(name) for name in names]
    moved = [name for name in names if name.arrow_patch is not None]
    assert moved
    for name in moved:
        ends = name.arrow_patch.get_path().vertices
        line = ends[0] + np.linspace(0, 1, 40)[:, None] * (ends[-1] - ends[0])
        for other, box in zip(names, boxes, strict=True):
            # Half a pixel: lines begin at the edge of their own name.
            assert other is name or not ((line > box.min + 0.5) & (line < box.max - 0.5)).all(axis=1).any()


def test_dendrogram_and_relaxation_draw_on_axes_of_the_caller(tmp_path):
    from matplotlib.figure import Figure

    chain = random_answer(12, 3).original
    tree, curve = klump.aggregation_tree(chain), klump.relaxation_curve(chain)
    for draw, result in ((plots.dendrogram, tree), (plots.relaxation, curve)):
        ax = Figure().subplots()
        assert draw(result, ax=ax, path=tmp_path / "a.png") is ax and ax.lines
        assert (tmp_path / "a.png").exists()
        assert isinstance(result.plot(), Figure)
