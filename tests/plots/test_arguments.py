"""Wrong arguments of pictures are refused with argument, value and remedy, and leave no figure behind."""

import numpy as np
import pytest

import klump
from klump import plots
from klump.errors import InvalidArgumentError
from klump.plots.overview import save_picture
from klump.sources.random_chains import block_chain

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def answer():
    chain, labels = block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=1)
    return klump.Aggregation.from_labels(chain, labels)


@pytest.fixture(scope="module")
def path(answer):
    return klump.beta_path(answer.original, 2, betas=[1, 0.5])


@pytest.fixture(autouse=True)
def no_figure_is_left():
    import matplotlib.pyplot as plt

    plt.close("all")
    yield
    assert not plt.get_fignums()


@pytest.mark.parametrize("kind", ["matrix", "graph", "memberships", "chapman_kolmogorov"])
def test_colours_of_another_number_or_unknown(answer, kind):
    with pytest.raises(
        InvalidArgumentError, match=r"colours has 1 colour for 3 groups; pass a list of 3 colours"
    ):
        answer.plot(kind=kind, colours=["red"])
    with pytest.raises(
        InvalidArgumentError, match=r"colours has 'rde', which is no colour; pass names or codes"
    ):
        answer.plot(kind=kind, colours=["red", "rde", "blue"])
    with pytest.raises(InvalidArgumentError, match="colours='red' is no list of colours"):
        answer.plot(kind=kind, colours="red")


def test_names_of_another_number(answer):
    with pytest.raises(InvalidArgumentError, match=r"names has 2 names for 3 groups; pass a list of 3 names"):
        answer.chapman_kolmogorov(3).plot(names=["a", "b"])


def test_results_of_another_kind(answer, path):
    for draw, value, message in (
        (
            plots.matrix,
            path,
            "answer must be of type Aggregation, not AggregationPath; pass what klump.aggregate",
        ),
        (plots.graph, 5, "answer must be of type Aggregation, not int"),
        (plots.memberships, [1], "answer must be of type Aggregation, not list"),
        (plots.timescales, path, "answer must be of type Aggregation"),
        (
            plots.costs,
            answer,
            "answers must be of type AggregationPath, not Aggregation; pass what klump.beta_path",
        ),
        (plots.plane, answer, "answers must be of type AggregationPath"),
        (
            plots.flow,
            answer,
            "answers must be of type AggregationPath or AggregationGrid or list, not Aggregation; pass a beta",
        ),
        (plots.flow, [answer, 5], "answers must be of type Aggregation, not int"),
        (plots.chapman_kolmogorov, answer, "test must be of type ChapmanKolmogorov"),
        (plots.lag_scan, answer, "scan must be of type LagScan"),
        (plots.selection, answer, "choice must be of type Selection"),
        (plots.gains, answer, "choice must be of type Selection"),
        (plots.stability, answer, "found must be of type Bootstrap"),
        (plots.agreement, answer, "found must be of type Bootstrap"),
        (plots.dendrogram, answer, "tree must be of type AggregationTree"),
        (plots.relaxation, answer, "curve must be of type RelaxationCurve"),
        (plots.grid, answer, "found must be of type AggregationGrid"),
        (plots.comparison, answer, "compared must be of type Comparison"),
        (
            plots.overview,
            5,
            "found must be of type Aggregation or AggregationPath or AggregationGrid or Selection",
        ),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            draw(value)
        assert message in str(caught.value)


def test_axes_as_path_and_no_axes(answer):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    with pytest.raises(InvalidArgumentError, match=r"path must be a file, not axes; pass axes as ax="):
        answer.plot(ax)
    with pytest.raises(InvalidArgumentError, match=r"path must be a file, not axes; pass axes as ax="):
        plots.graph(answer, ax)
    with pytest.raises(
        InvalidArgumentError, match=r"ax must be matplotlib axes, not str; pass one of the axes"
    ):
        answer.plot(ax="foo")
    with pytest.raises(InvalidArgumentError, match="ax must be matplotlib axes, not ndarray"):
        answer.plot(ax=np.array([ax]))


def test_paths(answer, path):
    with pytest.raises(InvalidArgumentError, match=r"path='x.bmp' must end in .png, .svg or .pdf; .*x.png"):
        answer.plot("x.bmp")
    with pytest.raises(InvalidArgumentError, match="path=5 is no path of a file"):
        plots.overview(answer, 5)
    with pytest.raises(InvalidArgumentError, match="found=5 has no picture; pass a result of klump"):
        save_picture(5, "x.png")


def test_unknown_options_are_refused_with_those_there_are(answer, path):
    with pytest.raises(
        InvalidArgumentError,
        match=r"bins=3 is no option of kind='matrix'; its options are n_bins, colours, colorbar",
    ):
        answer.plot(bins=3)
    with pytest.raises(InvalidArgumentError, match=r"beta=1 is no option of kind='costs'; it has no options"):
        path.plot(beta=1)


def test_overview_of_a_grid_is_its_picture(answer, tmp_path):
    grid = klump.grid(answer.original, [2, 3], method="sequential", n_init=1)
    figure = plots.overview(grid, tmp_path / "grid.png")
    assert [axes.get_xlabel() for axes in figure.axes] == ["groups", "groups"]
    assert (tmp_path / "grid.png").exists()


def test_flow_of_different_chains_of_one_size():
    labels = [0, 0, 1]
    one = klump.Aggregation.from_labels(np.full((3, 3), 1 / 3), labels)
    other = klump.Aggregation.from_labels([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], labels)
    with pytest.raises(
        InvalidArgumentError, match="answers are of different chains; pass answers of one chain"
    ):
        plots.flow([one, other])
    named = klump.Aggregation.from_labels(klump.MarkovChain(np.full((3, 3), 1 / 3), "abc"), labels)
    with pytest.raises(InvalidArgumentError, match="different chains"):
        plots.flow([one, named])


def test_public_pictures_are_documented():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "api" / "plots.md").read_text(encoding="utf-8")
    listed = [line.strip() for line in page.splitlines() if line.startswith("   ") and ":" not in line]
    assert sorted(listed) == sorted(plots.__all__)
