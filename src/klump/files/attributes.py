"""Labels, initial distribution, rewards and restart of a chain as arrays, for the formats that keep them.

``attributes``
    JSON text: the names of the labels, and those of the rewards with their kind, ``"state"`` or ``"transition"``.
``attribute_initial``
    The initial distribution.
``attribute_label_states``, ``attribute_label_ends``
    Indices of the states of all labels, one label after the other, and where each label ends.
``attribute_state_rewards``
    Rewards of states, one reward after the other.
``attribute_transition_data``, ``attribute_transition_indices``, ``attribute_transition_indptr``
    Rewards of transitions, their matrices below one another, in CSR format.
``attribute_restart_probability``, ``..._targets``, ``..._masses``, ``..._added``, ``..._dead_ends``
    The restart that the transitions contain, as :class:`klump.chain.restart_record.Restart` has it.
``attribute_uniformization_rate``
    The uniformisation rate of a chain that was made of rates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.attributes import NO_ATTRIBUTES, Attributes, StateIndices, build_attributes
from klump.chain.restart_record import Restart
from klump.errors import FileFormatError
from klump.files.compressed_matrices import build_compressed
from klump.files.gate import describe

if TYPE_CHECKING:
    from klump.chain import MarkovChain

_INDEX = "attributes"
_INITIAL = "attribute_initial"
_LABEL_STATES = "attribute_label_states"
_LABEL_ENDS = "attribute_label_ends"
_STATE_REWARDS = "attribute_state_rewards"
_TRANSITION_REWARDS = tuple(f"attribute_transition_{part}" for part in ("data", "indices", "indptr"))
_RESTART_PARTS = ("targets", "masses", "added", "dead_ends")
_PROBABILITY = "attribute_restart_probability"
_RATE = "attribute_uniformization_rate"
_RESTART = tuple(f"attribute_restart_{part}" for part in _RESTART_PARTS)
# Names of all arrays.
KEYS = (
    _INDEX,
    _INITIAL,
    _LABEL_STATES,
    _LABEL_ENDS,
    _STATE_REWARDS,
    *_TRANSITION_REWARDS,
    _PROBABILITY,
    *_RESTART,
    _RATE,
)
_KINDS = ("state", "transition")
# Largest |sum of the masses - probability| of a restart.
_TOLERANCE = 1e-8

Read = Callable[[str], NDArray[Any] | None]


class StoredAttributes(NamedTuple):
    """Attributes of a file, unvalidated: indices per label, a vector, and arrays per reward."""

    labels: dict[str, Any] | None = None
    initial: Any = None
    rewards: dict[str, Any] | None = None
    restart: Restart | None = None
    """Validated."""
    rate: float | None = None
    """Validated."""


def encode_attributes(chain: MarkovChain) -> dict[str, NDArray[Any]]:
    """Arrays by name; none if the chain has no attributes."""
    arrays: dict[str, NDArray[Any]] = {}
    if chain.labels:
        arrays[_LABEL_STATES] = np.concatenate([np.zeros(0, np.intp), *chain.labels.values()])
        arrays[_LABEL_ENDS] = np.cumsum([len(members) for members in chain.labels.values()], dtype=np.int64)
    if chain.initial is not None:
        arrays[_INITIAL] = chain.initial
    of_states = [reward for reward in chain.rewards.values() if not sparse.issparse(reward)]
    of_transitions = [reward for reward in chain.rewards.values() if sparse.issparse(reward)]
    if of_states:
        arrays[_STATE_REWARDS] = np.concatenate(of_states)
    if of_transitions:
        stacked = sparse.csr_array(sparse.vstack(of_transitions, format="csr"))
        parts = (stacked.data, stacked.indices, stacked.indptr)
        arrays |= dict(zip(_TRANSITION_REWARDS, parts, strict=True))
    if (restart := chain._attributes.restart) is not None:
        arrays[_PROBABILITY] = np.array(restart.probability)
        arrays |= {key: getattr(restart, part) for key, part in zip(_RESTART, _RESTART_PARTS, strict=True)}
    if chain.uniformization_rate is not None:
        arrays[_RATE] = np.array(chain.uniformization_rate)
    if arrays:
        names = [[name, _KINDS[sparse.issparse(reward)]] for name, reward in chain.rewards.items()]
        index = {"labels": list(chain.labels), "rewards": names}
        arrays[_INDEX] = np.array(json.dumps(index).encode("ascii"))
    return arrays


def decode_attributes(read: Read, n_states: int) -> StoredAttributes:
    """Undo :func:`encode_attributes`; ``read`` returns the array of a name, or None if there is none."""
    text = read(_INDEX)
    if text is None:
        return StoredAttributes()
    try:
        index = json.loads(text.item())
        return StoredAttributes(
            _decode_labels(read, list(map(str, index["labels"]))),
            read(_INITIAL),
            _decode_rewards(
                read, [(str(name), _KINDS.index(kind)) for name, kind in index["rewards"]], n_states
            ),
            _decode_restart(read, n_states),
            _decode_rate(read),
        )
    except FileFormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(
            f"its labels, initial distribution, rewards or restart are damaged ({describe(error)})",
            remedy="write it again",
        ) from error


def check_attributes(found: StoredAttributes, states: Sequence[Hashable]) -> Attributes:
    """Validate attributes of a file for a chain that is restored as it was written."""
    labels = {label: StateIndices(members) for label, members in (found.labels or {}).items()}
    known = NO_ATTRIBUTES.with_restart(found.restart).with_rate(found.rate)
    return build_attributes(known, states, labels=labels, initial=found.initial, rewards=found.rewards)


def _decode_labels(read: Read, labels: list[str]) -> dict[str, Any] | None:
    if not labels:
        return None
    states, ends = _require(read, _LABEL_STATES), _require(read, _LABEL_ENDS)
    if ends.shape != (len(labels),) or ends.dtype.kind not in "iu" or states.ndim != 1:
        raise ValueError("the states of the labels")
    if (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(states):
        raise ValueError("the states of the labels")
    return dict(zip(labels, np.split(states, ends[:-1]), strict=True))


def _decode_rewards(read: Read, names: list[tuple[str, int]], n_states: int) -> dict[str, Any] | None:
    if not names:
        return None
    n_of_transitions = sum(is_transition for _, is_transition in names)
    of_states: list[Any] = []
    of_transitions: list[Any] = []
    if n_of_transitions < len(names):
        of_states = list(_require(read, _STATE_REWARDS).reshape(len(names) - n_of_transitions, n_states))
    if n_of_transitions:
        parts = tuple(_require(read, key) for key in _TRANSITION_REWARDS)
        if any(part.ndim != 1 for part in parts) or any(part.dtype.kind not in "iu" for part in parts[1:]):
            raise ValueError("the rewards of transitions")
        if len(parts[2]) != n_of_transitions * n_states + 1:
            raise ValueError("the rewards of transitions")
        stacked = build_compressed("csr", parts, (n_of_transitions * n_states, n_states))
        of_transitions = [
            stacked[number * n_states : (number + 1) * n_states] for number in range(n_of_transitions)
        ]
    queues = (iter(of_states), iter(of_transitions))
    return {name: next(queues[kind]) for name, kind in names}


def _decode_restart(read: Read, n_states: int) -> Restart | None:
    stored = read(_PROBABILITY)
    if stored is None:
        return None
    probability = float(stored.item())
    targets, masses, added, dead_ends = (_require(read, key) for key in _RESTART)
    for states in (targets, added, dead_ends):
        if states.ndim != 1 or states.dtype.kind not in "iu":
            raise ValueError("the states of the restart")
        if len(states) and (states[0] < 0 or states[-1] >= n_states or (np.diff(states) <= 0).any()):
            raise ValueError("the states of the restart")
    if masses.shape != targets.shape or masses.dtype != np.float64 or not (masses > 0.0).all():
        raise ValueError("the masses of the restart")
    if not 0.0 < probability <= 1.0 or not abs(masses.sum() - probability) <= _TOLERANCE:
        raise ValueError("the probability of the restart")
    indices = (states.astype(np.intp) for states in (added, dead_ends))
    return Restart(probability, targets.astype(np.intp), np.array(masses), *indices)


def _decode_rate(read: Read) -> float | None:
    stored = read(_RATE)
    if stored is None:
        return None
    rate = float(stored.item())
    if not 0.0 < rate < np.inf:
        raise ValueError("the uniformisation rate")
    return rate


def _require(read: Read, key: str) -> NDArray[Any]:
    array = read(key)
    if array is None:
        raise KeyError(key)
    return array
