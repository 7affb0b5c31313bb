"""SIGINT and SIGTERM at chosen moments: the best answer so far or one line, the right status, whole files."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import klump
from interrupting import count_calls, interrupt
from klump.sources.random_chains import random_chain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")

COMMANDS = {
    "info": "info chain.npz --json",
    "aggregate": "aggregate chain.npz -k 3 --method sequential --n-init 50 --json -o out.npz",
    "path": "path chain.npz -k 3 --n-init 50 --json -o out.csv",
    "grid": "grid chain.npz -k 2..4 --json -o out.json",
    "report": "report chain.npz -k 2..3 --beta 0.5 --jobs 1 --no-compare --json -o out.html",
    "select": "select chain.npz -k 2..3 --beta 0.5 --json -o out.json",
    "score": "score chain.npz labels.csv --json",
    "score --guarantees": "score chain.npz labels.csv --guarantees --json",
    "compare": "compare chain.npz -k 3 --no-outside --methods auto,sequential --json -o out.csv",
    "convert": "convert chain.npz out.csv --json",
    "convert to .mapped": "convert chain.npz out.mapped --stationary --json",
}
# Signals to each command, and their moments as shares of its calls: while it is imported, and while it works.
MOMENTS = ((signal.SIGINT, 0.4), (signal.SIGTERM, 0.999))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    klump.write_chain(random_chain(20, seed=1), "chain.npz")
    Path("labels.csv").write_text("state,group\n" + "".join(f"{x},{x % 3}\n" for x in range(20)))
    return tmp_path


def check_end(done, number, allowed=("answer", "none")):
    """Exit status, messages and result of an interrupted command; returns the document, None if there is none."""
    assert done.returncode == 128 + number, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "klump: interrupted" in done.stderr
    if not done.stdout:
        assert "none" in allowed
        return None
    assert "answer" in allowed
    return json.loads(done.stdout)


def check_files(folder):
    """The output is complete or absent, and no temporary file is left."""
    assert not list(folder.rglob(".*"))
    for path in folder.glob("out*"):
        if path.suffix == ".npz":
            assert klump.load(path).n_states == 3
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".mapped":
            assert klump.read_chain(path).n_states == 20
        else:
            assert path.read_text().endswith("\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_signals_at_many_moments(folder, name):
    """The full sweep is `make interruptions`."""
    words = COMMANDS[name]
    total, draw = count_calls(words), random.Random(name)
    for number, share in MOMENTS:
        for path in folder.glob("out*"):
            path.unlink() if path.is_file() else shutil.rmtree(path)
        moment = int(total * share * draw.uniform(0.9, 1.0))
        check_end(interrupt(words, number, moment), number)
        check_files(folder)


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("aggregate", "report"),
        ("aggregate", "build_answer"),
        ("aggregate", "document"),
        ("aggregate", "deliver"),
        ("aggregate", "write_archive"),
        ("aggregate", "print_document"),
        ("path", "number_along_path"),
        ("grid", "build_answer"),
        ("grid", "write_text"),
        ("select", "build_answer"),
        ("select", "judge"),
        ("compare", "_lowest_cost"),
        ("score --guarantees", "one_step_variations"),
        ("score --guarantees", "estimate_entropy_rate"),
    ],
)
def test_an_answer_is_never_lost(folder, name, moment):
    """From the moment on that there is one, it is saved and printed."""
    words = COMMANDS[name]
    found = check_end(interrupt(words, signal.SIGTERM, moment), signal.SIGTERM, allowed=("answer",))
    assert found["schema"].startswith("klump/")
    if " -o " in words:
        assert Path(words.split()[-1]).exists()
    check_files(folder)


def test_an_interrupted_search_ends_early(folder):
    words = COMMANDS["aggregate"].replace("--n-init 50", "--n-init 1000000")
    found = check_end(interrupt(words, signal.SIGINT, "report"), signal.SIGINT, allowed=("answer",))
    assert found["interrupted"] is True
    assert klump.load("out.npz").interrupted
    assert klump.load("out.npz").labels.tolist() == found["labels"]


def test_interrupted_guarantees_keep_costs_and_bounds(folder):
    whole = json.loads(interrupt(COMMANDS["score --guarantees"], 0, 0).stdout)
    done = interrupt(COMMANDS["score --guarantees"], signal.SIGINT, "_extend_words")
    found = check_end(done, signal.SIGINT, allowed=("answer",))
    assert found["interrupted"] is True
    assert (found["costs"], found["bisimulation"]) == (whole["costs"], whole["bisimulation"])
    bounds, tighter = found["guarantees"]["divergence"], whole["guarantees"]["divergence"]
    assert bounds["lower"] <= tighter["lower"] <= tighter["upper"] <= bounds["upper"]
    assert bounds != tighter
    assert found["guarantees"]["monte_carlo"] is None
    shown = interrupt(COMMANDS["score --guarantees"].replace("--json", ""), signal.SIGINT, "_extend_words")
    assert "interrupted: these are the bounds found so far" in shown.stdout


def test_finished_cells_of_a_grid_are_kept(folder):
    words = "grid chain.npz -k 2..9 --method sequential --n-init 5 --json"
    found = check_end(
        interrupt(words, signal.SIGINT, "raise_if_interrupted"), signal.SIGINT, allowed=("answer",)
    )
    assert 1 <= len(found["cells"]) < 8


def test_parallel_searches_end_too(folder):
    words = "grid chain.npz -k 2..9 --method sequential --n-init 1000000 --jobs 2 --json"
    found = check_end(interrupt(words, signal.SIGINT, "report"), signal.SIGINT, allowed=("answer",))
    assert 1 <= len(found["cells"]) < 8


def test_reproduce(folder):
    """With worker processes, which end with it; finished pieces are kept."""
    words = "reproduce nonreversible --trials 1 --jobs 2 -o out"
    done = interrupt(words, signal.SIGINT, "summarize")
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert "klump: interrupted: finished pieces are kept in out; run the same command again" in done.stderr
    assert "Warning" not in done.stderr
    assert not (folder / "out" / "index.html").exists()
    done = interrupt(words, 0, 0)
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "index.html").read_text().endswith("</html>\n")
    assert not list(folder.rglob(".*"))


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        ("aggregate", ("write_archive", "_write_through")),
        ("convert", ("_create", "_write_through")),
        ("convert to .mapped", ("_write_transitions", "write_header")),
    ],
)
def test_kill_leaves_whole_files_and_the_next_run_works(folder, name, moments):
    words = COMMANDS[name]
    output = folder / words.split()[-1 if " -o " in words else 2]
    for moment in moments:
        assert interrupt(words, signal.SIGKILL, moment).returncode == -signal.SIGKILL
        assert not output.exists()
    assert interrupt(words, 0, 0).returncode == 0
    before = {path.name: path.read_bytes() for path in (output.iterdir() if output.is_dir() else [output])}
    assert before
    assert interrupt(words, signal.SIGKILL, moments[-1]).returncode == -signal.SIGKILL
    for path in output.iterdir() if output.is_dir() else [output]:
        assert path.read_bytes() == before[path.name]


# A program that has an answer, and whose clock stands still unless it is told otherwise.
TWICE = """
import os, signal, sys
from klump import signals
signals.install()
signals.keep_answers()
signals.note_answer()
signals.monotonic = lambda: now
now = 0.0
for now in map(float, sys.argv[2:]):
    os.kill(os.getpid(), int(sys.argv[1]))
print("alive", signals.exit_status())
"""


def signal_at(number, *times):
    command = [sys.executable, "-c", TWICE, str(int(number)), *map(str, times)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=heed, timeout=60)


def heed():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_second_signal_ends_at_once():
    assert signal_at(signal.SIGINT, 0.0).stdout == "alive 130\n"
    # timeout(1) sends its signal to the process, and to the process group.
    assert signal_at(signal.SIGTERM, 0.0, 0.01).stdout == "alive 143\n"
    for number in (signal.SIGINT, signal.SIGTERM):
        ended = signal_at(number, 0.0, 2.0)
        assert (ended.returncode, ended.stdout) == (128 + number, "")
        assert ended.stderr.endswith("klump: interrupted\n")


def test_a_signal_that_the_parent_ignores_stays_ignored():
    code = (
        "import signal; from klump import signals; signals.install(); print(signal.getsignal(signal.SIGINT))"
    )
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **ignore)
    assert found.stdout == "1\n"


def test_importing_klump_changes_no_handler():
    code = "import signal, klump.cli, klump.aggregation; print(signal.getsignal(signal.SIGTERM))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout == "0\n"


COMPILING = """
import os, sys
from klump import signals
from klump.compilation import kernel
from numba.core import compiler

@kernel
def square(x):
    return x * x

calls, moment = 0, int(sys.argv[1])
def watch(frame, event, _):
    global calls
    calls += 1
    if calls == moment:
        os.kill(os.getpid(), 2)

signals.install()
if sys.argv[2] == "answer":
    signals.keep_answers()
    signals.note_answer()
sys.settrace(watch)
found = square(3)
sys.settrace(None)
print(found, signals.exit_status(), calls)
"""


def test_a_signal_while_a_kernel_compiles(tmp_path):
    """With an answer the compilation is completed, without one the program ends."""

    def compile_with(moment, mode):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / f"{moment} {mode}")}
        environment.pop("NUMBA_DISABLE_JIT", None)
        command = [sys.executable, "-c", COMPILING, str(moment), mode]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, preexec_fn=heed, timeout=120
        )

    total = int(compile_with(0, "none").stdout.split()[-1])
    assert total > 1000
    draw = random.Random(0)
    for _ in range(3):
        moment = draw.randrange(1, total)
        ended = compile_with(moment, "none")
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "klump: interrupted\n")
        kept = compile_with(moment, "answer")
        assert kept.stdout.split()[:2] == ["9", "130"], kept.stderr
        assert "Traceback" not in kept.stderr
        assert len([path for path in tmp_path.rglob("*") if path.is_file()]) >= 1
    assert not list(tmp_path.rglob(".*"))
