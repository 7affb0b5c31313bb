"""State names as text that is read back to the same values: JSON, and valuations of variables.

A valuation is a name like ``s=0,d=1``: the values of the variables of a model that PRISM or Storm has built, integers
or truth values. ``.sta``, ``.drn`` and ``.umb`` files hold valuations, which become such names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from typing import Any

from klump.errors import InvalidArgumentError

_VARIABLE = r"[A-Za-z_][\w.']*"
_VALUATION = re.compile(rf"{_VARIABLE}=(?:-?[0-9]+|true|false)(?:,{_VARIABLE}=(?:-?[0-9]+|true|false))*")
# Name of the only variable whose values are the names themselves.
NAME = "name"


def name_to_json(name: Hashable) -> str:
    """State name as JSON; raise InvalidArgumentError for one that would be read back as another."""
    text = json.dumps(name, default=str)
    if repr(name_from_json(text)) != repr(name):
        raise InvalidArgumentError(
            f"the state name {name!r} cannot be written without pickle",
            state=name,
            remedy="use text, numbers or tuples",
        )
    return text


def name_from_json(text: str) -> Any:
    """State name from JSON."""
    return _lists_to_tuples(json.loads(text))


def _lists_to_tuples(value: Any) -> Any:
    """Convert JSON lists to tuples, recursively: names are hashable, so every list was a tuple."""
    return tuple(_lists_to_tuples(item) for item in value) if isinstance(value, list) else value


def format_valuation(variables: Sequence[str], values: Sequence[str]) -> str:
    """State name of a valuation.

    >>> format_valuation(["s", "d"], ["0", "1"])
    's=0,d=1'
    """
    return ",".join(f"{variable}={value}" for variable, value in zip(variables, values, strict=True))


def parse_valuations(names: Sequence[Hashable]) -> tuple[list[str], list[list[str]]] | None:
    """Variables, and their values per state; None unless all names are valuations of the same variables.

    >>> parse_valuations(["s=0,d=1", "s=1,d=0"]), parse_valuations(["sun", "rain"])
    ((['s', 'd'], [['0', '1'], ['1', '0']]), None)
    """
    variables: list[str] | None = None
    rows = []
    for name in names:
        if not isinstance(name, str) or not _VALUATION.fullmatch(name):
            return None
        pairs = [part.split("=") for part in name.split(",")]
        if variables is None:
            variables = [variable for variable, _ in pairs]
        if [variable for variable, _ in pairs] != variables:
            return None
        rows.append([value for _, value in pairs])
    if variables is None or len(set(variables)) < len(variables) or variables == [NAME]:
        return None
    return variables, rows
