"""Pictures of an answer: what is drawn is what was computed, and names appear as they are."""

import re
import sys

import numpy as np
import pytest
from scipy import sparse

import klump
from klump import plots
from klump.errors import InvalidArgumentError, MissingPackageError
from klump.plots import kinds
from klump.sources.random_chains import block_chain
from klump.views import PALETTE, graph, group_colours, ordered_matrix

pytest.importorskip("matplotlib")

AWKWARD = ("$x$", "_hidden", "<script>alert(1)</script>", "größe é", r"\alpha^2_", "a" * 60, "{}%", "\n")


@pytest.fixture(scope="module")
def answer():
    chain, labels = block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=1)
    return klump.Aggregation.from_labels(chain, labels)


@pytest.fixture(scope="module")
def soft(answer):
    shares = np.random.default_rng(3).dirichlet(np.ones(3), 15)
    return klump.Aggregation.from_labels(answer.original, shares)


def drawn(axes, gid):
    """Artists with an id, in the order of drawing."""
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def hexes(artists):
    from matplotlib.colors import to_hex

    return [to_hex(artist.get_facecolor()) for artist in artists]


def test_axes_come_from_the_caller_or_from_pyplot(answer):
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    for kind in kinds.ANSWER:
        figure = Figure()
        ax = figure.subplots()
        assert answer.plot(kind=kind, ax=ax) is ax
        assert not plt.get_fignums(), "drawn on axes of the caller"
        made = answer.plot(kind=kind)
        assert plt.get_fignums() == [made.figure.number]
        plt.close("all")


def test_a_path_saves_without_pyplot(answer, tmp_path):
    import matplotlib.pyplot as plt

    for kind in kinds.ANSWER:
        for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            file = tmp_path / f"{kind}.{suffix}"
            answer.plot(file, kind)
            assert file.read_bytes().startswith(start)
    assert not plt.get_fignums()
    with pytest.raises(InvalidArgumentError, match=r"path='a.gif' must end in .png, .svg or .pdf"):
        answer.plot("a.gif")
    assert not plt.get_fignums(), "refused before drawing"


def test_unknown_kinds_are_refused_with_the_choices(answer):
    with pytest.raises(InvalidArgumentError, match=r"kind='heat' .* choose one of 'matrix', 'graph'"):
        answer.plot(kind="heat")
    with pytest.raises(InvalidArgumentError, match="kind=7"):
        answer.plot(kind=7)


def test_every_picture_needs_matplotlib(answer, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    calls = [(answer, kind) for kind in kinds.ANSWER] + [
        (klump.beta_path(answer.original, 2, betas=[1, 0.5]), kind) for kind in kinds.PATH
    ]
    for result, kind in calls:
        for path in (None, tmp_path / "a.png"):
            with pytest.raises(MissingPackageError, match=r"matplotlib; pip install 'klump\[plots\]'"):
                result.plot(path, kind)
    for call in (lambda: plots.overview(answer), answer.chapman_kolmogorov(3).plot, answer.lag_scan(2).plot):
        with pytest.raises(MissingPackageError):
            call()


def test_matrix_has_borders_between_groups_and_cells_of_the_ordered_matrix(answer):
    ax = answer.plot()
    view = ordered_matrix(answer)
    np.testing.assert_array_equal(view.borders, [0, 4, 9, 15])
    for gid, along in (("row borders", 1), ("column borders", 0)):
        (lines,) = drawn(ax, gid)
        segments = np.array(lines.get_segments())
        np.testing.assert_array_equal(segments[:, 0, along], [4, 9])
        np.testing.assert_array_equal(segments[:, :, 1 - along], [[0, 15]] * 2)
    np.testing.assert_array_equal([block.get_bbox().bounds for block in drawn(ax, "block")],
                                  [(0, 0, 4, 4), (4, 4, 5, 5), (9, 9, 6, 6)])  # fmt: skip
    mesh = ax.collections[0]
    np.testing.assert_allclose(
        np.asarray(mesh.get_array()).reshape(15, 15),
        answer.original.transition_matrix[np.ix_(view.order, view.order)],
        rtol=1e-12,
    )
    assert ax.get_ylim() == (15, 0), "the first row is at the top"
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(state) for state in view.order]
    assert [text.get_text() for text in drawn(ax, "group name")] == list(answer.names)


@pytest.mark.parametrize("k", [1, 2, 30, 60])
def test_every_group_is_labelled_and_no_label_covers_another(k):
    from matplotlib.text import Text

    rng = np.random.default_rng(k)
    # Sizes from one state to many.
    labels = np.sort(np.concatenate([np.arange(k), rng.integers(0, max(1, k // 4), 200)]))
    chain = klump.MarkovChain(rng.dirichlet(np.ones(len(labels)), len(labels)), normalize=True)
    found = klump.Aggregation.from_labels(chain, labels)
    ax = found.plot()
    names = drawn(ax, "group name")
    assert [text.get_text() for text in names] == [plots.text.cut_text(name, 17) for name in found.names]
    # The box of the text alone, without the line to its rows.
    boxes = [Text.get_window_extent(text) for text in names]
    heights = sorted((box.y0 + box.y1) / 2 for box in boxes)
    # Boxes have a margin above and below the letters: of a line of 1.2 times the font size, a sixth.
    assert np.diff(heights).min(initial=np.inf) > 0.8 * min(box.height for box in boxes)
    left = min(box.x0 for box in boxes)
    assert left >= 0, "within the figure"
    ax = found.plot(kind="graph")
    assert len(drawn(ax, "name")) == k and len(drawn(ax, "group")) == k


def test_graph_draws_areas_widths_and_staying(answer):
    ax = answer.plot(kind="graph")
    view = graph(answer)
    nodes = drawn(ax, "group")
    areas = np.array([node.radius**2 for node in nodes])
    np.testing.assert_allclose(areas / areas.sum(), answer.masses)
    arrows = drawn(ax, "arrow")
    matrix = answer.chain.transition_matrix
    assert len(arrows) == len(view.edges) == np.count_nonzero(matrix) - 3
    for arrow, edge in zip(arrows, view.edges, strict=True):
        np.testing.assert_array_equal(arrow.get_xy()[:-1], edge.outline)
        # The first corners on the left and on the right of the shaft are as far apart as it is wide.
        assert np.linalg.norm(edge.outline[0] - edge.outline[-1]) == pytest.approx(edge.width)
    ratios = [edge.width / matrix[edge.source, edge.target] for edge in view.edges if edge.width > 0.004]
    assert max(ratios) == pytest.approx(min(ratios))
    angles = [wedge.theta2 - wedge.theta1 for wedge in drawn(ax, "staying")]
    np.testing.assert_allclose(angles, 360 * np.diagonal(matrix))


@pytest.mark.parametrize("k", [50, 100, 250])
def test_graphs_of_many_groups(k, rng):
    chain = klump.MarkovChain(rng.dirichlet(np.ones(k), k), normalize=True)
    ax = klump.Aggregation.from_labels(chain, np.arange(k)).plot(kind="graph")
    assert len(drawn(ax, "group")) == k and len(drawn(ax, "name")) == min(k, 60)
    assert drawn(ax, "arrow")


def test_one_group(tmp_path):
    found = klump.Aggregation.from_labels(np.full((3, 3), 1 / 3), [0, 0, 0])
    for kind in kinds.ANSWER:
        found.plot(tmp_path / "one.png", kind)
    assert len(drawn(found.plot(kind="graph"), "arrow")) == 0
    figure = plots.overview(found, tmp_path / "one.png")
    assert figure.get_suptitle().startswith("3 states in 1 group, ")
    assert "no timescales" in [text.get_text() for text in found.plot(kind="timescales", n=2).texts]


def test_memberships_are_stacked_up_to_one(soft):
    ax = soft.plot(kind="memberships")
    order = np.lexsort((np.arange(15), -soft.mapping.max(axis=1), soft.labels))
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(state) for state in order]
    heights = np.zeros((15, 3))
    for area in ax.collections:
        found = re.fullmatch(r"group (\d)", area.get_gid() or "")
        if found:
            corners = area.get_paths()[0].vertices
            for place in range(15):
                inside = np.abs(corners[:, 0] - (place + 0.5)) <= 0.5
                column = corners[inside & np.isin(corners[:, 0], (place, place + 1))]
                at_both = [
                    y
                    for y in np.unique(column[:, 1])
                    if {(place, y), (place + 1, y)} <= set(map(tuple, column))
                ]
                if len(at_both) >= 2:
                    heights[place, int(found[1])] += max(at_both) - min(at_both)
    np.testing.assert_allclose(heights, soft.mapping[order], atol=1e-12)


def test_memberships_have_the_colours_of_the_groups(soft):
    from matplotlib.colors import to_hex

    ax = soft.plot(kind="memberships")
    for area in ax.collections:
        if area.get_gid():
            number = int(area.get_gid().split()[1])
            assert to_hex(area.get_facecolor()[0]) == PALETTE[number]


def test_a_group_has_one_colour_in_all_pictures(answer, soft):
    colours = list(group_colours([answer])[0])
    assert colours == list(PALETTE[:3])
    matrix, nodes = answer.plot(), answer.plot(kind="graph")
    assert hexes(drawn(matrix, "row strip")) == hexes(drawn(matrix, "column strip")) == colours
    assert hexes(drawn(nodes, "group")) == colours
    assert [text.get_color() for text in drawn(nodes, "name")] == colours
    curves = answer.plot(kind="chapman_kolmogorov", steps=3).lines
    assert [line.get_color() for line in curves] == list(np.repeat(colours, 3))
    given = ["#000000", "#111111", "#222222"]
    assert hexes(drawn(answer.plot(kind="graph", colours=given), "group")) == given


def awkward_answer():
    rng = np.random.default_rng(0)
    chain = klump.MarkovChain(rng.dirichlet(np.ones(8), 8), AWKWARD, normalize=True)
    found = klump.Aggregation.from_labels(chain, np.arange(8) % 4)
    return found.with_names(["$a_b$ and $c$", "_underscore", "<b>bold</b>", "ä$"])


def test_names_are_shown_as_they_are(tmp_path):
    import matplotlib.text

    found = awkward_answer()
    for kind in kinds.ANSWER:
        ax = found.plot(tmp_path / f"{kind}.svg", kind)
        shown = {
            text.get_text(): text.get_parse_math()
            for text in ax.figure.findobj(matplotlib.text.Text)
            if any(name[:6] in text.get_text() for name in (*found.names, *AWKWARD[:5]))
        }
        assert not any(shown.values()), shown
        if kind in ("matrix", "graph", "memberships", "chapman_kolmogorov"):
            for name in found.names:
                assert any(name in text for text in shown), (kind, name)
        if kind in ("matrix", "memberships"):
            assert {"$x$", "_hidden", r"\alpha^2_"} <= set(shown)
    svg = (tmp_path / "matrix.svg").read_text()
    assert "<script>" not in svg and "<b>" not in svg


def test_chapman_kolmogorov_curves_are_the_arrays(answer, soft):
    for found in (answer, soft):
        test = found.chapman_kolmogorov([1, 2, 5])
        lines = test.plot().lines
        assert len(lines) == 9
        for group in range(3):
            for line, values in zip(
                lines[3 * group :], (test.original, test.aggregated, test.long_time), strict=False
            ):
                np.testing.assert_array_equal(line.get_xdata(), [1, 2, 5])
                np.testing.assert_array_equal(line.get_ydata(), values[:, group, group])
        row = test.plot(start=1).lines
        np.testing.assert_array_equal(row[6].get_ydata(), test.original[:, 1, 2])
    with pytest.raises(
        InvalidArgumentError, match="start=3 is no group of this test, which has 3; pass 0 to 2"
    ):
        test.plot(start=3)


def test_chapman_kolmogorov_draws_the_worst_of_many_groups(rng):
    chain = klump.MarkovChain(rng.dirichlet(np.full(24, 0.2), 24), normalize=True)
    found = klump.Aggregation.from_labels(chain, np.arange(24) % 12)
    test = found.chapman_kolmogorov([1, 2, 3])
    worst = np.abs(np.diagonal(test.aggregated - test.original, axis1=1, axis2=2)).max(axis=0)
    ax = test.plot()
    assert len(ax.lines) == 3 * 8
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [str(group) for group in sorted(np.argsort(-worst)[:8])]
    assert "8 of 12" in ax.get_legend().get_title().get_text()


def test_soft_map_without_long_time_chain():
    """Groups with equal shares are linearly dependent."""
    P = [[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]]
    found = klump.Aggregation.from_labels(P, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    assert [line.get_gid() for line in found.plot(kind="timescales").lines[:2]] == ["original", "aggregated"]
    assert len(found.plot(kind="chapman_kolmogorov", steps=2).lines) == 2 * 2


def test_timescales_side_by_side(answer):
    ax = answer.plot(kind="timescales", n=4)
    chains = {"original": answer.original, "aggregated": answer.chain, "long_time": answer.long_time_chain}
    for name, chain in chains.items():
        (line,) = drawn(ax, name)
        np.testing.assert_array_equal(line.get_ydata(), chain.timescales(4))
    places = [drawn(ax, name)[0].get_xdata()[0] for name in chains]
    assert places == sorted(set(places)), "side by side"
    assert ax.get_yscale() == "log"


def test_lag_scan_draws_each_timescale(answer):
    scan = answer.lag_scan([1, 2, 4, 8])
    ax = scan.plot()
    for line, times in zip(ax.lines, scan.timescales.T, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), scan.lags)
        np.testing.assert_array_equal(line.get_ydata(), times)
    alone = klump.Aggregation.from_labels(np.full((3, 3), 1 / 3), [0, 0, 0]).lag_scan([1, 2])
    assert len(alone.plot().lines) == 0


def test_large_sparse_chain_is_not_densified(monkeypatch):
    """1e5 states: a dense matrix would take 80 GB. Sparse matrices must not be converted as a whole either."""
    n, k = 100_000, 20
    index = np.arange(n)
    rows, columns = np.concatenate([index] * 3), np.concatenate([(index + step) % n for step in (1, 7, -3)])
    matrix = sparse.csr_array((np.full(3 * n, 1 / 3), (rows, columns)), shape=(n, n))
    chain = klump.MarkovChain(matrix, stationary_distribution=np.full(n, 1 / n))
    found = klump.Aggregation.from_labels(chain, index // (n // k))
    convert = sparse.csr_array.toarray

    def toarray(self, *args, **options):
        assert self.shape[0] * self.shape[1] < n * 100
        return convert(self, *args, **options)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    ax = found.plot(n_bins=100)
    density = np.asarray(ax.collections[0].get_array()).reshape(100, 100)
    # Each bin of 1,000 states keeps the mass of its rows.
    np.testing.assert_allclose(density.sum(axis=1) * (n // 100), 1.0)
    assert "100,000 states, ordered by group, in 100 bins" in ax.get_xlabel()
    assert len(drawn(ax, "group name")) == k


def test_overview_has_matrix_and_graph_and_memberships_of_soft_maps(answer, soft, tmp_path):
    figure = plots.overview(answer, tmp_path / "a.png")
    title = rf"15 states in 3 groups, $\beta$ = 0.5: {100 * answer.kept:.1f} % of $I(X_1;X_2)$ is kept"
    assert figure.get_suptitle() == title
    assert len(drawn(figure.axes[0], "block")) == 3 and len(drawn(figure.axes[1], "group")) == 3
    assert len(plots.overview(soft).axes) == len(figure.axes) + 1


def test_overview_of_an_exact_lumping_of_a_reducible_chain():
    """It has no costs; states have equal weights."""
    P = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
    found = klump.aggregate(klump.MarkovChain(P), method="exact")
    figure = plots.overview(found)
    assert figure.get_suptitle() == f"4 states in {found.n_states} group{'s' * (found.n_states > 1)}"
