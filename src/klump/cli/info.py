"""``klump info``: what a chain is like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from klump.cli.commands import ChainCommand
from klump.cli.inputs import ChainInput
from klump.cli.options import chain_options, printing_options

if TYPE_CHECKING:
    from klump.chain import MarkovChain


@click.command("info", cls=ChainCommand)
@chain_options
@printing_options
def command(source: ChainInput, as_json: bool, quiet: bool) -> None:
    """Say what the chain in FILE is like."""
    from klump.cli.progress import SearchProgress, compilation_announced

    chain = source.read()
    with compilation_announced(SearchProgress(quiet=quiet)):
        facts = _facts(chain)
    if as_json:
        from klump.cli import records

        click.echo(records.written(records.document("info", source, chain, **facts)))
        return
    click.echo("\n".join(_lines(source, chain, facts)))


def _facts(chain: MarkovChain) -> dict[str, Any]:
    """Everything that is known about a chain; what needs a stationary law is None without one."""
    import numpy as np

    from klump.cli.records import name

    classes = chain.classes
    sizes = np.bincount(classes.component, minlength=classes.n_classes)
    facts: dict[str, Any] = {
        "n_states": chain.n_states,
        "n_transitions": chain.n_transitions,
        "sparse": chain.is_sparse,
        "irreducible": chain.is_irreducible,
        "closed_classes": sorted(sizes[classes.closed].tolist(), reverse=True),
        "transient_states": int(sizes[~classes.closed].sum()),
    }
    if not chain.is_irreducible:
        unknown = ("period", "reversible", "entropy_rate", "redundancy_rate", "stationary_range")
        return facts | dict.fromkeys(unknown)
    mu = chain.stationary_distribution
    lightest, heaviest = int(np.argmin(mu)), int(np.argmax(mu))
    return facts | {
        "period": _period(chain),
        "reversible": chain.is_reversible,
        "entropy_rate": chain.entropy_rate,
        "redundancy_rate": chain.redundancy_rate,
        "stationary_range": [
            {"state": name(chain.states[i]), "probability": float(mu[i])} for i in (lightest, heaviest)
        ],
    }


def _period(chain: MarkovChain) -> int:
    """Greatest common divisor of the lengths of all cycles of an irreducible chain."""
    import numpy as np
    from scipy import sparse
    from scipy.sparse import csgraph

    from klump.chain.rows import entries

    graph = sparse.csr_array(chain.transition_matrix)
    if graph.diagonal().any():
        return 1
    # Along a transition the distance from state 0 grows by one, up to a multiple of the period.
    order, before = csgraph.breadth_first_order(graph, 0)
    distance, place = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    found_from = place[before[order[1:]]]  # states are found from one that was found earlier, in that order
    begin, end = 0, 1
    while end < len(order):
        last = 1 + int(np.searchsorted(found_from, end))
        distance[order[end:last]] = distance[order[begin]] + 1
        begin, end = end, last
    period = 0
    for row, col, _ in entries(graph):
        period = int(np.gcd(period, np.gcd.reduce(distance[row] + 1 - distance[col])))
    return period


def _lines(source: ChainInput, chain: MarkovChain, facts: dict[str, Any]) -> list[str]:
    from klump.chain.wording import shown
    from klump.cli import tables

    width = tables.terminal_width()
    degree = chain.n_transitions / chain.n_states
    storage = "sparse" if chain.is_sparse else "dense"
    rows = [
        ("states", str(chain.n_states)),
        ("transitions", f"{chain.n_transitions}, {degree:.1f} from each state; stored {storage}"),
    ]
    if not facts["irreducible"]:
        rows += _class_rows(chain, width - 14)
        return [tables.title(source.path), *chain.applied, *tables.facts(rows)]
    low, high = facts["stationary_range"]
    period = facts["period"]
    rows += [
        ("irreducible", "yes, " + ("aperiodic" if period == 1 else f"with period {period}")),
        ("reversible", "yes" if facts["reversible"] else "no"),
        ("entropy rate", f"{tables.number(facts['entropy_rate'])} bits, H(X2|X1)"),
        ("redundancy", f"{tables.number(facts['redundancy_rate'])} bits, I(X1;X2)"),
        (
            "stationary",
            f"from {low['probability']:.3g} ({shown(low['state'])}) "
            f"to {high['probability']:.3g} ({shown(high['state'])})",
        ),
    ]
    return [tables.title(source.path), *chain.applied, *tables.facts(rows)]


def _class_rows(chain: MarkovChain, width: int) -> list[tuple[str, str]]:
    """Describe the classes of a chain that is not irreducible, and the ways out."""
    import numpy as np

    from klump.chain.wording import counted

    classes = chain.classes
    closed = np.flatnonzero(classes.closed)
    sizes = np.bincount(classes.component, minlength=classes.n_classes)
    closed = closed[np.argsort(-sizes[closed], kind="stable")]
    transient = np.flatnonzero(~classes.closed[classes.component])
    kinds = f"{counted(len(closed), 'closed class', 'es')}, {counted(len(transient), 'transient state')}"
    rows = [("irreducible", f"no: {kinds}")]
    for number in closed[:5].tolist():
        kind = "absorbing" if sizes[number] == 1 else "closed"
        rows.append((f"  {kind}", _counted(chain, classes.members(number), width)))
    if len(closed) > 5:
        rows.append(("", f"and {counted(len(closed) - 5, 'more closed class', 'es')}"))
    if len(transient):
        rows.append(("  transient", _counted(chain, transient, width)))
    largest = counted(int(sizes[closed[0]]), "state")
    rows.append(("ways out", f"--restrict largest           keep the largest closed class, {largest}"))
    rows.append(("", "--restart P --initial STATE  return there with probability P at every step"))
    return rows


def _counted(chain: MarkovChain, members: Any, width: int) -> str:
    from klump.chain.wording import counted
    from klump.cli.tables import listed

    start = f"{counted(len(members), 'state')}: "
    return start + listed([chain.states[i] for i in members.tolist()], width - len(start))
