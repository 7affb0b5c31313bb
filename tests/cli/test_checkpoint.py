"""``--checkpoint`` and ``--resume``: kill -9, other questions, damage, disks that are full."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import klump
from journals import boundaries
from klump.sources.random_chains import random_chain

TESTS = Path(__file__).parents[1]
# The process dies at its nth record.
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from killing import die_while_writing
die_while_writing(int(sys.argv[2]))
sys.argv[:3] = ["klump"]
from klump.__main__ import run
run()
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
COMMANDS = {
    "aggregate": "aggregate chain.npz -k 3 --effort quick --n-init 4 --json -o out.npz",
    "path": "path chain.npz -k 3 --n-init 6 --json -o out.npz",
    "grid": "grid chain.npz -k 2..3 --effort quick --n-init 3 --json -o out.json",
    "select": "select chain.npz -k 2..4 --beta 0.5 --n-init 3 --json -o out.json",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    klump.write_chain(random_chain(20, seed=1), "chain.npz")
    return tmp_path


def run(words, die_at=0):
    command = [sys.executable, "-c", SCRIPT, str(TESTS), str(die_at), *words.split()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@posix
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_killed_again_and_again(folder, words):
    output = folder / words.rpartition(" ")[2]
    alone = run(words)
    assert alone.returncode == 0, alone.stderr
    expected = output.read_bytes()
    output.unlink()
    kills, known = 0, 0
    # Each process dies after a few records more: 3, 7, 15, ...
    while (done := run(f"{words} --checkpoint run.ckpt --resume", 4 * 2**kills)).returncode != 0:
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert done.stdout == ""
        assert not output.exists()
        kills += 1
        content = (folder / "run.ckpt").read_bytes()
        ends = boundaries_of_cut(content)
        assert len(ends) - 1 == known + 4 * 2 ** (kills - 1) - 1
        known = len(ends) - 1
    assert kills >= 2
    assert done.stdout == alone.stdout
    assert output.read_bytes() == expected
    assert {path.name for path in folder.iterdir()} == {"chain.npz", output.name, "run.ckpt"}
    again = run(f"{words} --checkpoint run.ckpt --resume", 1)
    assert (again.returncode, again.stdout) == (0, alone.stdout)
    assert output.read_bytes() == expected


def boundaries_of_cut(content):
    """Ends of the complete records of a checkpoint whose last record is cut in half."""
    for length in range(len(content), 0, -1):
        try:
            return boundaries(content[:length])
        except Exception:
            continue
    raise AssertionError("there is no record")


RUN = "aggregate chain.npz -k 3 --effort quick --n-init 2"


def test_an_existing_file_is_refused_before_the_chain_is_read(folder, klump_cli):
    (folder / "run.ckpt").write_text("precious")
    for command in ("aggregate", "path", "grid"):
        words = f"{command} missing.npz -k 2 --checkpoint run.ckpt"
        assert klump_cli(words, status=1).stderr == (
            "klump: error: run.ckpt: this file exists; pass --resume to continue that run, or delete it\n"
        )
    message = klump_cli(f"{RUN} --checkpoint run.ckpt --resume", status=1).stderr
    assert message == "klump: error: run.ckpt: this is not a checkpoint of klump; choose another name\n"
    assert (folder / "run.ckpt").read_text() == "precious"


def test_resume_alone(folder, klump_cli):
    assert "--resume needs --checkpoint FILE" in klump_cli(f"{RUN} --resume", status=2).stderr


def test_options_of_another_run(folder, klump_cli):
    klump_cli(f"{RUN} --checkpoint run.ckpt")
    message = klump_cli(f"{RUN} --seed 2 --checkpoint run.ckpt --resume", status=1).stderr
    assert message == (
        "klump: error: run.ckpt: this is the checkpoint of --seed 0, not --seed 2; pass --seed 0, delete it, or choose "
        "another name\n"
    )
    (folder / "labels.csv").write_text("state,group\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    message = klump_cli(f"{RUN} --initial-labels labels.csv --checkpoint run.ckpt --resume", status=1).stderr
    assert "run.ckpt: this is the checkpoint of another --initial-labels; delete it" in message


def test_damage_is_one_line(folder, klump_cli):
    klump_cli(f"{RUN} --checkpoint run.ckpt -o out.csv")
    content = bytearray((folder / "run.ckpt").read_bytes())
    content[boundaries(bytes(content))[4] + 40] ^= 1
    (folder / "run.ckpt").write_bytes(content)
    (folder / "out.csv").unlink()
    result = klump_cli(f"{RUN} --checkpoint run.ckpt --resume -o out.csv", status=1)
    assert (result.stdout, result.stderr) == (
        "",
        "klump: error: run.ckpt: the checkpoint is damaged: the checksum of record 5 is wrong; "
        "delete it, to begin again\n",
    )
    assert not (folder / "out.csv").exists()


def test_resuming_is_announced(folder, klump_cli):
    klump_cli(f"{RUN} --checkpoint run.ckpt")
    found = len(boundaries((folder / "run.ckpt").read_bytes())) - 1
    message = klump_cli(f"{RUN} --checkpoint run.ckpt --resume").stderr
    assert message == f"klump: resuming from run.ckpt: {found} results\n"
    assert klump_cli(f"{RUN} --checkpoint run.ckpt --resume --quiet").stderr == ""


@posix
@pytest.mark.parametrize("command", ["aggregate", "path", "grid"])
def test_full_disk(folder, klump_cli, command):
    """One line, and a checkpoint that another run continues."""
    resource = pytest.importorskip("resource")
    words = f"{COMMANDS[command]} --quiet --checkpoint run.ckpt"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        result = klump_cli(words, status=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.stderr == "klump: error: run.ckpt: cannot be written: File too large\n"
    assert {path.name for path in folder.iterdir()} == {"chain.npz", "run.ckpt"}
    known = len(boundaries((folder / "run.ckpt").read_bytes()))
    assert known > 1
    expected = klump_cli(f"{COMMANDS[command]} --quiet").stdout
    assert klump_cli(f"{words} --resume").stdout == expected
    assert len(boundaries((folder / "run.ckpt").read_bytes())) > known


@pytest.mark.parametrize("command", ["aggregate", "path", "grid"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chain.npz/run.ckpt", "chain.npz/run.ckpt: cannot be written: Not a directory"),
        ("missing/run.ckpt", "there is no folder 'missing'; create it first"),
        (".", "this is a folder, not a regular file"),
        pytest.param("/dev/full", "this is a device, not a regular file", marks=full),
    ],
)
def test_places_that_cannot_be_written(folder, klump_cli, command, name, message):
    result = klump_cli(f"{command} chain.npz -k 2 --checkpoint {name}", status=2)
    assert result.stderr.startswith("klump: error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert [path.name for path in folder.iterdir()] == ["chain.npz"]


def test_checkpoints_of_several_files(folder, klump_cli):
    klump.write_chain(random_chain(15, seed=2), "other.npz")
    words = "aggregate chain.npz other.npz -k 2 --effort quick --n-init 2 --json"
    assert "--checkpoint needs {}" in klump_cli(f"{words} --checkpoint a.ckpt", status=2).stderr
    expected = klump_cli(words).stdout
    assert klump_cli(f"{words} --checkpoint {{}}.ckpt").stdout == expected
    assert {path.name for path in folder.iterdir()} == {"chain.npz", "other.npz", "chain.ckpt", "other.ckpt"}
    (folder / "other.ckpt").unlink()
    assert klump_cli(f"{words} --checkpoint {{}}.ckpt --resume").stdout == expected
