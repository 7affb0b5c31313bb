"""Members of a tar archive, plain or compressed, read to memory one after the other and never written to the disk."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from klump.errors import FileFormatError
from klump.files.gate import FETCH_AGAIN, quote
from klump.files.limits import FREE_ARCHIVE_BYTES
from klump.files.streams import open_bytes

# Largest number of members: a label and a reward have one each, and folders for them.
_MAX_MEMBERS = 100_000


def read_members(path: Path, is_wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Content of the members whose names are wanted.

    The archive is read as a stream whose length is known, so that no member is longer than the archive.
    """
    found: dict[str, bytes] = {}
    with (
        open_bytes(path, FREE_ARCHIVE_BYTES) as (stream, length),
        tarfile.open(fileobj=stream, mode="r|", errors="strict") as archive,
    ):
        for count, member in enumerate(archive):
            name = member.name
            if count >= _MAX_MEMBERS:
                raise FileFormatError(f"it has more than {_MAX_MEMBERS:,} members", remedy=FETCH_AGAIN)
            if PurePosixPath(name).is_absolute() or ".." in name.replace("\\", "/").split("/"):
                raise FileFormatError(
                    f"its member {quote(name)} points outside the archive", remedy=FETCH_AGAIN
                )
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise FileFormatError(
                    f"its member {quote(name)} is a link, a device or a sparse file", remedy=FETCH_AGAIN
                )
            name = name.removeprefix("./")
            if name in found:
                raise FileFormatError(f"it has two members named {quote(name)}", remedy=FETCH_AGAIN)
            if not is_wanted(name):
                continue
            content = archive.extractfile(member)
            data = b"" if content is None else content.read(min(member.size, length))
            if len(data) != member.size:
                raise EOFError(f"its member {quote(name)} ends early")
            found[name] = data
    return found
