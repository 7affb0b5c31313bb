"""The experiment with planted groups: a small run against the paper, and the verdicts on it."""

import dataclasses
import json
from functools import partial
from importlib import resources

import numpy as np
import pytest

from klump import aggregate
from klump.experiments import Settings, quasi_lumpable, quasi_lumpable_report, quasi_lumpable_verdicts
from klump.experiments.quasi_lumpable import ALPHAS, BETAS, EPSILONS, Comparison, Curve, Trials
from klump.experiments.result import Sample

SEED = 20170913


def quick_default(chain, seed_of):
    """Fast replacement of the default, for tests of the bookkeeping."""
    search = partial(aggregate, chain, 3, method="annealing", n_init=1, random_state=seed_of("default"))
    return [search(beta=beta) for beta in BETAS]


@pytest.fixture(scope="module")
def result():
    """Ten chains as published, two of them by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(quasi_lumpable.SEARCHES, "default", quick_default)
        return quasi_lumpable_report.run(Settings(trials=10, seed=SEED))


def random_result(trials, default):
    """Result of uniformly random costs and indices, for given numbers of chains."""
    rng = np.random.default_rng(SEED)

    def runs(settings):
        modes = [("annealing", eps) for eps in EPSILONS] + [("sequential", 0.4)]
        modes += [("default", eps) for eps in EPSILONS]
        return {
            (mode, alpha, eps): Trials(
                *rng.uniform(0.0, 1.0, (2, default if mode == "default" else trials, 11))
            )
            for mode, eps in modes
            for alpha in ALPHAS
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quasi_lumpable_report, "run_trials", runs)
        return quasi_lumpable_report.run(Settings(trials=trials))


def test_the_papers_numbers_are_198_points_over_the_betas_of_the_experiment():
    file = resources.files("klump").joinpath("data", "paper_curves.json")
    paper = json.loads(file.read_text(encoding="utf-8"))
    curves = [curve for panel in paper["panels"].values() for curve in panel["curves"]]
    assert paper["trials"] == quasi_lumpable.TRIALS
    assert tuple(paper["betas"]) == BETAS
    assert [curve["alpha"] for curve in curves] == [*ALPHAS] * 6
    assert {panel["eps"] for panel in paper["panels"].values()} == {*EPSILONS}
    assert all(len(curve[part]) == 11 for curve in curves for part in ("mean", "std"))
    assert all(std >= 0 for curve in curves for std in curve["std"])


def test_as_published_every_point_agrees_with_the_paper(result):
    published = [verdict for verdict in result.verdicts if verdict.mode == "as published"]
    assert len(published) == 198
    assert {verdict.outcome for verdict in published} == {"agrees"}
    assert {verdict.draws for verdict in published} == {10}


def test_without_annealing_the_search_collapses_below_one_half(result):
    curves = [curve for curve in result.data["curves"] if curve["panel"] == "ARIseq"]
    below = [curve["as published"]["mean"][BETAS.index(0.2)] for curve in curves]
    assert max(below) < 0.1


def test_there_are_verdicts_tables_pictures_and_data(result):
    default = [verdict for verdict in result.verdicts if verdict.mode == "default"]
    assert len(default) == 198 + 12 + 1 + 12
    assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data


@pytest.mark.parametrize(
    "trials, default, rows, columns, paragraphs, lines",
    [
        (10, 10, [18, 12, 12], [7, 6, 7], 4, 3 * 3),
        (63, 9, [18, 12], [7, 4], 3, 2 * 3),
        (9, 2, [], [], 3, 3),
    ],
)
def test_figures_of_fewer_than_ten_chains_are_left_out(
    trials, default, rows, columns, paragraphs, lines, tmp_path
):
    result = random_result(trials, default)
    assert [len(table.rows) for table in result.tables] == rows
    assert [len(table.columns) for table in result.tables] == columns
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert len(result.text) == paragraphs
    few = [f"{size} chains: too few to show" for size in (trials, default) if size < 10]
    captions = " ".join(picture.caption for picture in result.pictures)
    for text in (" ".join(result.text), captions):
        assert [note for note in few if note not in text] == []
        assert text.count("too few to show") == len(few)
    shown = dict.fromkeys(("curves", "matrices", "gain"), 0) | {"curves": 6, "matrices": 5, "gain": 6}
    assert [picture.name for picture in result.pictures] == list(shown)[: 2 if few else 3]
    for picture in result.pictures:
        figure = picture.draw()
        assert len(figure.axes) == shown[picture.name]
        figure.savefig(tmp_path / "picture.png", dpi=40)
    panel = result.pictures[0].draw().axes[0]
    assert len(panel.lines) == lines
    outcomes = {
        mode: {v.outcome for v in result.verdicts if v.mode == mode} for mode in ("as published", "default")
    }
    for size, mode in ((trials, "as published"), (default, "default")):
        assert (outcomes[mode] <= {"undecided", "differs"}) == (size < 10)


def test_an_ari_whose_band_spans_0_to_1_is_undecided():
    wide = (Sample(0.5, 0.5, 12),) * 11
    curve = Curve("ARI4", "", "ari", True, 0.4, 0.0, (Sample(0.5, 0.5, 250),) * 11, wide, wide)
    cost = dataclasses.replace(curve, panel="C4", quantity="cost")
    for verdicts in (quasi_lumpable_verdicts.published_verdicts, quasi_lumpable_verdicts.default_verdicts):
        assert {verdict.outcome for verdict in verdicts((curve,))} == {"undecided"}
        assert {verdict.outcome for verdict in verdicts((cost,))} == {"agrees"}
    (verdict,) = quasi_lumpable_verdicts.recovery_verdicts((curve,))
    assert verdict.outcome == "undecided"


def test_the_default_is_never_costlier_and_finds_what_was_planted():
    # With alpha = 0 a chain may, by chance, have groups that hardly differ.
    call = (0.5, 0.4, 0, 1, SEED)
    published, default = (
        np.array(quasi_lumpable.run_piece(mode, *call)) for mode in ("annealing", "default")
    )
    assert default.shape == published.shape == (1, len(BETAS), 2)
    assert (default[..., 0] <= published[..., 0] + 1e-9).all()
    assert default[..., 1].max() == 1.0


def test_trials_do_not_depend_on_how_they_are_divided():
    whole = quasi_lumpable.run_piece("sequential", 0.5, 0.4, 0, 3, SEED)
    parts = [quasi_lumpable.run_piece("sequential", 0.5, 0.4, i, i + 1, SEED)[0] for i in range(3)]
    assert whole == parts


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    monkeypatch.setitem(quasi_lumpable.SEARCHES, "default", quick_default)
    seen = []

    def bar(name):
        return lambda *state: seen.append((name, *state))

    settings = Settings(trials=1, seed=SEED, directory=tmp_path, bar=bar)
    first = quasi_lumpable.run_trials(settings)
    record = tmp_path / "quasi-lumpable.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(lines[:10]) + lines[10][:50])
    seen.clear()
    second = quasi_lumpable.run_trials(settings)
    assert seen[0][:3] == ("quasi-lumpable", 10, 21)
    assert all(np.array_equal(first[key].cost, second[key].cost) for key in first)


def test_the_default_is_compared_on_its_own_chains():
    many, few = (Trials(np.arange(11.0 * n).reshape(n, 11), np.zeros((n, 11))) for n in (10, 2))
    (pair,) = quasi_lumpable.compare({("annealing", 0.0, 0.4): many, ("default", 0.0, 0.4): few})
    np.testing.assert_array_equal(pair.change.cost, np.zeros((2, 11)))


def test_a_lower_ari_than_the_papers_is_a_difference_with_a_reason():
    paper, default = (Sample(0.9, 0.1, 250),) * 11, (Sample(0.2, 0.1, 50),) * 11
    verdicts = quasi_lumpable_verdicts.default_verdicts(
        (Curve("ARI4", "", "ari", True, 0.4, 0.0, paper, paper, default),)
    )
    assert [verdict.outcome for verdict in verdicts] == ["differs"] * 11
    assert all("not the planted ones" in verdict.reason for verdict in verdicts)


def test_one_trial_has_no_deviation():
    samples = Trials(np.full((1, 11), 0.5), np.ones((1, 11))).samples("cost")
    assert samples == (Sample(0.5, 0.0, 1),) * 11


def comparison(change):
    cost, ari = np.full((10, 11), 0.1), np.ones((10, 11))
    return Comparison(True, 0.0, 0.4, Trials(cost, ari), Trials(cost + change, ari))


@pytest.mark.parametrize(
    "change, outcome",
    [(0.0, "agrees"), (1e-12, "agrees"), (-0.01, "better"), (0.01, "differs")],
)
def test_costs_are_judged_on_the_same_chains(change, outcome):
    assert quasi_lumpable_verdicts.cost_verdict(comparison(change)).outcome == outcome


def test_one_beta_with_a_higher_mean_cost_is_a_difference():
    change = np.full(11, -0.01)
    change[3] = 1e-6
    verdict = quasi_lumpable_verdicts.cost_verdict(comparison(change))
    assert verdict.outcome == "differs"
    assert "lower at 10 betas, higher at 1 and equal" in verdict.reason


@pytest.mark.parametrize("found, outcome", [(0.995, "better"), (0.98, "differs")])
def test_the_default_must_reach_the_demanded_ari(found, outcome):
    paper, default = ((Sample(mean, 0.1, 250),) * 11 for mean in (0.95, found))
    curve = Curve("ARI4", "", "ari", True, 0.4, 0.0, paper, paper, default)
    verdict = quasi_lumpable_verdicts.demanded_verdict((curve,))
    assert verdict.outcome == outcome
    assert ("0.0100 short" in verdict.reason) == (outcome == "differs")


def test_the_best_beta_of_the_default_is_judged_against_the_papers_best():
    paper, worse, better = (
        tuple(Sample(top if i == 4 else 0.1, 0.1, 250) for i in range(11)) for top in (0.5, 0.3, 0.9)
    )
    for default, outcome in ((paper, "agrees"), (worse, "differs"), (better, "better")):
        curve = Curve("ARI4", "", "ari", True, 0.4, 0.0, paper, paper, default)
        (verdict,) = quasi_lumpable_verdicts.recovery_verdicts((curve,))
        assert verdict.outcome == outcome
        assert (verdict.paper, verdict.found) == (0.5, default[4].mean)
        assert "best at beta = 0.6" in verdict.reason
