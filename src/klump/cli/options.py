"""The options that commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from klump.cli.inputs import ChainInput

Function = Callable[..., Any]

_CHAIN = (
    click.argument("file", type=click.Path()),
    click.option("--normalize", is_flag=True, help="Divide each row by its sum: for files of counts."),
    click.option(
        "--restrict",
        type=click.Choice(["largest"]),
        help="Keep only the largest closed class of a chain that is not irreducible.",
    ),
    click.option(
        "--restart",
        metavar="P",
        type=click.FloatRange(0.0, 1.0, min_open=True),
        help="Return to the initial state with probability P at every step: for absorbing chains.",
    ),
    click.option(
        "--initial", metavar="STATE", help="Where a restart leads; without it, to every state alike."
    ),
)


def _not_zero(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("0 processors cannot search; pass 1 or more, or -1 for all")
    return value


def seed_option(function: Function) -> Function:
    """Take a random seed."""
    option = click.option(
        "--seed", metavar="S", type=click.IntRange(0), default=0, show_default=True, help="Random seed."
    )
    return option(function)


def jobs_option(default: int | None = None) -> Callable[[Function], Function]:
    """Take a number of processors; None is joblib's default, which is one."""
    shown = "all" if default == -1 else "1"
    return click.option(
        "--jobs",
        "-j",
        metavar="J",
        type=int,
        default=default,
        callback=_not_zero,
        help=f"Processors to use; -1 for all.  [default: {shown}]",
    )


def quiet_option(function: Function) -> Function:
    """Take whether to be silent on stderr."""
    option = click.option("--quiet", "-q", is_flag=True, help="No progress and no remarks on stderr.")
    return option(function)


_SEARCH = (
    click.option(
        "--n-init", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Restarts."
    ),
    seed_option,
    jobs_option(),
)


def beta_option(name: str = "beta", *, multiple: bool = False) -> Callable[[Function], Function]:
    """Take beta; several of them if ``multiple``."""
    help = "What to keep: from 0 (the groups form a Markov chain) to 1 (the next group tells of the present state)"
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
    """Take the weight of generated information."""
    option = click.option(
        "--gamma",
        type=click.FloatRange(0.0, 1e6),
        default=0.0,
        show_default=True,
        metavar="G",
        callback=_not_nan,
        help="Add G times the loss of generated information, H(X2|X1) - H(Y2|X1), to the cost.",
    )
    return option(function)


def _not_nan(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is not a number")
    return value


_PUBLISHED = (
    click.option(
        "--step",
        metavar="D",
        type=click.FloatRange(1e-4, 1.0),
        default=0.1,
        show_default=True,
        help="Step of beta in annealing.",
    ),
    click.option(
        "--max-sweeps",
        metavar="N",
        type=click.IntRange(1, 1_000_000),
        default=100,
        show_default=True,
        help="Sweeps of Algorithm 1 at each beta, at most.",
    ),
    click.option(
        "--allow-empty",
        is_flag=True,
        help="Let groups run empty, as the published algorithms do: there may be fewer than K.",
    ),
)


def published_options(function: Function) -> Function:
    """Take the parameters of the paper's Algorithms 1 and 2."""
    return _all(_PUBLISHED, function)


_PRINTING = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
    quiet_option,
)


def _all(options: tuple[Function, ...], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def chain_options(function: Function) -> Function:
    """Take a file and what to do with it; the command gets a :class:`ChainInput` called ``source``."""

    @wraps(function)
    def with_source(
        *, file: str, normalize: bool, restrict: Any, restart: float | None, initial: str | None, **rest: Any
    ) -> Any:
        if initial is not None and restart is None:
            raise click.UsageError("--initial says where a restart leads; pass --restart with it")
        return function(source=ChainInput(file, normalize, restrict, restart, initial), **rest)

    return _all(_CHAIN, with_source)


def search_options(function: Function) -> Function:
    """Take what controls a search: restarts, seed, processors."""
    return _all(_SEARCH, function)


def printing_options(function: Function) -> Function:
    """Take how results are printed."""
    return _all(_PRINTING, function)


def n_states_option(*, required: bool = True) -> Callable[[Function], Function]:
    """Take the number of groups."""
    return click.option(
        "-k", "--n-states", metavar="K", type=click.IntRange(1), required=required, help="How many groups."
    )


def output_option(
    help: str, suffixes: tuple[str, ...] = (".npz", ".csv", ".json")
) -> Callable[[Function], Function]:
    """Take a file to save to; it is checked before the search, not after it."""
    words = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"

    def check(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        if Path(value).suffix.lower() not in suffixes:
            raise click.BadParameter(f"{value!r} must end in {words}")
        if not Path(value).parent.is_dir():
            raise click.BadParameter(f"there is no folder {str(Path(value).parent)!r}")
        return value

    return click.option("-o", "--output", metavar="OUT", callback=check, help=help)
