"""Results as plain text: every function returns lines, which a command prints."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from klump.chain.wording import counted, shown

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, Costs
    from klump.chain import MarkovChain
    from klump.guarantees import Bracket, Guarantees, MonteCarlo

# A matrix with more rows than this is no longer something to look at.
_LARGEST_MATRIX = 12
_MOST_SHARED = 10
# Smaller numbers are what rounding leaves of zero.
_ROUNDING = 1e-12
# A remark that would have to be broken into lines shorter than this is left out.
_SHORTEST_REMARK = 24
_NAME, _VALUE = 16, 8
_COST = "(1 - 2 beta) lumpability + beta predictability"
_GENERATED = " + gamma generated"
_ONE_STEP = "total variation between a state's and its group's next-group distribution"
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
    size = f"{path}: {counted(chain.n_states, 'state')}, {counted(chain.n_transitions, 'transition')}"
    width = terminal_width()
    return [
        size,
        *(line for text in chain.applied for line in textwrap.wrap(text, width, subsequent_indent="  ")),
    ]


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


def costs(found: Costs, betas: Iterable[float], width: int, gamma: float = 0.0) -> list[str]:
    """List the costs in bits, and what is kept."""
    formula = _COST + _GENERATED * (gamma > 0.0)
    return [
        title(f"{'costs':<{_NAME}}{'bits':>{_VALUE}}"),
        *_row("lumpability", number(found.lumpability), "H(Y2|Y1) - H(Y2|X1)", width),
        *_row("predictability", number(found.predictability), "I(X1;X2) - I(Y1;Y2)", width),
        *_row("bottleneck", number(found.bottleneck), "I(X1;X2|Y2)", width),
        *_row("generated", number(found.generated), "H(X2|X1) - H(Y2|X1)", width),
        *(
            line
            for beta in betas
            for line in _row(f"cost at {beta:g}", number(found.at(beta, gamma)), formula, width)
        ),
        *_row("kept", percent(found.kept), f"of the {number(found.redundancy_rate)} bits of I(X1;X2)", width),
    ]


def certificate(agg: Aggregation, width: int, lumpable: bool | None = None) -> list[str]:
    """List how far the groups are from a bisimulation; a stochastic map has no such certificate."""
    if agg.map.labels is None:
        return []
    found = agg.bisimulation
    rows = [("epsilon", number(found.epsilon), "largest over all states")]
    if agg.original.is_irreducible:
        rows.insert(0, ("mean", number(found.mean), "mean over the stationary distribution"))
        void = "; above 1 it is void" if found.bound >= 1 else ""
        rows.append(("bound", number(found.bound), f"on epsilon, by Proposition 1{void}"))
    if lumpable is not None:
        remark = (
            "an exact lumping: the groups are a Markov chain"
            if lumpable
            else "the groups are no exact lumping"
        )
        rows.insert(0, ("lumpable", "yes" if lumpable else "no", remark))
    header = _row("certificate", "", _ONE_STEP, width)
    return [*map(title, header), *(line for row in rows for line in _row(*row, width))]


def horizon(agg: Aggregation, steps: int, found: Guarantees | None, width: int) -> list[str]:
    """List the bounds on the laws of paths: of stationary chains, if there are guarantees, and from any start."""
    rows = []
    if found is not None:
        rows.append(("stationary", number(found.horizon(steps)), "both chains start stationary"))
    elif agg.original.is_irreducible:
        rows.append(("stationary", "-", "--guarantees adds this bound"))
    if agg.map.labels is not None:
        value = number(agg.bisimulation.horizon(steps))
        void = "; at 1 it is void" if value == number(1.0) else ""
        rows.append(("any start", value, f"any initial distribution, 1 - (1 - epsilon)^{steps}{void}"))
    successive = counted(steps + 1, "successive group")
    header = _row("horizon", "", f"bound on the total variation between the laws of {successive}", width)
    return [*map(title, header), *(line for row in rows for line in _row(*row, width))]


def guarantees(found: Guarantees, simulated: MonteCarlo, betas: Iterable[float], width: int) -> list[str]:
    """List what is lost over all times, between bounds."""

    def between(name: str, bracket: Bracket, remark: str) -> list[str]:
        values = (number(bracket.lower), number(bracket.upper), number(bracket.gap))
        return _bracket(name, values, remark, width)

    error = number(simulated.standard_error + simulated.bias)
    runs = f"from {counted(simulated.n_replicas, 'run')} of {counted(simulated.n_steps, 'step')}"
    return [
        *map(title, _bracket("guarantees", ("at least", "at most", "gap"), "bits per step", width)),
        *between("entropy rate", found.entropy_rate, f"H(Y), from blocks of {found.block_length}"),
        *between("divergence", found.divergence, "D(Y||Y~) = H(Y2|Y1) - H(Y)"),
        *between("redundancy rate", found.redundancy_rate, "R(Y) = H(Y1) - H(Y)"),
        *(line for beta in betas for line in between(f"delta at {beta:g}", found.delta(beta), _DELTA)),
        "",
        *map(title, _bracket("simulation", ("about", "+-", ""), "bits per step", width)),
        *_bracket("entropy rate", (number(simulated.entropy_rate), error, ""), runs, width),
        "+- is the standard error plus the possible bias",
    ]


def matrix(chain: MarkovChain, width: int) -> list[str]:
    """Print the coarse transition matrix, if it is small and there is room for it."""
    k = chain.n_states
    digits = next((digits for digits in (4, 2) if 7 + (4 + digits) * k <= width), None)
    if k > _LARGEST_MATRIX or digits is None:
        return []
    rows: Any = chain.transition_matrix
    rows = rows.toarray() if chain.is_sparse else rows
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
        if text.kind != "applied"
        for line in textwrap.wrap(f"note: {text}", width, subsequent_indent="      ", break_on_hyphens=False)
    ]


def shares(agg: Aggregation, width: int, *, full: bool = False) -> list[str]:
    """List the states that belong to several groups, heaviest first; a partition has none."""
    if agg.map.labels is not None:
        return []
    mass = agg.original.stationary_distribution
    shared = [x for x in (-mass).argsort(kind="stable").tolist() if (agg.mapping[x] > 0).sum() > 1]
    names = {x: shown(agg.original.states[x]) for x in (shared if full else shared[:_MOST_SHARED])}
    longest = max(map(len, names.values()), default=0)
    lines = [title("shared states")]
    for x, name in names.items():
        parts = [
            f"{share:.2f} in {label}" for label, share in enumerate(agg.mapping[x].tolist()) if share >= 0.005
        ]
        start = f"  {name:<{longest}}  "
        lines += textwrap.wrap(start + ", ".join(parts), width, subsequent_indent=" " * len(start))
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

    >>> number(0.41379), number(0.0000123), number(3.5e-17), number(170.4598)
    ('0.4138', '1.2e-05', '0.0000', '170.5')
    """
    if abs(value) < _ROUNDING:
        value = 0.0
    if 0 < abs(value) < 0.0005 or abs(value) >= 99999:
        return f"{value:.1e}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4f}"


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.1f} %"


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


def _row(name: str, value: str, remark: str, width: int) -> list[str]:
    return _remarked(f"{name:<{_NAME}}{value:>{_VALUE}}", remark, width)


def _bracket(name: str, values: Sequence[str], remark: str, width: int) -> list[str]:
    columns = "".join(f"{value:>{_VALUE + 1}}" for value in values)
    return _remarked(f"{name:<{_NAME}}{columns}", remark, width)


def _remarked(start: str, remark: str, width: int) -> list[str]:
    """Put a remark behind a row, on several lines if need be; where there is no room for that, it is left out."""
    room = width - len(start) - 2
    if len(remark) <= room:
        return [f"{start}  {remark}".rstrip()]
    if room < _SHORTEST_REMARK:
        return [start.rstrip()]
    first, *rest = textwrap.wrap(remark, room, break_on_hyphens=False)
    return [f"{start}  {first}", *(" " * (len(start) + 2) + line for line in rest)]


def _wrapped(first: str, words: Iterable[str], indent: str, width: int) -> list[str]:
    lines, line = [], first
    for word in words:
        fresh = line in (first, indent)
        if not fresh and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, fresh = indent, True
        line += word if fresh else f" {word}"
    return [*lines, line]
