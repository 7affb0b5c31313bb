"""Cache of compiled kernels on disk: one file per kernel, signature and processor.

The folder is named by a digest of all files with kernels and of the versions of klump, Python, NumPy, numba and
llvmlite, the file by the kernel, a digest of its signature, and one of its bytecode and of the processor. So there is
no index to be kept, nothing to become stale, and nothing that processes share but whole files.

numba's own cache (``cache=True``) checks only the modification time of the file of the entry point, not of what is
compiled into it; has an index per function that processes overwrite; and raises an error where no folder can be
written. This one takes its place: ``Dispatcher._cache``, with the interface of ``numba.core.caching._Cache``.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType
from typing import Any

from klump.compilation import announcement
from klump.compilation.folders import CacheRoot, cache_roots, persistent_root
from klump.compilation.sources import kernel_key, kernel_name, sources_unchanged, version_folder

# First bytes of a file: the format's name and version.
_HEADER = b"klump kernel 1\n"
# Bytes of a SHA-256 digest.
_DIGEST_SIZE = 32

_logger = logging.getLogger("klump")


class KernelCache:
    """The cache of one kernel, for all its signatures."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder that compiled code is first looked for in."""
        return str(cache_roots()[0].path / version_folder())

    def enable(self) -> None:
        """Use the cache from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the files of all signatures."""
        prefix = f"{kernel_name(self._function)}-"
        for root in cache_roots():
            for name in root.names(version_folder()):
                if name.startswith(prefix):
                    (root.path / version_folder() / name).unlink(missing_ok=True)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Compiled code of a signature; None if there is none that can be loaded."""
        compiler: Any = import_module("numba.core.compiler")
        target_context.refresh()
        if not self._enabled or not sources_unchanged():
            return None
        key, name = self._names(signature, target_context.codegen())
        for root in cache_roots():
            content = _check_file(root.read(version_folder(), name))
            if content is None:
                continue
            try:
                stored, data = pickle.loads(content)
                if stored != _normalize(signature):
                    continue
                result = compiler.CompileResult._rebuild(target_context, *data)
            except Exception:
                # Whatever is wrong with the file: compile again, and replace it.
                continue
            announcement.note_load(key)
            _touch_once(root)
            return result
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save compiled code; where that is impossible, say so once."""
        serialize: Any = import_module("numba.core.serialize")
        if not self._enabled or not _is_cacheable(result) or not sources_unchanged():
            return
        _, name = self._names(signature, result.codegen)
        content = serialize.dumps((_normalize(signature), result._reduce()))
        content = _HEADER + hashlib.sha256(content).digest() + content
        for root in cache_roots():
            if root.write(version_folder(), name, content):
                _prune_once(root)
                if root.is_temporary:
                    _warn_once(f"compiled kernels are kept in the temporary folder {root.path}")
                return
        _warn_once("compiled kernels cannot be kept")

    def _names(self, signature: Any, codegen: Any) -> tuple[str, str]:
        """Key of the signature, and name of its file."""
        key = kernel_key(self._function, *_normalize(signature))
        code = self._function.__code__
        constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
        parts = (code.co_code, code.co_names, constants, codegen.magic_tuple())
        return key, f"{key}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


def _normalize(signature: Any) -> tuple[Any, Any]:
    """Types of the arguments, and of the result if that is part of the signature."""
    sigutils: Any = import_module("numba.core.sigutils")
    arguments, return_type = sigutils.normalize_signature(signature)
    return tuple(arguments), return_type


def _is_cacheable(result: Any) -> bool:
    """Whether compiled code holds no addresses of this process."""
    return not result.library.has_dynamic_globals and all(part.can_cache for part in result.lifted)


def _check_file(content: bytes | None) -> bytes | None:
    """Content of a file without header and digest; None if it is not what was written."""
    if content is None or not content.startswith(_HEADER):
        return None
    begin = len(_HEADER) + _DIGEST_SIZE
    digest = hashlib.sha256(memoryview(content)[begin:]).digest()
    return content[begin:] if digest == content[len(_HEADER) : begin] else None


@cache
def _touch_once(root: CacheRoot) -> None:
    root.touch(version_folder())


@cache
def _prune_once(root: CacheRoot) -> None:
    root.prune(version_folder())


@cache
def _warn_once(problem: str) -> None:
    root = persistent_root()
    reason = "there is no home folder" if root is None else f"{root.path} cannot be written or is not safe"
    _logger.warning(f"{problem}: {reason}; set NUMBA_CACHE_DIR to a folder of your own")
