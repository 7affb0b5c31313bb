"""The picture of a relaxation curve shows every point and the plateau."""

import numpy as np
import pytest

import klump
from klump.sources.random_chains import block_chain, random_chain

pytest.importorskip("matplotlib")


def test_the_curve_and_its_plateau(tmp_path):
    chain, _ = block_chain((10, 10, 10, 10), alpha=0.9999, random_state=1)
    curve = klump.relaxation_curve(chain)
    figure = curve.plot(tmp_path / "curve.svg")
    (axes,) = figure.axes
    drawn, level, ring = axes.lines
    np.testing.assert_array_equal(drawn.get_xdata(), curve.steps)
    np.testing.assert_array_equal(drawn.get_ydata(), curve.information)
    assert level.get_ydata()[0] == ring.get_ydata()[0] == curve.information[2]
    assert ring.get_xdata()[0] == curve.plateau == 4
    assert axes.get_title() == "plateau at 4 steps: 1.99 bits, as much as 3.97 equally likely groups"
    assert axes.get_xscale() == "log"
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    "matrix", [np.full((4, 4), 0.25), [[1.0]], None], ids=["independent", "one", "random"]
)
def test_no_plateau(matrix, tmp_path):
    """Also where the mutual information is 0 after the first step."""
    chain = random_chain(20, random_state=0) if matrix is None else klump.MarkovChain(matrix)
    figure = klump.relaxation_curve(chain).plot(tmp_path / "curve.png")
    (axes,) = figure.axes
    assert axes.get_title() == "no plateau"
    assert len(axes.lines) == 1
