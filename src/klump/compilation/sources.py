"""Files whose code is compiled, their digest, and names of kernels and signatures."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from klump import __version__

PACKAGE = Path(__file__).parents[1]
# All files whose code is compiled, relative to the package.
KERNEL_FILES = ("chain/elimination.py", "**/kernels/*.py", "compilation/decorators.py")


@cache
def kernel_files() -> list[Path]:
    """All files whose code is compiled."""
    return sorted({path for pattern in KERNEL_FILES for path in PACKAGE.glob(pattern)})


def _stamps() -> list[tuple[str, int, int]]:
    """Name, modification time and size of all files with kernels."""
    return [(str(path), (found := path.stat()).st_mtime_ns, found.st_size) for path in kernel_files()]


@cache
def record_sources() -> tuple[list[tuple[str, int, int]], str]:
    """Stamps and digest of the files with kernels when the first kernel was imported."""
    stamps = _stamps()
    versions = [__version__, platform.python_implementation(), platform.python_version()]
    versions += [version(name) for name in ("numpy", "numba", "llvmlite")]
    digest = hashlib.sha256(repr(versions).encode())
    for path in kernel_files():
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return stamps, digest.hexdigest()


@cache
def version_folder() -> str:
    """Name of the folder of this version of the kernels."""
    return f"{__version__}-{record_sources()[1][:16]}"


def sources_unchanged() -> bool:
    """Whether the files with kernels are there, and still those that were imported: else the digest says nothing."""
    stamps = record_sources()[0]
    try:
        return bool(stamps) and stamps == _stamps()
    except OSError:
        return False


def kernel_name(function: Any) -> str:
    """Name of a kernel: module within klump, and function.

    >>> from klump.chain.elimination import eliminate_states
    >>> kernel_name(eliminate_states)
    'chain.elimination.eliminate_states'
    """
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("klump.")
    return name.replace("<locals>.", "").replace("<lambda>", "lambda")


def kernel_key(function: Any, arguments: Any, return_type: Any = None) -> str:
    """Name of a kernel and digest of a signature, the same on every machine."""
    signature = f"{arguments} {return_type}".encode()
    return f"{kernel_name(function)}-{hashlib.sha256(signature).hexdigest()[:8]}"
