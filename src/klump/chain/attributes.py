"""What a chain may carry besides its transitions: labels of states, an initial distribution, rewards, its restart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.initial import initial_distribution
from klump.chain.restart_record import Restart
from klump.errors import InvalidArgumentError

Reward: TypeAlias = NDArray[np.float64] | sparse.csr_array


class StateIndices(NamedTuple):
    """Indices of the states that have a label, as a reader of files knows them before there are names."""

    indices: Any


@dataclass(frozen=True, eq=False)
class Attributes:
    """Labels, initial distribution, rewards and restart of a chain; all arrays are read-only."""

    labels: dict[str, NDArray[np.intp]] = field(default_factory=dict)
    """Sorted indices of the states that have each label."""
    initial: NDArray[np.float64] | None = None
    """Distribution of the first state, if it is known."""
    rewards: dict[str, Reward] = field(default_factory=dict)
    """State rewards, one per state, or transition rewards, an n x n matrix."""
    restart: Restart | None = None
    """The restart that the transitions of the chain contain, if there is one."""
    rate: float | None = None
    """Uniformisation rate, if the chain was made of rates."""

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # copies and pickles of read-only arrays are writeable

    def _freeze(self) -> None:
        arrays: list[Any] = [*self.labels.values()]
        if self.initial is not None:
            arrays.append(self.initial)
        for reward in self.rewards.values():
            is_matrix = isinstance(reward, sparse.csr_array)
            arrays += [reward.data, reward.indices, reward.indptr] if is_matrix else [reward]  # type: ignore[union-attr]
        for array in arrays:
            array.flags.writeable = False

    def restrict(self, kept: NDArray[np.intp], n_states: int) -> Attributes:
        """Attributes of a part of the states; the initial distribution is conditioned on the part.

        None is known about the first state if the part has no initial mass.
        """
        number = np.full(n_states, -1, dtype=np.intp)
        number[kept] = np.arange(len(kept))
        labels = {label: number[members] for label, members in self.labels.items()}
        labels = {label: members[members >= 0] for label, members in labels.items()}
        initial = None if self.initial is None else self.initial[kept]
        if initial is not None:
            initial = initial / initial.sum() if initial.sum() > 0 else None
        rewards = {name: _part_of_reward(reward, kept) for name, reward in self.rewards.items()}
        restart = None if self.restart is None else self.restart.restrict(number)
        return Attributes(labels, initial, rewards, restart, self.rate)

    def append_state(self) -> Attributes:
        """Attributes after one more state without label, initial mass and rewards."""
        initial = None if self.initial is None else np.append(self.initial, 0.0)
        rewards = {name: _append_to_reward(reward) for name, reward in self.rewards.items()}
        return Attributes(self.labels, initial, rewards, self.restart, self.rate)

    def with_initial(self, initial: NDArray[np.float64]) -> Attributes:
        """The same attributes with another initial distribution."""
        return replace(self, initial=initial)

    def with_restart(self, restart: Restart | None) -> Attributes:
        """The same attributes with another restart."""
        return replace(self, restart=restart)

    def with_rate(self, rate: float | None) -> Attributes:
        """The same attributes with another uniformisation rate."""
        return replace(self, rate=rate)


NO_ATTRIBUTES = Attributes()


def build_attributes(
    known: Attributes,
    states: Sequence[Hashable],
    *,
    labels: Mapping[str, Any] | None,
    initial: Any,
    rewards: Mapping[str, Any] | None,
) -> Attributes:
    """Validate what a caller gives; what is None stays as ``known`` has it."""
    return Attributes(
        known.labels if labels is None else check_labels(labels, states),
        known.initial if initial is None else initial_distribution(initial, states),
        known.rewards if rewards is None else check_rewards(rewards, len(states)),
        known.restart,
        known.rate,
    )


def check_labels(given: Any, states: Sequence[Hashable]) -> dict[str, NDArray[np.intp]]:
    """Validate labels: per label a boolean mask, or the names of the states that have it.

    >>> check_labels({"goal": ["c"], "even": [True, False, True]}, ("a", "b", "c"))
    {'goal': array([2]), 'even': array([0, 2])}
    """
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            "must be a dict from labels to states",
            argument="labels",
            value=given,
            remedy='pass {"goal": ["c"]}, or a boolean mask per label',
        )
    numbers: dict[Hashable, int] = {}
    if any(not isinstance(members, StateIndices) for members in given.values()):
        numbers = {name: i for i, name in enumerate(states)}
    labels = {}
    for label, members in given.items():
        if not isinstance(label, str):
            raise InvalidArgumentError(
                f"has the label {label!r}, which is not text", argument="labels", remedy="use strings"
            )
        if isinstance(members, StateIndices):
            labels[label] = _check_indices(members.indices, label, len(states))
        else:
            labels[label] = _indices_of(members, label, numbers)
    return labels


def _indices_of(members: Any, label: str, numbers: dict[Hashable, int]) -> NDArray[np.intp]:
    """Sorted indices from a boolean mask, the names of several states, or that of one."""
    is_name = isinstance(members, Hashable) and members in numbers
    is_array = isinstance(members, np.ndarray | list | tuple) or hasattr(members, "to_numpy")
    mask = np.asarray(members) if is_array and not is_name else None
    if mask is not None and mask.dtype == bool and mask.size:
        if mask.shape != (len(numbers),):
            raise InvalidArgumentError(
                f"has a mask of shape {mask.shape} for {label!r}, but the chain has {len(numbers)} states",
                argument="labels",
            )
        return np.flatnonzero(mask)
    if is_name:
        members = [members]
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise _label_error(label, members)
    names = members.tolist() if isinstance(members, np.ndarray) else members
    found = []
    for name in names:
        if not isinstance(name, Hashable) or name not in numbers:
            raise _label_error(label, name)
        found.append(numbers[name])
    return np.unique(np.array(found, dtype=np.intp))


def _label_error(label: str, name: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"has {name!r} for {label!r}, which is not the name of a state",
        argument="labels",
        remedy="pass names of states, or a boolean mask",
    )


def _check_indices(given: Any, label: str, n_states: int) -> NDArray[np.intp]:
    indices = np.asarray(given)
    if indices.size == 0:
        return np.zeros(0, dtype=np.intp)
    if (
        indices.ndim != 1
        or indices.dtype.kind not in "iu"
        or not 0 <= indices.min() <= indices.max() < n_states
    ):
        raise InvalidArgumentError(
            f"has states for {label!r} that are not indices from 0 to {n_states - 1}", argument="labels"
        )
    return np.unique(indices.astype(np.intp))


def check_rewards(given: Any, n_states: int) -> dict[str, Reward]:
    """Validate rewards: per name one number per state, or an n x n matrix with one per transition."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidArgumentError(
            "must be a dict from names to rewards",
            argument="rewards",
            remedy='pass {"cost": <one number per state, or an n x n matrix>}',
        )
    return {name: _check_reward(reward, name, n_states) for name, reward in given.items()}


def _check_reward(given: Any, name: str, n_states: int) -> Reward:
    try:
        if sparse.issparse(given):
            matrix = sparse.csr_array(given, dtype=np.float64, copy=True)
            matrix.sum_duplicates()
            reward: Reward = matrix
        else:
            reward = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"has rewards {name!r} that are not numbers", argument="rewards"
        ) from error
    if reward.shape not in ((n_states,), (n_states, n_states)):
        raise InvalidArgumentError(
            f"has rewards {name!r} of shape {reward.shape}, but the chain has {n_states} states",
            argument="rewards",
            remedy="pass one number per state, or an n x n matrix",
        )
    if not np.isfinite(reward.data if sparse.issparse(reward) else reward).all():
        raise InvalidArgumentError(f"has rewards {name!r} that are not finite", argument="rewards")
    if reward.ndim == 2 and not sparse.issparse(reward):
        reward = sparse.csr_array(reward)
    return reward


def _part_of_reward(reward: Reward, kept: NDArray[np.intp]) -> Reward:
    return sparse.csr_array(reward[kept][:, kept]) if sparse.issparse(reward) else reward[kept]


def _append_to_reward(reward: Reward) -> Reward:
    if not isinstance(reward, sparse.csr_array):
        return np.append(reward, 0.0)
    n = reward.shape[0] + 1
    indptr = np.append(reward.indptr, reward.indptr[-1])
    return sparse.csr_array((reward.data, reward.indices, indptr), shape=(n, n))
