"""Results as plain text: every function returns lines, which a command prints."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, Costs
    from klump.chain import MarkovChain
    from klump.guarantees import Bracket, Guarantees, MonteCarlo

# A matrix with more rows than this is no longer something to look at.
_LARGEST_MATRIX = 12
_MOST_SHARED = 10
_NAME, _VALUE = 16, 8
_COST = "(1 - 2 beta) lumpability + beta predictability"
_DELTA = "weighs D(Y||Y~) and R(X) - R(Y)"


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def title(text: str) -> str:
    """Emphasise a line; the emphasis is dropped where stdout is not a terminal."""
    return click.style(text, bold=True)


def blocks(*parts: list[str]) -> list[str]:
    """Put an empty line between parts; parts without lines are left out."""
    filled = [part for part in parts if part]
    return [line for part in filled for line in (*part, "")][:-1]


def heading(path: str, chain: MarkovChain) -> list[str]:
    """Say which chain this is about, and what was done to it."""
    size = f"{path}: {chain.n_states} states, {chain.n_transitions} transitions"
    return [size, *chain.applied]


def groups(agg: Aggregation, width: int, *, full: bool = False) -> list[str]:
    """List the groups with their members, and with their masses if the chain has a stationary distribution."""
    weighed = agg.original.is_irreducible
    start = "{:>5}  {:>6}  {:>7}  " if weighed else "{:>5}  {:>6}  "
    order = "members, heaviest first" if weighed else "members"
    lines = [title(start.format("group", "states", "mass") + order)]
    indent = " " * len(start.format("", "", ""))
    for label, members in enumerate(agg.groups):
        mass = number(float(agg.masses[label])) if weighed else ""
        first = start.format(label, len(members), mass)
        if full:
            lines += _wrapped(first, [shown(state) for state in members], indent, width)
        else:
            lines.append(first + listed(members, width - len(indent)))
    return lines


def costs(found: Costs, betas: Iterable[float]) -> list[str]:
    """List the costs in bits, and what is kept."""
    return [
        title(_row("costs", "bits", "")),
        _row("lumpability", number(found.lumpability), "H(Y2|Y1) - H(Y2|X1)"),
        _row("predictability", number(found.predictability), "I(X1;X2) - I(Y1;Y2)"),
        _row("bottleneck", number(found.bottleneck), "I(X1;X2|Y2)"),
        *(_row(f"cost at {beta:g}", number(found.at(beta)), _COST) for beta in betas),
        _row("kept", percent(found.kept), f"of the {number(found.redundancy_rate)} bits of I(X1;X2)"),
    ]


def certificate(agg: Aggregation, horizon: int | None = None) -> list[str]:
    """List how far the groups are from a bisimulation; a stochastic map has no such certificate."""
    if agg.map.labels is None:
        return []
    found = agg.bisimulation
    lines = [
        title("certificate"),
        _row("epsilon", number(found.epsilon), "how far a state's next group is off at most, exact"),
    ]
    if horizon is not None:
        steps = f"{horizon} step{'s' * (horizon != 1)}"
        remark = "how far the groups on the way are off at most"
        lines.append(_row(steps, number(found.horizon(horizon)), remark))
    if not agg.original.is_irreducible:
        return lines
    void = "; above 1 it is void" if found.bound >= 1 else ""
    return [
        *lines,
        _row("bound", number(found.bound), "on epsilon, by Proposition 1" + void),
        _row("mean", number(found.mean), "how far it is off on average"),
    ]


def guarantees(found: Guarantees, simulated: MonteCarlo, betas: Iterable[float]) -> list[str]:
    """List what is lost over all times, between bounds."""

    def between(name: str, bracket: Bracket, remark: str) -> str:
        values = (number(bracket.lower), number(bracket.upper), number(bracket.gap))
        return _bracket(name, values, remark)

    error = number(simulated.standard_error + simulated.bias)
    return [
        title(_bracket("guarantees", ("at least", "at most", "gap"), f"blocks of {found.block_length}")),
        between("entropy rate", found.entropy_rate, "H(Y), new in each step"),
        between("divergence", found.divergence, "D(Y||Y~) = H(Y2|Y1) - H(Y)"),
        between("redundancy rate", found.redundancy_rate, "R(Y) = H(Y1) - H(Y)"),
        *(between(f"delta at {beta:g}", found.delta(beta), _DELTA) for beta in betas),
        "",
        title(
            _bracket("simulation", ("about", "+-", ""), f"{simulated.n_replicas} x {simulated.n_steps} steps")
        ),
        _bracket("entropy rate", (number(simulated.entropy_rate), error, ""), "standard error"),
    ]


def matrix(chain: MarkovChain, width: int) -> list[str]:
    """Print the coarse transition matrix, if it is small."""
    k = chain.n_states
    if k > _LARGEST_MATRIX:
        return []
    rows: Any = chain.transition_matrix
    rows = rows.toarray() if chain.is_sparse else rows
    digits = 4 if 7 + 8 * k <= width else 2
    names = [f"{label:>{digits + 2}}" for label in range(k)]
    lines = [title("  ".join(["from\\to", *names]))]
    for label, row in enumerate(rows.tolist()):
        lines.append("  ".join([f"{label:>7}", *(f"{value:.{digits}f}" for value in row)]))
    return lines


def notes(agg: Aggregation, width: int) -> list[str]:
    """Print what a reader should know, but for what the heading has said already."""
    return [
        line
        for text in agg.notes
        if text not in agg.original.applied
        for line in textwrap.wrap(f"note: {text}", width, subsequent_indent="      ", break_on_hyphens=False)
    ]


def shares(agg: Aggregation, *, full: bool = False) -> list[str]:
    """List the states that belong to several groups, heaviest first; a partition has none."""
    if agg.map.labels is not None:
        return []
    mass = agg.original.stationary_distribution
    shared = [x for x in (-mass).argsort(kind="stable").tolist() if (agg.mapping[x] > 0).sum() > 1]
    names = {x: shown(agg.original.states[x]) for x in (shared if full else shared[:_MOST_SHARED])}
    width = max(map(len, names.values()), default=0)
    lines = [title("shared states")]
    for x, name in names.items():
        parts = [
            f"{share:.2f} in {label}" for label, share in enumerate(agg.mapping[x].tolist()) if share >= 0.005
        ]
        lines.append(f"  {name:<{width}}  {', '.join(parts)}")
    if len(shared) > len(names):
        lines.append(f"  ... +{len(shared) - len(names)}")
    return lines


def facts(rows: Iterable[tuple[str, str]]) -> list[str]:
    """List facts in two columns."""
    return [f"{name:<14}{value}".rstrip() for name, value in rows]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Print a table with a header, everything flush right."""
    content = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *content, strict=True)]
    lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in content]
    return [title("  ".join(f"{cell:>{w}}" for cell, w in zip(columns, widths, strict=True))), *lines]


def number(value: float) -> str:
    """Write a number in seven columns: four decimals, unless they say nothing or too much.

    >>> number(0.41379), number(0.0000123), number(0.0), number(170.4598)
    ('0.4138', '1.2e-05', '0.0000', '170.5')
    """
    if 0 < abs(value) < 0.0005 or abs(value) >= 99999:
        return f"{value:.1e}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4f}"


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.1f} %"


def shown(state: Hashable) -> str:
    """Write a state's name so that it can be told from its neighbours.

    >>> shown("a"), shown(" "), shown(7), shown("")
    ('a', "' '", '7', "''")
    """
    text = str(state)
    return text if text.isprintable() and text and not any(map(str.isspace, text)) else repr(text)


def listed(states: Sequence[Hashable], width: int) -> str:
    """Names in a line of limited width, and how many did not fit.

    >>> listed(["north", "east", "south", "west"], 20)
    'north east ... +2'
    """
    # Every name takes two columns at least, so that no more of a large group need be looked at.
    names = [shown(state) for state in states[: max(width, 2)]]
    whole = " ".join(names)
    if len(names) == len(states) and cell_len(whole) <= width:
        return whole
    line = names[0]
    for count, name in enumerate(names[1:], start=1):
        longer = f"{line} {name}"
        if cell_len(f"{longer} ... +{len(states) - count - 1}") > width:
            return f"{line} ... +{len(states) - count}"
        line = longer
    return line


def cell_len(text: str) -> int:
    """Columns that a text takes on a terminal, where some characters are two wide."""
    from rich.cells import cell_len as measured

    return measured(text)


def _row(name: str, value: str, remark: str) -> str:
    return f"{name:<{_NAME}}{value:>{_VALUE}}  {remark}".rstrip()


def _bracket(name: str, values: Sequence[str], remark: str) -> str:
    columns = "".join(f"{value:>{_VALUE + 1}}" for value in values)
    return f"{name:<{_NAME}}{columns}  {remark}".rstrip()


def _wrapped(first: str, words: Iterable[str], indent: str, width: int) -> list[str]:
    lines, line = [], first
    for word in words:
        fresh = line in (first, indent)
        if not fresh and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, fresh = indent, True
        line += word if fresh else f" {word}"
    return [*lines, line]
