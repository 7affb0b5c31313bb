"""One line on stderr, the right exit status, and never a traceback."""

import errno
import json
import os

import pytest
from click.testing import CliRunner

from klump.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text("a,b,c\n0.5,0.5,0\n0.25,0.5,0.25\n0,0.5,0.5\n")
    (tmp_path / "counts.csv").write_text("from,to,count\na,b,3\nb,a,1\n")
    (tmp_path / "absorbing.csv").write_text("from,to,weight\na,a,0.5\na,b,0.5\nb,b,1\n")
    (tmp_path / "short.txt").write_text("0\n1\n")
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "beta=1").mkdir()
    (tmp_path / "beta=1" / "counts.csv").write_text("1,2\n1,1\n")


def error_of(arguments, status):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("info missing.csv", "missing.csv: cannot be read: No such file or directory"),
        ("info model.docx", "model.docx: the suffix '.docx' is not known"),
        ("info text.npz", "text.npz: this is a text file, not an .npz archive"),
        (
            "info counts.csv",
            "counts.csv: row 0 (state 'a') of the transition matrix sums to 3 instead of 1: ",
        ),
        ("info counts.csv", "pass --normalize to divide each row by its sum\n"),
        ("info beta=1/counts.csv", "klump: error: beta=1/counts.csv: row 0 "),
        (
            "aggregate absorbing.csv -k 1",
            "absorbing.csv: the chain is not irreducible: absorbing state ('b')",
        ),
        (
            "aggregate absorbing.csv -k 1",
            "pass --restrict closed to keep its largest closed class, or --restart P",
        ),
        ("path absorbing.csv -k 1", "absorbing.csv: the chain is not irreducible"),
        (
            "info absorbing.csv --restart 0.5 --initial z",
            "absorbing.csv: --initial z is not the name of a state",
        ),
        ("aggregate good.csv -k 4", "good.csv: "),
        ("path good.csv -k 4", "good.csv: "),
        ("score good.csv short.txt", "short.txt: 2 labels, but the chain has 3 states"),
        ("score good.csv missing.txt", "missing.txt: cannot be read: No such file or directory"),
    ],
)
def test_bad_data(files, arguments, message):
    error = error_of(arguments.split(), 1)
    assert error.startswith("klump: error: ")
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Usage: "),
        ("cluster", "No such command 'cluster'"),
        ("info", "Missing argument 'FILE...'"),
        ("aggregate good.csv", "Missing option '-k'"),
        ("aggregate good.csv -k 0", "0 is not in the range x>=1"),
        ("aggregate good.csv -k two", "'two' is not a valid integer"),
        ("aggregate good.csv -k 2 --beta 1.5", "1.5 is not in the range"),
        ("aggregate good.csv -k 2 --method magic", "'magic' is not one of "),
        ("aggregate good.csv -k 2 -o out.xlsx", "'out.xlsx' must end in .npz, .csv, .json, .parquet"),
        ("aggregate good.csv -k 2 -o nowhere/out.npz", "there is no folder 'nowhere'"),
        ("aggregate good.csv -k 2 --jobs 0", "0 is not a number of workers"),
        ("path good.csv -k 2 --betas 1,x", "'1,x' is not a list of numbers"),
        ("path good.csv -k 2 --betas 1,2", "2 is not between 0 and 1"),
        ("info good.csv --initial a", "--initial is the initial state of --restart; pass --restart"),
        ("info good.csv --restart 0", "0.0 is not in the range"),
        ("info good.csv --restrict all", "'all' is not"),
    ],
)
def test_wrong_usage(files, arguments, message):
    assert message in error_of(arguments.split(), 2)


def test_memory(files, monkeypatch):
    monkeypatch.setattr("klump.files.read_chain", lambda *_, **__: bytes(2**62))
    error = error_of(["info", "good.csv"], 1)
    problem = "good.csv: there is not enough memory for this chain"
    assert error == f"klump: error: {problem}; convert it to a mapped folder with klump convert\n"


def test_interrupt_before_there_is_a_result(files, monkeypatch):
    def press_ctrl_c(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("klump.files.read_chain", press_ctrl_c)
    assert error_of(["info", "good.csv"], 130) == "klump: interrupted\n"


def error_document(arguments):
    """Run a command that fails with --json: the JSON document, and the line on standard error."""
    result = CliRunner().invoke(main, [*arguments.split(), "--json"])
    assert result.exit_code == 1, result.output
    return json.loads(result.stdout), result.stderr


def test_json_has_the_error_as_data(files):
    found, line = error_document("aggregate good.csv -k 4")
    assert found["schema"] == "klump/error/1"
    error = found["error"]
    assert (error["error"], error["file"]) == ("InvalidArgumentError", "good.csv")
    assert (error["argument"], error["value"]) == ("n_states", "4")
    assert error["problem"].startswith("must lie between 1 and ")
    # Standard error has the same line as without --json.
    assert line == error_of(["aggregate", "good.csv", "-k", "4"], 1)


@pytest.mark.parametrize(
    ("labels", "problem", "remedy"),
    [
        ("short.txt", "2 labels, but the chain has 3 states", "write one label per state"),
        ("missing.txt", "cannot be read: No such file or directory", None),
        ("text.npz", "this is not an .npz archive", "give a file that Aggregation.save wrote"),
        ("binary.txt", "not UTF-8 text", "check the suffix"),
    ],
)
def test_json_names_the_file_of_the_labels(files, tmp_path, labels, problem, remedy):
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe")
    found, line = error_document(f"score good.csv {labels}")
    error = found["error"]
    assert (error["file"], error["problem"], error["remedy"]) == (labels, problem, remedy)
    assert line == f"klump: error: {labels}: {problem}{f'; {remedy}' if remedy else ''}\n"


def test_json_of_a_missing_package_names_no_file(files):
    from klump.comparison.outside import OUTSIDE, Tool

    OUTSIDE["lost"] = Tool("lost", "a_module_that_nobody_has", lambda *_: None)
    try:
        found, line = error_document("compare good.csv -k 2 --outside lost")
    finally:
        del OUTSIDE["lost"]
    assert found["error"]["error"] == "MissingPackageError"
    assert (found["error"]["file"], found["error"]["remedy"]) == (None, "pip install lost")
    assert line == "klump: error: --outside lost needs lost, which is not installed; pip install lost\n"


def test_an_answer_that_cannot_be_saved_is_printed(files, tmp_path, monkeypatch):
    """And standard output has one document."""

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    (tmp_path / "old.csv").write_text("old")
    found, line = error_document("aggregate good.csv -k 2 --n-init 1 -o old.csv")
    assert found["schema"] == "klump/aggregation/1"
    assert line.endswith("klump: error: old.csv: cannot be written: No space left on device\n")
    assert (tmp_path / "old.csv").read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_soft_maps_have_no_horizon_from_any_start(files, tmp_path):
    (tmp_path / "soft.csv").write_text("state,group,share_0,share_1\na,0,0.5,0.5\nb,0,1,0\nc,1,0,1\n")
    found, line = error_document("score good.csv soft.csv --horizon 3")
    assert found["error"]["argument"] == "horizon"
    assert line == (
        "klump: error: soft.csv: --horizon 3 needs a partition for the bound from any start, and the map is soft; "
        "pass --guarantees for the bound from a stationary start\n"
    )
