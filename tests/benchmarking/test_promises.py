"""Promises beside made-up scores: kept, broken, or not measured."""

import json
import math

import pytest
from benchmarks import measure, promises
from benchmarks.contest import Score
from benchmarks.measure import Verdict
from benchmarks.workloads import WORKLOADS

LIMIT = 600.0
BY_NAME = {workload.name: workload for workload in WORKLOADS}
GOOD = {"cost": 1.0, "ari": 1.0, "groups": 50, "peak": 1000.0}


def made(workload, contestant, seconds=1.0, *, error=None, timed_out=False, **other):
    rounds = [] if error else [{"seconds": seconds, **GOOD, **other}]
    known = BY_NAME[workload]
    return Score(known, contestant, 10 * known.n_states, rounds, error, timed_out)


def judged(*scores):
    return {verdict.what: verdict for verdict in promises.verdicts(scores, LIMIT)}


def everything():
    """Scores with which every promise is measured, and kept."""
    seconds = {10_000: 0.1, 100_000: 1.0, 1_000_000: 10.0}
    scores = [made(f"metastable-{n}", "klump", seconds[n]) for n in seconds]
    scores += [made(f"{kind}-100000", "klump") for kind in ("cyclic", "noisy", "many-groups")]
    scores += [made(f"{kind}-100000", "planted", None) for kind in ("metastable", "noisy")]
    scores += [made(f"metastable-{n}", "igraph-leiden", 20.0) for n in (100_000, 1_000_000)]
    scores.append(made("metastable-100000", "sib", 9.0))
    return [*scores, made("blocks-4000", "klump-path"), made("blocks-4000", "pygpcca", 2.0)]


def test_all_promises_are_kept_by_good_scores():
    found = promises.verdicts(everything(), LIMIT)
    assert promises.not_measured(found) == []
    assert [verdict.what for verdict in found if not verdict.kept] == []


def test_without_scores_nothing_is_measured():
    assert promises.verdicts([], LIMIT) == []
    missing = promises.not_measured([])
    assert len(missing) == len(set(missing)) == len(promises.verdicts(everything(), LIMIT))


@pytest.mark.parametrize(
    ("replaced", "what"),
    [
        (made("metastable-100000", "klump", cost=1.00001), "1e5 metastable, cost over planted"),
        (made("noisy-100000", "klump", cost=1.00001), "1e5 noisy, cost over planted"),
        (made("metastable-100000", "igraph-leiden", 0.9), "1e5 metastable, time over igraph's Leiden"),
        (made("metastable-100000", "sib", 7.9), "1e5 metastable, time over one start of sib"),
        (made("cyclic-100000", "klump", ari=0.98), "1e5 cyclic, ARI"),
        (made("cyclic-100000", "klump", 2.1), "1e5 cyclic, time over metastable"),
        (made("noisy-100000", "klump", 4.1), "1e5 noisy, time over metastable"),
        (made("metastable-1000000", "igraph-leiden", 9.0), "1e6 metastable, time over igraph's Leiden"),
        (made("metastable-1000000", "klump", peak=2900.0, seconds=10.0), "1e6 metastable, peak in MiB"),
        (made("many-groups-100000", "klump", 61.0), "1e5 with 1000 groups, seconds"),
        (made("blocks-4000", "klump-path", 2.1), "4000 dense, time of a beta path over one pyGPCCA call"),
    ],
)
def test_one_bad_score_breaks_one_promise(replaced, what):
    kept = [
        score
        for score in everything()
        if (score.workload, score.contestant) != (replaced.workload, replaced.contestant)
    ]
    found = judged(*kept, replaced)
    assert [name for name, verdict in found.items() if not verdict.kept] == [what]
    assert str(found[what]).startswith("BROKEN")


def test_growth_is_judged_by_the_steepest_decade():
    # 1.0 on the whole, but 1.3 in the last decade.
    seconds = {10_000: 1.0, 100_000: 10**0.7, 1_000_000: 100.0}
    found = judged(*(made(f"metastable-{n}", "klump", value) for n, value in seconds.items()))
    verdict = found["metastable, exponent of time in transitions, 1e5 to 1e7"]
    assert verdict.measured == pytest.approx(1.3)
    assert not verdict.kept
    assert verdict.detail == "fitted 1.00, by decade 0.70, 1.30"


def test_a_klump_that_fails_breaks_what_it_promised():
    found = judged(made("cyclic-100000", "klump", error="MemoryError"), made("metastable-100000", "klump"))
    assert found["1e5 cyclic, ARI"].measured == -math.inf
    assert found["1e5 cyclic, time over metastable"].measured == math.inf
    assert not any(verdict.kept for verdict in found.values())


def test_a_peer_that_fails_says_nothing_and_one_that_is_too_slow_took_the_limit():
    ours = made("metastable-100000", "klump", 60.0)
    what = "1e5 metastable, time over one start of sib"
    assert what not in judged(ours, made("metastable-100000", "sib", error="killed by SIGSEGV"))
    slow = made("metastable-100000", "sib", error="no answer", timed_out=True)
    assert judged(ours, slow)[what].measured == pytest.approx(60 / LIMIT)


def test_medians_judge_time_and_the_worst_round_judges_quality():
    score = made("cyclic-100000", "klump")
    score.rounds[:] = [{**GOOD, "seconds": seconds, "ari": 1 - seconds / 10} for seconds in (1.0, 9.0, 2.0)]
    found = judged(score, made("metastable-100000", "klump", 1.0))
    assert found["1e5 cyclic, time over metastable"].measured == 2
    assert found["1e5 cyclic, ARI"].measured == pytest.approx(0.1)


def test_a_verdict_says_what_was_measured_and_promised():
    fast = Verdict("times as fast", 4.9, 5, False, "2 ms")
    small = Verdict("peak", 3.0, 3, True)
    assert (fast.kept, small.kept) == (False, True)
    assert str(fast) == "BROKEN times as fast: 4.9 (>= 5)  2 ms"
    assert str(small).startswith("kept   peak: 3 (<= 3)")


def test_contestants_take_turns_and_medians_are_compared():
    turns = []

    def contestant(name, values):
        def run():
            turns.append(name)
            return values.pop(0)

        return run

    found = measure.interleaved({"a": contestant("a", [3, 1, 2]), "b": contestant("b", [5, 5, 90])}, 3)
    assert found == {"a": 2, "b": 5}
    assert turns == ["a", "b"] * 3


def test_verdicts_are_kept_in_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results")
    measure.write("some", [Verdict("peak", 3.5, 3, True)])
    kept = json.loads((tmp_path / "results" / "some.json").read_text())["verdicts"]
    assert kept == [
        {"what": "peak", "measured": 3.5, "promise": 3, "at_most": True, "detail": "", "kept": False}
    ]
