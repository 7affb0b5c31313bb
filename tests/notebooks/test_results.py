"""Results in notebooks: tables and pictures show the data, colours are those of the groups, names are escaped."""

import dataclasses

import numpy as np
import pytest

import klump
from klump import views
from klump.sources.random_chains import block_chain
from notebook_pages import NASTY, show, squares, walk


@pytest.fixture(scope="module")
def chain():
    return klump.MarkovChain(block_chain((3, 5, 4, 2), alpha=0.7, eps=0.2, random_state=0)[0])


@pytest.fixture(scope="module")
def answer(chain):
    labels = np.repeat([0, 1, 2, 3], [3, 5, 4, 2])
    return klump.Aggregation.from_labels(chain, labels)


def chips(page):
    return [
        dict(part.split(":", 1) for part in span.get("style").split(";"))["background"]
        for span in page.root.iterfind(".//td/span")
    ]


def test_groups_of_an_answer(answer):
    page = show(answer)
    header, rows = page.table("members, heaviest first")
    assert header == ["", "group", "states", "mass", "members, heaviest first"]
    assert [row[2] for row in rows] == ["3", "5", "4", "2"]
    assert [float(row[3]) for row in rows] == pytest.approx(answer.masses, abs=1e-4)
    assert rows[3][4].split() == [str(state) for state in answer.groups[3]]
    assert chips(page) == list(views.PALETTE[:4])


def test_costs_of_an_answer(answer):
    header, (row,) = show(answer).table("lumpability")
    values = dict(zip(header, row, strict=True))
    assert float(values["cost, bits"]) == pytest.approx(answer.cost, abs=1e-4)
    assert float(values["epsilon"]) == pytest.approx(answer.bisimulation.epsilon, abs=1e-4)
    assert values["kept"] == f"{answer.kept:.1%}".replace("%", " %")


def test_graph_of_an_answer(answer):
    svg = show(answer).picture("Aggregated chain with 4 groups")
    fills = [circle.get("fill") for circle in svg.iterfind("circle")]
    assert fills == [paint for colour in views.PALETTE[:4] for paint in (colour, "none")]
    rings = [
        circle.get("stroke-dasharray").split()[0]
        for circle in svg.iterfind("circle")
        if circle.get("pathLength")
    ]
    staying = np.diagonal(answer.chain.transition_matrix)
    assert [float(length) / 100 for length in rings] == pytest.approx(staying, rel=1e-2)
    arrows = {path.find("title").text for path in svg.iterfind("g/path")}
    edges = views.graph(answer).edges
    assert arrows == {f"{edge.source} to {edge.target}: {edge.probability:.3g}" for edge in edges}
    names = [text.text for text in svg.findall("g")[1].iterfind("text")]
    assert names == list(answer.names)


def test_arrows_follow_their_outlines(answer):
    """Simplified outlines stay within 0.5 pixels of those of the view: every corner kept is a corner."""
    svg = show(answer).picture("Aggregated chain")
    scale = 780
    for path, edge in zip(svg.iterfind("g/path"), views.graph(answer).edges, strict=True):
        start, *steps = path.get("d").rstrip("z").replace("-", " -").split("l")
        points = np.cumsum(
            [np.array(part.strip("M").split(), dtype=float) for part in (start, *steps)], axis=0
        )
        corners = edge.outline * [scale, -scale]
        distances = np.linalg.norm(points[:, None] - corners[None], axis=2).min(axis=1)
        assert distances.max() < 5


def test_matrix_of_an_answer_has_borders_and_colours_of_groups(answer):
    svg = show(answer).picture("Transition matrix of 14 states, ordered by group")
    view = views.ordered_matrix(answer, 60)
    assert set(squares(svg)) == set(zip(*map(np.ndarray.tolist, np.nonzero(view.density)), strict=True))
    strips = [
        (rect.get("fill"), int(rect.get("y")), int(rect.get("height"))) for rect in svg.findall("rect")[::2]
    ]
    sizes = np.diff(view.borders)
    expected = zip(views.PALETTE, view.borders[:-1].tolist(), sizes.tolist(), strict=False)
    assert strips == list(expected)
    for border in view.borders.tolist():
        assert f"M{border} 0V14M0 {border}H14" in svg.find("path").get("d")


def test_cells_follow_the_theme_of_the_page(answer):
    """Text and lines have the colour of the page's text, or a group's; only colours of groups are backgrounds."""
    page = show(answer)
    styles = [element.get("style", "") for element in page.root.iter()]
    parts = [part.split(":", 1) for style in styles for part in style.split(";") if part]
    assert {value for name, value in parts if name == "background"} == {"none", *views.PALETTE[:4]}
    assert not [value for name, value in parts if name == "color"]
    painted = {
        value
        for element in page.root.iter()
        for value in (element.get("fill"), element.get("stroke"))
        if value is not None
    }
    assert painted <= {"none", "currentColor", *views.PALETTE[:4]}


def test_names_of_groups_and_states_are_escaped_and_cut():
    matrix, _ = block_chain((4, 4), alpha=0.6, eps=0.2, random_state=1)
    chain = klump.MarkovChain(matrix, states=NASTY)
    answer = klump.Aggregation.from_labels(chain, [0] * 4 + [1] * 4)
    for page in (show(answer), show(answer.with_names([NASTY[0], "\ud800" + "y" * 10_000]))):
        assert "<script>" not in page.html
        assert "<img" not in page.html
        assert "xxxxxxxxxx" * 7 not in page.html
        assert "yyyyyyyyyy" * 3 not in page.html
    header, rows = page.table("name")
    assert rows[0][header.index("name")] == "<script>alert(1)</scr..."
    assert len(show(klump.Aggregation.from_labels(chain, range(8))).html) < 40_000


def test_one_group(chain):
    page = show(klump.Aggregation.from_labels(chain, [0] * 14))
    svg = page.picture("Aggregated chain with 1 group")
    assert len(svg.findall("circle")) == 2
    assert not svg.findall("g/path")


def test_many_groups_are_cut():
    chain = klump.MarkovChain(walk(900))
    page = show(klump.Aggregation.from_labels(chain, np.arange(900) % 500))
    rows = page.table("members, heaviest first")[1]
    assert len(rows) == 13
    assert rows[-1][-1] == "+488 groups"
    assert "no graph: more than 24 groups" in page.text
    assert len(page.pictures) == 1
    assert len(page.html) < 60_000


@pytest.mark.parametrize("k", [2, 10, 11, 24])
def test_names_in_the_graph_do_not_overlap(k):
    chain, labels = block_chain(tuple(range(2, k + 2)), alpha=0.6, eps=0.3, random_state=0)
    answer = klump.Aggregation.from_labels(chain, labels).with_names(
        [f"{g} is a long name" for g in range(k)]
    )
    svg = show(answer).picture("Aggregated chain")
    left, top, width, height = map(float, svg.get("viewBox").split())
    boxes = []
    for text in svg.findall("g")[1].iterfind("text"):
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("style").split(":")[1]]
        x, y, wide = float(text.get("x")), float(text.get("y")), 62.0 * len(text.text)
        boxes.append((x - share * wide, y - 90, x + (1 - share) * wide, y + 20))
    # Up to ten groups all have names; of more, each has a number in its circle or beside it.
    assert len(boxes) + len(svg.findall("text")) * (k > 10) == k
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        assert left <= x0 < x1 <= left + width
        assert top <= y0 < y1 <= top + height
        for u0, v0, u1, v1 in boxes[:number]:
            assert x1 <= u0 or u1 <= x0 or y1 <= v0 or v1 <= y0


def test_a_large_answer_with_known_masses_has_everything():
    n = 100_000
    chain = klump.MarkovChain(walk(n), stationary_distribution=_masses(n))
    page = show(klump.Aggregation.from_labels(chain, np.arange(n) * 6 // n))
    assert len(page.pictures) == 2
    assert len(page.table("members, heaviest first")[1]) == 6
    assert len(page.html) < 60_000


def _masses(n):
    """Stationary distribution of the walk: its columns sum to 1 where n and 7 have no common factor."""
    assert n % 7
    return np.full(n, 1.0 / n)


def test_a_large_answer_with_unknown_masses_shows_sizes():
    n = 20_000
    chain = klump.MarkovChain(walk(n))
    answer = klump.Aggregation.from_labels(chain, np.arange(n) % 3)
    page = show(answer)
    assert [row[2] for row in page.table("states")[1]] == ["6667", "6667", "6666"]
    assert "stationary_distribution" not in chain.__dict__
    assert "not computed for a chain of this size" in page.text


def test_reducible_chains():
    lumped = klump.Aggregation.from_labels([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.0, 0.0, 1.0]], [0, 0, 1])
    assert len(show(lumped).pictures) == 2
    other = klump.Aggregation.from_labels([[0.5, 0.5, 0], [0.2, 0.8, 0], [0.0, 0.5, 0.5]], [0, 1, 1])
    page = show(other)
    assert not page.pictures
    assert "not irreducible" in page.text


def test_soft_map(chain):
    weights = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=14)
    page = show(klump.Aggregation.from_labels(chain, weights))
    assert len(page.pictures) == 2
    assert "epsilon" not in page.table("lumpability")[0]
    assert "soft: 14 of 14 states" in page.text


def test_interrupted_answer(answer):
    page = show(dataclasses.replace(answer, interrupted=True, interrupted_after=2.0))
    assert "interrupted by the time limit of 2 s" in page.text


def test_path(chain):
    path = klump.beta_path(chain, 3, betas=[1, 0.75, 0.5, 0])
    page = show(path)
    header, rows = page.table("beta")
    assert [row[0] for row in rows] == ["1", "0.75", "0.5", "0"]
    assert [float(row[header.index("cost")]) for row in rows] == pytest.approx(path.costs, abs=1e-4)
    curves = page.picture("Cost, lumpability").findall("polyline")
    assert len(curves) == 3
    points = np.array([point.split(",") for point in curves[0].get("points").split()], dtype=float)
    assert points[:, 0].tolist() == [44.0, 94.0, 144.0, 244.0]
    highest = max(
        path.costs.max(), *(a.costs.lumpability for a in path), *(a.costs.predictability for a in path)
    )
    assert (118 - points[:, 1]) / 110 * highest == pytest.approx(path.costs, abs=1e-3)
    assert show(klump.AggregationPath(())).text == "no aggregations"


def test_long_path_is_cut(answer):
    path = klump.AggregationPath(tuple(dataclasses.replace(answer, beta=1 - i / 99) for i in range(100)))
    rows = show(path).table("beta")[1]
    assert len(rows) == 22
    assert [row[0] for row in rows if row[0] == "..."] == ["..."]


def test_grid(chain):
    grid = klump.grid(chain, n_states=[2, 3, 4], betas=[0.5, 1])
    page = show(grid)
    assert len(page.table("groups")[1]) == 6
    assert len(page.picture("Cost in bits").findall("polyline")) == 2
    stopped = dataclasses.replace(grid, aggregations=grid.aggregations[:3])
    page = show(stopped)
    assert len(page.table("groups")[1]) == 3
    assert "interrupted: 3 cells not run" in page.text


def test_comparison(chain):
    compared = klump.compare(
        chain, n_states=4, methods=["auto", "spectral", "stochastic", "exact"], outside=False
    )
    failed = klump.comparison.Row("bad", "outside", "bad", "1", 4, None, 0.1, "<script>alert(1)</script>")
    page = show(dataclasses.replace(compared, rows=(*compared.rows, failed)))
    header, rows = page.table("method")
    assert header[:4] == ["method", "", "groups", "cost"]
    costs = [float(row[3]) for row in rows if row[3]]
    assert costs == pytest.approx([row.cost for row in compared], abs=1e-4)
    widths = [float(svg.find("rect").get("width")) for svg in page.pictures]
    assert np.array(widths) / 80 == pytest.approx(np.array(costs) / max(costs), abs=2e-3)
    assert page.table("failed")[1] == [["bad", "<script>alert(1)</script>"]]


def test_selection():
    chain, _ = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    choice = klump.select(chain, n_states=range(2, 6), betas=[0.5])
    page = show(choice)
    assert page.text.startswith("30 states: 3 groups at beta = 0.5")
    assert [row[0] for row in page.table("gain")[1]] == ["2", "3", "4", "5"]
    bold = [row for row in page.root.iter("tr") if "font-weight:600" in row[0].get("style")]
    assert [row[0].text for row in bold] == ["3"]
    assert len(page.pictures) == 2
    assert choice.reason[:40] in page.text
    nothing = show(dataclasses.replace(choice, aggregation=None, interrupted=True))
    assert nothing.text.startswith("30 states: no clear answer")
    assert "interrupted" in nothing.text


def test_tree(chain):
    tree = klump.aggregation_tree(chain)
    page = show(tree)
    rows = page.table("groups")[1]
    assert [int(row[0]) for row in rows] == list(range(12, 0, -1))
    assert [float(row[1]) for row in rows] == pytest.approx(tree.merge_costs[1:], abs=1e-4)
    assert "the last 12 of 13 merges" in page.text


def test_bootstrap():
    counts = [[80, 15, 5], [20, 70, 10], [2, 3, 95]]
    found = klump.bootstrap(counts, 2, n_samples=20)
    page = show(found)
    assert [row[0] for row in page.table("value")[1]] == ["cost", "kept", "agreement", "regret"]
    assert [row[4] for row in page.table("stability")[1]] == ["100.0 %", "100.0 %"]


def test_costs_of_too_many_answers_are_left_out(answer, monkeypatch):
    monkeypatch.setattr("klump.notebooks.budget.MAX_ENTRIES", 14 * 14)
    path = klump.AggregationPath((answer, dataclasses.replace(answer, beta=0.25)))
    page = show(path)
    assert page.table("beta") == (["beta", "groups"], [["0.5", "4"], ["0.25", "4"]])
    assert "not computed for a chain of this size: costs" in page.text
