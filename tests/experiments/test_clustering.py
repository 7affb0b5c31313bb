"""The experiment with points: at a small size against the paper, and what it makes of its numbers."""

import json
from functools import partial

import numpy as np
import pytest

from klump import MarkovChain, aggregate, score
from klump.experiments import Settings, clustering
from klump.experiments.clustering import BETAS, PAPER_RIGHT, Draws
from klump.experiments.shares import Share

SEED = 20170913


def quick(chain, n_states, beta, method="annealing", n_init=2, **options):
    """Stand in for the default where only the bookkeeping is tested."""
    return aggregate(chain, n_states, beta, method, n_init, **options)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "aggregate", quick)
        return clustering.run(Settings(trials=15, seed=SEED))


def test_clouds_are_drawn_as_the_paper_says():
    draws = [clustering.draw_points("clouds", seed) for seed in range(50)]
    points, truth = np.vstack([points for points, _ in draws]), np.hstack([truth for _, truth in draws])
    for group, (size, centre, spread) in enumerate(((40, -10, 2.5), (20, 0, 0.5), (40, 10, 1.5))):
        members = points[truth == group]
        assert len(members) == 50 * size
        assert members.mean(axis=0) == pytest.approx([centre, 0], abs=5 * spread / np.sqrt(len(members)))
        assert members.std(axis=0) == pytest.approx([spread, spread], rel=0.1)


def test_circles_are_drawn_as_the_paper_says():
    draws = [clustering.draw_points("circles", seed) for seed in range(50)]
    points, truth = np.vstack([points for points, _ in draws]), np.hstack([truth for _, truth in draws])
    for group, radius in enumerate((0.1, 7.0, 15.0)):
        members = points[truth == group]
        assert len(members) == 50 * 40
        # Noise of variance 0.09 in each of two coordinates.
        assert (members**2).sum(axis=1).mean() == pytest.approx(radius**2 + 0.18, rel=0.1)
        assert members.mean(axis=0) == pytest.approx([0, 0], abs=5 * max(radius, 0.3) / np.sqrt(len(members)))


def test_a_point_that_is_its_own_neighbor_shrinks_the_scale(rng):
    points = rng.normal(size=(12, 2))
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    weights = np.exp(-squared / np.sort(squared, axis=1)[:, :4].mean())
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clustering.own_neighbor_chain(points, 4).transition_matrix, expected)


def test_as_published_the_verdicts_agree_with_the_paper(result):
    published = [verdict for verdict in result.verdicts if verdict.mode == "as published"]
    assert len(published) == 4 * 4 + 2
    assert {verdict.outcome for verdict in published} == {"agrees"}


def test_clouds_come_out_and_circles_are_out_of_reach_with_all_neighbors(result):
    found = {(entry["points"], entry["n_neighbors"]): entry for entry in result.data["settings"]}
    assert list(found) == list(PAPER_RIGHT)
    for k in (15, 100):
        assert np.mean(found["clouds", k]["ari"]["as published"]) > 0.9
    circles = found["circles", 120]
    assert np.max(circles["ari"]["as published"]) < 0.6
    assert (np.array(circles["cost_of_truth"]) > np.array(circles["cost"]["as published"])).all()


def test_there_are_verdicts_tables_pictures_and_data(result):
    assert len(result.verdicts) == 4 * 7 + 2 + 4 * 3 + 3
    assert [len(table.rows) for table in result.tables] == [12, 12, 10]
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert [picture.name for picture in result.pictures] == ["clouds", "circles", "recovery", "neighbours"]
    assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data
    assert len(result.text) == 4


@pytest.mark.parametrize("which, n_axes", [(0, 14), (1, 14), (2, 4), (3, 1)])
def test_pictures_can_be_drawn(result, tmp_path, which, n_axes):
    figure = result.pictures[which].draw()
    assert len(figure.axes) == n_axes
    figure.savefig(tmp_path / "picture.png", dpi=40)


def test_draws_do_not_depend_on_how_many_there_are(result, monkeypatch):
    monkeypatch.setattr(clustering, "aggregate", quick)
    fewer = clustering.run(Settings(trials=1, seed=SEED)).data["settings"]
    for entry, more in zip(fewer, result.data["settings"], strict=True):
        assert entry["cost_of_truth"] == more["cost_of_truth"][:1]
        assert entry["ari"]["as published"] == more["ari"]["as published"][:1]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(clustering, "aggregate", quick)
    settings = partial(Settings, trials=1, seed=SEED, directory=tmp_path)
    first = clustering.run(settings())
    record = tmp_path / "clustering.jsonl"
    whole = record.read_text()
    record.write_text(whole[: len(whole) - 50])
    seen = []
    second = clustering.run(settings(progress=lambda *state: seen.append(state)))
    assert seen[0] == ("clustering", 1, 2)
    assert second.data == first.data
    assert second.verdicts == first.verdicts


def test_the_default_finds_circles_that_the_published_algorithm_misses():
    seed = clustering.points_seed(Settings(), "circles", 0)
    points, truth = clustering.draw_points("circles", seed)
    chain = MarkovChain.from_points(points, n_neighbors=15)
    published = clustering._as_published(chain, seed)[BETAS.index(0.2)]
    default = aggregate(chain, 3, beta=0.2)
    assert default.cost < published.cost - 0.001
    assert default.cost == pytest.approx(score(chain, truth).at(0.2), abs=1e-9)


def draws(*, ari=1.0, published=0.2, default=0.2, truth=0.2, size=4):
    shape = (size, len(BETAS))
    return Draws(
        ari={search: np.full(shape, ari) for search in clustering.SEARCHES},
        cost={"as published": np.full(shape, published), "default": np.full(shape, default)},
        truth=np.full(shape, truth),
        leaving=np.zeros(size),
        labels={},
    )


@pytest.mark.parametrize("default, outcome", [(0.2, "agrees"), (0.19, "better"), (0.21, "differs")])
def test_costs_are_judged_draw_by_draw(default, outcome):
    verdicts = clustering._cheaper(("circles", 15), draws(default=default))
    assert {verdict.outcome for verdict in verdicts} == {outcome}


@pytest.mark.parametrize("truth, outcome", [(0.3, "agrees"), (0.2, "differs"), (0.1, "differs")])
def test_circles_are_out_of_reach_only_if_they_cost_more_in_every_draw(truth, outcome):
    verdicts = clustering._out_of_reach(draws(truth=truth))
    assert {verdict.outcome for verdict in verdicts} == {outcome}
    assert {verdict.paper for verdict in verdicts} == {None}


@pytest.mark.parametrize("ari, outcome", [(1.0, "agrees"), (0.96, "agrees"), (0.9, "differs")])
def test_clouds_that_never_came_out_would_contradict_the_paper(ari, outcome):
    verdicts = clustering._recovery(("clouds", 15), draws(ari=ari, size=50))
    assert {verdict.outcome for verdict in verdicts if verdict.mode == "as published"} == {outcome}


@pytest.mark.parametrize(
    "right, found, lucky",
    [(1, Share(10, 50), True), (1, Share(40, 50), False), (0, Share(1, 50), False), (0, Share(45, 50), True)],
)
def test_a_verdict_says_whether_the_papers_draw_was_lucky(right, found, lucky):
    verdict = clustering._against_one_draw("", right, found)
    assert ("lucky" in verdict.reason) == lucky
    assert f"between {found.interval[0]:.2f} and {found.interval[1]:.2f}" in verdict.reason
