"""Results as plain text: every function returns the lines of one block."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from klump.chain.wording import format_count, format_number, format_percent, format_state, table_lines
from klump.search.registry import DEFAULT_EFFORT

if TYPE_CHECKING:
    from klump.aggregation import Aggregation, Costs
    from klump.aggregation.notes import Note
    from klump.chain import MarkovChain
    from klump.guarantees import Bracket, Guarantees, MonteCarlo

# Largest number of groups whose transition matrix is printed: 12 columns fit 80 columns of text.
_MAX_MATRIX_ROWS = 12
# Largest number of shared states that are listed without --full.
_MAX_SHARED_STATES = 10
# Smallest share of a state in a group that is listed: two decimals round smaller ones to zero.
_MIN_SHARE = 0.005
# Narrowest column for a remark, in characters: on a narrower terminal remarks are left out.
_MIN_REMARK_WIDTH = 24
# Width of the first column of `facts`, in characters.
FACT_WIDTH = 14
# Width of the name column, in characters.
_NAME_WIDTH = 16
# Width of a number column, in characters.
_VALUE_WIDTH = 8
_COST = "(1 - 2 beta) lumpability + beta predictability"
_GENERATED = " + gamma generated"
_ONE_STEP = "total variation between a state's and its group's next-group distribution"
_DELTA = "(1 - beta) D(Y||Y~) + beta (R(X) - R(Y))"


def terminal_width() -> int:
    """Return the terminal width in columns; 80 without a terminal."""
    return shutil.get_terminal_size().columns


def title(text: str) -> str:
    """Make a line bold; click drops the escape codes where standard output is not a terminal."""
    return click.style(text, bold=True)


def blocks(*parts: list[str]) -> list[str]:
    """Join blocks of lines with an empty line between them; skip empty blocks."""
    filled = [part for part in parts if part]
    return [line for part in filled for line in (*part, "")][:-1]


def heading(path: str, chain: MarkovChain) -> list[str]:
    """Return the file, the size of the chain, and what was applied to it."""
    size = (
        f"{path}: {format_count(chain.n_states, 'state')}, {format_count(chain.n_transitions, 'transition')}"
    )
    width = terminal_width()
    return [
        size,
        *(line for text in chain.applied for line in textwrap.wrap(text, width, subsequent_indent="  ")),
    ]


def effort_suffix(effort: str | None) -> str:
    """Return the text that follows the method in a heading; empty for the default effort.

    >>> effort_suffix("quick"), effort_suffix("balanced"), effort_suffix(None)
    (', effort quick', '', '')
    """
    return "" if effort in (None, DEFAULT_EFFORT) else f", effort {effort}"


def gamma_suffix(gamma: float) -> str:
    """Return the text that follows beta in a heading; empty if gamma is 0.

    >>> gamma_suffix(0.2), gamma_suffix(0.0)
    (', gamma 0.2', '')
    """
    return f", gamma {gamma:g}" if gamma > 0 else ""


def groups(agg: Aggregation, width: int, *, full: bool = False) -> list[str]:
    """List each group with its size, its members and, if the chain is irreducible, its stationary mass."""
    from klump.aggregation import layout

    return _with_title(layout.group_lines(agg, width, full=full))


def costs(found: Costs, betas: Iterable[float], width: int, gamma: float = 0.0) -> list[str]:
    """List the costs in bits, and the share of I(X1;X2) that the groups keep."""
    formula = _COST + _GENERATED * (gamma > 0.0)
    return [
        title(f"{'costs':<{_NAME_WIDTH}}{'bits':>{_VALUE_WIDTH}}"),
        *_row("lumpability", format_number(found.lumpability), "H(Y2|Y1) - H(Y2|X1)", width),
        *_row("predictability", format_number(found.predictability), "I(X1;X2) - I(Y1;Y2)", width),
        *_row("bottleneck", format_number(found.bottleneck), "I(X1;X2|Y2)", width),
        *_row("generated", format_number(found.generated), "H(X2|X1) - H(Y2|X1)", width),
        *(
            line
            for beta in betas
            for line in _row(f"cost at {beta:g}", format_number(found.at(beta, gamma)), formula, width)
        ),
        *_row(
            "kept",
            format_percent(found.kept),
            f"of the {format_number(found.redundancy_rate)} bits of I(X1;X2)",
            width,
        ),
    ]


def certificate(agg: Aggregation, width: int, lumpable: bool | None = None) -> list[str]:
    """List the bisimulation certificate of a partition; a soft map has none."""
    if agg.map.labels is None:
        return []
    found = agg.bisimulation
    rows = [("epsilon", format_number(found.epsilon), "largest over all states")]
    if agg.original.is_irreducible:
        rows.insert(0, ("mean", format_number(found.mean), "mean over the stationary distribution"))
        void = "; void, as it is not below 1" if found.bound >= 1 else ""
        rows.append(("bound", format_number(found.bound), f"upper bound on epsilon, by Proposition 1{void}"))
    if lumpable is not None:
        remark = (
            "exact lumping: the sequence of groups is a Markov chain" if lumpable else "not an exact lumping"
        )
        rows.insert(0, ("lumpable", "yes" if lumpable else "no", remark))
    header = _row("certificate", "", _ONE_STEP, width)
    return [*map(title, header), *(line for row in rows for line in _row(*row, width))]


def horizon(agg: Aggregation, steps: int, found: Guarantees | None, width: int) -> list[str]:
    """List upper bounds on the total variation between path distributions, from stationary and from any start."""
    rows = []
    if found is not None:
        rows.append(
            (
                "stationary",
                format_number(found.horizon(steps)),
                "both chains start from their stationary distributions",
            )
        )
    elif agg.original.is_irreducible:
        rows.append(("stationary", "-", "--guarantees adds this bound"))
    if agg.map.labels is not None:
        value = format_number(agg.bisimulation.horizon(steps))
        void = "; void, as it is 1" if value == format_number(1.0) else ""
        rows.append(("any start", value, f"any initial distribution, 1 - (1 - epsilon)^{steps}{void}"))
    successive = format_count(steps + 1, "successive group")
    header = _row(
        "horizon", "", f"upper bound on the total variation between the distributions of {successive}", width
    )
    return [*map(title, header), *(line for row in rows for line in _row(*row, width))]


def guarantees(
    found: Guarantees, simulated: MonteCarlo | None, betas: Iterable[float], width: int
) -> list[str]:
    """List lower and upper bounds of the rates in bits per step, and the simulated entropy rate, if there is one."""

    def bounds(name: str, bracket: Bracket, remark: str) -> list[str]:
        values = (format_number(bracket.lower), format_number(bracket.upper), format_number(bracket.gap))
        return _bracket(name, values, remark, width)

    return [
        *map(title, _bracket("guarantees", ("lower", "upper", "gap"), "bits per step", width)),
        *bounds("entropy rate", found.entropy_rate, f"H(Y), from blocks of {found.block_length}"),
        *bounds("divergence", found.divergence, "D(Y||Y~) = H(Y2|Y1) - H(Y)"),
        *bounds("redundancy rate", found.redundancy_rate, "R(Y) = H(Y1) - H(Y)"),
        *(line for beta in betas for line in bounds(f"delta at {beta:g}", found.delta(beta), _DELTA)),
        *([] if simulated is None else ["", *_simulation(simulated, width)]),
    ]


def _simulation(simulated: MonteCarlo, width: int) -> list[str]:
    error = format_number(simulated.standard_error + simulated.bias)
    runs = f"from {format_count(simulated.n_replicas, 'run')} of {format_count(simulated.n_steps, 'step')}"
    return [
        *map(title, _bracket("simulation", ("estimate", "+-", ""), "bits per step", width)),
        *_bracket("entropy rate", (format_number(simulated.entropy_rate), error, ""), runs, width),
        "+- is the standard error plus the possible bias",
    ]


def matrix(chain: MarkovChain, width: int, names: Sequence[str] = ()) -> list[str]:
    """Print the transition matrix of the aggregated chain, if it is small and fits the width."""
    from klump.aggregation import layout

    return _with_title(layout.matrix_lines(chain, width, names, limit=_MAX_MATRIX_ROWS))


def notes(found: Iterable[Note], width: int) -> list[str]:
    """Print notes, except on what was applied to the chain, which the heading states."""
    return [
        line
        for note in found
        if note.kind != "applied"
        for line in textwrap.wrap(f"note: {note}", width, subsequent_indent="      ", break_on_hyphens=False)
    ]


def shares(agg: Aggregation, width: int, *, full: bool = False) -> list[str]:
    """List the states that belong to several groups, in descending stationary probability; a partition has none."""
    if agg.map.labels is not None:
        return []
    mass = agg.original.stationary_distribution
    shared = [x for x in (-mass).argsort(kind="stable").tolist() if (agg.mapping[x] > 0).sum() > 1]
    names = {
        x: format_state(agg.original.states[x]) for x in (shared if full else shared[:_MAX_SHARED_STATES])
    }
    longest = max(map(len, names.values()), default=0)
    lines = [title("shared states")]
    for x, name in names.items():
        parts = [
            f"{share:.2f} in {label}"
            for label, share in enumerate(agg.mapping[x].tolist())
            if share >= _MIN_SHARE
        ]
        start = f"  {name:<{longest}}  "
        lines += textwrap.wrap(start + ", ".join(parts), width, subsequent_indent=" " * len(start))
    if len(shared) > len(names):
        lines.append(f"  ... +{len(shared) - len(names)}")
    return lines


def facts(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Format names and values in two columns."""
    return [f"{name:<{FACT_WIDTH}}{value}".rstrip() for name, value in rows]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Format a table with a header, all columns flush right."""
    return _with_title(table_lines(columns, rows))


def _with_title(lines: list[str]) -> list[str]:
    return [title(line) for line in lines[:1]] + lines[1:]


def _row(name: str, value: str, remark: str, width: int) -> list[str]:
    return _append_remark(f"{name:<{_NAME_WIDTH}}{value:>{_VALUE_WIDTH}}", remark, width)


def _bracket(name: str, values: Sequence[str], remark: str, width: int) -> list[str]:
    columns = "".join(f"{value:>{_VALUE_WIDTH + 1}}" for value in values)
    return _append_remark(f"{name:<{_NAME_WIDTH}}{columns}", remark, width)


def _append_remark(start: str, remark: str, width: int) -> list[str]:
    """Append a remark to a row, wrapped to the width; leave it out if its column would be too narrow."""
    remark_width = width - len(start) - 2
    if len(remark) <= remark_width:
        return [f"{start}  {remark}".rstrip()]
    if remark_width < _MIN_REMARK_WIDTH:
        return [start.rstrip()]
    first, *rest = textwrap.wrap(remark, remark_width, break_on_hyphens=False)
    return [f"{start}  {first}", *(" " * (len(start) + 2) + line for line in rest)]
