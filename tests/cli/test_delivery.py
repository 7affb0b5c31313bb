"""Answers and their input: a disk that fills up, files that change during the search."""

import hashlib
import json
import sys
from contextlib import contextmanager

import pytest

from klump import aggregation
from klump.cli import inputs
from klump.cli.inputs import read_recorded
from klump.errors import FileFormatError

RUN = "--normalize -k 2 --n-init 1 --quiet"


@contextmanager
def small_disk():
    """No file can exceed 50 bytes, as on a full disk; for the block alone, as the tests may print to a file."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of processes")
@pytest.mark.parametrize(
    ("command", "suffix"),
    [
        ("aggregate", "npz"),
        ("aggregate", "csv"),
        ("aggregate", "json"),
        ("path", "csv"),
        ("grid", "png"),
        ("grid", "svg"),
        ("grid", "pdf"),
        ("compare", "json"),
    ],
)
def test_full_disk_keeps_the_old_file(klump_cli, chain_file, tmp_path, command, suffix):
    output = tmp_path / f"old.{suffix}"
    output.write_text("old")
    words = f"{command} chain.csv {RUN} -o old.{suffix}"
    words += " --no-outside --methods sequential" if command == "compare" else ""
    words += " --betas 1,0.9,0.8,0.7,0.6,0.5" if command == "path" else ""
    words += " --full" if command == "aggregate" else ""
    with small_disk():
        result = klump_cli(words, status=1)
    assert result.stderr == f"klump: error: old.{suffix}: cannot be written: File too large\n"
    assert "groups" in result.stdout or "method" in result.stdout
    assert output.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"chain.csv", f"old.{suffix}"}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("change", ["replace", "delete"])
@pytest.mark.parametrize("command", ["aggregate", "path", "grid"])
def test_digest_is_that_of_the_file_that_was_read(
    klump_cli, chain_file, tmp_path, monkeypatch, command, change
):
    file, name = tmp_path / chain_file, {"path": "beta_path"}.get(command, command)
    expected, search = digest(file), getattr(aggregation, name)

    def search_while_the_file_changes(*arguments, **options):
        file.unlink()
        if change == "replace":
            file.write_text("another one")
        return search(*arguments, **options)

    monkeypatch.setattr(aggregation, name, search_while_the_file_changes)
    klump_cli(f"{command} chain.csv {RUN} -o out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["input"]["sha256"] == expected


def test_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("0")

    def read():
        text = path.read_text()
        if changes:
            path.write_text(changes.pop())
        return text

    changes = ["12"]
    content, record = read_recorded(str(path), read)
    assert (content, record["sha256"]) == ("12", digest(path))
    changes = [str(10**n) for n in range(1, inputs._ATTEMPTS + 2)]
    with pytest.raises(FileFormatError, match=r"a.txt: the file changes while it is read"):
        read_recorded(str(path), read)


def test_text_needs_no_digest(klump_cli, chain_file, monkeypatch):
    monkeypatch.setattr(inputs, "file_record", None)
    klump_cli(f"aggregate chain.csv {RUN} -o out.csv")
