"""``klump reproduce``: run the paper's experiments and compare every number with the paper's."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from klump import __version__, signals
from klump.cli import completion
from klump.cli.commands import PlainCommand
from klump.cli.completion import one_of
from klump.cli.options import jobs_option, quiet_option, seed_option
from klump.errors import FileFormatError, Setting

if TYPE_CHECKING:
    from klump.cli.progress import ExperimentProgress
    from klump.experiments import Result, Settings
    from klump.experiments.result import Verdict


def _check_names(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    # A callback instead of click.Choice, which would import the experiments, and NumPy, for --help.
    if ctx.resilient_parsing:
        return []
    from klump.experiments import EXPERIMENTS

    unknown = [name for name in value if name not in EXPERIMENTS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(EXPERIMENTS)}")
    return [name for name in EXPERIMENTS if not value or name in value]


def _list_names(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from klump.experiments import EXPERIMENTS

        width = max(map(len, EXPERIMENTS))
        click.echo("\n".join(f"{name:<{width}}  {about}" for name, about in EXPERIMENTS.items()))
        ctx.exit()


@click.command("reproduce", cls=PlainCommand)
@click.argument(
    "names",
    metavar="[NAME]...",
    nargs=-1,
    callback=_check_names,
    shell_complete=one_of(completion.EXPERIMENTS),
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_names,
    help="List the names of the experiments and exit.",
)
@click.option(
    "--trials",
    metavar="N",
    type=click.IntRange(1),
    help="Random chains, or draws of points, in each experiment.  [default: as in the paper]",
)
@seed_option
@jobs_option(default=-1)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder for the page, its pictures, all numbers and verdicts, and finished pieces of an interrupted run.",
)
@click.option(
    "--checkpoint",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for finished pieces, which must have none, unless --resume is given.  [default: pieces in the output "
    "folder, from which the same command always resumes]",
)
@click.option(
    "--resume", is_flag=True, help="Continue the run that wrote the checkpoint; the result is the same."
)
@quiet_option
def command(
    names: list[str],
    trials: int | None,
    seed: int,
    jobs: int,
    output: Path,
    checkpoint: Path | None,
    resume: bool,
    quiet: bool,
) -> None:
    """Run the paper's experiments and compare every number with the paper's.

    Writes the page DIR/index.html: the paper's numbers beside those of the published algorithm and of klump's
    default, with a verdict on each. Without a NAME all experiments run.
    """
    from klump.cli.progress import ExperimentProgress, announce_compilation
    from klump.experiments import Settings, markdown, page
    from klump.files.atomic import translate_write_errors, write_text
    from klump.plots.figure import import_figure

    import_figure()  # raises MissingPackageError before the first experiment, not after the last
    _check_pieces(checkpoint, resume=resume)
    pieces, again = checkpoint or output / "pieces", " with --resume" if checkpoint else " again"
    with translate_write_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        # A search in this process must not return its best answer so far, which would be stored as a complete one.
        signals.explain(
            f"finished pieces are kept in {checkpoint or output}; run the same command{again} to resume"
        )
        with ExperimentProgress(quiet=quiet) as bars, announce_compilation(bars):
            settings = Settings(trials, seed, jobs, pieces, bars.callback)
            results = _run(names, settings, bars)
        write_text(output / "summary.json", _summary(results, settings))
        facts = _facts(names, settings)
        write_text(output / "summary.md", markdown.summarize(results, facts))
        path = page.write(output, results, facts)
    click.echo("\n".join(_lines(results, path)))


def _check_pieces(checkpoint: Path | None, *, resume: bool) -> None:
    """Raise FileFormatError if a folder has pieces of another run, which is not to be continued."""
    if checkpoint is not None and not resume and any(checkpoint.glob("*.jsonl")):
        raise FileFormatError(
            "this folder has finished pieces",
            remedy=("pass ", Setting("resume", True), " to continue that run, or delete it"),
            file=str(checkpoint),
        )


def _run(names: Sequence[str], settings: Settings, bars: ExperimentProgress) -> list[Result]:
    from klump import experiments
    from klump.cli.stopping import start_workers

    _compile()
    start_workers(settings.n_jobs)
    results = []
    for name in names:
        with bars.show_experiment(name):
            results.append(experiments.run(name, settings))
    return results


def _compile() -> None:
    """Compile the kernels before the workers start, while the progress display announces it."""
    from klump.aggregation import aggregate

    aggregate([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], 2, n_init=1)


def _summary(results: Sequence[Result], settings: Settings) -> str:
    """Return all numbers as JSON; the same bytes for the same seed and version, also after an interruption."""
    from klump.cli.records import plain

    content = {
        "schema": "klump/reproduction/2",
        "klump": __version__,
        "seed": settings.seed,
        "trials": settings.trials,
        "outcomes": _outcomes([verdict for result in results for verdict in result.verdicts]),
        "experiments": [
            {
                "name": result.name,
                "title": result.title,
                "outcomes": _outcomes(result.verdicts),
                "verdicts": [asdict(verdict) for verdict in result.verdicts],
                "data": result.data,
            }
            for result in results
        ],
    }
    return json.dumps(plain(content), sort_keys=True, indent=1, allow_nan=False) + "\n"


def _outcomes(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Count the outcomes by mode."""
    from klump.experiments.result import MODES, OUTCOMES

    counts = Counter((verdict.mode, verdict.outcome) for verdict in verdicts)
    return {mode: {outcome: counts[mode, outcome] for outcome in OUTCOMES} for mode in MODES}


def _facts(names: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return names and values of the run, for the page."""
    from klump.cli.records import versions
    from klump.experiments import EXPERIMENTS

    trials = settings.trials
    again = ["klump reproduce", *(names if len(names) < len(EXPERIMENTS) else ())]
    again += [] if trials is None else [f"--trials {trials}"]
    again += [f"--seed {settings.seed}"]
    packages = versions("numpy", "scipy", "numba", "scikit-learn", "matplotlib")
    return {
        "trials": "as many as in the paper"
        if trials is None
        else f"{trials} instead of as many as in the paper",
        "seed": str(settings.seed),
        "made with": ", ".join(
            f"{name} {found}" for name, found in {"klump": __version__, **packages}.items()
        ),
        "run it again": f"`{' '.join(again)}`",
    }


def _lines(results: Sequence[Result], path: Path) -> list[str]:
    from klump.cli import tables
    from klump.experiments.result import OUTCOMES

    counts = [(result.name, Counter(verdict.outcome for verdict in result.verdicts)) for result in results]
    if len(counts) > 1:
        counts.append(("all", sum((found for _, found in counts), Counter())))
    width = max(len(name) for name in ("experiment", *dict(counts)))
    rows = [(f"{name:<{width}}", *(str(found[outcome]) for outcome in OUTCOMES)) for name, found in counts]
    return tables.blocks(
        tables.table((f"{'experiment':<{width}}", "agree", "better", "differ", "undecided"), rows),
        [
            line
            for result in results
            for verdict in result.verdicts
            if verdict.outcome == "differs"
            for line in _difference(result.name, verdict, tables.terminal_width())
        ],
        [line for result in results for line in _count_undecided(result, tables.terminal_width())],
        [f"page: {path}"],
    )


def _difference(name: str, verdict: Verdict, width: int) -> list[str]:
    from klump.experiments.page import number

    paper, found, band = map(number, (verdict.paper, verdict.found, verdict.band))
    text = (
        f"differs: {name}, {verdict.mode}, {verdict.what}: paper {paper}, found {found}, band {band}: "
        f"{verdict.reason}"
    )
    return textwrap.wrap(text, width, subsequent_indent="         ", break_on_hyphens=False)


def _count_undecided(result: Result, width: int) -> list[str]:
    """Count the undecided numbers per obstacle."""
    counts = Counter(verdict.obstacle for verdict in result.verdicts if verdict.outcome == "undecided")
    return [
        line
        for obstacle, count in counts.items()
        for line in textwrap.wrap(
            f"undecided: {result.name}, {count} number{'s' * (count != 1)}: {obstacle}",
            width,
            subsequent_indent="           ",
            break_on_hyphens=False,
        )
    ]
