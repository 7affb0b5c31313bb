"""Identities of groups: groups of different answers of one chain that match have the same identity, and one colour."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation
    from klump.chain import MarkovChain

# A number of groups and a beta.
Cell = tuple[int, float]

# Beta at which groups are matched along the number of groups, if there is an answer.
_REFERENCE_BETA = 0.5


def identify(answers: Mapping[Cell, Aggregation]) -> dict[Cell, tuple[int, ...]]:
    """Identities of the groups of each answer, by number of groups and beta.

    Groups are matched along the numbers of groups at one beta, and from there along beta.
    """
    found: dict[Cell, tuple[int, ...]] = {}
    first: Cell | None = None
    for number in sorted({number for number, _ in answers}):
        betas = sorted(
            (beta for k, beta in answers if k == number), key=lambda beta: abs(beta - _REFERENCE_BETA)
        )
        for beta in betas:
            cell = number, beta
            # At one number of groups, the nearest beta that has identities; else the first answer of fewer groups.
            near = [other for other in found if other[0] == number]
            reference = min(near, key=lambda other: abs(other[1] - beta)) if near else first
            if reference is None:
                found[cell] = tuple(range(answers[cell].n_states))
            else:
                found[cell] = match_groups(answers[reference], found[reference], answers[cell])
        first = number, betas[0]
    return found


def match_groups(reference: Aggregation, identities: Sequence[int], answer: Aggregation) -> tuple[int, ...]:
    """Identities of the groups of an answer, given those of the groups of another answer of the same chain.

    Groups are matched one to one so that the matched pairs share the largest total mass. A group without a match gets
    the lowest identity that no other group of the answer has.
    """
    from scipy.optimize import linear_sum_assignment

    shared = shared_masses(reference, answer)
    old, new = linear_sum_assignment(shared, maximize=True)
    matched = {
        int(group): identities[int(before)]
        for before, group in zip(old, new, strict=True)
        if shared[before, group] > 0.0
    }
    free = (number for number in range(len(identities) + answer.n_states) if number not in matched.values())
    return tuple(matched[group] if group in matched else next(free) for group in range(answer.n_states))


def shared_masses(first: Aggregation, second: Aggregation) -> NDArray[np.float64]:
    """Mass that a group of the first and a group of the second answer share, W1^T diag(mu) W2."""
    weighted = sparse.diags_array(first.state_weights) @ second.map.weights
    return np.asarray((first.map.weights.T @ weighted).toarray())


def check_one_chain(answers: Sequence[Aggregation]) -> None:
    """Raise InvalidArgumentError unless all answers are of one chain: equal states and transition matrices."""
    first = answers[0].original
    if not all(_is_same_chain(first, answer.original) for answer in answers[1:]):
        raise InvalidArgumentError(
            "are of different chains", argument="answers", remedy="pass answers of one chain"
        )


def _is_same_chain(one: MarkovChain, other: MarkovChain) -> bool:
    if one is other:
        return True
    if one.is_sparse != other.is_sparse or tuple(one.states) != tuple(other.states):
        return False
    first: Any = one.transition_matrix
    second: Any = other.transition_matrix
    return (first != second).nnz == 0 if one.is_sparse else bool(np.array_equal(first, second))


def check_identities(given: Any, n_groups: int) -> tuple[int, ...] | None:
    """Return identities that were stored: different whole numbers, one per group; None if there are none."""
    if given is None:
        return None
    found = tuple(check_count("identities", identity, least=0) for identity in given)
    if len(found) != n_groups or len(set(found)) < n_groups:
        raise InvalidArgumentError(
            f"must be {n_groups} different numbers", argument="identities", value=list(found)
        )
    return found


def with_identities(answer: Aggregation, identities: tuple[int, ...]) -> Aggregation:
    """Return the same answer with other identities of its groups."""
    found = copy.copy(answer)  # keeps costs and masses that are computed already
    found.__dict__["group_identities"] = identities
    return found
