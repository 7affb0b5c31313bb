"""Simulation: draws by inversion of the cumulative distribution of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count, check_seed
from klump.chain import MarkovChain
from klump.chain.initial import initial_distribution
from klump.dynamics.state_sets import find_set, stationary_within
from klump.errors import UNSET, InvalidArgumentError

Floats = NDArray[np.float64]

# Largest number of states that are drawn in one call: 8 GB of indices.
_MAX_DRAWN = 10**9
# Uniform numbers that are drawn at a time: 8 MB.
_BLOCK = 10**6


def simulate(
    chain: MarkovChain, n_steps: int, start: Any, n_chains: int | None, random_state: Any, seed: Any = UNSET
) -> NDArray[np.intp]:
    """Trajectories of a chain; see :meth:`klump.MarkovChain.simulate`."""
    from klump.dynamics.kernels.walks import walk

    steps = check_count("n_steps", n_steps, most=_MAX_DRAWN)
    replicas = 1 if n_chains is None else check_count("n_chains", n_chains, most=_MAX_DRAWN)
    if steps * replicas > _MAX_DRAWN:
        raise InvalidArgumentError(
            f"asks for more than {_MAX_DRAWN:,} states",
            argument="n_steps",
            value=n_steps,
            remedy="simulate in parts",
        )
    rng = np.random.default_rng(check_seed(random_state, seed))
    first = start_distribution(chain, start)
    paths = np.empty((replicas, steps), dtype=np.intp)
    paths[:, 0] = draw_from_columns(first[:, None], rng.random((1, replicas)))
    matrix = sparse.csr_array(chain.transition_matrix)
    block = max(1, _BLOCK // replicas)
    for begin in range(1, steps, block):
        end = min(begin + block, steps)
        walk(matrix.indptr, matrix.indices, matrix.data, rng.random((end - begin, replicas)), begin, paths)
    return paths[0] if n_chains is None else paths


def start_distribution(chain: MarkovChain, start: Any) -> Floats:
    """Distribution of the first state: a state, a set, a dict of masses, a vector of floats, or that of the chain."""
    if start is None:
        known = chain.initial
        return chain.stationary_distribution if known is None else known
    # Fractions are probabilities; whole numbers are states.
    if isinstance(start, Mapping) or (isinstance(start, Iterable) and any(map(_is_fraction, start))):
        try:
            return initial_distribution(start, chain.states)
        except InvalidArgumentError as error:
            error.rename("initial", "start")
            raise
    members = find_set(chain, start, "start")
    distribution = np.zeros(chain.n_states)
    even = np.full(len(members), 1.0 / len(members))
    distribution[members] = stationary_within(chain, members, "start") if chain.is_irreducible else even
    return distribution


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float | np.floating)


def draw_from_columns(distributions: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Draw from the distribution in each column by inversion; never an outcome of probability 0.

    One column serves all draws.

    >>> draw_from_columns(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([0.2, 0.2]))
    array([0, 1])
    """
    cumulative = np.cumsum(distributions, axis=0)
    if cumulative.shape[1] == 1:
        last = cumulative[-1, 0]
        drawn = np.searchsorted(cumulative[:, 0], np.ravel(uniform) * last, side="right")
        return np.minimum(drawn, np.searchsorted(cumulative[:, 0], last))
    drawn = np.sum(cumulative <= uniform * cumulative[-1], axis=0)
    # uniform * cumulative[-1] may round up to cumulative[-1]: cap at the last outcome of positive probability.
    return np.minimum(drawn, np.sum(cumulative < cumulative[-1], axis=0))
