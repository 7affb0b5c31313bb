"""Options shared by several commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Any

import click

from klump.choices import RESTRICTIONS
from klump.cli import completion
from klump.cli.commands import require_writable
from klump.cli.inputs import ChainInput
from klump.cli.overwriting import keep_inputs
from klump.cli.table_columns import check_table, table_columns
from klump.search.registry import DEFAULT_EFFORT, EFFORT_NAMES

Function = Callable[..., Any]

_CHAIN = (
    click.argument("file", type=click.Path()),
    click.option(
        "--format",
        metavar="F",
        callback=lambda ctx, param, value: value if ctx.resilient_parsing else _check_format(value),
        shell_complete=completion.one_of(completion.FORMATS),
        help="Format of FILE if neither its content nor its suffix tells: tra, csv, mtx, ...",
    ),
    click.option("--ctmc", is_flag=True, help="FILE holds rates of a continuous-time chain: uniformise it."),
    click.option("--normalize", is_flag=True, help="Divide each row by its sum, for files of counts."),
    click.option(
        "--restrict",
        type=click.Choice(list(RESTRICTIONS)),
        help="Part to keep of a chain that is not irreducible: "
        + "; ".join(f"{name}, {what}" for name, what in RESTRICTIONS.items())
        + ".",
    ),
    click.option(
        "--restart",
        metavar="P",
        type=click.FloatRange(0.0, 1.0, min_open=True),
        help="Return to the initial state with probability P at every step, and from dead ends with probability 1.",
    ),
    click.option(
        "--initial",
        metavar="STATE",
        help="Initial state of --restart.  [default: those of FILE, else every state with equal probability]",
    ),
)
# A FILE that is a table, and the names of its columns.
_TABLE = (
    click.option(
        "--state", metavar="COLUMN", help="FILE is a table of events (.csv, .parquet): column of states."
    ),
    click.option("--session", metavar="COLUMN", help="Column of sessions.  [default: all rows are one]"),
    click.option("--time", metavar="COLUMN", help="Column of times.  [default: rows are in order]"),
    click.option(
        "--source",
        "source_column",
        metavar="COLUMN",
        help="FILE is a table of transitions (.csv, .parquet): column of source states.",
    ),
    click.option("--target", metavar="COLUMN", help="Column of target states."),
    click.option("--weight", metavar="COLUMN", help="Column of weights.  [default: every row counts 1]"),
    click.option("--memory-limit", metavar="SIZE", help="Memory for counting a table.  [default: 1GB]"),
)


def _check_format(value: str | None) -> str | None:
    from klump.files.registry import FORMAT_NAMES

    return None if value is None else check_name(value.lower().removeprefix("."), FORMAT_NAMES)


def _check_jobs(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("0 is not a number of workers; pass 1 or more, or -1 for one per processor")
    return value


def seed_option(function: Function) -> Function:
    """Add --seed."""
    option = click.option(
        "--seed",
        metavar="S",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Random seed; random_state (or seed) in Python.",
    )
    return option(function)


def jobs_option(default: int | None = None) -> Callable[[Function], Function]:
    """Add --jobs; the default None is joblib's, which is one worker."""
    default_text = "-1" if default == -1 else "1"
    return click.option(
        "--jobs",
        "-j",
        metavar="J",
        type=int,
        default=default,
        callback=_check_jobs,
        help=f"Number of parallel workers; -1 for one per processor.  [default: {default_text}]",
    )


def quiet_option(function: Function) -> Function:
    """Add --quiet."""
    option = click.option(
        "--quiet",
        "-q",
        is_flag=True,
        help="Print no progress and no messages on standard error, except errors.",
    )
    return option(function)


_EFFORTS = ", ".join(EFFORT_NAMES[:-1]) + f" or {EFFORT_NAMES[-1]}"


def effort_option(function: Function) -> Function:
    """Add --effort."""
    option = click.option(
        "--effort",
        type=click.Choice(EFFORT_NAMES),
        default=DEFAULT_EFFORT,
        show_default=True,
        metavar="E",
        help=f"How long method auto searches, in steps, not in seconds: {_EFFORTS}.",
    )
    return option(function)


def efforts_option(function: Function) -> Function:
    """Add --effort with several efforts, which the command gets as a list."""
    option = click.option(
        "--effort",
        default=DEFAULT_EFFORT,
        show_default=True,
        metavar="E,E,...",
        callback=_parse_efforts,
        shell_complete=completion.several_of(EFFORT_NAMES),
        help=f"How long method auto searches, in steps, not in seconds: {_EFFORTS}, or several, a row each.",
    )
    return option(function)


def _parse_efforts(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    return [check_name(name.strip(), EFFORT_NAMES) for name in value.split(",")]


def time_limit_option(function: Function) -> Function:
    """Add --time-limit."""
    option = click.option(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        callback=_check_time_limit,
        help="Return the best result found within this time.  [default: no limit]",
    )
    return option(function)


def _check_time_limit(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0.0 < value < math.inf:
        raise click.BadParameter(f"{value:g} is not a number of seconds above 0; leave it out for no limit")
    return value


_SEARCH = (
    click.option(
        "--n-init",
        metavar="N",
        type=click.IntRange(1),
        default=20,
        show_default=True,
        help="Number of restarts.",
    ),
    seed_option,
    jobs_option(),
)


def beta_option(name: str = "beta", *, multiple: bool = False) -> Callable[[Function], Function]:
    """Add --beta; with ``multiple``, one that may be repeated."""
    help = "Weight in the cost, from 0 (lumpability) to 1 (information bottleneck)"
    return click.option(
        "--beta",
        name,
        type=click.FloatRange(0.0, 1.0),
        multiple=multiple,
        default=(0.5,) if multiple else 0.5,
        show_default=True,
        metavar="B",
        help=help + ("; may be repeated." if multiple else "."),
    )


def gamma_option(function: Function) -> Function:
    """Add --gamma."""
    option = click.option(
        "--gamma",
        type=click.FloatRange(0.0, 1e6),
        default=0.0,
        show_default=True,
        metavar="G",
        callback=_check_gamma,
        help="Weight of generated information in the cost: adds G (H(X2|X1) - H(Y2|X1)).",
    )
    return option(function)


def _check_gamma(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("NaN is not a weight; pass a number, 0 or more")
    return value


_PUBLISHED = (
    click.option(
        "--step",
        metavar="D",
        type=click.FloatRange(1e-4, 1.0),
        default=0.1,
        show_default=True,
        help="Step of beta in annealing (Algorithm 2).",
    ),
    click.option(
        "--max-sweeps",
        metavar="N",
        type=click.IntRange(1, 1_000_000),
        default=100,
        show_default=True,
        help="Largest number of sweeps of Algorithm 1 per beta.",
    ),
    click.option(
        "--allow-empty",
        is_flag=True,
        help="Let groups become empty, as the published algorithms do: the result may have fewer than K groups.",
    ),
)


def published_options(function: Function) -> Function:
    """Add the parameters of the paper's Algorithms 1 and 2."""
    return _add(_PUBLISHED, function)


_PRINTING = (
    click.option("--json", "as_json", is_flag=True, help="Print a JSON document instead of tables."),
    quiet_option,
)


def _add(options: tuple[Function, ...], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def chain_options(function: Function) -> Function:
    """Add FILE and the options for reading it; the command gets them as ``source``, a :class:`ChainInput`."""

    @wraps(function)
    def call_with_source(*, file: str, **options: Any) -> Any:
        ((source,), rest) = _make_sources((file,), **options)
        return function(source=source, **rest)

    return _add((*_CHAIN, *_TABLE), call_with_source)


def chains_options(function: Function) -> Function:
    """Add several FILEs and the options for reading them; the command gets ``sources``, a :class:`ChainInput` each."""

    @wraps(function)
    def call_with_sources(*, files: tuple[str, ...], **options: Any) -> Any:
        sources, rest = _make_sources(files, **options)
        return function(sources=sources, **rest)

    several = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
    return _add((several, *_CHAIN[1:], *_TABLE), call_with_sources)


def _make_sources(
    files: tuple[str, ...],
    *,
    normalize: bool,
    restrict: Any,
    restart: float | None,
    initial: str | None,
    format: str | None,
    ctmc: bool,
    state: str | None,
    session: str | None,
    time: str | None,
    source_column: str | None,
    target: str | None,
    weight: str | None,
    memory_limit: str | None,
    **rest: Any,
) -> tuple[list[ChainInput], dict[str, Any]]:
    """Inputs from the options for reading files, and the other options."""
    if initial is not None and restart is None:
        raise click.UsageError(
            "--initial is the initial state of --restart; pass --restart as well, or leave --initial out"
        )
    events = {"state": state, "session": session, "time": time}
    transitions = {"source": source_column, "target": target, "weight": weight}
    columns = table_columns(events, transitions, memory_limit)
    if columns is not None:
        for file in files:
            check_table(file, normalize=normalize, format=format, ctmc=ctmc)
    # Only JSON documents and reports have the digest of the file.
    with_digest = bool(rest.get("as_json")) or str(rest.get("output")).lower().endswith((".json", ".html"))
    reading = (normalize, restrict, restart, initial, format, ctmc, columns)
    return [ChainInput(file, *reading, with_digest=with_digest) for file in files], rest


def search_options(function: Function) -> Function:
    """Add --n-init, --seed and --jobs."""
    return _add(_SEARCH, function)


def printing_options(function: Function) -> Function:
    """Add --json and --quiet."""
    return _add(_PRINTING, function)


def method_option(names: Collection[str], help: str) -> Callable[[Function], Function]:
    """Add --method, one of the names."""

    # A callback instead of click.Choice, whose metavar would repeat the list of methods in the help text.
    def check(ctx: click.Context, param: click.Parameter, value: str) -> str:
        return check_name(value, names)

    return click.option(
        "--method",
        default="auto",
        show_default=True,
        metavar="M",
        callback=check,
        shell_complete=completion.one_of(names),
        help=help,
    )


def check_name(name: str, known: Collection[str]) -> str:
    """Return a name that is known; raise BadParameter for another."""
    if name not in known:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}")
    return name


def n_states_option(*, required: bool = True) -> Callable[[Function], Function]:
    """Add -k."""
    return click.option(
        "-k", "--n-states", metavar="K", type=click.IntRange(1), required=required, help="Number of groups."
    )


def output_option(
    help: str, suffixes: tuple[str, ...] = (".npz", ".csv", ".json"), *, required: bool = False
) -> Callable[[Function], Function]:
    """Add -o; it is checked before the search, and must be none of the inputs."""
    choices = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is None or ctx.resilient_parsing:
            return None
        if Path(value).suffix.lower() not in suffixes:
            raise click.BadParameter(f"{value!r} must end in {choices}")
        return require_writable(value)

    option = click.option(
        "-o", "--output", metavar="OUT", type=click.Path(), callback=check, required=required, help=help
    )
    return lambda function: option(keep_inputs(function))
