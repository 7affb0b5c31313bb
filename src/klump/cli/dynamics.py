"""``klump dynamics``: what a chain, and an aggregated one, do over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput, read_recorded
from klump.cli.options import chain_options, output_option, printing_options
from klump.cli.results import PICTURES, check_picture, deliver
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain
    from klump.dynamics import ChapmanKolmogorov

# Target of --absorption that stands for all closed classes, unless a state has this name.
_CLOSED = "closed"
# Default numbers of steps of the Chapman-Kolmogorov table.
_STEPS = (1, 2, 5, 10, 20, 50, 100)
# Largest number of states or groups that a table lists.
_MAX_ROWS = 20
# Names of the chains, in the order of the columns.
_CHAINS = {"original": "original", "aggregated": "aggregated", "long_time": "long-time"}


def _parse_steps(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    if value is None:
        return _STEPS
    try:
        steps = tuple(int(part) for part in value.split(","))
    except ValueError:
        steps = (0,)
    if not all(step >= 1 for step in steps):
        raise click.BadParameter(
            f"{value!r} is no list of numbers of steps; write numbers from 1, like 1,10,100"
        )
    return steps


@click.command("dynamics", cls=ChainCommand)
@chain_options
@click.argument("labels", type=click.Path(), required=False)
@click.option(
    "--timescales",
    "n_timescales",
    metavar="N",
    type=click.IntRange(1, 200),
    default=5,
    show_default=True,
    help="Number of timescales.",
)
@click.option(
    "--steps",
    metavar="T,T,...",
    callback=_parse_steps,
    show_default=",".join(map(str, _STEPS)),
    help="Numbers of steps of the Chapman-Kolmogorov table.",
)
@click.option(
    "--committor",
    nargs=2,
    metavar="SOURCE TARGET",
    help="Also report the probability to get to TARGET before SOURCE; each is a state, a label of states, or states "
    "separated by commas.",
)
@click.option(
    "--absorption",
    multiple=True,
    metavar="TARGET",
    help="Also report the probability to get to TARGET before any other one; may be repeated. "
    f"'{_CLOSED}' stands for all closed classes.",
)
@output_option(
    "Save to OUT: .json (as --json), or a picture of timescales and Chapman-Kolmogorov test (.png, .svg, .pdf).",
    (".json", *PICTURES),
)
@printing_options
def command(
    source: ChainInput,
    labels: str | None,
    n_timescales: int,
    steps: tuple[int, ...],
    committor: tuple[str, str] | None,
    absorption: tuple[str, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Report timescales and first-passage times of the chain in FILE.

    With LABELS, a partition or soft map in a format of score, also those of its aggregated and of its long-time chain,
    and the Chapman-Kolmogorov test. All times are in steps.
    """
    check_picture(output)
    from klump.cli import progress, records
    from klump.cli.labels import read_labels

    chain = source.read()
    given, labels_input = (
        (None, None) if labels is None else read_recorded(labels, partial(read_labels, labels, chain))
    )
    with progress.announce_compilation(progress.SearchProgress(quiet=quiet)):
        from klump.aggregation import Aggregation

        agg = None if labels is None else Aggregation.from_labels(chain, given)
        found, test = _compute(chain, agg, n_timescales, steps)
        found["committor"] = _committor(chain, committor)
        found["absorption"] = _absorption(chain, absorption)
    states = [records.name(state) for state in chain.states]
    heading = {"labels_input": labels_input, "states": states}
    document = records.document("dynamics", source, chain, **heading, **found)
    lines = None if as_json else _lines(source, labels, chain, agg, found)
    deliver(_Dynamics(found["timescales"], test, agg), document, lines, (), output, quiet=quiet)


@dataclass(frozen=True)
class _Dynamics:
    """What the picture shows."""

    timescales: dict[str, Any]
    test: ChapmanKolmogorov | None
    aggregation: Aggregation | None
    interrupted: bool = False
    interrupted_after: float | None = None

    def plot(self, path: str) -> None:
        from klump.plots.overview import dynamics

        dynamics(self.timescales, self.test, self.aggregation, path)


def _compute(
    chain: MarkovChain, agg: Aggregation | None, n_timescales: int, steps: Sequence[int]
) -> tuple[dict[str, Any], ChapmanKolmogorov | None]:
    """Timescales, first-passage times and Chapman-Kolmogorov test; None without labels, or for a reducible chain."""
    found: dict[str, Any] = {
        "n_groups": None if agg is None else agg.n_states,
        "labels": None if agg is None else agg.labels,
        "timescales": {"original": chain.timescales(n_timescales)},
        "first_passage_times": None,
        "long_time_chain": None,
        "chapman_kolmogorov": None,
        "notes": [] if agg is None else [note for note in agg.notes if note.kind != "timescale"],
    }
    if agg is None:
        return found, None
    found["timescales"]["aggregated"] = agg.chain.timescales(n_timescales)
    if not chain.is_irreducible:
        return found, None
    found["first_passage_times"] = {
        **({} if agg.map.labels is None else {"original": agg.first_passage_times()}),
        "aggregated": agg.chain.first_passage_times(),
    }
    _add_long_time(agg, n_timescales, found)
    test = agg.chapman_kolmogorov(steps)
    names = ("steps", "difference", "aggregated", "long_time")
    found["chapman_kolmogorov"] = [dict(zip(names, row, strict=True)) for row in test.table()]
    return found, test


def _add_long_time(agg: Aggregation, n_timescales: int, found: dict[str, Any]) -> None:
    try:
        late = agg.long_time_chain
    except InvalidArgumentError as error:  # groups of a soft map that are linearly dependent
        found["notes"].append(str(error))
        return
    found["timescales"]["long_time"] = late.timescales(n_timescales)
    found["first_passage_times"]["long_time"] = late.first_passage_times()
    found["long_time_chain"] = {
        "transition_matrix": late.transition_matrix,
        "is_stochastic": late.is_stochastic,
        "most_negative": late.most_negative,
    }
    if not late.is_stochastic:
        found["notes"].append(
            f"the long-time chain is no Markov chain: its most negative entry is {late.most_negative:.3g}"
        )


def _committor(chain: MarkovChain, sets: tuple[str, str] | None) -> dict[str, Any] | None:
    if sets is None:
        return None
    source, target = sets
    with _rename("committor", "source", "target"):
        probabilities = chain.committor(_read_set(chain, source), _read_set(chain, target))
    return {"source": source, "target": target, "probabilities": probabilities}


def _absorption(chain: MarkovChain, targets: tuple[str, ...]) -> dict[str, Any] | None:
    if not targets:
        return None
    if targets == (_CLOSED,) and _CLOSED not in chain.states:
        classes = chain.classes
        closed = sorted(int(classes.members(int(c))[0]) for c in classes.closed.nonzero()[0])
        names = [f"class of {chain.states[first]}" for first in closed]
        return {"targets": names, "probabilities": chain.absorption_probabilities()}
    with _rename("absorption", "targets"):
        found = chain.absorption_probabilities([_read_set(chain, target) for target in targets])
    return {"targets": list(targets), "probabilities": found}


@contextmanager
def _rename(option: str, *arguments: str) -> Iterator[None]:
    """Set the option of errors about an argument that it holds."""
    try:
        yield
    except InvalidArgumentError as error:
        for argument in arguments:
            error.rename(argument, option)
        raise


def _read_set(chain: MarkovChain, text: str) -> Any:
    """A state or a label by its name, else the states whose names or numbers are separated by commas."""
    if text in chain.states or text in chain.labels:
        return text
    return [_read_state(chain, part) for part in text.split(",")]


def _read_state(chain: MarkovChain, text: str) -> Any:
    return int(text) if text not in chain.states and text.strip().lstrip("-").isdecimal() else text


def _lines(
    source: ChainInput,
    labels: str | None,
    chain: MarkovChain,
    agg: Aggregation | None,
    found: dict[str, Any],
) -> list[str]:
    from klump.chain.wording import format_count
    from klump.cli import tables

    width = tables.terminal_width()
    heading = tables.heading(source.path, chain)
    if agg is not None:
        heading.append(f"{labels}: {format_count(agg.n_states, 'group')}")
    notes = [f"note: {note}" for note in found["notes"] if getattr(note, "kind", None) != "applied"]
    return tables.blocks(
        heading,
        _timescale_lines(found["timescales"]),
        *_passage_blocks(found["first_passage_times"]),
        _chapman_kolmogorov_lines(found["chapman_kolmogorov"]),
        _committor_lines(chain, agg, found["committor"]),
        _absorption_lines(chain, agg, found["absorption"]),
        [line for note in notes for line in _wrap(note, width)],
    )


def _wrap(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent="      ", break_on_hyphens=False)


def _timescale_lines(found: dict[str, Any]) -> list[str]:
    from klump.chain.wording import format_number
    from klump.cli import tables

    longest = max(map(len, found.values()))
    rows = [
        [
            str(number + 1),
            *(format_number(times[number]) if number < len(times) else "-" for times in found.values()),
        ]
        for number in range(longest)
    ]
    if not rows:
        return []
    return tables.table(["timescale", *(_CHAINS[name] for name in found)], rows)


def _passage_blocks(found: dict[str, Any] | None) -> list[list[str]]:
    """One table per chain, if the groups are few."""
    from klump.chain.wording import format_number
    from klump.cli import tables

    blocks: list[list[str]] = []
    for name, times in (found or {}).items():
        if len(times) > _MAX_ROWS // 2 or len(times) == 1:
            continue
        columns = ["from\\to", *(str(group) for group in range(len(times)))]
        rows = [[str(group), *map(format_number, row)] for group, row in enumerate(times.tolist())]
        blocks.append(
            [
                f"first-passage times, {_CHAINS[name]} chain",
                *tables.table(columns, rows),
            ]
        )
    return blocks


def _chapman_kolmogorov_lines(found: list[dict[str, Any]] | None) -> list[str]:
    from klump.chain.wording import format_number
    from klump.cli import tables

    if found is None:
        return []
    rows = [
        [str(row["steps"]), format_number(row["aggregated"]), format_number(row["long_time"])]
        for row in found
    ]
    title = "Chapman-Kolmogorov: largest total variation from the groups of the original chain"
    return [title, *tables.table(["steps", "aggregated", "long-time"], rows)]


def _committor_lines(chain: MarkovChain, agg: Aggregation | None, found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    title = f"committor: probability to get to {found['target']} before {found['source']}"
    return [title, *_probability_lines(chain, agg, ["probability"], found["probabilities"][:, None])]


def _absorption_lines(chain: MarkovChain, agg: Aggregation | None, found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    title = "absorption: probability to get to a target before any other"
    return [title, *_probability_lines(chain, agg, found["targets"], found["probabilities"])]


def _probability_lines(
    chain: MarkovChain, agg: Aggregation | None, columns: Sequence[str], probabilities: Any
) -> list[str]:
    """Means of the groups over the stationary distribution, or the first states without groups."""
    from klump.chain.wording import format_number, format_state
    from klump.cli import tables

    kind, names, values = "state", [format_state(state) for state in chain.states], probabilities
    if agg is not None and chain.is_irreducible:
        from klump.dynamics.chapman_kolmogorov import distributions_within

        kind, names = "group", [str(group) for group in range(agg.n_states)]
        values = distributions_within(chain, agg.map.weights) @ probabilities
    rows = [
        [name, *map(format_number, row)]
        for name, row in zip(names[:_MAX_ROWS], values.tolist(), strict=False)
    ]
    more = [f"... +{len(names) - _MAX_ROWS}; --json has all"] * (len(names) > _MAX_ROWS)
    return [*tables.table([kind, *columns], rows), *more]
