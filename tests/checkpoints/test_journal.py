"""The file of a checkpoint: every kind of damage is an error, what a killed process leaves is not."""

import itertools
import os
import subprocess
import sys

import pytest

from journals import FRAME, TITLE, boundaries
from klump.checkpoints import journal as journals
from klump.checkpoints.journal import Journal
from klump.errors import FileFormatError

QUESTION = {"function": "count", "n_states": 3}
UNITS = [(f"unit {j}", "d", list(range(j))) for j in range(6)]


@pytest.fixture
def path(tmp_path):
    """A checkpoint with six results."""
    path = tmp_path / "run.ckpt"
    journal = Journal(path, QUESTION, resume=False)
    for unit in UNITS:
        journal.append(*unit)
    journal.close()
    return path


def stored(path):
    """Number of results that a checkpoint has when it is opened again; they must be right."""
    journal = Journal(path, QUESTION, resume=True)
    try:
        assert journal.question == QUESTION
        for unit, digest, value in UNITS:
            assert journal.find(unit, digest) in ((value,), None)
        return len(journal)
    finally:
        journal.close()


def test_results_come_back(path):
    assert stored(path) == len(UNITS)
    journal = Journal(path, QUESTION, resume=True)
    assert journal.find("unit 3", "d") == ([0, 1, 2],)
    assert journal.find("unit 3", "other arguments") is None
    journal.close()


def test_layout(path):
    ends = boundaries(path.read_bytes())
    assert len(ends) == 1 + len(UNITS)


def test_every_flipped_byte_is_an_error(path):
    content = path.read_bytes()
    for position in range(len(content)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[position] ^= flip
            path.write_bytes(changed)
            with pytest.raises(FileFormatError, match=r"^\S*run.ckpt: .*; ") as caught:
                Journal(path, QUESTION, resume=True)
            assert "\n" not in str(caught.value)
            # The file is left for a closer look.
            assert path.read_bytes() == changed


def test_truncation_anywhere_loses_the_cut_record_alone(path):
    content = path.read_bytes()
    ends = boundaries(content)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        complete = sum(end <= length for end in ends)
        if complete == 0:
            with pytest.raises(FileFormatError, match=r"delete it|choose another name"):
                Journal(path, QUESTION, resume=True)
            continue
        assert stored(path) == complete - 1
        assert path.read_bytes() == content[: ends[complete - 1]]


def test_a_resumed_journal_continues_where_it_was_cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: boundaries(content)[3] + 7])
    journal = Journal(path, QUESTION, resume=True)
    for unit in UNITS:
        journal.append(*unit)
    journal.close()
    assert path.read_bytes() == content


def records(content):
    ends = [len(TITLE), *boundaries(content)]
    return [content[a:b] for a, b in itertools.pairwise(ends)]


def test_records_that_are_moved_are_an_error(path, tmp_path):
    content = path.read_bytes()
    parts = records(content)
    other = tmp_path / "other.ckpt"
    journal = Journal(other, QUESTION | {"n_states": 4}, resume=False)
    for unit in UNITS:
        journal.append(*unit)
    journal.close()
    foreign = records(other.read_bytes())
    for changed in (
        [*parts[:2], *parts[3:]],
        [parts[0], parts[2], parts[1], *parts[3:]],
        [*parts, parts[1]],
        [*parts[:3], foreign[3], *parts[4:]],
        [foreign[0], *parts[1:]],
    ):
        path.write_bytes(TITLE + b"".join(changed))
        with pytest.raises(FileFormatError, match=r"damaged: the checksum of record \d is wrong; delete it"):
            Journal(path, QUESTION, resume=True)


def test_zeros_at_the_end_are_an_error_unless_they_are_no_record(path):
    """A file system may leave zeros after a power failure."""
    content = path.read_bytes()
    path.write_bytes(content + bytes(FRAME.size - 1))
    assert stored(path) == len(UNITS)
    path.write_bytes(content + bytes(FRAME.size))
    with pytest.raises(FileFormatError, match="damaged"):
        Journal(path, QUESTION, resume=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is not a checkpoint of klump; choose another name"),
        (b"from,to\n1,2\n", "this is not a checkpoint of klump; choose another name"),
        (b"klump checkpoint 2\n...", "written by a newer klump; use that, or delete it"),
        (b"klump checkpoint 99\n", "written by a newer klump; use that, or delete it"),
        (TITLE, "the checkpoint is truncated; delete it, to begin again"),
    ],
)
def test_other_files(tmp_path, content, message):
    path = tmp_path / "a.ckpt"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        Journal(path, QUESTION, resume=True)
    assert path.read_bytes() == content


def test_an_existing_file_is_kept_unless_it_is_resumed(path):
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=r"run.ckpt: this file exists; pass resume=True to continue"):
        Journal(path, QUESTION, resume=False)
    assert path.read_bytes() == before


def test_resuming_without_a_file_begins(tmp_path):
    journal = Journal(tmp_path / "new.ckpt", QUESTION, resume=True)
    assert len(journal) == 0
    journal.close()


def test_one_process_at_a_time(path):
    pytest.importorskip("fcntl")
    journal = Journal(path, QUESTION, resume=True)
    with pytest.raises(FileFormatError, match="another process is writing this checkpoint"):
        Journal(path, QUESTION, resume=True)
    journal.close()
    assert stored(path) == len(UNITS)


@pytest.mark.parametrize("name", ["folder", "file/run.ckpt", "missing/run.ckpt"])
def test_places_that_cannot_be_written(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError, match=r"run.ckpt|folder") as caught:
        Journal(tmp_path / name, QUESTION, resume=True)
    assert "\n" not in str(caught.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


SMALL_DISK = """
import resource, sys
from klump.checkpoints.journal import Journal
from klump.errors import FileFormatError
journal = Journal(sys.argv[1], {"function": "count", "n_states": 3}, resume=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for _ in range(2):
    try:
        journal.append("large", "d", list(range(1000)))
    except FileFormatError as error:
        print(error)
journal.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of processes")
def test_full_disk_keeps_what_is_complete(path):
    before = path.read_bytes()
    for room in (0, 5, 100, 2000):
        command = [sys.executable, "-c", SMALL_DISK, str(path), str(len(before) + room)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == 2 * f"{path}: cannot be written: File too large\n"
        assert path.read_bytes() == before


def test_records_are_forced_to_the_disk_now_and_then(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor))
    monkeypatch.setattr(journals, "_SYNC", 0.0)
    journal = Journal(path, QUESTION, resume=True)
    journal.append("one more", "d", 1)
    assert len(synced) == 1
    journal.close()
    assert len(synced) == 2
