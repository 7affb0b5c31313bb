"""Questions about first passage and absorption: check what is asked, and compute it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.chain import MarkovChain
from klump.dynamics.absorption import absorption, committor, reverse
from klump.dynamics.passage import first_passage_matrix, hitting_times
from klump.dynamics.state_sets import find_set, find_sets, stationary_within
from klump.dynamics.symmetric_form import underflows
from klump.errors import ConvergenceError, InvalidArgumentError, Setting
from klump.parallel import one_thread

Floats = NDArray[np.float64]

# Largest chain whose matrix of first-passage times is computed, in states: 200 MB.
_MAX_MATRIX = 5000
# The same for a reducible chain, which takes one solution per target.
_MAX_REDUCIBLE = 1000


def first_passage_times(chain: MarkovChain, target: Any, source: Any) -> Any:
    """Mean first-passage times; see :meth:`klump.MarkovChain.first_passage_times`."""
    members = None if source is None else find_set(chain, source, "source")
    mass = None if members is None else stationary_within(chain, members, "source")
    with one_thread():
        if target is None:
            times = _all_times(chain)
        else:
            times = hitting_times(chain.transition_matrix, find_set(chain, target, "target"))
    if members is None or mass is None:
        return times
    mean = mass @ times[members]
    return float(mean) if target is not None else mean


def _all_times(chain: MarkovChain) -> Floats:
    n = chain.n_states
    limit = _MAX_MATRIX if chain.is_irreducible else _MAX_REDUCIBLE
    if n > limit:
        kind = "" if chain.is_irreducible else "reducible "
        raise InvalidArgumentError(
            f"the matrix of first-passage times is limited to {limit:,} states of a {kind}chain, and this one has "
            f"{n:,}",
            remedy=("pass ", Setting("target"), " for the times to one state or set"),
        )
    if chain.is_irreducible:
        times = first_passage_matrix(chain.transition_matrix)
        if not np.isfinite(times).all():
            raise ConvergenceError(
                f"first-passage times between {n:,} states exceed the range of float64",
                remedy=("pass ", Setting("target"), " for the times to one state or set"),
            )
        return times
    columns = [hitting_times(chain.transition_matrix, np.array([j])) for j in range(n)]
    return np.column_stack(columns)


def find_committor(chain: MarkovChain, source: Any, target: Any, *, forward: bool) -> Floats:
    """Committor; see :meth:`klump.MarkovChain.committor`."""
    begin, end = find_set(chain, source, "source"), find_set(chain, target, "target")
    shared = np.intersect1d(begin, end)
    if shared.size:
        raise InvalidArgumentError(
            f"has the state {chain.states[int(shared[0])]!r}, which is in the source, too",
            argument="target",
            remedy="pass disjoint sets",
        )
    with one_thread():
        if forward:
            return committor(chain.transition_matrix, begin, end)
        if underflows(chain.stationary_distribution):
            raise ConvergenceError(
                "the backward committor was not computed: stationary masses are below the range of float64",
                remedy="aggregate the chain first, or ask for the forward committor",
            )
        reversed_matrix = reverse(chain.transition_matrix, chain.stationary_distribution)
        return committor(reversed_matrix, end, begin)


def absorption_probabilities(chain: MarkovChain, targets: Any) -> Floats:
    """Absorption probabilities; see :meth:`klump.MarkovChain.absorption_probabilities`."""
    if targets is None:
        classes = chain.classes
        closed = [classes.members(int(number)) for number in np.flatnonzero(classes.closed)]
        sets = sorted(closed, key=lambda members: int(members[0]))
    else:
        sets = find_sets(chain, targets, "targets")
    with one_thread():
        return absorption(chain.transition_matrix, sets)
