"""Formatting of state names, counts, numbers and tables in messages and reports."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Self

# End of a text that was cut.
CUT = "..."


def format_state(state: Hashable) -> str:
    """Format a state name, quoted if it is empty, not printable or has white space.

    >>> format_state("a"), format_state(" "), format_state(7), format_state("")
    ('a', "' '", '7', "''")
    """
    text = str(state)
    return text if text.isprintable() and text and not any(map(str.isspace, text)) else repr(text)


def free_name(name: str, taken: Collection[Hashable]) -> str:
    """Name that no state has yet: the one wanted, or that with the first number that is free.

    >>> free_name("(restart)", ("a", "b")), free_name("(restart)", ("(restart)", "(restart 2)"))
    ('(restart)', '(restart 3)')
    """
    found, number = name, 2
    while found in taken:
        found = f"{name[:-1]} {number})"
        number += 1
    return found


def format_count(number: int, thing: str, plural: str = "s") -> str:
    """Format a count with its noun, in the singular or plural.

    >>> format_count(1, "state"), format_count(0, "state"), format_count(2, "class", "es")
    ('1 state', '0 states', '2 classes')
    """
    return f"{number} {thing}{plural if number != 1 else ''}"


# Magnitude below which a cost, a mass or an epsilon is rounding error of zero, and is printed as zero.
_ROUNDING_ERROR = 1e-12
# Smallest magnitude that four decimals show with a significant digit: 0.0005.
_FOUR_DECIMALS = 5e-4
# Magnitude from which one decimal fits seven columns, and four do not.
_ONE_DECIMAL = 100
# Magnitude from which a number is printed with an exponent, as it exceeds seven columns otherwise.
_EXPONENT = 99999


def format_number(value: float) -> str:
    """Format a number in at most seven columns: four decimals; one from 100; an exponent if those show nothing.

    >>> format_number(0.41379), format_number(0.0000123), format_number(-3.5e-17), format_number(170.4598)
    ('0.4138', '1.2e-05', '0.0000', '170.5')
    """
    if abs(value) < _ROUNDING_ERROR:
        value = 0.0
    if 0 < abs(value) < _FOUR_DECIMALS or abs(value) >= _EXPONENT:
        return f"{value:.1e}"
    return f"{value:.1f}" if abs(value) >= _ONE_DECIMAL else f"{value:.4f}"


def format_percent(share: float) -> str:
    """Format a share as a percentage with one decimal.

    >>> format_percent(0.8312)
    '83.1 %'
    """
    return f"{100 * share:.1f} %"


def format_seconds(seconds: float) -> str:
    """Format seconds with about three significant digits.

    >>> format_seconds(0.0123), format_seconds(4.56), format_seconds(1234.5)
    ('0.012', '4.56', '1234')
    """
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 100 else f"{seconds:.0f}"


def list_states(states: Sequence[Hashable], width: int) -> str:
    """Format the names of states on one line of limited width, with the number of those that do not fit.

    >>> list_states(["north", "east", "south", "west"], 20)
    'north east ... +2'
    """
    # A name takes at least one column and its separator another, so `width` names always exceed the line.
    names = [format_state(state) for state in states[: max(width, 2)]]
    whole = " ".join(names)
    if len(names) == len(states) and cell_len(whole) <= width:
        return whole
    more = f" ... +{len(states) - 1}" if len(states) > 1 else ""
    line = fit(names[0], max(width - len(more), len(CUT) + 1))
    for count, name in enumerate(names[1:], start=1):
        longer = f"{line} {name}"
        if cell_len(f"{longer} ... +{len(states) - count - 1}") > width:
            return f"{line} ... +{len(states) - count}"
        line = longer
    return line


def cell_len(text: str) -> int:
    """Return the width of a text in terminal columns: wide characters take two."""
    from rich.cells import cell_len as measure

    return measure(text)


def pad(text: str, width: int) -> str:
    """Append blanks up to a width in terminal columns."""
    return text + " " * (width - cell_len(text))


def fit(text: str, width: int) -> str:
    """Cut a text to a width in terminal columns; what a terminal would not print is escaped.

    >>> fit("consonants", 8), fit("vowels", 8)
    ('conso...', 'vowels')
    """
    text = text if text.isprintable() else repr(text)
    if cell_len(text) <= width:
        return text
    # Combining characters take no column: four per column are plenty.
    text = text[: 4 * width]
    while cell_len(text) > width - len(CUT):
        text = text[:-1]
    return text + CUT


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Format a table with a header, all columns flush right.

    >>> table_lines(("beta", "cost"), [("1", "0.5000")])
    ['beta    cost', '   1  0.5000']
    """
    content = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*content, strict=True)]
    return [
        "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in content
    ]


class Sentence(str):
    """A sentence with a kind, so that code branches on the kind and never on the text."""

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, text: str, kind: str) -> Self:
        """Build a sentence of some kind."""
        sentence = super().__new__(cls, text)
        sentence.kind = kind
        return sentence

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.kind)


class Change(Sentence):
    """A change that was applied to a chain; its kind is "restarted", "restricted" or "power"."""

    __slots__ = ()


def kind_of(change: str) -> str | None:
    """Kind of a change; None for one that was read from a file, where only the sentence is kept."""
    return change.kind if isinstance(change, Change) else None
