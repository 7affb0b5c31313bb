"""Notes: caveats of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from klump.aggregation.quotient import describe_split, split_labels
from klump.chain.concentration import count_half_mass, is_concentrated
from klump.chain.wording import Sentence, format_count
from klump.search.registry import METHODS, Method

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation
    from klump.chain import MarkovChain

# Kept share I(Y1;Y2) / I(X1;X2) below which an answer is called nearly trivial.
_TRIVIAL_SHARE = 0.05

# Note on timescales: the slowest one of the original exceeds this many steps, ...
_SLOW_STEPS = 10.0
# ... and that of the aggregated chain by more than this factor.
_FALLS_SHORT = 2.0


class Interrupted(Protocol):
    """A result that tells whether a time limit interrupted it."""

    @property
    def interrupted_after(self) -> float | None:
        """The time limit in seconds, if that stopped the search."""


class Note(Sentence):
    """A note.

    Its kind is "applied", "reducible", "concentrated", "soft", "labels", "empty", "constraints", "lumping", "trivial",
    "lag", "timescale" or "interrupted".
    """

    __slots__ = ()


def notes_on(answer: Aggregation, *, timescales: bool = True) -> Iterator[Note]:
    """Yield the notes on an answer: chain, map, kept share, timescales unless they are left out, interruption."""
    chain, method = answer.original, METHODS.get(answer.method)
    for change in chain.applied:
        yield Note(change, "applied")
    if not chain.is_irreducible:
        text = "the chain is not irreducible: there are no stationary masses, hence no costs in bits"
        yield Note(text, "reducible")
    elif is_concentrated(chain.stationary_distribution):
        yield note_on_concentration(chain)
    if answer.constraints:
        yield Note(f"constraints: {answer.constraints.describe()}", "constraints")
    if answer.map.labels is None:
        shared = int((np.diff(answer.map.weights.indptr) > 1).sum())
        yield Note(
            f"soft: {shared} of {chain.n_states} states belong to several groups; labels are the most probable ones",
            "soft",
        )
    if split := split_labels(answer):
        yield Note(f"the quotient is {describe_split(split)}", "labels")
    if answer.n_asked is not None and answer.n_states < answer.n_asked:
        empty = format_count(answer.n_asked - answer.n_states, "group")
        yield Note(f"{empty} of {answer.n_asked} ran empty, as allow_empty lets them", "empty")
    if method is not None and method.lumps:
        yield from _notes_on_lumping(answer)
    elif answer.n_states > 1 and chain.is_irreducible and answer.kept < _TRIVIAL_SHARE:
        yield Note(
            f"nearly trivial: the groups keep only {answer.kept:.1%} of the mutual information between successive "
            f"states, so successive groups are almost independent{_advice(answer, method)}",
            "trivial",
        )
    yield from _notes_on_time(answer, timescales=timescales)
    if answer.interrupted:
        yield Note(f"{format_interruption(answer)}: this is the best found so far", "interrupted")


def note_on_concentration(chain: MarkovChain) -> Note:
    """Note on how few states hold half of the mass, with the remedy unless it was applied."""
    few = count_half_mass(chain.stationary_distribution)
    verb = "holds" if few == 1 else "hold"
    text = (
        f"concentrated: {few} of {chain.n_states} states {verb} half of the stationary mass, so that the others hardly "
        "matter for the costs"
    )
    if not chain._is_restarted:
        text += "; if the chain gets caught there, a restart spreads the mass: restart=0.01, --restart 0.01"
    return Note(text, "concentrated")


def format_interruption(answer: Interrupted) -> str:
    """Format the reason of an interruption: the time limit, or else Ctrl-C."""
    seconds = answer.interrupted_after
    return "interrupted" if seconds is None else f"interrupted by the time limit of {seconds:g} s"


def _notes_on_lumping(answer: Aggregation) -> Iterator[Note]:
    if answer.n_states == 1:
        text = "trivial: one group of all states is always an exact lumping; start from labels that must stay apart"
        yield Note(text, "lumping")
    elif answer.n_states == answer.original.n_states:
        yield Note("nothing can be lumped: every group is a single state", "lumping")


def _steps(time: float) -> str:
    """Format a number of steps.

    >>> _steps(5946.3), _steps(1.44e6), _steps(3.25)
    ('5,946 steps', '1.44e+06 steps', '3.25 steps')
    """
    return f"{time:,.0f} steps" if 100.0 <= time < 1e6 else f"{time:.3g} steps"


def _notes_on_time(answer: Aggregation, *, timescales: bool) -> Iterator[Note]:
    if answer.microstates is not None:
        yield Note(
            f"the groups were searched at lag {answer.lag:,} on {answer.microstates:,} microstates, as P^{answer.lag} "
            "has too many transitions; chain and costs are those of one step, and lag_scan() has those at a lag",
            "lag",
        )
    found = answer._slowest_timescales if timescales else None
    if found is not None and found[0] > max(_SLOW_STEPS, _FALLS_SHORT * found[1]):
        yield Note(
            f"too fast: the slowest timescale is {_steps(found[0])} in the original chain and {_steps(found[1])} in "
            "the aggregated one; for long times take long_time_chain (klump dynamics), or search at a lag: lag=, --lag",
            "timescale",
        )


def _advice(answer: Aggregation, method: Method | None) -> str:
    """Advice on beta and gamma, for methods that minimise the cost."""
    if method is None or not method.by_cost:
        return ""
    larger_beta = f"a larger beta than {answer.beta:g}"
    if answer.gamma > 0.0:
        smaller_gamma = f"a smaller gamma than {answer.gamma:g}"
        return f"; try {smaller_gamma}" + f" or {larger_beta}" * (answer.beta < 1)
    if answer.beta >= 1:
        return ""
    # The cheapest soft maps are trivial for gamma > 0, too.
    small_gamma = ", or a small gamma, like 0.05" * (answer.beta < 0.5 and not method.soft)
    return f"; try {larger_beta}{small_gamma}"
