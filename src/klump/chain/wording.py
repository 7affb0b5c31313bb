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


class Change(str):
    """A sentence about what was done to a chain, and its kind: "restarted", "restricted" or "power"."""

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, text: str, kind: str) -> Change:
        """Make a sentence of some kind."""
        change = super().__new__(cls, text)
        change.kind = kind
        return change

    def __reduce__(self) -> tuple[type[Change], tuple[str, str]]:
        return Change, (str(self), self.kind)


def kind_of(change: str) -> str | None:
    """Kind of a change; None for one that was read from a file, where only the sentence is kept."""
    return change.kind if isinstance(change, Change) else None
