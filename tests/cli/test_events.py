"""Tables of events and of transitions on the command line."""

import hashlib
import json

import numpy as np
import pytest

import klump

pandas = pytest.importorskip("pandas")
pytest.importorskip("duckdb")

EVENTS = "--session visit --time seconds --state page"


@pytest.fixture
def table(tmp_path, monkeypatch, rng):
    """Two halves of a site, in a random order of rows."""
    monkeypatch.chdir(tmp_path)
    half = np.repeat(rng.integers(2, size=60), 10)
    table = pandas.DataFrame(
        {
            "visit": np.repeat(np.arange(20), 30),
            "seconds": np.tile(np.arange(30), 20),
            "page": 2 * half + rng.integers(2, size=half.size),
        }
    ).sample(frac=1, random_state=0)
    table.to_csv("events.csv", index=False)
    table.to_parquet("events.parquet")
    pandas.DataFrame({"from": ["a", "a", "b"], "to": ["a", "b", "a"], "n": [1, 3, 2]}).to_parquet(
        "links.parquet"
    )
    (tmp_path / "labels.csv").write_text("state,group\n0,0\n1,0\n2,1\n3,1\n")
    return table


@pytest.mark.parametrize("file", ["events.csv", "events.parquet"])
@pytest.mark.parametrize(
    "command",
    [
        "info {}",
        "aggregate {} -k 2",
        "path {} -k 2 --betas 1,0",
        "grid {} -k 2",
        "score {} labels.csv",
        "compare {} -k 2 --methods auto --no-outside",
        "convert {} out.npz",
        "convert {} out.mapped --stationary",
    ],
)
def test_every_command_counts_tables(klump_cli, table, command, file):
    found = json.loads(klump_cli(f"{command.format(file)} {EVENTS} --json -q").stdout)["input"]
    assert found["columns"] == {"state": "page", "session": "visit", "time": "seconds"}
    assert (found["path"], found["n_states"]) == (file, 4)
    with open(file, "rb") as content:
        assert found["sha256"] == hashlib.sha256(content.read()).hexdigest()


def test_the_answer_is_that_of_python(klump_cli, table):
    columns = {"session": "visit", "time": "seconds", "state": "page"}
    answer = klump.aggregate(klump.MarkovChain.from_events(table, **columns), 2)
    found = json.loads(klump_cli(f"aggregate events.csv {EVENTS} -k 2 --json -q").stdout)
    assert found["states"] == [0, 1, 2, 3]
    assert found["labels"] == answer.labels.tolist()
    assert found["cost"] == pytest.approx(answer.cost, abs=1e-12)


def test_conversion_keeps_where_sessions_begin(klump_cli, table):
    klump_cli(f"convert events.csv out.npz {EVENTS} -q")
    klump_cli(f"convert events.csv folder --mmap {EVENTS} -q")
    first = table.sort_values(["visit", "seconds"]).groupby("visit")["page"].first()
    expected = first.value_counts(normalize=True).reindex(range(4), fill_value=0).to_numpy()
    for file in ("out.npz", "folder"):
        np.testing.assert_allclose(klump.read_chain(file).initial, expected)


def test_transitions(klump_cli, table):
    klump_cli("convert links.parquet out.csv --source from --target to --weight n -q")
    np.testing.assert_array_equal(klump.read_chain("out.csv").transition_matrix, [[0.25, 0.75], [1, 0]])


def test_the_initial_state_of_a_restart(klump_cli, table):
    found = klump_cli(f"info events.csv {EVENTS} --restart 0.1 --initial 3").stdout
    assert "restarted at state 3 with probability 0.1" in found
    assert (
        "--initial 9 is not the name of a state"
        in klump_cli(f"info events.csv {EVENTS} --restart 0.1 --initial 9", status=1).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "info events.csv --state pages",
            "events.csv: --state pages is not a column of the table; did you mean 'page'?",
        ),
        ("info events.xlsx --state page", "events.xlsx: the suffix '.xlsx' is not that of a table"),
        (
            "info events.csv --state page --memory-limit lots",
            "--memory-limit lots must be an amount of memory",
        ),
        ("info none.parquet --state page", "none.parquet: cannot be read: No such file or directory"),
    ],
)
def test_bad_tables(klump_cli, table, arguments, message):
    error = klump_cli(arguments, status=1).stderr
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--session visit", "--session needs --state as well, the column of states"),
        ("--source a", "--source needs --target as well"),
        ("--state page --source a", "leave out one of the two"),
        ("--state page --normalize", "--normalize is for files of chains"),
        ("--state page --ctmc", "--ctmc is for files of chains"),
        ("--state page --format csv", "--format is for files of chains"),
        ("--memory-limit 2GB", "--memory-limit is for tables"),
    ],
)
def test_wrong_usage(klump_cli, table, options, message):
    assert message in " ".join(klump_cli(f"info events.csv {options}", status=2).stderr.split())


def test_tables_are_not_read_from_standard_input(klump_cli):
    error = klump_cli("info - --state page", status=2).stderr
    assert "tables are not read from standard input" in " ".join(error.split())
