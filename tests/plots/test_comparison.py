"""Pictures: they show every row of the result, and leave the global state of pyplot alone."""

import sys

import numpy as np
import pytest

import klump
from klump import plots
from klump.comparison import Comparison, Row
from klump.plots.figure import KLUMP, OUTSIDE
from klump.sources.random_chains import block_chain

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def chain():
    return block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=1)[0]


def row(chain, name, labels, kind="klump", wanted=3, beta=0.5):
    agg = klump.Aggregation.from_labels(chain, labels, beta)
    return Row(name, kind, "klump", "1", wanted, agg, 0.25)


def failure(name, error):
    return Row(name, "outside", "klump", "1", 3, None, 0.5, error)


@pytest.fixture
def rows(chain, rng):
    thirds = np.arange(15) // 5
    return (
        row(chain, "first", thirds),
        row(chain, "second", thirds, kind="outside"),
        row(chain, "soft", rng.dirichlet(np.ones(3), 15)),
        row(chain, "two", np.arange(15) // 8, kind="outside"),
        failure("broken", f"ValueError: {'a long story ' * 20}"),
        failure("large", "refused: it works on dense matrices"),
    )


def texts(figure):
    import matplotlib.text

    return [found.get_text() for found in figure.findobj(matplotlib.text.Text)]


def dots(axes):
    """Marker and colour of every dot, and whether it is filled."""
    return [
        (line.get_marker(), line.get_color(), line.get_markerfacecolor() != "white")
        for line in axes.lines
        if line.get_marker() not in ("None", "")
    ]


def test_every_row_is_drawn(chain, rows):
    figure = klump.Comparison(chain, 3, 0.5, 0, 20, rows).plot()
    left, right = figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [
        *("first  1", "second  2", "soft maps:", "soft  3", "another number of groups:", "two  4"),
        *("failed:", "broken  –", "large  –"),
    ]
    assert dots(left) == [
        ("o", KLUMP, True),
        ("o", OUTSIDE, True),
        ("D", KLUMP, True),
        ("o", OUTSIDE, False),
    ]
    assert sorted(dots(right)) == sorted(dots(left))
    written = texts(figure)
    assert f"{rows[0].cost:.4f}" in written
    assert f"{rows[3].cost:.4f}   2 groups" in written
    assert "1, 2" in written  # they lie on top of each other
    assert {"3", "4"} < set(written)
    assert "refused: it works on dense matrices" in written
    (story,) = [text for text in written if text.startswith("ValueError: ")]
    assert story.endswith("...")
    assert story.count("\n") == 1
    assert len(story) > 120
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["klump", "other tools", "another number of groups", "soft map", "as cheap as first"]


def test_one_group_is_one_group(chain, rows):
    figure = Comparison(chain, 3, 0.5, 0, 20, (row(chain, "one", np.zeros(15, int)),)).plot()
    assert any(text.endswith("   1 group") for text in texts(figure))


def test_labels_do_not_overlap(chain, rng):
    """Each group of overlapping dots has one label, beside the dots."""
    labels = [np.arange(15) // 5, np.arange(15) % 3]
    labels += [np.where(np.arange(15) == state, 2, np.arange(15) % 2) for state in range(6)]
    found = [row(chain, f"row {number}", given) for number, given in enumerate(labels)]
    figure = Comparison(chain, 3, 0.5, 0, 20, tuple(found)).plot()
    figure.draw_without_rendering()
    axes = figure.axes[1]
    written = {text.get_text(): text.get_window_extent() for text in axes.texts}
    kept = written.pop("nothing\nis kept")
    assert sorted(int(number) for words in written for number in words.split(",")) == list(range(1, 9))
    boxes = list(written.values())
    for place, box in enumerate(boxes):
        assert not box.overlaps(kept)
        assert not any(box.overlaps(other) for other in boxes[:place])
        assert axes.bbox.x0 <= box.x0 < box.x1 <= axes.bbox.x1
        assert axes.bbox.y0 <= box.y0 < box.y1 <= axes.bbox.y1
    for words in written:
        dots_of = [
            axes.transData.transform(
                (found[int(n) - 1].costs.lumpability, found[int(n) - 1].costs.predictability)
            )
            for n in words.split(",")
        ]
        assert np.ptp(dots_of, axis=0).max() < 5
        assert not any(box.contains(*dot) for box in boxes for dot in dots_of)


def test_costs_that_agree_are_shown_as_such(chain):
    """The axes do not zoom into rounding errors."""
    figure = Comparison(chain, 3, 0.5, 0, 20, (row(chain, "first", np.arange(15) // 5),) * 3).plot()
    axes = figure.axes[1]
    for low, high in (axes.get_xlim(), axes.get_ylim()):
        assert high - low >= 0.25 * high
    assert "1, 2, 3" in texts(figure)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_line_of_equal_cost_runs_through_the_best(chain, beta):
    best = row(chain, "first", np.arange(15) // 5, beta=beta)
    figure = plots.comparison(
        Comparison(chain, 3, beta, 0, 20, (best, row(chain, "second", np.arange(15) % 3, beta=beta)))
    )
    (line,) = [line for line in figure.axes[1].lines if line.get_linestyle() == "--"]
    (x0, x1), (y0, y1) = line.get_data()
    costs = best.costs
    if beta == 0.0:
        assert x0 == x1 == costs.lumpability
    else:
        height = y0 + (costs.lumpability - x0) * (y1 - y0) / (x1 - x0)
        assert height == pytest.approx(costs.predictability, abs=1e-12)


def test_only_failures(chain, rows):
    figure = Comparison(chain, 3, 0.5, 0, 20, rows[-2:]).plot()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["failed:", "broken  –", "large  –"]
    assert axes.get_xlabel() == ""
    assert len(axes.get_xticks()) == 0
    assert any(text.startswith("ValueError: a long story") for text in texts(figure))


def test_one_exact_answer(tmp_path):
    """Costs that are all zero still make a picture."""
    chain = klump.MarkovChain(np.full((4, 4), 0.25))
    compared = Comparison(chain, 2, 0.5, 0, 20, (row(chain, "only", [0, 0, 1, 1], wanted=2),))
    compared.plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_no_global_state(chain, rows, tmp_path):
    before = "matplotlib.pyplot" in sys.modules
    klump.Comparison(chain, 3, 0.5, 0, 20, rows).plot(tmp_path / "picture.svg")
    assert ("matplotlib.pyplot" in sys.modules) == before
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_bad_paths(chain, rows, tmp_path):
    compared = klump.Comparison(chain, 3, 0.5, 0, 20, rows[:1])
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"picture\.docx' must end in \.png"):
        compared.plot(tmp_path / "picture.docx")
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"picture' must end in \.png"):
        compared.plot(tmp_path / "picture")
    assert not list(tmp_path.iterdir())
    with pytest.raises(klump.errors.FileFormatError, match="cannot be written: No such file"):
        compared.plot(tmp_path / "nowhere" / "picture.png")


def test_without_matplotlib(chain, rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(klump.errors.MissingPackageError, match=r"pip install 'klump\[plots\]'"):
        klump.Comparison(chain, 3, 0.5, 0, 20, rows).plot()
