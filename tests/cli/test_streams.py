"""Standard output and standard error that are full, closed or narrow: the saved answer is kept."""

import os
import subprocess
import sys

import pytest

import klump

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell starts the program")

RUN = "-m klump aggregate chain.npz -k 2 -o out.npz"
NO_SPACE = "klump: error: standard output cannot be written: No space left on device\n"
CLOSED = "klump: error: standard output cannot be written: Bad file descriptor\n"
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a command line in a shell; returns the finished process."""
    monkeypatch.chdir(tmp_path)
    names = ["käse", "日本", *"abcdef"]
    matrix = [[(1 + (x * y) % 5) / 1.0 for y in range(8)] for x in range(8)]
    klump.write_chain(klump.MarkovChain(matrix, states=names, normalize=True), "chain.npz")

    def run(line, **environment):
        python = f"PYTHON='{sys.executable}'; "
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {python}{line}"],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | environment,
        )

    return run


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        (f"$PYTHON {RUN} -q --json | true", 141, ""),
        (f"$PYTHON {RUN} -q --json >&-", 1, CLOSED),
        (f"$PYTHON {RUN} 2>&- >out", 0, ""),
        (f"$PYTHON {RUN} <&- >&- 2>&-", 1, ""),
        pytest.param(f"$PYTHON {RUN} -q >/dev/full", 1, NO_SPACE, marks=full),
        pytest.param(f"$PYTHON {RUN} >out 2>/dev/full", 0, "", marks=full),
    ],
)
def test_the_answer_is_saved(shell, tmp_path, line, status, message):
    ended = shell(line)
    assert (ended.returncode, ended.stderr) == (status, message)
    assert klump.load("out.npz").n_states == 2
    if (tmp_path / "out").exists():
        assert "2 groups at beta 0.5" in (tmp_path / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "käse"), ("latin-1", "käse"), ("ascii", r"k\xe4se")]
)
def test_characters_that_the_terminal_lacks(shell, tmp_path, encoding, shown):
    ended = shell(f"$PYTHON {RUN} -q >out", PYTHONIOENCODING=encoding)
    assert (ended.returncode, ended.stderr) == (0, "")
    text = (tmp_path / "out").read_text(encoding=encoding)
    assert shown in text
    assert ("日本" if encoding == "utf-8" else r"\u65e5\u672c") in text


@full
def test_help_and_other_commands(shell):
    for words in ("--help", "info chain.npz"):
        ended = shell(f"$PYTHON -m klump {words} >/dev/full")
        assert (ended.returncode, ended.stderr) == (1, NO_SPACE)


def test_descriptors_of_closed_streams_are_not_reused(shell, tmp_path):
    """Else what is printed would go to the next file that is opened."""
    before = (tmp_path / "chain.npz").read_bytes()
    shell(f"$PYTHON {RUN} >&- 2>&-")
    assert (tmp_path / "chain.npz").read_bytes() == before
    assert klump.load("out.npz").n_states == 2


def test_a_slow_reader_gets_everything(shell):
    """Also from a descriptor that does not block."""
    code = "import os, runpy, sys; os.set_blocking(1, False); sys.argv[0] = 'klump'; "
    code += "runpy.run_module('klump', run_name='__main__')"
    ended = shell(f'$PYTHON -c "{code}" aggregate chain.npz -k 2 --json | (read line; echo "$line"; cat)')
    assert ended.returncode == 0
    assert ended.stdout.startswith("{\n")
    assert ended.stdout.endswith("}\n")


COMMANDS = {
    "info": "info chain.npz --json",
    "info of several files": "info chain.npz chain.npz --json",
    "aggregate": "aggregate chain.npz -k 2 -q --json --checkpoint run.ckpt -o out.json",
    "aggregate of several files": "aggregate chain.npz ./chain.npz -k 2 -q --json",
    "path": "path chain.npz -k 2 -q --json --checkpoint run.ckpt -o out.json",
    "grid": "grid chain.npz -k 2..3 -q --json --checkpoint run.ckpt -o out.json",
    "convert": "convert chain.npz out.json.csv --json -q",
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_ends_with_one_line_at_most(shell, tmp_path, words):
    """A closed pipe, a full disk: files are complete, and there are no others."""
    ended = shell(f"$PYTHON -m klump {words} | true")
    assert (ended.returncode, ended.stderr) == (141, "")
    names = {path.name for path in tmp_path.iterdir()}
    assert names <= {"chain.npz", "out.json", "out.json.csv", "run.ckpt"}
    contents = {name: (tmp_path / name).read_bytes() for name in names}
    if os.path.exists("/dev/full"):
        resume = " --resume" if "run.ckpt" in names else ""
        ended = shell(f"$PYTHON -m klump {words}{resume} >/dev/full")
        assert (ended.returncode, ended.stderr) == (1, NO_SPACE)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == contents


@pytest.mark.parametrize("words", ["aggregate chain.npz -k 2", "grid chain.npz -k 2", "convert chain.npz"])
@pytest.mark.parametrize("place", ["chain.npz/out.csv", "nowhere/out.csv"])
def test_folder_that_cannot_be_written(shell, tmp_path, words, place):
    option = "" if words.startswith("convert") else "-o "
    ended = shell(f"$PYTHON -m klump {words} {option}{place}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"klump: error: {place}: ")
    assert ended.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["chain.npz"]
