"""``klump info``: properties of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.many_files import Answer, check_patterns, run_each
from klump.cli.options import chains_options, printing_options

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Largest number of closed classes that are listed.
_MAX_CLASSES = 5


@click.command("info", cls=ChainCommand)
@chains_options
@printing_options
def command(sources: list[ChainInput], as_json: bool, quiet: bool) -> None:
    """Report the properties of the chain in FILE: size, classes, period, reversibility, rates.

    With several files a summary ends the output; an error in one does not stop the others.
    """
    from klump.cli import records
    from klump.cli.progress import SearchProgress, announce_compilation
    from klump.cli.results import print_document, print_lines

    def run(source: ChainInput) -> Answer:
        chain = source.read()
        with announce_compilation(SearchProgress(quiet=quiet)):
            properties = _properties(chain)
        cells = (
            str(chain.n_states),
            str(chain.n_transitions),
            "yes" if properties["irreducible"] else "no",
        )
        lines = () if as_json else _lines(source, chain, properties)
        return Answer(records.document("info", source, chain, **properties), lines, cells)

    check_patterns(sources)
    if len(sources) > 1:
        run_each(sources, run, ("states", "transitions", "irreducible"), as_json=as_json)
        return
    found = run(sources[0])
    if as_json:
        print_document(found.document)
    else:
        print_lines(found.lines)


def _properties(chain: MarkovChain) -> dict[str, Any]:
    """Compute the properties of a chain; None where they need a stationary distribution and there is none."""
    import numpy as np

    from klump.chain.concentration import count_half_mass
    from klump.chain.connectivity import period
    from klump.cli.records import name

    classes = chain.classes
    sizes = np.bincount(classes.component, minlength=classes.n_classes)
    properties: dict[str, Any] = {
        "n_states": chain.n_states,
        "n_transitions": chain.n_transitions,
        "sparse": chain.is_sparse,
        "irreducible": chain.is_irreducible,
        "closed_classes": sorted(sizes[classes.closed].tolist(), reverse=True),
        "transient_states": int(sizes[~classes.closed].sum()),
    }
    if not chain.is_irreducible:
        undefined = (
            "period",
            "reversible",
            "entropy_rate",
            "redundancy_rate",
            "stationary_range",
            "half_mass_states",
        )
        return properties | dict.fromkeys(undefined)
    mu = chain.stationary_distribution
    lightest, heaviest = int(np.argmin(mu)), int(np.argmax(mu))
    return properties | {
        "period": period(chain.transition_matrix),
        "reversible": chain.is_reversible,
        "entropy_rate": chain.entropy_rate,
        "redundancy_rate": chain.redundancy_rate,
        "stationary_range": [
            {"state": name(chain.states[i]), "probability": float(mu[i])} for i in (lightest, heaviest)
        ],
        "half_mass_states": count_half_mass(mu),
    }


def _lines(source: ChainInput, chain: MarkovChain, properties: dict[str, Any]) -> list[str]:
    from klump.chain.concentration import is_concentrated
    from klump.chain.facts import rate_rows, size_rows
    from klump.chain.wording import format_state
    from klump.cli import tables

    width = tables.terminal_width()
    rows = size_rows(chain)
    if not properties["irreducible"]:
        rows += _class_rows(chain, width - tables.FACT_WIDTH)
        return [tables.title(source.path), *chain.applied, *tables.facts(rows)]
    low, high = properties["stationary_range"]
    period = properties["period"]
    rows += [
        ("irreducible", "yes, " + ("aperiodic" if period == 1 else f"with period {period}")),
        *rate_rows(chain),
        (
            "stationary",
            f"from {low['probability']:.3g} ({format_state(low['state'])}) "
            f"to {high['probability']:.3g} ({format_state(high['state'])})",
        ),
    ]
    notes = []
    if is_concentrated(chain.stationary_distribution):
        from klump.aggregation.notes import note_on_concentration

        notes = tables.notes([note_on_concentration(chain)], width)
    return [tables.title(source.path), *chain.applied, *tables.facts(rows), *notes]


def _class_rows(chain: MarkovChain, width: int) -> list[tuple[str, str]]:
    """Describe the communicating classes of a chain that is not irreducible, and the remedies."""
    import numpy as np

    from klump.chain.facts import format_classes
    from klump.chain.restriction import largest_connected
    from klump.chain.wording import format_count

    classes = chain.classes
    closed = np.flatnonzero(classes.closed)
    sizes = np.bincount(classes.component, minlength=classes.n_classes)
    closed = closed[np.argsort(-sizes[closed], kind="stable")]
    transient = np.flatnonzero(~classes.closed[classes.component])
    rows = [("irreducible", f"no: {format_classes(classes)}")]
    for number in closed[:_MAX_CLASSES].tolist():
        kind = "absorbing" if sizes[number] == 1 else "closed"
        rows.append((f"  {kind}", _format_members(chain, classes.members(number), width)))
    if len(closed) > _MAX_CLASSES:
        rows.append(("", f"and {format_count(len(closed) - _MAX_CLASSES, 'more closed class', 'es')}"))
    if len(transient):
        rows.append(("  transient", _format_members(chain, transient, width)))
    connected = largest_connected(chain.transition_matrix, classes, chain._counted)
    for name, part, size in (
        ("connected", "connected set", len(connected)),
        ("closed", "closed class", sizes[closed[0]]),
    ):
        option = f"--restrict {name}"
        rows.append(("", f"{option:27}  keep the largest {part}, {format_count(int(size), 'state')}"))
    rows.append(("", "--restart P --initial STATE  return to STATE with probability P at every step"))
    rows[-3] = ("remedies", rows[-3][1])
    return rows


def _format_members(chain: MarkovChain, members: Any, width: int) -> str:
    from klump.chain.wording import format_count, list_states

    start = f"{format_count(len(members), 'state')}: "
    return start + list_states([chain.states[i] for i in members.tolist()], width - len(start))
