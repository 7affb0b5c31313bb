"""--effort and --time-limit."""

import json

import pytest

import klump
from fake_clock import FakeClock

LIMITED = "chain.csv --normalize -k 3 --method sequential --time-limit 3"


@pytest.fixture
def clock(monkeypatch):
    return FakeClock(monkeypatch)


def test_effort_is_in_the_heading_and_the_document(chain_file, klump_cli):
    quick = klump_cli("aggregate chain.csv --normalize -k 3 --effort quick --json")
    assert json.loads(quick.stdout)["effort"] == "quick"
    assert (
        "(method auto, effort quick, seed 0)"
        in klump_cli("aggregate chain.csv --normalize -k 3 --effort quick").stdout
    )
    assert "(method auto, seed 0)" in klump_cli("aggregate chain.csv --normalize -k 3").stdout
    table = klump_cli("grid chain.csv --normalize -k 2,3 --effort thorough").stdout
    assert "method auto, effort thorough, seed 0" in table
    cells = json.loads(klump_cli("grid chain.csv --normalize -k 2,3 --effort thorough --json").stdout)
    assert (cells["effort"], cells["time_limit"]) == ("thorough", None)


def test_compare_has_a_row_per_effort(chain_file, klump_cli):
    arguments = (
        "compare chain.csv --normalize -k 3 --methods auto --no-outside --effort quick,balanced,thorough"
    )
    rows = json.loads(klump_cli(f"{arguments} --json").stdout)["rows"]
    assert {row["name"]: row["effort"] for row in rows} == {
        "auto (quick)": "quick",
        "auto": "balanced",
        "auto (thorough)": "thorough",
    }
    assert "auto (thorough)" in klump_cli(arguments).stdout


def test_the_time_limit_is_no_failure(chain_file, klump_cli, clock, tmp_path):
    result = klump_cli(f"aggregate {LIMITED} -o answer.npz", status=0)
    assert "note: interrupted by the time limit of 3 s: this is the best found so far" in result.stdout
    answer = klump.load(tmp_path / "answer.npz")
    assert answer.interrupted
    assert answer.interrupted_after == 3.0
    assert answer.n_states == 3


def test_the_time_limit_in_json(chain_file, klump_cli, clock):
    result = klump_cli(f"aggregate {LIMITED} --json", status=0)
    found = json.loads(result.stdout)
    assert (found["interrupted"], found["interrupted_after"], found["time_limit"]) == (True, 3.0, 3.0)
    assert found["effort"] is None
    message = "klump: interrupted by the time limit of 3 s: this is what was found so far"
    assert message in result.stderr


def test_a_limit_that_is_not_reached(chain_file, klump_cli, clock):
    limited = json.loads(klump_cli("aggregate chain.csv --normalize -k 3 --time-limit 1e9 --json").stdout)
    unlimited = json.loads(klump_cli("aggregate chain.csv --normalize -k 3 --json").stdout)
    assert limited.pop("time_limit") == 1e9
    assert unlimited.pop("time_limit") is None
    assert limited == unlimited
    assert (limited["interrupted"], limited["interrupted_after"]) == (False, None)


def test_other_commands_take_a_limit(chain_file, klump_cli, clock):
    table = klump_cli("grid chain.csv --normalize -k 2..4 --method sequential --time-limit 3").stdout
    assert "interrupted by the time limit of 3 s: 2 cells not run" in table
    path = klump_cli("path chain.csv --normalize -k 3 --time-limit 3").stdout
    assert "note: interrupted by the time limit of 3 s" in path
    compared = json.loads(
        klump_cli(
            "compare chain.csv --normalize -k 3 --methods sequential,annealing --no-outside --time-limit 3 --json"
        ).stdout
    )
    assert compared["not_run"] == ["annealing"]
    assert (compared["interrupted_after"], compared["time_limit"]) == (3.0, 3.0)


def test_ctrl_c_during_a_limited_search_still_has_status_130(chain_file, klump_cli, monkeypatch):
    from klump import aggregation

    real = aggregation.grid

    def press(*arguments, **options):
        def progress(done, total, best_cost):
            raise KeyboardInterrupt

        return real(*arguments, **(options | {"progress": progress}))

    monkeypatch.setattr(aggregation, "grid", press)
    arguments = "grid chain.csv --normalize -k 2..4 --method sequential --time-limit 1e9"
    assert "interrupted: 2 cells not run" in klump_cli(arguments, status=130).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "aggregate chain.csv --normalize -k 3 --effort high",
            "'high' is not one of 'quick', 'balanced', 'thorough'",
        ),
        (
            "compare chain.csv --normalize -k 3 --effort quick,high",
            "'high' is not one of quick, balanced, thorough",
        ),
        (
            "aggregate chain.csv --normalize -k 3 --method spectral --effort quick",
            "--effort does not apply to --method spectral; leave it out, and set the number of restarts with --n-init",
        ),
        ("aggregate chain.csv --normalize -k 3 --time-limit 0", "0 is not a number of seconds above 0"),
        ("grid chain.csv --normalize --time-limit nan", "nan is not a number of seconds above 0"),
        ("path chain.csv --normalize -k 3 --time-limit -1", "-1 is not a number of seconds above 0"),
    ],
)
def test_bad_options(chain_file, klump_cli, arguments, message):
    assert message in klump_cli(arguments, status=2).stderr


def test_errors_name_the_options(chain_file, klump_cli):
    result = klump_cli("grid chain.csv --normalize --method spectral --effort quick", status=1)
    assert "--effort quick is not for --method spectral; leave it out, and set" in result.stderr
    assert "--n-init" in result.stderr
    result = klump_cli("aggregate chain.csv --normalize --method exact --time-limit 3", status=1)
    assert "--time-limit 3.0 is not for --method exact" in result.stderr
