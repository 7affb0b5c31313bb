"""Pictures: everything that a result says is in them, and nothing global is touched."""

import sys

import numpy as np
import pytest

import klump
from klump import plots
from klump.comparison import Comparison, Row
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
    """Marker, colour and filling of every dot."""
    return [
        (line.get_marker(), line.get_color(), line.get_markerfacecolor() != "white")
        for line in axes.lines
        if line.get_marker() not in ("None", "")
    ]


def test_every_row_is_drawn(chain, rows):
    figure = klump.Comparison(chain, 3, 0.5, 0, 20, rows).plot()
    left, right = figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == ["first  1", "second  2", "soft  3", "two  4", "broken  –", "large  –"]
    assert dots(left) == [
        ("o", plots.KLUMP, True),
        ("o", plots.OUTSIDE, True),
        ("D", plots.KLUMP, True),
        ("o", plots.OUTSIDE, False),
    ]
    assert sorted(dots(right)) == sorted(dots(left))
    written = texts(figure)
    assert f"{rows[0].cost:.4f}" in written
    assert f"{rows[3].cost:.4f}   2 groups" in written
    assert "1, 2" in written  # they lie on top of each other
    assert "refused: it works on dense matrices" in written
    (story,) = [text for text in written if text.startswith("failed: ValueError: ")]
    assert story.endswith("...")
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["klump", "other tools", "another number of groups", "soft map", "as cheap as the best"]


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
    assert [label.get_text() for label in axes.get_yticklabels()] == ["broken  –", "large  –"]


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
