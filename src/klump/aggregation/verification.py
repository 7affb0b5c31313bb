"""What a model checker asks of an answer: the quotient, and the probability of reaching a label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.aggregation.costs import next_group_distributions
from klump.aggregation.quotient import Model, build_quotient, model_of, project_labels
from klump.arguments import check_count
from klump.chain import MarkovChain
from klump.chain.restart_record import undo_blocks
from klump.chain.rows import Matrix
from klump.errors import InvalidArgumentError, ReducibleChainError, Setting
from klump.guarantees.group_rows import UNIT, GroupRows, sort_rows
from klump.guarantees.horizons import LARGEST_TIME
from klump.guarantees.occupation import Occupation, bound_from_initial, bound_occupation
from klump.guarantees.reachability import Reachability, bound_ever, bound_within, reach

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation

# Width of the bounds from the initial distribution below which they are not tightened.
_TIGHT = 1e-9


class Verification:
    """The part of an :class:`klump.Aggregation` that is for model checkers."""

    @cached_property
    def quotient(self) -> MarkovChain:
        """The chain on the groups for a model checker, with labels, initial distribution and rewards.

        Its transition matrix is U P W with P the matrix before a restart, and U the weights of the states within their
        groups: the stationary distribution of the restarted chain, in which a state without transitions counts as if it
        had a self-loop, or any weights if the map is lumpable. A group has a label if all of its states have it; a
        label that only a part of a group has is left out, and a note says so. The initial distribution is that of the
        groups. State rewards are means over the group, transition rewards means over the transitions between two
        groups. A group that consists of the state ``(restart)`` alone is left out;
        :attr:`MarkovChain.original_index` holds the numbers of the groups, which are also the names of the states, and
        :attr:`MarkovChain.applied` says what was left out.

        Examples
        --------
        >>> from klump import Aggregation, MarkovChain
        >>> P = [[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5], [0, 0, 1, 0], [0, 0, 0, 1]]
        >>> chain = MarkovChain(P, labels={"goal": [2]}, initial=0, restart=0.1)
        >>> quotient = Aggregation.from_labels(chain, [0, 1, 2, 3]).quotient
        >>> quotient.transition_matrix
        array([[0. , 0.5, 0.5, 0. ], [0. , 0. , 0.5, 0.5], [0. , 0. , 1. , 0. ], [0. , 0. , 0. , 1. ]])
        >>> quotient.labels["goal"], quotient.initial, quotient.applied
        (array([2]), array([1., 0., 0., 0.]), ('without the restart',))
        """
        return build_quotient(cast("Aggregation", self))

    def reachability(self, label: str, steps: int | None = None) -> Reachability:
        """Bound the probability that the chain reaches a label, and compute that of the aggregated chain.

        The bounds are rigorous: from every state of a group, and from the initial distribution, the probability in the
        original chain before a restart lies between them, and so does that of the :attr:`quotient`. Those per group let
        an adversary choose the state of the group at every step. From the initial distribution of a chain that restarts
        there, states that are rarely visited hardly count (``klump.guarantees.occupation``), so that the bounds may
        be much tighter, for numbers of steps up to a few times 1 / restart.

        Parameters
        ----------
        label
            A label that all states of a group have, or none.
        steps
            Number of steps; if left out, the label may be reached at any time.

        Raises
        ------
        InvalidArgumentError
            If the chain has no such label, if only a part of a group has it, or if the map is soft.

        Examples
        --------
        >>> from klump import Aggregation, MarkovChain
        >>> P = [[0.0, 0.5, 0.4, 0.1], [0.0, 0.3, 0.5, 0.2], [0, 0, 1, 0], [0, 0, 0, 1]]
        >>> chain = MarkovChain(P, labels={"goal": [2]}, initial=0, restart=0.1)
        >>> found = Aggregation.from_labels(chain, [0, 0, 1, 2]).reachability("goal", steps=1)
        >>> print(found.lower_by_group.round(3), found.upper_by_group.round(3))
        [0.4 1.  0. ] [0.5 1.  0. ]
        """
        return compute_reachability(cast("Aggregation", self), [label], steps)[0]


def compute_reachability(
    answer: Aggregation, labels: Sequence[str], steps: int | None = None
) -> list[Reachability]:
    """Bound the probability of reaching each of several labels; P W is computed once."""
    if steps is not None:
        steps = check_count("steps", steps, least=0, most=LARGEST_TIME)
    targets = [_target(answer, label) for label in labels]
    model = model_of(answer)
    rows = _group_rows(answer, model)
    visits = _occupation(answer, model, rows)
    return [
        _reachability(answer, model, rows, visits, label, steps, target)
        for label, target in zip(labels, targets, strict=True)
    ]


def _reachability(
    answer: Aggregation,
    model: Model,
    rows: GroupRows,
    visits: Occupation | None,
    label: str,
    steps: int | None,
    target: NDArray[np.bool_],
) -> Reachability:
    lower, upper = bound_ever(rows, target) if steps is None else bound_within(rows, target, steps)
    quotient = _quotient_or_none(answer)
    estimate = np.full(len(target), np.nan)
    if quotient is not None:
        # In exact arithmetic it lies between the bounds.
        estimate = np.clip(reach(sparse.csr_array(quotient.transition_matrix), target, steps), lower, upper)
    least, most, mean = float(lower.min()), float(upper.max()), np.nan
    if model.chain.initial is not None:
        initial = np.asarray(model.chain.initial @ model.mapping.weights)
        initial = initial / initial.sum()
        rounding = (len(initial) + model.chain.n_states + 4) * UNIT
        least = float(initial @ lower) * (1.0 - rounding)
        most = min(1.0, float(initial @ upper) * (1.0 + rounding))
        if visits is not None and quotient is not None and most - least > _TIGHT:
            found = bound_from_initial(rows, quotient.transition_matrix, target, steps, initial, visits)
            least, most = max(least, found[0]), min(most, found[1])
        mean = float(np.clip(initial @ estimate, least, most))

    def spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
        result = np.full(answer.n_states, np.nan)
        result[model.groups] = values
        return result

    return Reachability(label, steps, least, most, mean, spread(lower), spread(upper), spread(estimate))


def _target(answer: Aggregation, label: Any) -> NDArray[np.bool_]:
    """Whether each state of the quotient has the label; raise unless it is a union of groups of a partition."""
    known = answer.original.labels
    if not isinstance(label, str) or label not in known:
        remedy = f"choose one of {', '.join(map(repr, known))}" if known else "pass labels= to MarkovChain"
        raise InvalidArgumentError(
            "is not a label of the chain", argument="label", value=label, remedy=remedy
        )
    if answer.map.labels is None:
        raise InvalidArgumentError(
            "cannot be bounded for a soft map", argument="label", value=label, remedy="use harden()"
        )
    model = model_of(answer)
    kept, _ = project_labels(model)
    if label not in kept:
        raise InvalidArgumentError(
            _describe_split(answer, label),
            argument="label",
            value=label,
            remedy=("aggregate with ", Setting("respect_labels", True)),
        )
    target = np.zeros(len(model.groups), dtype=bool)
    target[kept[label]] = True
    return target


def _describe_split(answer: Aggregation, label: str) -> str:
    """First group of which only a part has the label, for a message."""
    members = answer.labels[answer.original.labels[label]]
    counts, sizes = (np.bincount(part, minlength=answer.n_states) for part in (members, answer.labels))
    split = np.flatnonzero((counts > 0) & (counts < sizes))
    if not split.size:
        return "marks the initial states, from which the probabilities are computed"
    group = int(split[0])
    return f"is the label of {counts[group]} of the {sizes[group]} states of group {group}"


def _group_rows(answer: Aggregation, model: Model) -> GroupRows:
    """P W of the chain before its restart, sorted by group."""
    matrix, n, k = model.chain.transition_matrix, model.chain.n_states, len(model.groups)
    parts = list(next_group_distributions(matrix, model.mapping, model.restart))
    row, col, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    next_group = sparse.csr_array((value, (row, col)), shape=(n, k))
    number = np.full(answer.n_states, -1)
    number[model.groups] = np.arange(k)
    labels = number[answer.labels]
    if model.restart is not None and model.restart.added.size:
        own = np.delete(np.arange(n), model.restart.added)
        next_group, labels = sparse.csr_array(next_group[own]), labels[own]
    return sort_rows(next_group, labels, k, _longest_row(matrix))


def _occupation(answer: Aggregation, model: Model, rows: GroupRows) -> Occupation | None:
    """Bound the visits of each state in the order of the rows, if the chain restarts at its initial distribution."""
    chain, restart = model.chain, model.restart
    if restart is None or chain.initial is None or not chain.is_irreducible:
        return None
    blocks = undo_blocks(chain.transition_matrix, restart)
    found = bound_occupation(answer.state_weights, chain.initial, restart, blocks)
    if found is None:
        return None
    own = np.delete(np.arange(chain.n_states), restart.added)
    return found._replace(visits=found.visits[own[rows.order]])


def _longest_row(matrix: Matrix) -> int:
    if isinstance(matrix, sparse.csr_array):
        return int(np.diff(matrix.indptr).max())
    return int(matrix.shape[1])


def _quotient_or_none(answer: Aggregation) -> MarkovChain | None:
    """The quotient; None if the map is not lumpable and there is no stationary distribution."""
    try:
        return answer.quotient
    except ReducibleChainError:
        return None
