"""Open a checkpoint for a question, and refuse that of another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib import metadata
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np

from klump import __version__
from klump.chain import MarkovChain
from klump.chain.wording import format_count
from klump.checkpoints.journal import Journal
from klump.checkpoints.scopes import Scope
from klump.checkpoints.values import DIGEST_SIZE, digest
from klump.errors import FileFormatError, InvalidArgumentError, Setting

# A checkpoint: the name of a file, or a part of one that is open already.
Checkpoint = str | os.PathLike[str] | Scope
# Rows of a matrix that are hashed together.
_BLOCK_ROWS = 65_536
_PACKAGE = Path(__file__).parents[1]
# Packages that results depend on, besides klump.
_PACKAGES = ("numpy", "scipy", "numba")

_logger = getLogger("klump")


@contextmanager
def open_checkpoint(
    checkpoint: Checkpoint | None, *, resume: bool, question: dict[str, Any]
) -> Iterator[Scope | None]:
    """Open the checkpoint of a question; None without one.

    Parameters
    ----------
    checkpoint
        Name of the file, which must not exist unless ``resume`` is set; or the scope that a question around this one
        has opened.
    resume
        Continue the run that wrote the file; if there is none, begin it.
    question
        All that the answer depends on: storable values by the name of the argument, and the chain as ``chain``.

    Raises
    ------
    FileFormatError
        If the file exists without ``resume``, is damaged, is the checkpoint of another question or of another version
        of klump, or cannot be written.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "run.ckpt"
    >>> with open_checkpoint(path, resume=False, question={"n_states": 4}) as scope:
    ...     scope.once("sum", lambda: 2 + 2)
    4
    >>> with open_checkpoint(path, resume=True, question={"n_states": 4}) as scope:
    ...     scope.once("sum", lambda: print("is not run again"))
    4
    """
    if checkpoint is None:
        if resume:
            raise InvalidArgumentError(
                ("needs ", Setting("checkpoint")),
                argument="resume",
                value=True,
                remedy="name the file to resume from",
            )
        yield None
        return
    if isinstance(checkpoint, Scope):
        yield checkpoint.scope(f"question {digest(_describe(question))}")
        return
    described = _describe(question) | {"versions": _versions()}
    journal = Journal(checkpoint, described, resume=resume)
    try:
        _compare(journal.question, described, journal.path)
        if len(journal):
            _logger.info(f"resuming from {journal.path}: {format_count(len(journal), 'result')}")
        yield Scope(journal)
    finally:
        journal.close()


def _describe(question: dict[str, Any]) -> dict[str, Any]:
    """Question with digests in place of chains, arrays and other large values."""
    return {
        name: _describe_chain(value) if isinstance(value, MarkovChain) else _describe_value(value)
        for name, value in question.items()
    }


def _describe_value(value: Any) -> Any:
    """The value itself if messages can show it, else its digest."""
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, MarkovChain) for part in parts):
        return {"digest": digest([_describe_chain(part) for part in parts])}
    plain = all(part is None or isinstance(part, bool | int | float | str) for part in parts)
    return value if plain else {"digest": digest(value)}


def _describe_chain(chain: MarkovChain) -> dict[str, Any]:
    """Size of a chain, and digest of all that a search reads of it."""
    hashed = blake2b(digest_size=DIGEST_SIZE)
    matrix: Any = chain.transition_matrix
    parts = [matrix.indptr, matrix.indices, matrix.data] if chain.is_sparse else [matrix]
    parts += [chain.stationary_distribution] if chain.is_irreducible else []
    for part in parts:
        kind = "<f8" if part.dtype.kind == "f" else "<i8"
        for first in range(0, len(part), _BLOCK_ROWS):
            hashed.update(np.ascontiguousarray(part[first : first + _BLOCK_ROWS], dtype=kind).data)
    return {"states": chain.n_states, "transitions": chain.n_transitions, "digest": hashed.hexdigest()}


@cache
def _versions() -> dict[str, str]:
    """Versions of the packages, and digest of the code of klump that results depend on."""
    code = blake2b(digest_size=DIGEST_SIZE)
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] not in ("cli", "plots", "experiments"):
            code.update(path.read_bytes())
    versions = {name: metadata.version(name) for name in _PACKAGES}
    return {"klump": __version__, **versions, "code of klump": code.hexdigest()}


def _compare(stored: dict[str, Any], asked: dict[str, Any], path: str) -> None:
    """Raise FileFormatError if the stored question is another one."""
    if stored == asked:
        return
    remedy = "delete it, or choose another name"
    old, new = (question.get("versions", {}) for question in (stored, asked))
    for name in new:
        if old.get(name) != new[name]:
            what = "another code of klump" if " " in name else f"{name} {old.get(name)}, not {new[name]}"
            raise FileFormatError(f"this checkpoint was written with {what}", remedy=remedy, file=path)
    if stored.get("function") != asked.get("function"):
        what = f"of {stored.get('function')}, not of {asked.get('function')}"
        raise FileFormatError(f"this is a checkpoint {what}", remedy=remedy, file=path)
    if stored.get("chain") != asked.get("chain"):
        sizes = [_size(question.get("chain")) for question in (stored, asked)]
        what = f"of {sizes[0]}, not {sizes[1]}" if sizes[0] != sizes[1] else "with other probabilities"
        raise FileFormatError(f"this is the checkpoint of a chain {what}", remedy=remedy, file=path)
    for name in asked:
        if stored.get(name) != asked[name]:
            raise _difference(name, stored.get(name), asked[name], path)
    raise FileFormatError("this is the checkpoint of another question", remedy=remedy, file=path)


def _size(chain: Any) -> str:
    if not isinstance(chain, dict):
        return "unknown size"
    return f"{format_count(chain['states'], 'state')} and {format_count(chain['transitions'], 'transition')}"


def _difference(name: str, stored: Any, asked: Any, path: str) -> FileFormatError:
    remedy = "delete it, or choose another name"
    if any(isinstance(value, dict) for value in (stored, asked)):
        problem = ("this is the checkpoint of another ", Setting(name))
        return FileFormatError(problem, remedy=remedy, file=path)
    return FileFormatError(
        ("this is the checkpoint of ", Setting(name, stored), ", not ", Setting(name, asked)),
        remedy=("pass ", Setting(name, stored), f", {remedy}"),
        file=path,
    )
