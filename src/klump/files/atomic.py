"""Atomic replacement of files: every file that klump writes is complete, or it is as it was before.

The content goes to a temporary file in the same folder, which is renamed when it is on the disk. Only regular files are
replaced: a device, a FIFO, a socket or a folder of that name is an error.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from klump import signals
from klump.errors import FileFormatError

# Longest suffix that the temporary file shares with the target, in characters: long names must not get longer.
_MAX_SUFFIX = 16
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise FileFormatError if a file of this name can certainly not be written.

    >>> check_writable("/dev/null")
    Traceback (most recent call last):
        ...
    klump.errors.FileFormatError: /dev/null: this is a device, not a regular file; choose another name
    """
    with translate_write_errors(path):
        target = _target(path)
        folder = os.path.dirname(target)
        if not os.path.isdir(folder):
            named = os.path.dirname(path)
            missing = folder if os.path.isdir(named or os.curdir) else named
            raise FileFormatError(f"there is no folder {missing!r}", remedy="create it first")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileFormatError("its folder cannot be written", remedy="choose another folder")
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise FileFormatError("the file is read-only", remedy="choose another name, or change its mode")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Temporary file to write to, which replaces ``path`` at the end of the block, and is removed if that fails.

    The file keeps the mode of the one that it replaces. A symbolic link is followed: its target is replaced.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "answer.txt"
    >>> with replacing(path) as part:
    ...     _ = part.write_text("42")
    ...     path.exists()
    False
    >>> path.read_text()
    '42'
    """
    with replacing_all([path]) as (part,):
        yield part


@contextmanager
def replacing_all(
    paths: Sequence[str | os.PathLike[str]], stale: Iterable[Path] = ()
) -> Iterator[list[Path]]:
    """Temporary files to write to, as for :func:`replacing`, which replace ``paths`` together; in one folder.

    All are on the disk before the first is renamed. If one cannot be renamed, those before it are as they were. Files
    of ``stale`` that are not replaced are removed.
    """
    with translate_write_errors(paths[0]), ExitStack() as stack:
        targets = [_target(path) for path in paths]
        parts = [_part_of(target) for target in targets]
        for part in parts:
            stack.enter_context(signals.removing(part))
            stack.callback(part.unlink, missing_ok=True)
        for part, target in zip(parts, targets, strict=True):
            _create(part, target)
        yield parts
        for part in parts:
            _write_through(part)
        with signals.hold():
            _rename_all(parts, [_target(path) for path in paths])
            for file in stale:
                if os.path.realpath(file) not in targets:
                    file.unlink(missing_ok=True)
        for folder in {os.path.dirname(target) for target in targets}:
            _write_through(Path(folder))


def _part_of(target: str) -> Path:
    """Name of a temporary file beside the target."""
    return Path(target).with_name(f".klump-{secrets.token_hex(8)}{_short_suffix(target)}")


def _link_or_copy(source: str, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # of a file system without links
        shutil.copy2(source, target)


def _rename_all(parts: Sequence[Path], targets: Sequence[str]) -> None:
    """Rename the temporary files to their targets; undo it if one fails."""
    if len(parts) == 1:
        os.replace(parts[0], targets[0])
        return
    with ExitStack() as backups, ExitStack() as undo:
        for part, target in zip(parts, targets, strict=True):
            old = _part_of(target)
            if os.path.exists(target):
                backups.callback(old.unlink, missing_ok=True)
                _link_or_copy(target, old)
                undo.callback(os.replace, old, target)
            else:
                undo.callback(Path(target).unlink, missing_ok=True)
            os.replace(part, target)
        undo.pop_all()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def translate_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Translate errors of the system and of encoding to FileFormatError, and set the file of one that has none."""
    try:
        yield
    except OSError as error:
        raise FileFormatError(
            f"cannot be written: {error.strerror or error}", file=os.fspath(path)
        ) from error
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"cannot be written: {error.object[error.start : error.end]!r} is not a character",
            file=os.fspath(path),
            remedy="rename the states",
        ) from error
    except FileFormatError as error:
        error.file = error.file or os.fspath(path)
        raise


def _target(path: str | os.PathLike[str]) -> str:
    """Name of the file without symbolic links; raise FileFormatError if it is not a regular file."""
    target = os.path.realpath(path)
    with suppress(FileNotFoundError):
        kind = stat.S_IFMT(os.stat(target).st_mode)
        if kind != stat.S_IFREG:
            raise FileFormatError(
                f"this is {_KINDS.get(kind, 'something else')}, not a regular file",
                remedy="choose another name",
            )
    return target


def _short_suffix(target: str) -> str:
    """Return the suffix, because it selects the format for some writers."""
    suffix = "".join(Path(target).suffixes[-2:])
    return suffix if len(suffix) <= _MAX_SUFFIX else Path(target).suffix[: _MAX_SUFFIX + 1]


def _create(part: Path, target: str) -> None:
    """Create an empty file with the mode of the target, so that its content is never more readable than that."""
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    with suppress(FileNotFoundError):
        part.chmod(stat.S_IMODE(os.stat(target).st_mode))


def _write_through(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":  # has no descriptors of folders
        return
    with suppress(OSError) if is_folder else nullcontext():
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
