"""The characters of a novel: the paper's partitions, their costs, and klump's partitions."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

import reference
from klump.aggregation import beta_path, score
from klump.aggregation.costs import Costs
from klump.aggregation.question import aggregate
from klump.experiments import Settings, bigrams, bigrams_report, bigrams_verdicts, run
from klump.experiments.partitions import mismatches, parse_groups
from klump.experiments.result import MODES
from klump.sources.datasets import letter_bigrams

# Largest costs of the published algorithm with four groups, in bits.
LIMITS = {1.0: 0.4139, 0.8: 0.3966, 0.5: 0.3465, 0.0: 0.0708}
PRINTED = list(bigrams.printed_partitions())


@pytest.fixture(scope="module")
def chain():
    return letter_bigrams()


def quick_aggregate(chain, n_states, beta, method="auto", **options):
    """The default for two and four groups, annealing for seven: there the default takes a second."""
    if method == "auto" and n_states == 7:
        return aggregate(chain, n_states, beta, "annealing", allow_empty=True, **options)
    return aggregate(chain, n_states, beta, method, **options)


@pytest.fixture(scope="module")
def quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bigrams, "BETAS", bigrams.PRINTED_BETAS)
        patch.setattr(bigrams, "aggregate", quick_aggregate)
        yield


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("pieces")


@pytest.fixture(scope="module")
def result(quickly, directory):
    return run("bigrams", Settings(trials=2, directory=directory))


def found(result, mode, n_states):
    return {
        answer["beta"]: answer
        for answer in result.data["found"]
        if answer["mode"] == mode and answer["n_states"] == n_states
    }


def verdicts(result, mode, word):
    return [verdict for verdict in result.verdicts if verdict.mode == mode and word in verdict.what]


def test_reference_contains_all_characters(chain):
    assert sorted(bigrams.REFERENCE.replace(" ", "")) == sorted(bigrams.symbols_of(chain))
    assert len(bigrams.REFERENCE.split()) == 7


@pytest.mark.parametrize(("n_groups", "beta"), PRINTED)
def test_printed_groups_contain_all_characters(chain, n_groups, beta):
    groups = bigrams.printed_partitions()[n_groups, beta][1]
    missing = "q" if (n_groups, beta) == (7, 0.0) else ""
    assert sorted(groups.replace(" ", "") + missing) == sorted(bigrams.symbols_of(chain))
    assert len(groups.split()) == n_groups


@pytest.mark.parametrize(("n_groups", "beta"), PRINTED)
def test_printed_groups_have_the_printed_index(chain, n_groups, beta):
    labels = bigrams.paper_labels(chain, n_groups, beta)
    plausible = parse_groups(bigrams.REFERENCE, bigrams.symbols_of(chain))
    index = reference.adjusted_rand_index(plausible, labels)
    # One printed index is not that of the printed groups.
    expected = 0.316 if (n_groups, beta) == (7, 0.5) else bigrams.printed_partitions()[n_groups, beta][0]
    assert index == pytest.approx(expected, abs=0.005 + 1e-9)


def test_published_algorithm_finds_the_groups_of_table_1(chain):
    for answer in beta_path(chain, 4, list(LIMITS), n_init=20, allow_empty=True):
        assert answer.cost <= LIMITS[answer.beta]
        assert mismatches(answer.labels, bigrams.paper_labels(chain, 4, answer.beta)).sum() <= 4


def test_result_has_table_1(result):
    for beta, answer in found(result, "as published", 4).items():
        assert answer["cost"] <= LIMITS[beta]
    # Costs and indices follow from the characters, unless no character differs.
    outcomes = {verdict.what: verdict.outcome for verdict in verdicts(result, "as published", "k = 4")}
    assert set(outcomes.values()) == {"agrees", "undecided"}
    assert all(outcome == "agrees" for what, outcome in outcomes.items() if "characters" in what)


def test_default_is_never_costlier(result):
    for n_states in (2, 4):
        published, default = (found(result, mode, n_states) for mode in MODES)
        assert all(default[beta]["cost"] <= published[beta]["cost"] + 1e-9 for beta in published)
        outcomes = [verdict.outcome for verdict in verdicts(result, "default", f"k = {n_states}")]
        assert set(outcomes) == {"agrees", "better"}


def test_trivial_answer_is_called_trivial(result):
    assert found(result, "default", 4)[0.0]["kept"] < 0.05
    (verdict,) = verdicts(result, "default", "k = 4, beta = 0: cost")
    assert "trivial" in verdict.reason


def test_costs_are_those_of_score(chain, result):
    for answer in result.data["found"]:
        labels = parse_groups(" ".join(answer["groups"]), bigrams.symbols_of(chain))
        costs = score(chain, labels)
        assert costs.at(answer["beta"]) == pytest.approx(answer["cost"], abs=1e-10)
        assert costs.kept == pytest.approx(answer["kept"], abs=1e-10)


def test_every_printed_number_gets_a_verdict(result):
    counts = Counter(verdict.what.split(": ")[1] for verdict in result.verdicts)
    assert counts["characters in another group"] == counts["ARI to the reference"] == 12
    assert counts["cost"] == 4 + 12
    assert all(verdict.reason for verdict in result.verdicts)


def test_tables_are_complete(result):
    first, second, numbers = result.tables
    assert [len(table.rows) for table in (first, second, numbers)] == [13, 25, 12]
    for table in result.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    marks = [str(row[-1]) for row in first.rows if row[2] == "paper"]
    assert all(groups.startswith("{␣") and " {" in groups for groups in marks)


def test_data_is_json_and_is_restored_from_stored_pieces(result, directory, monkeypatch):
    def never(*_):
        raise AssertionError("a finished piece was run again")

    never.__name__ = "search"
    monkeypatch.setattr(bigrams, "search", never)
    again = run("bigrams", Settings(trials=2, directory=directory))
    assert json.dumps(again.data) == json.dumps(result.data)
    assert again.text == result.text
    assert again.verdicts == result.verdicts


def test_quick_run_says_so(result):
    assert "quick run" in result.text[-1]
    assert result.data["seeds"] == 2


def test_shares_of_fewer_than_ten_seeds_are_not_shown(chain, result, comparison):
    assert result.text[2] == "Dependence on the seed, 2 seeds: too few to show; shares need 10."
    for count in (9, 10):
        seeds = dataclasses.replace(comparison, other_seeds=(comparison.paper.labels,) * (count - 1))
        findings = bigrams.Findings(chain, (4,), {}, (seeds,), {4: 0.5})
        text = bigrams_report._text_on_seeds(findings)
        assert ("too few" in text) == (count < 10)
        assert ("0.50 for k = 4" in text) == (count >= 10)


def test_a_quick_run_has_as_many_seeds_as_shares_need(monkeypatch):
    planned = []

    def plan(name, function, calls, settings):
        planned.extend(calls)
        raise InterruptedError

    monkeypatch.setattr(bigrams, "run_pieces", plan)
    for trials, seeds in ((4, 4), (20, 10), (None, 20)):
        planned.clear()
        with pytest.raises(InterruptedError):
            bigrams.compute(Settings(trials=trials))
        assert len({seed for work, _, _, seed in planned if work == "as published"}) == seeds


def test_pictures_can_be_drawn(result, tmp_path):
    for picture in result.pictures:
        picture.draw().savefig(tmp_path / f"{picture.name}.png")
        assert (tmp_path / f"{picture.name}.png").stat().st_size > 10_000


@pytest.fixture
def comparison(chain):
    """Comparison in which all partitions are the paper's."""
    paper = bigrams.evaluate(chain, bigrams.paper_labels(chain, 4, 0.8), 0.8)
    return bigrams.Comparison(4, 0.8, 0.46, paper, paper, paper, paper.labels, ())


def move(chain, partition, count):
    """Return the partition with ``count`` characters moved to the next group."""
    labels = partition.labels.copy()
    labels[20 : 20 + count] = (labels[20 : 20 + count] + 1) % 4
    return bigrams.evaluate(chain, labels, partition.beta)


@pytest.mark.parametrize(("count", "outcome"), [(0, "agrees"), (4, "agrees"), (5, "differs")])
def test_more_than_four_characters_are_too_many(chain, comparison, count, outcome):
    other = dataclasses.replace(comparison, published=move(chain, comparison.paper, count))
    findings = bigrams.Findings(chain, (4,), {}, (other,), {})
    verdict = bigrams_verdicts._symbols_verdict(other, findings)
    assert (verdict.found, verdict.outcome) == (count, outcome)
    assert ("ends" in verdict.reason) == (count > 0)


def test_index_may_change_only_as_far_as_the_characters_explain(chain, comparison):
    findings = bigrams.Findings(chain, (4,), {}, (comparison,), {})
    assert bigrams_verdicts._ari_verdict(comparison, findings).band == pytest.approx(0.005)
    one = dataclasses.replace(comparison, published=move(chain, comparison.paper, 1))
    band = bigrams_verdicts._ari_verdict(one, findings).band
    assert abs(one.published.ari - one.paper.ari) + 0.005 <= band + 1e-12 < 0.05
    many = dataclasses.replace(comparison, published=move(chain, comparison.paper, 30))
    assert bigrams_verdicts._ari_verdict(many, findings).band == pytest.approx(0.005)
    assert bigrams_verdicts._ari_verdict(many, findings).outcome == "differs"


def test_costlier_default_is_called_different(comparison):
    costs = comparison.paper.costs
    worse = Costs(costs.lumpability + 0.01, costs.predictability + 0.02, costs.redundancy_rate)
    costlier = dataclasses.replace(comparison.paper, costs=worse)
    assert (
        bigrams_verdicts._default_verdict(dataclasses.replace(comparison, default=costlier)).outcome
        == "differs"
    )
    assert (
        bigrams_verdicts._default_verdict(dataclasses.replace(comparison, published=costlier)).outcome
        == "better"
    )
    assert bigrams_verdicts._default_verdict(comparison).outcome == "agrees"


def test_one_costlier_beta_spoils_the_mean(chain, comparison, monkeypatch):
    monkeypatch.setattr(bigrams, "BETAS", (0.8, 0.5))

    def priced(lumpability):
        return dataclasses.replace(comparison.paper, costs=Costs(lumpability, 2 * lumpability, 1.0))

    answers = {
        ("as published", 4, 0.8): priced(0.4),
        ("as published", 4, 0.5): priced(0.2),
        ("default", 4, 0.8): priced(0.1),
        ("default", 4, 0.5): priced(0.21),
    }
    verdict = bigrams_verdicts._never_costlier_verdict(
        4, bigrams.Findings(chain, (4,), answers, (comparison,), {})
    )
    assert verdict.found < verdict.paper
    assert verdict.outcome == "differs"


def test_share_of_seeds(chain, comparison):
    far, near = move(chain, comparison.paper, 9).labels, move(chain, comparison.paper, 2).labels
    several = dataclasses.replace(comparison, other_seeds=(far, near, np.array(near)))
    assert several.share_of_seeds(several.paper.labels, 4) == 0.75
    assert several.share_of_seeds(several.paper.labels, 0) == 0.25
