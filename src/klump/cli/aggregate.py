"""``klump aggregate``: partition the states of a chain into groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from klump import signals
from klump.cli import quotients, reaching
from klump.cli.checkpoints import check_checkpoint, checkpoint_options
from klump.cli.commands import ChainCommand, spell_as_option
from klump.cli.constraints import constraint_options, read_constraints
from klump.cli.inputs import ChainInput, read_recorded
from klump.cli.many_files import Answer, check_patterns, expand, run_each
from klump.cli.options import (
    beta_option,
    chains_options,
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
from klump.cli.results import PICTURES, REPORT, check_picture
from klump.errors import UNSET, KlumpError
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


def _parse_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} is not a list of different names like vowels,consonants")
    return names


def _check_names(names: list[str] | None, n_states: int | None) -> None:
    # Before the search; a number of groups that the method finds is compared after it.
    if names is not None and n_states is not None and len(names) != n_states:
        raise click.UsageError(
            f"--names has {len(names)} names for -k {n_states} groups; pass {n_states} names"
        )


@contextmanager
def _set_files(paths: dict[str, str | None]) -> Iterator[None]:
    """Set the file of errors about arguments that are read from one.

    The argument ``initial`` is --initial-labels, and --initial another.
    """
    try:
        yield
    except KlumpError as error:
        if error.argument in paths and error.file is None:
            error.file = paths[error.argument]
        error.rename("initial", "initial_labels")
        raise


@click.command("aggregate", cls=ChainCommand)
@chains_options
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
@constraint_options
@reaching.reach_options
@click.option(
    "--names",
    metavar="A,B,...",
    callback=_parse_names,
    help="Names of the groups, in the order of the groups.  [default: their heaviest members]",
)
@click.option("--full", is_flag=True, help="List all members of every group.")
@output_option(
    "Save to OUT: .npz (complete), .csv (state,group), .parquet (a row per state), .json (as --json), "
    "a picture of matrix and groups (.png, .svg, .pdf), a report (.html), or the quotient, with a state map in "
    "OUT.map.csv: .tra, .storm.tra, .drn, .umb, .graphml; {} is the name of each FILE.",
    (".npz", ".csv", ".json", quotients.TABLE, *quotients.QUOTIENTS, *PICTURES, REPORT),
)
@checkpoint_options
@printing_options
def command(
    sources: list[ChainInput],
    initial_labels: str | None,
    fixed: str | None,
    must_link: str | None,
    cannot_link: str | None,
    reach: tuple[str, ...],
    within: int | None,
    names: list[str] | None,
    full: bool,
    output: str | None,
    checkpoint: str | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
    **search: Any,
) -> None:
    """Partition the states of the chain in FILE into groups, and report the information lost.

    With several files each is aggregated, and a summary ends the output; an error in one does not stop the others.
    """
    search["tolerance"] = _check_options(**search)
    check_picture(output)
    reaching.check_reach(reach, within, search["method"])
    _check_names(names, search["n_states"])
    check_patterns(sources, **{"-o": output, "--checkpoint": checkpoint})
    files = {
        "initial": initial_labels,
        "fixed": fixed,
        "must_link": must_link,
        "cannot_link": cannot_link,
    }
    given = [argument for argument, path in files.items() if path is not None]
    if len(sources) > 1 and given:
        option = spell_as_option(given[0], UNSET) if given[0] != "initial" else "--initial-labels"
        raise click.UsageError(f"{option} are those of one FILE; pass one")
    from klump.cli.results import deliver, save

    signals.keep_answers()

    def answer(source: ChainInput) -> _Answer:
        journal = expand(checkpoint, source)
        check_checkpoint(journal, resume=resume)
        quotients.check_output(expand(output, source))
        wanted = reaching.Reach(reach, within)
        return _answer(source, files, search, wanted, names, journal, resume=resume, quiet=quiet)

    def run(source: ChainInput) -> Answer:
        found = answer(source)
        signals.note_answer()
        target, agg = expand(output, source), found.aggregation
        failure, messages = (
            (None, []) if target is None else save(agg, found.document, _label_rows(agg), target)
        )
        for message in () if quiet else messages:
            click.echo(f"klump: {message}", err=True)
        return Answer(
            found.document,
            () if as_json else found.lines(full=full),
            _summary(agg),
            "not saved" if failure else "interrupted" if agg.interrupted else "done",
            interrupted=agg.interrupted and agg.interrupted_after is None,
            failure=failure,
        )

    if len(sources) > 1:
        run_each(sources, run, ("states", "groups", "cost", "kept"), as_json=as_json)
        return
    found = answer(sources[0])
    lines = None if as_json else found.lines(full=full)
    agg = found.aggregation
    deliver(agg, found.document, lines, _label_rows(agg), expand(output, sources[0]), quiet=quiet)


def _check_options(
    *,
    n_states: int | None,
    method: str,
    tolerance: float | None,
    allow_empty: bool,
    gamma: float,
    effort: str,
    **_: Any,
) -> float | None:
    """Raise UsageError if options do not fit the method; the tolerance, or its default."""
    _check_n_states(n_states, method)
    tolerance = _check_tolerance(tolerance, method)
    _check_allow_empty(method, allow_empty=allow_empty)
    _check_gamma(gamma, method)
    _check_effort(effort, method)
    return tolerance


@dataclass(frozen=True)
class _Answer:
    """The aggregation of one file."""

    source: ChainInput
    aggregation: Aggregation
    document: dict[str, Any]
    tolerance: float | None
    reached: list[str]
    """Lines on the probabilities of reaching labels."""

    def lines(self, *, full: bool) -> list[str]:
        return _lines(self.source, self.aggregation, self.tolerance, self.reached, full=full)


def _answer(
    source: ChainInput,
    files: dict[str, str | None],
    search: dict[str, Any],
    reach: reaching.Reach,
    names: list[str] | None,
    checkpoint: str | None,
    *,
    resume: bool,
    quiet: bool,
) -> _Answer:
    """Read a chain and aggregate it."""
    from klump.cli import progress, records
    from klump.cli.labels import read_labels

    chain = source.read()
    reaching.check_labels(reach.labels, chain)
    initial, labels_input, initial_labels = None, None, files["initial"]
    if initial_labels is not None:
        initial, labels_input = read_recorded(initial_labels, partial(read_labels, initial_labels, chain))
    options = dict(search)
    n_states, seed, jobs = options.pop("n_states"), options.pop("seed"), options.pop("jobs")
    linked, linked_input = read_constraints(chain, files)
    with progress.search_progress(quiet=quiet) as bars, _set_files(files):
        from klump import aggregation

        agg = aggregation.aggregate(
            chain,
            n_states,
            random_state=seed,
            n_jobs=jobs,
            initial=initial,
            **linked,
            progress=bars.callback("searching"),
            checkpoint=checkpoint,
            resume=resume,
            **options,
        )
        if names is not None:
            agg = agg.with_names(names)
        reached = reaching.bound(agg, reach.labels, reach.steps)
        document = records.document(
            "aggregation",
            source,
            chain,
            seed=seed,
            method=agg.method,
            n_init=options["n_init"],
            step=options["step"],
            max_sweeps=options["max_sweeps"],
            allow_empty=options["allow_empty"],
            tolerance=options["tolerance"],
            time_limit=options["time_limit"],
            initial_labels_input=labels_input,
            constraints_input=linked_input or None,
            states=[records.name(state) for state in chain.states],
            reachability=reaching.records(reached, reach.steps),
            **records.aggregation(agg),
        )
    return _Answer(source, agg, document, options["tolerance"], reaching.lines(reached, reach.steps))


def _summary(agg: Aggregation) -> tuple[str, ...]:
    """States, groups, cost and kept share, for the summary of several files."""
    from klump.chain.wording import format_number, format_percent

    sizes = str(agg.original.n_states), str(agg.n_states)
    if not agg.original.is_irreducible:
        return (*sizes, "-", "-")
    return (*sizes, format_number(agg.cost), format_percent(agg.kept))


def _label_rows(agg: Aggregation) -> Iterator[Sequence[Any]]:
    """Yield state and group, and for a soft map the share of the state in each group."""
    shares = agg.mapping.T.tolist() if agg.map.labels is None else []
    yield ("state", "group", *(f"share_{label}" for label in range(len(shares))))
    yield from zip(agg.original.states, agg.labels.tolist(), *shares, strict=True)


def _lines(
    source: ChainInput, agg: Aggregation, tolerance: float | None, reached: list[str], *, full: bool
) -> list[str]:
    from klump.chain.wording import format_count
    from klump.cli import tables

    width = tables.terminal_width()
    method = agg.method + tables.effort_suffix(agg.effort)
    lag = f", lag {agg.lag}" if agg.lag > 1 else ""
    gamma = tables.gamma_suffix(agg.gamma)
    settings = f"at beta {agg.beta:g}{gamma}{lag} (method {method}, seed {agg.random_state})"
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
        reached,
        tables.matrix(agg.chain, width, agg.group_names or ()),
        tables.notes(agg.notes, width),
    )
