"""Files are complete or as they were: whatever fails, and whatever is there."""

import errno
import os
import socket
import stat
import sys

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError
from klump.files.atomic import check_writable, replacing, replacing_all, write_text

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
P = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    for failure in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(failure), replacing(path) as part:
            part.write_text("half of the n")
            raise failure
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.txt"])


@posix
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_mode_of_the_old_file_is_kept(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(mode)
    with replacing(path) as part:
        assert stat.S_IMODE(part.stat().st_mode) == mode
        part.write_text("new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


@posix
def test_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@posix
def test_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.txt").symlink_to("folder/a.txt")
    for text in ("first", "second"):
        write_text(tmp_path / "link.txt", text)
        assert (tmp_path / "folder" / "a.txt").read_text() == text
    assert (tmp_path / "link.txt").is_symlink()
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(FileFormatError, match=r"loop.txt: cannot be written: "):
        write_text(tmp_path / "loop.txt", "")


def make_folder(path):
    path.mkdir()
    return "a folder"


def make_fifo(path):
    os.mkfifo(path)
    return "a FIFO"


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return "a socket"


def make_link_to_device(path):
    path.symlink_to(os.devnull)
    return "a device"


WRITERS = {
    "npz": lambda path: klump.Aggregation.from_labels(P, [0, 0, 1]).save(path),
    "csv": lambda path: klump.write_chain(P, path),
    "mtx": lambda path: klump.write_chain(P, path),
    "npy": lambda path: klump.write_chain(P, path),
    "png": lambda path: klump.grid(P, [2]).plot(path),
}


@posix
@pytest.mark.parametrize("make", [make_folder, make_fifo, make_socket, make_link_to_device])
@pytest.mark.parametrize("suffix", WRITERS)
def test_only_regular_files_are_replaced(tmp_path, monkeypatch, suffix, make):
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    path = tmp_path / f"a.{suffix}"
    kind = make(path.relative_to(tmp_path)) if make is make_socket else make(path)
    before = path.lstat().st_mode
    for write in (WRITERS[suffix], check_writable):
        with pytest.raises(FileFormatError, match=f"this is {kind}, not a regular file; choose another name"):
            write(path)
    assert (path.lstat().st_mode, names(tmp_path)) == (before, [path.name])


@posix
def test_devices_stay_devices():
    with pytest.raises(FileFormatError, match="/dev/null: this is a device"):
        klump.Aggregation.from_labels(P, [0, 0, 1]).save(os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@posix
def test_names_of_the_greatest_length(tmp_path):
    for name in ("a" * 251 + ".csv", "ä" * 125 + ".csv"):
        klump.write_chain(P, tmp_path / name)
        assert klump.read_chain(tmp_path / name).n_states == 3


def test_missing_and_unwritable_folders(tmp_path, monkeypatch):
    with pytest.raises(FileFormatError, match=r"there is no folder .*nowhere.*; create it first"):
        check_writable(tmp_path / "nowhere" / "a.csv")
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.isfile(path))
    with pytest.raises(FileFormatError, match=r"a.csv: its folder cannot be written"):
        check_writable(tmp_path / "a.csv")
    (tmp_path / "a.csv").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.isdir(path))
    with pytest.raises(FileFormatError, match=r"a.csv: the file is read-only"):
        check_writable(tmp_path / "a.csv")


def test_lone_surrogates_are_an_error(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(FileFormatError, match=r"a.txt: cannot be written: '\\udc80' is not a character"):
        write_text(tmp_path / "a.txt", "new \udc80")
    assert ((tmp_path / "a.txt").read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_the_disk_is_full_at_the_end(tmp_path, monkeypatch):
    """Some file systems report it only when the data is forced to the disk."""

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_text(tmp_path / "a.txt", "old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileFormatError, match=r"a.txt: cannot be written: No space left on device"):
        write_text(tmp_path / "a.txt", "new")
    assert ((tmp_path / "a.txt").read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_several_files_are_replaced_together(tmp_path):
    a, b, old = (tmp_path / f"{name}.txt" for name in ("a", "b", "old"))
    a.write_text("old a")
    old.write_text("stale")
    with pytest.raises(ZeroDivisionError), replacing_all([a, b], [old]) as (first, second):
        first.write_text("new a")
        second.write_text("new b")
        raise ZeroDivisionError
    assert (names(tmp_path), a.read_text()) == (["a.txt", "old.txt"], "old a")
    with replacing_all([a, b], [a, old]) as (first, second):
        first.write_text("new a")
        second.write_text("new b")
        assert a.read_text() == "old a"
    assert (names(tmp_path), a.read_text(), b.read_text()) == (["a.txt", "b.txt"], "new a", "new b")


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_rename_that_fails_undoes_the_others(tmp_path, monkeypatch, failing, links):
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    for file in files[:2]:
        file.write_text("old")
    rename, count = os.replace, iter(range(1, 99))

    def replace(source, target):
        if next(count) == failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    with pytest.raises(FileFormatError, match="Input/output error"), replacing_all(files) as parts:
        for part in parts:
            part.write_text("new")
    assert (names(tmp_path), files[0].read_text(), files[1].read_text()) == (["a.txt", "b.txt"], "old", "old")
