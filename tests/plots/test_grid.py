"""The picture of a grid has one line per beta through all cells."""

import numpy as np
import pytest

import klump
from klump.sources.random_chains import random_chain

pytest.importorskip("matplotlib")


def grid(n_states, betas, **options):
    chain = random_chain(12, random_state=0)
    return klump.grid(chain, n_states, betas, method="sequential", n_init=1, **options)


def test_one_line_per_beta(tmp_path):
    found = grid([5, 2, 3], [1.0, 0.5])
    figure = found.plot(tmp_path / "grid.svg")
    for axes, values in zip(figure.axes, (found.costs, 100 * found.kept), strict=True):
        assert [line.get_label() for line in axes.lines] == [r"$\beta$ = 1", r"$\beta$ = 0.5"]
        for number, line in enumerate(axes.lines):
            # Sorted by number of groups, whatever the order of the argument.
            np.testing.assert_array_equal(line.get_xdata(), [2, 3, 5])
            np.testing.assert_array_equal(line.get_ydata(), values[[1, 2, 0], number])
        assert axes.get_ylim()[0] == 0
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [r"$\beta$ = 1", r"$\beta$ = 0.5"]
    assert (tmp_path / "grid.svg").read_text().startswith("<?xml")


def test_one_beta_needs_no_legend():
    figure = grid([2], [0.5]).plot()
    assert figure.legends == []
    assert figure.axes[0].get_ylabel() == "cost $C_{0.5}$ (bits)"


def test_gaps_and_nothing_lost(tmp_path):
    """Cells that Ctrl-C left out, and a chain of which nothing is lost."""

    def press(done, total, best_cost):
        raise KeyboardInterrupt

    stopped = grid([2, 3], [0.5, 1.0], progress=press)
    figure = stopped.plot(tmp_path / "stopped.png")
    assert figure.get_suptitle() == "12 states, sequential (interrupted)"
    assert np.isnan(figure.axes[0].lines[1].get_ydata()).all()
    free = klump.grid(np.full((4, 4), 0.25), [2, 3])
    assert free.plot(tmp_path / "free.png").axes[0].get_ylim() == (0.0, 1.0)
