"""Aggregation at a lag r: groups of the chain P^r of every r-th state, also where P^r has too many transitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.mapping import Mapping, from_labels
from klump.chain import MarkovChain
from klump.chain.connectivity import period
from klump.chain.powers import MAX_DENSE_STATES, MAX_TRANSITIONS
from klump.dynamics.chapman_kolmogorov import distributions_within
from klump.errors import InvalidArgumentError, Setting

# Microstates per group, and their smallest and largest number.
_MICROSTATES_PER_GROUP = 4
_MICROSTATES = (200, 1000)
# Most multiplications for the r-step chain of the microstates, lag * transitions * microstates: some minutes.
_MAX_PRODUCTS = 2 * 10**11
# Arguments that cannot be taken for microstates.
_OF_STATES = ("initial", "respect_labels", "fixed", "must_link", "cannot_link")
# Time limit in seconds of the search at the lag if that for microstates took all of it.
_LEAST_TIME = 1e-3
# Columns of P^r W that are computed together: 26 MB at 100,000 states.
_COLUMNS = 32


def aggregate_at_lag(aggregate: Callable[..., Aggregation], arguments: dict[str, Any]) -> Aggregation:
    """Aggregate P^lag if that is affordable, or else the lag-step chain of microstates.

    ``arguments`` are those of :func:`klump.aggregate`. Microstates are groups of the one-step chain; the answer then
    belongs to the one-step chain, as do its costs, since I(X1;X_{1+lag}) is not known.
    """
    options = dict(arguments)
    chain: MarkovChain = options.pop("chain")
    lag: int = options.pop("lag")
    if chain.is_irreducible and gcd(cycle := period(chain.transition_matrix), lag) > 1:
        raise InvalidArgumentError(
            f"shares a factor with the period {cycle} of the chain, so that it never gets to some states",
            argument="lag",
            value=lag,
            remedy=f"take a lag without a factor of {cycle}",
        )
    try:
        powered = chain.power(lag)
    except InvalidArgumentError as error:
        if chain.n_states > MAX_DENSE_STATES:
            return _aggregate_microstates(aggregate, chain, lag, options)
        error.rename("steps", "lag")
        raise
    return replace(aggregate(powered, **options), lag=lag)


def _aggregate_microstates(
    aggregate: Callable[..., Aggregation], chain: MarkovChain, lag: int, options: dict[str, Any]
) -> Aggregation:
    """Aggregate to microstates in one step, and these at the lag; labels are those of all states."""
    n_groups = options.get("n_states") or 1
    least, most = _MICROSTATES
    size = min(max(least, _MICROSTATES_PER_GROUP * n_groups), max(most, n_groups), chain.n_states)
    of_states = [name for name in _OF_STATES if options.get(name) is not None and options[name] is not False]
    if of_states or lag * chain.n_transitions * size > _MAX_PRODUCTS:
        raise InvalidArgumentError(
            (
                f"needs microstates, as a power has more than {MAX_TRANSITIONS:,} transitions, and ",
                Setting(of_states[0]),
                " is about states",
            )
            if of_states
            else f"is too large: a power has more than {MAX_TRANSITIONS:,} transitions between {chain.n_states:,} "
            f"states, and {lag:,} steps of {size:,} microstates take more than {_MAX_PRODUCTS:.0e} multiplications",
            argument="lag",
            value=lag,
            remedy=(
                "take a smaller ",
                Setting("lag"),
                ", or aggregate the chain first and its answer.chain again",
            ),
        )
    if options.get("checkpoint") is not None:
        raise InvalidArgumentError(
            (
                "is not for ",
                Setting("lag", lag),
                f" where a power has more than {MAX_TRANSITIONS:,} transitions: the search for microstates is not "
                "stored, so that it could not be resumed",
            ),
            argument="checkpoint",
            value=str(options["checkpoint"]),
            remedy="leave it out",
        )
    limit, begin = options["time_limit"], monotonic()
    shared = {name: options[name] for name in ("random_state", "seed", "n_jobs", "time_limit")}
    micro = aggregate(chain, size, options["beta"], effort="quick", **shared)
    if limit is not None:
        options["time_limit"] = max(limit - (monotonic() - begin), _LEAST_TIME)
    answer = aggregate(MarkovChain(_lagged_matrix(chain, micro.map, lag), normalize=True), **options)
    weights = sparse.csr_array(micro.map.weights @ answer.map.weights)
    mapping = Mapping(weights, None)
    if answer.map.labels is not None and micro.map.labels is not None:
        mapping = from_labels(answer.map.labels[micro.map.labels], answer.n_states)
    ended = micro.interrupted_after is not None or answer.interrupted_after is not None
    answer = replace(
        answer,
        interrupted=micro.interrupted or answer.interrupted,
        interrupted_after=limit if ended else None,
    )
    return replace(answer, original=chain, map=mapping, lag=lag, microstates=size, trace=(), record=None)


def _lagged_matrix(chain: MarkovChain, mapping: Mapping, lag: int) -> Any:
    """U P^lag W of microstates, exact, without P^lag."""
    matrix: Any = chain.transition_matrix
    within = distributions_within(chain, mapping.weights)
    found = np.empty((mapping.n_groups, mapping.n_groups))
    by_column = sparse.csc_array(mapping.weights)
    for begin in range(0, mapping.n_groups, _COLUMNS):
        part = slice(begin, begin + _COLUMNS)
        block = by_column[:, part].toarray()
        for _ in range(lag):
            block = np.asarray(matrix @ block)
        found[:, part] = within @ block
    return found
