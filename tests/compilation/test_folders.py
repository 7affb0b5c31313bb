"""Where compiled kernels are kept, and which folders are trusted."""

import os
import sys

import pytest

from klump.compilation import folders
from klump.compilation.folders import CacheRoot, cache_roots, persistent_root

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no owners and modes")


@pytest.fixture
def environment(monkeypatch, tmp_path):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def test_named_folder_comes_first(environment, tmp_path):
    environment.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert persistent_root() == CacheRoot(tmp_path / "named" / "klump")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the rules of Linux")
def test_user_folder(environment, tmp_path):
    assert persistent_root() == CacheRoot(tmp_path / ".cache" / "klump")
    environment.setenv("XDG_CACHE_HOME", "relative")
    assert persistent_root() == CacheRoot(tmp_path / ".cache" / "klump")
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert persistent_root() == CacheRoot(tmp_path / "user" / "klump")


@pytest.mark.parametrize(
    ("platform", "expected"), [("darwin", "Library/Caches/klump"), ("win32", "local/klump")]
)
def test_user_folder_of_other_systems(environment, tmp_path, platform, expected):
    environment.setattr(sys, "platform", platform)
    environment.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert persistent_root() == CacheRoot(tmp_path / expected)


@posix
def test_temporary_folder_is_named_by_the_user(environment):
    assert cache_roots()[-1].path.name == f"klump-{os.getuid()}"
    assert cache_roots()[-1].is_temporary


def test_write_then_read(tmp_path):
    root = CacheRoot(tmp_path / "deep" / "klump")
    assert root.read("1", "a") is None
    assert root.names("1") == set()
    assert root.write("1", "a", b"one")
    assert root.write("1", "a", b"two")
    assert root.read("1", "a") == b"two"
    assert root.names("1") == {"a"}


@posix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_nobody_else_can_write_whatever_the_umask(tmp_path, umask):
    root = CacheRoot(tmp_path / "klump")
    before = os.umask(umask)
    try:
        assert root.write("1", "a", b"")
    finally:
        os.umask(before)
    for path in (root.path, root.path / "1", root.path / "1" / "a"):
        assert not path.stat().st_mode & 0o022


@posix
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_folder_that_others_can_write_to_is_not_used(tmp_path, mode):
    root = CacheRoot(tmp_path / "klump")
    assert root.write("1", "a", b"")
    root.path.chmod(mode)
    assert root.read("1", "a") is None
    assert root.names("1") == set()
    assert not root.write("1", "b", b"")


@posix
def test_folder_of_somebody_else_is_not_used(environment, tmp_path):
    root, temporary = CacheRoot(tmp_path / "klump"), CacheRoot(tmp_path / "klump", is_temporary=True)
    assert root.write("1", "a", b"one")
    owner = root.path.stat().st_uid
    environment.setattr(os, "getuid", lambda: owner + 1)
    assert temporary.read("1", "a") is None
    # root is trusted, but for the temporary folder.
    assert (root.read("1", "a") is None) == (owner != 0)
    # And so is whoever owns the folder that the user has named.
    environment.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert root.read("1", "a") == b"one"
    assert temporary.read("1", "a") is None


@posix
def test_link_in_the_temporary_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "klump").symlink_to(tmp_path / "elsewhere")
    assert CacheRoot(tmp_path / "klump").write("1", "a", b"")
    assert not CacheRoot(tmp_path / "klump", is_temporary=True).write("1", "a", b"")


def test_failed_write_leaves_nothing(tmp_path):
    root = CacheRoot(tmp_path / "klump")
    assert root.write("1", "a", b"")
    (root.path / "1" / "b").mkdir()
    assert not root.write("1", "b", b"")
    assert sorted(os.listdir(root.path / "1")) == ["a", "b"]
    (tmp_path / "file").touch()
    assert not CacheRoot(tmp_path / "file" / "klump").write("1", "a", b"")


def test_versions_that_were_not_used_for_longest_are_removed(tmp_path):
    root = CacheRoot(tmp_path)
    n_others = folders._KEPT + 3
    for number in range(n_others):
        assert root.write(str(number), "a", b"")
        os.utime(tmp_path / str(number), (number, number))
    os.utime(tmp_path / "0", (n_others, n_others))
    root.prune("1")
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", *map(str, range(4, n_others))}
