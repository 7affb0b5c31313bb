"""How states and numbers of things are written wherever klump writes text."""

from __future__ import annotations

from collections.abc import Hashable


def shown(state: Hashable) -> str:
    """Write a state's name so that it can be told from its neighbours.

    >>> shown("a"), shown(" "), shown(7), shown("")
    ('a', "' '", '7', "''")
    """
    text = str(state)
    return text if text.isprintable() and text and not any(map(str.isspace, text)) else repr(text)


def counted(number: int, thing: str, plural: str = "s") -> str:
    """Write a number of things.

    >>> counted(1, "state"), counted(0, "state"), counted(2, "class", "es")
    ('1 state', '0 states', '2 classes')
    """
    return f"{number} {thing}{plural if number != 1 else ''}"
