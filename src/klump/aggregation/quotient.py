"""The quotient: the chain on the groups that a model checker goes on with, with labels, initial state and rewards."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.aggregation.constraints import is_initial_label
from klump.aggregation.costs import aggregated_matrix, weights_within_groups
from klump.aggregation.mapping import Mapping
from klump.chain import MarkovChain
from klump.chain.attributes import Reward, StateIndices
from klump.chain.restart import require_record
from klump.chain.restart_record import Restart, undo_blocks
from klump.chain.rows import total
from klump.chain.wording import Change

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation


class Model(NamedTuple):
    """The chain before its restart, and the map of its own states: states ``(restart)`` belong to no group."""

    chain: MarkovChain
    restart: Restart | None
    groups: NDArray[np.intp]
    """Groups of the answer that have states other than ``(restart)``: the states of the quotient."""
    mapping: Mapping
    """The map to these groups; rows of states ``(restart)`` are empty, and there are no labels if there are any."""


def model_of(answer: Aggregation) -> Model:
    """Chain before its restart, and the map of its states."""
    chain = answer.original
    restart = require_record(chain._attributes.restart, chain.applied)
    groups = np.arange(answer.n_states)
    if restart is None or not restart.added.size:
        return Model(chain, restart, groups, answer.map)
    keeps = np.ones(chain.n_states)
    keeps[restart.added] = 0.0
    weights = sparse.csr_array(
        sparse.dia_array((keeps[None, :], [0]), shape=(len(keeps),) * 2) @ answer.map.weights
    )
    weights.eliminate_zeros()
    groups = np.unique(weights.indices).astype(np.intp)
    return Model(chain, restart, groups, Mapping(sparse.csr_array(weights[:, groups]), None))


def build_quotient(answer: Aggregation) -> MarkovChain:
    """Build the quotient of an answer; :attr:`Aggregation.quotient` documents it."""
    model = model_of(answer)
    chain, mapping = model.chain, model.mapping
    mass = answer.state_weights
    if model.restart is not None:
        mass = model.restart.discounted_occupation(mass)
    matrix = aggregated_matrix(mass, mapping, chain.transition_matrix, model.restart)
    kept, split = project_labels(model)
    initial = None if chain.initial is None else np.asarray(chain.initial @ mapping.weights)
    names = _group_names(answer, model.groups)
    checked = MarkovChain(
        matrix,
        names,
        labels={label: StateIndices(groups) for label, groups in kept.items()},
        initial=None if initial is None else initial / initial.sum(),
        rewards=_project_rewards(model, weights_within_groups(mass, mapping), matrix),
    )
    return MarkovChain._from_parts(
        checked.transition_matrix,
        None,
        names,
        model.groups,
        tuple(_changes(answer, model, split)),
        checked._attributes.with_rate(chain.uniformization_rate),
    )


def project_labels(model: Model) -> tuple[dict[str, NDArray[np.intp]], list[str]]:
    """Per label the states of the quotient that have it, and the labels that only a part of a group has.

    The label ``init`` of the initial states, which Storm's models have, is in neither: it goes with the initial
    distribution.
    """
    weights = model.mapping.weights
    n_groups = weights.shape[1]
    sizes = np.bincount(weights.indices, minlength=n_groups)
    kept: dict[str, NDArray[np.intp]] = {}
    split = []
    for label, members in model.chain.labels.items():
        if is_initial_label(label, model.chain):
            continue
        counts = np.bincount(weights[members].indices, minlength=n_groups)
        if ((counts > 0) & (counts < sizes)).any():
            split.append(label)
        else:
            kept[label] = np.flatnonzero(counts)
    return kept, split


def split_labels(answer: Aggregation) -> list[str]:
    """Labels that only a part of a group has, so that the quotient lacks them."""
    return project_labels(model_of(answer))[1] if answer.original.labels else []


def quote_all(names: list[str]) -> str:
    """Names in quotation marks, with commas and a last "and".

    >>> quote_all(["a"]), quote_all(["a", "b", "c"])
    ("'a'", "'a', 'b' and 'c'")
    """
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _group_names(answer: Aggregation, groups: NDArray[np.intp]) -> tuple[Hashable, ...] | None:
    """Names of the states of the quotient: given names, or else numbers of the groups; None if these are 0 .. k-1."""
    if answer.group_names is not None:
        return tuple(answer.group_names[y] for y in groups.tolist())
    return None if len(groups) == answer.n_states else tuple(groups.tolist())


def _changes(answer: Aggregation, model: Model, split: list[str]) -> list[Change]:
    """What the quotient has not of the chain and of the answer, as sentences."""
    changes = []
    if model.restart is not None:
        changes.append(Change("without the restart", "quotient"))
    dropped = np.setdiff1d(np.arange(answer.n_states), model.groups)
    changes += [Change(f"without group {y}, the added state (restart)", "quotient") for y in dropped.tolist()]
    if split:
        changes.append(Change(describe_split(split), "quotient"))
    return changes


def describe_split(split: list[str]) -> str:
    """Sentence on labels that the quotient lacks.

    >>> describe_split(["goal"])
    "without the label 'goal', which only a part of a group has; respect_labels=True, --respect-labels keeps it"
    """
    noun, pronoun = ("label", "it") if len(split) == 1 else ("labels", "them")
    return (
        f"without the {noun} {quote_all(split)}, which only a part of a group has; "
        f"respect_labels=True, --respect-labels keeps {pronoun}"
    )


def _project_rewards(
    model: Model, within: sparse.csr_array, matrix: NDArray[np.float64] | sparse.csr_array
) -> dict[str, Reward]:
    """Expected rewards: of a group U r, of a transition (U (P * R) W)[y, z] / Q[y, z]."""
    rewards: dict[str, Reward] = {}
    for name, reward in model.chain.rewards.items():
        if not isinstance(reward, sparse.csr_array):
            rewards[name] = np.asarray(within @ reward)
            continue
        weights = sparse.csr_array(within.T)
        blocks = undo_blocks(model.chain.transition_matrix, model.restart)
        earned = total(
            sparse.csr_array(
                weights[rows].T @ (sparse.csr_array(block).multiply(reward[rows]) @ model.mapping.weights)
            )
            for rows, block in blocks
        )
        entries = sparse.coo_array(earned)
        probability = np.asarray(matrix[entries.row, entries.col]).ravel()
        amounts = np.divide(entries.data, probability, out=np.zeros(entries.nnz), where=probability > 0.0)
        rewards[name] = sparse.csr_array((amounts, (entries.row, entries.col)), shape=matrix.shape)
    return rewards
