"""``klump reproduce`` with synthetic experiments."""

import json
import os
import select
import signal
import subprocess
import sys
from types import ModuleType

import joblib
import pytest
from click import unstyle

from klump import experiments
from klump.experiments.result import Picture, Result, Verdict
from klump.experiments.trials import run_pieces

# An experiment in place of the paper's; a piece waits forever if WAIT_AT is its number.
SCRIPT = """
import os, sys, threading
from types import ModuleType
from klump import aggregate, experiments
from klump.cli import main
from klump.experiments.result import Result
from klump.experiments.trials import run_pieces

def piece(number):
    if number == int(os.environ.get("WAIT_AT", -1)):
        if os.environ["WAIT"] == "in a search":
            aggregate([[0.5, 0.5], [0.5, 0.5]], 2, method="sequential", n_init=1_000_000)
            return "half a search"
        threading.Event().wait()
    return number ** 0.5

def run(settings):
    found = run_pieces("slow", piece, [(number,) for number in range(8)], settings)
    return Result("slow", "Slow", (), (), data={"found": found})

sys.modules["klump.experiments.slow_report"] = ModuleType("slow")
sys.modules["klump.experiments.slow_report"].run = run
experiments.EXPERIMENTS = {"slow": "takes forever"}
main(sys.argv[1:], prog_name="klump")
"""


def draw():
    from matplotlib.figure import Figure

    return Figure(figsize=(1, 1))


def quick(settings):
    count = settings.trials_or(3)
    found = run_pieces("quick", divmod, [(settings.seed_of(i), 10) for i in range(count)], settings)
    return Result(
        "quick",
        "A quick one",
        ("Text.",),
        (
            Verdict("sum", "as published", 0.5, 0.51, 0.1, "agrees", "rounding"),
            Verdict("cost", "default", 0.5, 0.25, 0.1, "better", "rounding"),
            Verdict("ARI", "default", 0.5, 0.75, 0.1, "differs", "the paper's edition of the book differs"),
            Verdict(
                "a|b", "as published", 1.0, 0.5, 1.0, "undecided", "a single draw says nothing; four errors"
            ),
            Verdict(
                "c", "as published", 1.0, 0.25, 1.0, "undecided", "a single draw says nothing; five errors"
            ),
            Verdict("d", "default", 1.0, 0.25, 1.0, "undecided", "3 draws: too few to show", 3),
        ),
        pictures=(Picture("curve", "A curve", draw),),
        data={"found": found, "undefined": float("nan")},
    )


def other(settings):
    return Result("two-words", "Another", (), (Verdict("x", "default", 1.0, 1.0, 0.1, "agrees"),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two fake experiments in place of the paper's, and threads in place of processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"two-words": "the first", "quick": "the second"})
    for name, run in (("two_words", other), ("quick", quick)):
        module = ModuleType(name)
        module.run = run
        monkeypatch.setitem(sys.modules, f"klump.experiments.{name}_report", module)
    with joblib.parallel_config("threading"):
        yield tmp_path


def test_everything_is_written(folder, klump_cli):
    result = klump_cli("reproduce")
    assert unstyle(result.stdout).splitlines() == [
        "experiment  agree  better  differ  undecided",
        "two-words       1       0       0          0",
        "quick           1       1       1          3",
        "all             2       1       1          3",
        "",
        "differs: quick, default, ARI: paper 0.5, found 0.75, band 0.1: the paper's",
        "         edition of the book differs",
        "",
        "undecided: quick, 2 numbers: a single draw says nothing",
        "undecided: quick, 1 number: 3 draws: too few to show",
        "",
        "page: reproduction/index.html",
    ]
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == {
        "reproduction/index.html",
        "reproduction/summary.json",
        "reproduction/summary.md",
        "reproduction/figures/quick-curve.png",
        "reproduction/pieces/quick.jsonl",
    }
    page = (folder / "reproduction" / "index.html").read_text()
    assert "as many as in the paper" in page
    assert "<code>klump reproduce --seed 0</code>" in page


def test_plain_lines_where_there_is_no_terminal(folder, klump_cli):
    lines = klump_cli("reproduce").stderr.splitlines()
    assert [line.split(": done in ")[0] for line in lines] == ["klump: two-words", "klump: quick"]
    assert klump_cli("reproduce --quiet").stderr == ""


def test_summary(folder, klump_cli):
    klump_cli("reproduce quick --trials 2 --seed 5 -o out")
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert list(summary) == sorted(summary)
    assert (summary["schema"], summary["seed"], summary["trials"]) == ("klump/reproduction/2", 5, 2)
    (experiment,) = summary["experiments"]
    assert (experiment["name"], experiment["title"]) == ("quick", "A quick one")
    assert experiment["verdicts"][0] == {
        "what": "sum",
        "mode": "as published",
        "paper": 0.5,
        "found": 0.51,
        "band": 0.1,
        "outcome": "agrees",
        "reason": "rounding",
        "draws": None,
    }
    assert experiment["verdicts"][-1]["draws"] == 3
    assert experiment["verdicts"][-1]["found"] == 0.25
    counts = {
        "as published": {"agrees": 1, "better": 0, "differs": 0, "undecided": 2},
        "default": {"agrees": 0, "better": 1, "differs": 1, "undecided": 1},
    }
    assert experiment["outcomes"] == summary["outcomes"] == counts
    assert len(experiment["data"]["found"]) == 2
    assert experiment["data"]["undefined"] is None
    page = (folder / "out" / "index.html").read_text()
    assert "<code>klump reproduce quick --trials 2 --seed 5</code>" in page
    text = (folder / "out" / "summary.md").read_text()
    assert "`klump reproduce quick --trials 2 --seed 5`" in text
    assert "| a\\|b | as published | 1 | 0.5 | 1 | undecided (2) |" in text
    assert str(folder) not in text


def test_same_seed_same_bytes(folder, klump_cli):
    def summary(options, name):
        klump_cli(f"reproduce {options} -o {name}")
        return [(folder / name / file).read_bytes() for file in ("summary.json", "summary.md")]

    first = summary("--jobs 1", "a")
    assert summary("--jobs 2", "b") == first
    assert summary("quick two-words quick", "c") == first
    assert summary("", "a") == first
    assert summary("--seed 1", "d") != first


def test_checkpoint_and_resume(folder, klump_cli):
    klump_cli("reproduce -o a")
    expected = (folder / "a" / "summary.json").read_bytes()
    klump_cli("reproduce -o b --checkpoint kept")
    assert {path.name for path in (folder / "kept").iterdir()} == {"quick.jsonl"}
    assert not (folder / "b" / "pieces").exists()
    error = klump_cli("reproduce -o c --checkpoint kept", status=1).stderr
    assert error == (
        "klump: error: kept: this folder has finished pieces; pass --resume to continue that run, or delete it\n"
    )
    assert not (folder / "c").exists()
    # As after kill -9: one piece is complete, the next one cut.
    pieces = folder / "kept" / "quick.jsonl"
    lines = pieces.read_bytes().splitlines(keepends=True)
    pieces.write_bytes(lines[0] + lines[1][:20])
    klump_cli("reproduce -o c --checkpoint kept --resume")
    assert (folder / "c" / "summary.json").read_bytes() == expected
    klump_cli("reproduce -o a --resume")
    assert (folder / "a" / "summary.json").read_bytes() == expected


def test_names(folder, klump_cli):
    assert klump_cli("reproduce --list").stdout == "two-words  the first\nquick      the second\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("reproduce slow", "'slow' is not one of two-words, quick"),
        ("reproduce --trials 0", "0 is not in the range x>=1"),
        ("reproduce --seed -1", "-1 is not in the range x>=0"),
        ("reproduce --jobs 0", "0 is not a number of workers"),
        ("reproduce -o file.txt", "'file.txt' is a file"),
    ],
)
def test_wrong_usage(folder, klump_cli, arguments, message):
    (folder / "file.txt").write_text("no folder")
    assert message in klump_cli(arguments, status=2).stderr
    assert not (folder / "reproduction").exists()


def test_without_matplotlib(folder, klump_cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = klump_cli("reproduce", status=1)
    assert result.stdout == ""
    assert result.stderr == "klump: error: pictures need matplotlib; pip install 'klump[plots]'\n"
    assert list(folder.iterdir()) == []


def test_folder_that_cannot_be_created(folder, klump_cli):
    (folder / "file.txt").write_text("no folder")
    error = klump_cli("reproduce -o file.txt/out", status=1).stderr
    assert error.startswith("klump: error: file.txt/out: cannot be written: ")
    assert error.count("\n") == 1


def on_a_terminal(arguments, wait_for=None, **environment):
    """Run the script on a terminal, press Ctrl-C when it shows a text, and return status and screen."""
    pty = pytest.importorskip("pty")
    process, screen = pty.fork()
    if process == 0:
        # A test run in the background of a shell inherits SIGINT as ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        environment = os.environ | environment | {"COLUMNS": "200", "TERM": "xterm"}
        os.execve(sys.executable, [sys.executable, "-c", SCRIPT, "reproduce", *arguments], environment)
    shown = b""
    while True:
        if not select.select([screen], [], [], 300)[0]:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            pytest.fail(f"nothing more is shown after {shown.decode()!r}")
        try:
            shown += os.read(screen, 4096)
        except OSError:  # what Linux says when the program has ended
            break
        if wait_for is not None and wait_for in shown:
            os.write(screen, b"\x03")
            wait_for = None
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode()


@pytest.mark.parametrize(
    ("jobs", "wait", "finished"),
    [("1", "in a search", [0, 1, 2, 3, 4]), ("2", "in an event", [0, 1, 2, 3, 4, 6, 7])],
)
def test_ctrl_c_and_resume(tmp_path, jobs, wait, finished):
    stopped = ["-o", str(tmp_path / "stopped"), "--jobs", jobs]
    status, shown = on_a_terminal(stopped, b"%d/8" % len(finished), WAIT=wait, WAIT_AT="5")
    assert status == 130, shown
    assert "klump: interrupted: finished pieces are kept in " in shown
    assert "run the same command again to resume" in shown
    assert "Traceback" not in shown
    pieces = (tmp_path / "stopped" / "pieces" / "slow.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["result"] for line in pieces) == [number**0.5 for number in finished]
    assert not (tmp_path / "stopped" / "index.html").exists()

    for arguments in (stopped, ["-o", str(tmp_path / "whole"), "--jobs", "1"]):
        command = [sys.executable, "-c", SCRIPT, "reproduce", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    summaries = {(tmp_path / name / "summary.json").read_bytes() for name in ("stopped", "whole")}
    assert len(summaries) == 1
    lines = (tmp_path / "stopped" / "pieces" / "slow.jsonl").read_text().splitlines()
    assert lines[: len(pieces)] == pieces
    assert len(lines) == 8


def test_workers_ignore_ctrl_c():
    code = """
import joblib, signal
from klump.cli.stopping import start_workers
start_workers(2)
workers = joblib.Parallel(n_jobs=2, prefer="processes", batch_size=1)
print(set(workers(joblib.delayed(signal.getsignal)(signal.SIGINT) for _ in range(8))))
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    assert result.stdout == "{<Handlers.SIG_IGN: 1>}\nTrue\n"
