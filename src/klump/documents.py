"""Values of JSON documents: strictly valid JSON, and the schema that every document of klump follows."""

from __future__ import annotations

import math
import platform
from collections.abc import Hashable
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from numbers import Integral
from typing import Any

# File of the schema; its number changes when a document loses a key or a key its meaning.
SCHEMA = "documents-1.json"


def plain(value: Any) -> Any:
    """Convert arrays and tuples to lists, and NaN and infinity, which JSON does not have, to None.

    >>> plain({"kept": float("nan"), "labels": (1, 2)})
    {'kept': None, 'labels': [1, 2]}
    """
    if hasattr(value, "toarray"):
        value = value.toarray()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def name(state: Hashable) -> str | int:
    """Return a state's name for JSON: strings and integers, also those of NumPy, as they are; others as strings.

    >>> name("a"), name(3), name((0, 1))
    ('a', 3, '(0, 1)')
    """
    is_number = isinstance(state, Integral) and not isinstance(state, bool)
    return int(state) if is_number else str(state)  # type: ignore[call-overload]


def versions(*packages: str) -> dict[str, str | None]:
    """Return the versions of Python and of packages; None for a package that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def read_schema() -> str:
    """Text of the JSON schema of all documents.

    >>> import json
    >>> json.loads(read_schema())["$id"]
    'klump/documents/1'
    """
    return (files("klump") / "schema" / SCHEMA).read_text(encoding="utf-8")
