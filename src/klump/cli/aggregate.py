"""``klump aggregate``: partition the states of a chain into groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput, read_recorded
from klump.cli.options import (
    beta_option,
    chain_options,
    effort_option,
    gamma_option,
    method_option,
    n_states_option,
    output_option,
    printing_options,
    published_options,
    search_options,
    time_limit_option,
)
from klump.errors import InvalidArgumentError
from klump.search.registry import DEFAULT_EFFORT, METHODS, names_of

if TYPE_CHECKING:
    from klump.aggregation import Aggregation


def _check_n_states(n_states: int | None, method: str) -> None:
    finds_number = METHODS[method].finds_number
    if n_states is None and not finds_number:
        raise click.UsageError("Missing option '-k' / '--n-states': number of groups")
    if n_states is not None and finds_number:
        raise click.UsageError(
            f"-k does not apply to --method {method}, which finds the number of groups itself; leave -k out"
        )


def _check_tolerance(tolerance: float | None, method: str) -> float | None:
    if not METHODS[method].takes_tolerance:
        if tolerance is not None:
            methods = ", ".join(names_of(lambda method: method.takes_tolerance))
            raise click.UsageError(
                f"--tolerance does not apply to --method {method}, only to --method {methods}"
            )
        return None
    from klump.aggregation.options import TOLERANCE

    return TOLERANCE if tolerance is None else tolerance


def _check_allow_empty(method: str, *, allow_empty: bool) -> None:
    if allow_empty and not METHODS[method].may_empty:
        may_empty = " and ".join(f"--method {name}" for name in names_of(lambda method: method.may_empty))
        raise click.UsageError(f"--allow-empty does not apply to --method {method}, only to {may_empty}")


def _check_gamma(gamma: float, method: str) -> None:
    if gamma > 0.0 and not METHODS[method].by_cost:
        raise click.UsageError(
            f"--gamma does not apply to --method {method}, which does not minimise the cost; leave --gamma out"
        )


def _check_effort(effort: str, method: str) -> None:
    if effort != DEFAULT_EFFORT and not METHODS[method].takes_effort:
        raise click.UsageError(
            f"--effort does not apply to --method {method}; leave it out, and set the number of restarts with --n-init"
        )


@contextmanager
def _rename_initial(path: str | None) -> Iterator[None]:
    """Set option and file of errors about the argument ``initial``: it is --initial-labels, and --initial another."""
    try:
        yield
    except InvalidArgumentError as error:
        if error.argument == "initial":
            error.file = path
        error.rename("initial", "initial_labels")
        raise


@click.command("aggregate", cls=ChainCommand)
@chain_options
@n_states_option(required=False)
@beta_option()
@gamma_option
@click.option(
    "--lag",
    type=click.IntRange(1, 2**60),
    default=1,
    show_default=True,
    metavar="R",
    help="Groups of the chain of every R-th state, P^R, instead of one step.",
)
@method_option(
    METHODS,
    "Search method: " + "; ".join(f"{name} ({traits.summary})" for name, traits in METHODS.items()) + ".",
)
@click.option(
    "--initial-labels",
    metavar="LABELS",
    type=click.Path(),
    help="File with the initial partition, in a format of score; exact merges no states of different groups.",
)
@click.option(
    "--tolerance",
    metavar="T",
    type=click.FloatRange(0.0, 1.0),
    help="Largest difference of probabilities that method exact treats as equal.  [default: 1e-10]",
)
@published_options
@search_options
@effort_option
@time_limit_option
@click.option("--full", is_flag=True, help="List all members of every group.")
@output_option("Save to OUT: .npz (complete), .csv (state,group) or .json (as --json).")
@printing_options
def command(
    source: ChainInput,
    n_states: int | None,
    beta: float,
    gamma: float,
    lag: int,
    method: str,
    initial_labels: str | None,
    tolerance: float | None,
    step: float,
    max_sweeps: int,
    allow_empty: bool,
    n_init: int,
    seed: int,
    jobs: int | None,
    effort: str,
    time_limit: float | None,
    full: bool,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Partition the states of the chain in FILE into groups, and report the information lost."""
    _check_n_states(n_states, method)
    tolerance = _check_tolerance(tolerance, method)
    _check_allow_empty(method, allow_empty=allow_empty)
    _check_gamma(gamma, method)
    _check_effort(effort, method)
    from klump.cli import progress, records
    from klump.cli.labels import read_labels
    from klump.cli.results import deliver

    signals.keep_answers()
    chain = source.read()
    initial, labels_input = None, None
    if initial_labels is not None:
        initial, labels_input = read_recorded(initial_labels, partial(read_labels, initial_labels, chain))
    with progress.search_progress(quiet=quiet) as bars, _rename_initial(initial_labels):
        from klump import aggregation

        agg = aggregation.aggregate(
            chain,
            n_states,
            beta=beta,
            method=method,
            n_init=n_init,
            random_state=seed,
            n_jobs=jobs,
            gamma=gamma,
            lag=lag,
            initial=initial,
            step=step,
            max_sweeps=max_sweeps,
            allow_empty=allow_empty,
            tolerance=tolerance,
            effort=effort,
            time_limit=time_limit,
            progress=bars.callback("searching"),
        )
        document = records.document(
            "aggregation",
            source,
            chain,
            seed=seed,
            method=agg.method,
            n_init=n_init,
            step=step,
            max_sweeps=max_sweeps,
            allow_empty=allow_empty,
            tolerance=tolerance,
            time_limit=time_limit,
            initial_labels_input=labels_input,
            states=[records.name(state) for state in chain.states],
            **records.aggregation(agg),
        )
    lines = None if as_json else _lines(source, agg, seed, tolerance, full=full)
    deliver(agg, document, lines, _label_rows(agg), output, quiet=quiet)


def _label_rows(agg: Aggregation) -> Iterator[Sequence[Any]]:
    """Yield state and group, and for a soft map the share of the state in each group."""
    shares = agg.mapping.T.tolist() if agg.map.labels is None else []
    yield ("state", "group", *(f"share_{label}" for label in range(len(shares))))
    yield from zip(agg.original.states, agg.labels.tolist(), *shares, strict=True)


def _lines(
    source: ChainInput, agg: Aggregation, seed: int, tolerance: float | None, *, full: bool
) -> list[str]:
    from klump.chain.wording import format_count
    from klump.cli import tables

    width = tables.terminal_width()
    method = agg.method + tables.effort_suffix(agg.effort)
    lag = f", lag {agg.lag}" if agg.lag > 1 else ""
    settings = f"at beta {agg.beta:g}{tables.gamma_suffix(agg.gamma)}{lag} (method {method}, seed {seed})"
    if tolerance is not None:
        settings = f"(method {agg.method}, tolerance {tolerance:g})"
    return tables.blocks(
        [
            *tables.heading(source.path, agg.original),
            f"{format_count(agg.n_states, 'group')} {settings}",
        ],
        tables.groups(agg, width, full=full),
        tables.shares(agg, width, full=full),
        tables.costs(agg.costs, [agg.beta], width, agg.gamma) if agg.original.is_irreducible else [],
        tables.certificate(agg, width),
        tables.matrix(agg.chain, width),
        tables.notes(agg.notes, width),
    )
