"""Standard input as a file: readers need to seek, and to know the length."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klump import signals
from klump.errors import FileFormatError, KlumpError
from klump.files.limits import MAX_BYTES

# Bytes per read.
_CHUNK = 2**20
_NAME = "standard input"


@contextmanager
def copy_standard_input() -> Iterator[str]:
    """Temporary file with the content of standard input; errors about it name standard input."""
    descriptor, path = tempfile.mkstemp(prefix="klump-")
    with signals.removing(path):
        try:
            with open(descriptor, "wb") as file:
                length = 0
                while chunk := sys.stdin.buffer.read(_CHUNK):
                    length += len(chunk)
                    if length > MAX_BYTES:
                        raise FileFormatError(f"more than {MAX_BYTES:,} bytes", file=_NAME)
                    file.write(chunk)
            if not length:
                raise FileFormatError("there is nothing to read", file=_NAME, remedy="pipe a chain to klump")
            yield path
        except KlumpError as error:
            if error.file is not None and os.path.basename(error.file) == os.path.basename(path):
                error.file = _NAME
            raise
        finally:
            Path(path).unlink(missing_ok=True)
