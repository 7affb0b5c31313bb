"""Pictures of paths, flows, bootstraps and selections: what is drawn is what was found."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import klump
from klump import plots
from klump.errors import InvalidArgumentError
from klump.plots.overview import dynamics
from klump.sources.random_chains import block_chain
from klump.views import PALETTE

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def chain():
    return block_chain((4, 5, 6), alpha=0.5, eps=0.2, random_state=1)[0]


@pytest.fixture(scope="module")
def path(chain):
    return klump.beta_path(chain, 3, betas=[1, 0.8, 0.5, 0.2, 0], n_init=3)


@pytest.fixture(scope="module")
def grid(chain):
    return klump.grid(chain, [4, 2, 3], method="sequential", n_init=3)


def drawn(axes, gid):
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def colours(patches):
    from matplotlib.colors import to_hex

    return [to_hex(patch.get_facecolor()) for patch in patches]


def test_costs_and_kept_against_beta(path):
    ax = path.plot()
    found = [answer.costs for answer in path]
    curves = [
        path.costs,
        [costs.lumpability for costs in found],
        [costs.predictability for costs in found],
    ]
    for line, values in zip(ax.lines, curves, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), path.betas)
        np.testing.assert_array_equal(line.get_ydata(), values)
    (kept,) = ax.child_axes
    ax.figure.draw_without_rendering()
    # The same height on both axes is C_P and the kept share.
    for answer in path:
        height = kept.transData.transform((0.0, 100 * answer.kept))[1]
        assert height == pytest.approx(ax.transData.transform((0.0, answer.costs.predictability))[1])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [r"cost $C_{\beta}$", "lumpability $C_L$", "predictability $C_P$"]


def test_costs_of_a_chain_without_memory():
    """I(X1;X2) = 0: no share can be kept, and no axis shows one."""
    ax = klump.beta_path(np.full((4, 4), 0.25), 2, betas=[1, 0.5]).plot()
    assert ax.child_axes == [] and ax.get_ylim() == (0.0, 1.0)


def test_plane_has_the_path_with_betas_beside_it(path):
    ax = path.plot(kind="plane")
    points = np.array([(answer.costs.lumpability, answer.costs.predictability) for answer in path])
    (dots,) = drawn(ax, "betas")
    distinct = np.array(dots.get_xydata())
    assert len(distinct) <= len(points)
    # Every answer is one of the dots, in the order of the path.
    nearest = np.abs(points[:, None] - distinct[None]).max(axis=2)
    assert nearest.min(axis=1).max() < 1e-9
    assert (np.diff(nearest.argmin(axis=1)) >= 0).all()
    betas = {f"{beta:g}" for beta in path.betas}
    words = [text.get_text() for text in ax.texts if text.get_text() != "nothing\nis kept"]
    shown = {word for text in words for part in text.split(", ") for word in part.split(" to ")}
    assert shown <= betas and {"1", "0"} <= shown


def test_betas_with_equal_costs_share_a_dot():
    P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    ax = klump.beta_path(P, 2, betas=[1, 0.7, 0.5]).plot(kind="plane")
    assert len(drawn(ax, "betas")[0].get_xdata()) == 1
    assert [text.get_text() for text in ax.texts] == ["1 to 0.5"]


def test_flow_of_a_path_has_bars_of_masses_in_the_colours_of_the_groups(path):
    ax = path.plot(kind="flow")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "0.2", "0.5", "0.8", "1"]
    bars = drawn(ax, "bar")
    answers = list(path)[::-1]
    np.testing.assert_allclose(
        [bar.get_height() for bar in bars], np.concatenate([answer.masses for answer in answers])
    )
    # A group keeps its number along the path, and with it the colour that answer.plot() gives it.
    assert colours(bars) == list(PALETTE[:3]) * 5
    assert set(colours(drawn(path[2].plot(kind="graph"), "group"))) == set(PALETTE[:3])
    moved = sum(
        len(set(zip(one.labels.tolist(), other.labels.tolist(), strict=True)))
        for one, other in pairwise(answers)
    )
    assert len(drawn(ax, "ribbon")) == moved
    names = [text.get_text() for text in drawn(ax, "group name")]
    assert sorted(names) == sorted([*path[0].names, *path[-1].names])


def test_flow_of_a_grid_matches_groups_of_different_numbers(grid):
    ax = plots.flow(grid)
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        "2",
        "3",
        "4",
    ] and ax.get_xlabel() == "groups"
    per_answer = np.split(np.array(colours(drawn(ax, "bar"))), [2, 5])
    assert [len(set(found)) for found in per_answer] == [2, 3, 4], "no colour twice in an answer"
    assert set(per_answer[0]) <= set(per_answer[1]) <= set(per_answer[2])
    assert plots.group_colours([grid[2, 0.5], grid[3, 0.5]])[0] == PALETTE[:2]


def test_flow_of_lists_and_its_refusals(chain, path, grid):
    answers = [grid[2, 0.5], klump.aggregate(chain, 3, beta=1.0, method="sequential")]
    ax = plots.flow(answers)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2\n0.5", "3\n1"]
    assert len(drawn(plots.flow(answers[:1]), "bar")) == 2
    with pytest.raises(InvalidArgumentError, match="answers is empty"):
        plots.flow([])
    with pytest.raises(InvalidArgumentError, match=r"beta=1 is for grids only"):
        plots.flow(path, beta=1)
    other = klump.Aggregation.from_labels(np.full((3, 3), 1 / 3), [0, 0, 1])
    with pytest.raises(InvalidArgumentError, match="are of different chains"):
        plots.flow([*answers, other])
    several = klump.grid(chain, [2, 3], betas=[0.5, 1], method="sequential", n_init=1)
    with pytest.raises(InvalidArgumentError, match=r"answers has 2 betas; pass one, like beta=0.5"):
        plots.flow(several)
    assert len(drawn(plots.flow(several, beta=1), "bar")) == 5


def test_interrupted_paths_and_grids(chain, path, tmp_path):
    def press(done, total, best_cost):
        raise KeyboardInterrupt

    stopped = klump.grid(chain, [2, 3], method="sequential", n_init=1, progress=press)
    assert len(drawn(plots.flow(stopped), "bar")) == 2
    short = klump.AggregationPath((replace(path[0], interrupted=True),))
    for kind in ("costs", "plane", "flow"):
        short.plot(tmp_path / f"{kind}.png", kind)
    assert plots.overview(short).get_suptitle() == "15 states in 3 groups (interrupted)"


def test_path_with_many_groups_and_empty_groups(tmp_path, rng):
    """Answers of one path may have different numbers of groups."""
    P = rng.dirichlet(np.ones(40), 40)
    answers = [
        klump.Aggregation.from_labels(P, np.arange(40) % k, beta=beta) for k, beta in ((30, 1.0), (29, 0.5))
    ]
    found = klump.AggregationPath(tuple(answers))
    ax = found.plot(tmp_path / "flow.png", "flow")
    assert len(drawn(ax, "bar")) == 59 and len(drawn(ax, "group name")) == 59
    assert plots.overview(found).get_suptitle() == "40 states in 29 to 30 groups"


def test_stability_shows_the_share_of_samples_in_each_group(chain):
    counts = np.random.default_rng(0).poisson(20 * chain.transition_matrix)
    found = klump.bootstrap(counts + 1, 3, n_samples=20, method="sequential", n_init=1)
    ax = found.plot()
    labels = found.estimate.labels
    order = np.lexsort((np.arange(15), -found.stability, labels))
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(state) for state in order]
    assert ax.get_ylabel() == "share of 20 samples"
    # The lowest area of each block is the share of samples in the state's own group.
    for group in range(3):
        block = np.flatnonzero(labels[order] == group)
        for place in block:
            tops = [
                np.unique(area.get_paths()[0].vertices[:, 1])
                for area in drawn(ax, f"group {group}")
                if area.get_paths()[0].vertices[:, 0].min() == block[0]
            ]
            assert np.isclose(tops[0], found.stability[order[place]]).any()


def test_agreement_counts_samples(chain):
    counts = np.random.default_rng(0).poisson(20 * chain.transition_matrix)
    found = klump.bootstrap(counts + 1, 3, n_samples=20, method="sequential", n_init=1)
    ax = found.plot(kind="agreement")
    assert sum(bar.get_height() for bar in ax.patches) == 20
    assert ax.get_title() == f"mean {found.agreement.mean():.2f}"
    with pytest.raises(InvalidArgumentError, match="'stability', 'agreement'"):
        found.plot(kind="matrix")


@pytest.fixture(scope="module")
def choice():
    chain, _ = block_chain((8, 10, 12), alpha=0.9, eps=0.2)
    return klump.select(chain, n_states=range(2, 5), betas=[0.5, 1.0], n_restarts=1)


def test_selection_draws_costs_gains_and_the_recommendation(choice, tmp_path):
    for kind, attribute in (("costs", "cost"), ("gains", "gain")):
        ax = choice.plot(tmp_path / f"{kind}.png", kind)
        for line, beta in zip(ax.lines, (0.5, 1.0), strict=False):
            rows = [row for row in choice.table if row.beta == beta]
            np.testing.assert_array_equal(line.get_xdata(), [row.n_states for row in rows])
            np.testing.assert_array_equal(line.get_ydata(), [getattr(row, attribute) for row in rows])
        (ring,) = drawn(ax, "recommended")
        row = next(r for r in choice.table if (r.n_states, r.beta) == (choice.n_states, choice.beta))
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (row.n_states, getattr(row, attribute))
    assert choice.plot().get_title().startswith("recommended: 3 groups at")
    # The height of the step is the gain.
    level, fall = drawn(choice.plot(), "step")
    before = next(r for r in choice.table if (r.n_states, r.beta) == (2, choice.beta))
    assert level.get_ydata()[0] == pytest.approx(before.cost)
    assert fall.get_ydata()[1] - fall.get_ydata()[0] == pytest.approx(row.gain)


def test_selection_without_a_clear_answer(choice, tmp_path):
    unclear = replace(choice, aggregation=None, reason="no clear answer: nothing stands out")
    ax = unclear.plot()
    assert ax.get_title() == "no clear answer" and not drawn(ax, "recommended")
    figure = plots.overview(unclear, tmp_path / "unclear.png")
    assert figure.get_suptitle() == unclear.reason


def test_dynamics_with_and_without_groups(chain, tmp_path):
    answer = klump.Aggregation.from_labels(chain, np.arange(15) // 5)
    times = {"original": chain.timescales(3), "aggregated": answer.chain.timescales(3)}
    figure = dynamics(times, answer.chapman_kolmogorov(3), answer, tmp_path / "a.png")
    assert len(figure.axes) == 2
    names = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert names == list(answer.names)
    assert len(dynamics({"original": times["original"]}).axes) == 1
