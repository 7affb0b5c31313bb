"""The experiment with points: a small run against the paper, and the verdicts on it."""

import json
from functools import partial

import numpy as np
import pytest

from klump import aggregate, score
from klump.experiments import Settings, clustering, clustering_report, clustering_verdicts
from klump.experiments.clustering import BETAS, PAPER_RIGHT, Draws
from klump.experiments.points import ALTERNATIVE, PUBLISHED, chain_of, draw_points, points_seed
from klump.experiments.shares import Share

SEED = 20170913


def quick(chain, n_states, beta, method="annealing", n_init=2, **options):
    """Fast replacement of the default, for tests of the bookkeeping."""
    return aggregate(chain, n_states, beta, method, n_init, **options)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "aggregate", quick)
        patch.setattr(clustering, "OTHERS", (12, 30))
        return clustering_report.run(Settings(trials=50, seed=SEED))


@pytest.fixture(scope="module")
def few():
    """A result of two draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "aggregate", quick)
        patch.setattr(clustering, "OTHERS", (12, 30))
        return clustering_report.run(Settings(trials=10, seed=SEED))


def test_ten_draws_against_the_papers_one_are_undecided(result):
    published = [verdict for verdict in result.verdicts if verdict.mode == "as published"]
    assert len(published) == 4 * 4 + 2
    assert {verdict.outcome for verdict in published} == {"undecided"}
    assert all("a single draw cannot contradict" in verdict.reason for verdict in published)
    assert all(verdict.is_shown for verdict in published)


def test_clouds_come_out_and_circles_are_out_of_reach_with_all_neighbors(result):
    found = {(entry["points"], entry["n_neighbors"]): entry for entry in result.data["settings"]}
    assert list(found) == list(PAPER_RIGHT)
    for k in (15, 100):
        assert np.mean(found["clouds", k]["ari"]["as published"]) > 0.9
    circles = found["circles", 120]
    assert np.max(circles["ari"]["as published"]) < 0.6
    costlier = np.array(circles["cost_of_truth"]) > np.array(circles["cost"]["as published"])
    assert costlier.sum(axis=0).tolist() == [9, 10, 10]


def test_there_are_verdicts_tables_pictures_and_data(result):
    assert len(result.verdicts) == 4 * 7 + 2 + 4 * 3 + 3
    assert [len(table.rows) for table in result.tables] == [12, 12, 12, 4]
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert [picture.name for picture in result.pictures] == ["clouds", "circles", "recovery", "neighbours"]
    assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data
    assert len(result.text) == 4


@pytest.mark.parametrize("which, n_axes", [(0, 14), (1, 14), (2, 4), (3, 1)])
def test_pictures_can_be_drawn(result, tmp_path, which, n_axes):
    figure = result.pictures[which].draw()
    assert len(figure.axes) == n_axes
    figure.savefig(tmp_path / "picture.png", dpi=40)


def test_shares_of_fewer_than_ten_draws_are_not_shown(few):
    assert {verdict.outcome for verdict in few.verdicts} <= {"undecided", "differs"}
    assert all(not verdict.is_shown for verdict in few.verdicts if verdict.outcome == "undecided")
    assert few.tables == ()
    assert [picture.name for picture in few.pictures] == ["clouds", "circles"]
    assert all("first draw" in picture.caption for picture in few.pictures)
    assert len(few.text) == 2
    assert few.text[1].startswith("2 draws: too few to show")
    assert len(few.data["settings"][0]["leaving"]) == 2


def test_both_readings_of_the_neighbors_are_shown(result):
    readings = result.tables[1]
    assert readings.columns[-2:] == ("the point and k - 1 others", "k others")
    settings = {(entry["points"], entry["n_neighbors"]): entry for entry in result.data["settings"]}
    for row in readings.rows:
        entry, j = settings[row[0], int(row[1])], [f"{beta:g}" for beta in BETAS].index(row[2])
        for cell, ari in zip(
            row[-2:], (entry["ari"]["as published"], entry["ari_with_others_only"]), strict=True
        ):
            assert float(cell) == pytest.approx(np.mean(np.array(ari)[:, j] >= 0.95), abs=0.005)


def test_a_piece_knows_its_reading(monkeypatch):
    monkeypatch.setattr(clustering, "aggregate", quick)
    monkeypatch.setattr(clustering, "OTHERS", ())
    seed = points_seed(Settings(), "circles", 0)
    coordinates, truth = draw_points("circles", seed)
    published, alternative = (
        clustering.run_draw("circles", reading, seed, 1) for reading in (PUBLISHED, ALTERNATIVE)
    )
    for k in (15, 120):
        chain = chain_of(coordinates, k)
        costs = score(chain, truth)
        assert published[str(k)]["truth"] == pytest.approx([costs.at(beta) for beta in BETAS], abs=1e-10)
        other = clustering._published_ari(chain_of(coordinates, k, ALTERNATIVE), truth, 1)
        assert alternative[str(k)] == other


def test_draws_do_not_depend_on_how_many_there_are(result, few):
    for entry, more in zip(few.data["settings"], result.data["settings"], strict=True):
        assert entry["cost_of_truth"] == more["cost_of_truth"][:2]
        assert entry["ari"]["as published"] == more["ari"]["as published"][:2]


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(clustering, "aggregate", quick)
    monkeypatch.setattr(clustering, "OTHERS", (12,))
    settings = partial(Settings, trials=1, seed=SEED, directory=tmp_path)
    first = clustering_report.run(settings())
    record = tmp_path / "clustering.jsonl"
    whole = record.read_text()
    record.write_text(whole[: len(whole) - 50])
    seen = []
    second = clustering_report.run(settings(bar=lambda name: lambda *state: seen.append((name, *state))))
    assert seen[0][:3] == ("clustering", 3, 4)
    assert second.data == first.data
    assert second.verdicts == first.verdicts


def test_the_default_finds_circles_that_the_published_algorithm_misses():
    seed = points_seed(Settings(), "circles", 0)
    points, truth = draw_points("circles", seed)
    chain = chain_of(points, 15)
    published = clustering._search_as_published(chain, seed)[BETAS.index(0.2)]
    default = aggregate(chain, 3, beta=0.2)
    assert default.cost < published.cost - 0.001
    assert default.cost == pytest.approx(score(chain, truth).at(0.2), abs=1e-9)


def draws(*, ari=1.0, published=0.2, default=0.2, truth=0.2, size=10):
    shape = (size, len(BETAS))
    return Draws(
        ari={search: np.full(shape, ari) for search in clustering.SEARCHES},
        cost={"as published": np.full(shape, published), "default": np.full(shape, default)},
        truth=np.full(shape, truth),
        alternative=np.full(shape, ari),
        leaving=np.zeros(size),
        labels={},
    )


@pytest.mark.parametrize("default, outcome", [(0.2, "agrees"), (0.19, "better"), (0.21, "differs")])
def test_costs_are_judged_draw_by_draw(default, outcome):
    verdicts = clustering_verdicts._cost_verdicts(("circles", 15), draws(default=default))
    assert {verdict.outcome for verdict in verdicts} == {outcome}


@pytest.mark.parametrize("truth, outcome", [(0.3, "agrees"), (0.2, "differs"), (0.1, "differs")])
def test_circles_are_out_of_reach_only_if_they_cost_more_in_every_draw(truth, outcome):
    verdicts = clustering_verdicts._truth_verdicts(draws(truth=truth))
    assert {verdict.outcome for verdict in verdicts} == {outcome}
    assert {verdict.paper for verdict in verdicts} == {None}


@pytest.mark.parametrize("ari, outcome", [(1.0, "agrees"), (0.96, "agrees"), (0.9, "differs")])
def test_clouds_that_never_came_out_would_contradict_the_paper(ari, outcome):
    verdicts = clustering_verdicts._recovery_verdicts(("clouds", 15), draws(ari=ari, size=50))
    assert {verdict.outcome for verdict in verdicts if verdict.mode == "as published"} == {outcome}


@pytest.mark.parametrize(
    "right, found, lucky",
    [(1, Share(10, 50), True), (1, Share(40, 50), False), (0, Share(1, 50), False), (0, Share(45, 50), True)],
)
def test_a_verdict_says_whether_the_papers_draw_was_lucky(right, found, lucky):
    verdict = clustering_verdicts._one_draw_verdict("", right, found)
    assert ("lucky" in verdict.reason) == lucky
    assert f"between {found.interval[0]:.2f} and {found.interval[1]:.2f}" in verdict.reason
