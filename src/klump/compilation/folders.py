"""Folders of the cache of compiled kernels: where they are, whether they are safe, how files get there.

Compiled code is executed, so it is only loaded from folders that nobody else can write to. Files are written under a
temporary name and then renamed: a reader sees a whole file or none, and processes that write the same file at the same
time both succeed.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from klump import signals
from klump.compilation.sources import version_folder

# Folders of other versions of the kernels that are kept, the most recently used ones: enough for a few environments.
_KEPT = 8


@dataclass(frozen=True)
class CacheRoot:
    """A folder with one subfolder per version of the kernels."""

    path: Path
    is_temporary: bool = False

    def is_safe(self) -> bool:
        """Whether the folder exists, belongs to somebody the user trusts, and only its owner can write to it."""
        try:
            # A symbolic link in the temporary folder may be anybody's.
            status = self.path.lstat() if self.is_temporary else self.path.stat()
            if not stat.S_ISDIR(status.st_mode):
                return False
            if sys.platform == "win32":
                return True
            owners = {os.getuid()}
            if not self.is_temporary:
                # root, and whoever owns the folder that NUMBA_CACHE_DIR names.
                owners |= {0, self.path.parent.stat().st_uid} if _named_folder() else {0}
        except OSError:
            return False
        return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def read(self, folder: str, name: str) -> bytes | None:
        """Content of a file; None if it cannot be read or the folder is not safe."""
        with suppress(OSError):
            if self.is_safe():
                return (self.path / folder / name).read_bytes()
        return None

    def write(self, folder: str, name: str, content: bytes) -> bool:
        """Write a file, and create the folders; returns whether the file is there."""
        target = self.path / folder / name
        temporary = target.with_name(f".{name}.{uuid4().hex}")
        try:
            self.path.mkdir(mode=0o700 if self.is_temporary else 0o755, parents=True, exist_ok=True)
            if not self.is_safe():
                return False
            target.parent.mkdir(mode=0o755, exist_ok=True)
            # Not writable by the group, whatever the umask is.
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644
            )
            with signals.removing(temporary):
                with open(descriptor, "wb") as file:
                    file.write(content)
                os.replace(temporary, target)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            # On Windows a file that another process reads cannot be replaced.
            return sys.platform == "win32" and target.exists()
        return True

    def names(self, folder: str) -> set[str]:
        """Names of the files of a subfolder; none if the folder is not safe."""
        with suppress(OSError):
            if self.is_safe():
                return {name for name in os.listdir(self.path / folder) if not name.startswith(".")}
        return set()

    def touch(self, folder: str) -> None:
        """Mark a subfolder as used now."""
        with suppress(OSError):
            os.utime(self.path / folder)

    def prune(self, folder: str) -> None:
        """Remove the subfolders of other versions but for the most recently used ones.

        A process that uses a removed folder compiles again, and writes it anew.
        """
        with suppress(OSError):
            others = [entry for entry in os.scandir(self.path) if entry.is_dir() and entry.name != folder]
            others.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
            for entry in others[_KEPT:]:
                shutil.rmtree(entry.path, ignore_errors=True)


def cache_roots() -> list[CacheRoot]:
    """Folders that compiled code is looked for in, and written to the first of them that takes it."""
    persistent = persistent_root()
    user = f"-{os.getuid()}" if sys.platform != "win32" else ""
    try:
        folder = tempfile.gettempdir()
    except OSError:  # all candidates are full or read-only
        folder = os.devnull  # nothing can be written below it
    temporary = CacheRoot(Path(folder) / f"klump{user}", is_temporary=True)
    return [temporary] if persistent is None else [persistent, temporary]


def persistent_root() -> CacheRoot | None:
    """Subfolder ``klump`` of NUMBA_CACHE_DIR, if that is set, else of the user's cache folder, if there is one."""
    folder = _named_folder() or _user_folder()
    return None if folder is None else CacheRoot(folder / "klump")


def cache_folder() -> Path:
    """Folder with the compiled kernels of this version of klump, which may not exist yet.

    That is a subfolder of ``NUMBA_CACHE_DIR``, if that variable is set, else of the user's cache folder
    (``XDG_CACHE_HOME`` or ``~/.cache``, ``~/Library/Caches``, ``%LOCALAPPDATA%``); where neither can be written, of the
    temporary folder.
    """
    found = [root.path / version_folder() for root in cache_roots()]
    return next((folder for folder in found if folder.is_dir()), found[0])


def cached_keys() -> Iterator[str]:
    """Keys of the kernels and signatures that have a file, for any processor."""
    for root in cache_roots():
        for name in root.names(version_folder()):
            yield name.rpartition("-")[0]


def _named_folder() -> Path | None:
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named).absolute() if named else None


def _user_folder() -> Path | None:
    """The user's cache folder; None if there is no home folder."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    if sys.platform == "darwin":
        folder = home / "Library" / "Caches"
    else:
        named = os.environ.get("XDG_CACHE_HOME", "")
        # The specification says that a relative path is to be ignored.
        if os.path.isabs(named):
            return Path(named)
        folder = home / ".cache"
    return folder if home.is_absolute() else None
