"""Formatting of state names and counts in messages and reports."""

from __future__ import annotations

from collections.abc import Hashable


def shown(state: Hashable) -> str:
    """Format a state name, quoted if it is empty, not printable or has white space.

    >>> shown("a"), shown(" "), shown(7), shown("")
    ('a', "' '", '7', "''")
    """
    text = str(state)
    return text if text.isprintable() and text and not any(map(str.isspace, text)) else repr(text)


def counted(number: int, thing: str, plural: str = "s") -> str:
    """Format a count with its noun, in the singular or plural.

    >>> counted(1, "state"), counted(0, "state"), counted(2, "class", "es")
    ('1 state', '0 states', '2 classes')
    """
    return f"{number} {thing}{plural if number != 1 else ''}"
