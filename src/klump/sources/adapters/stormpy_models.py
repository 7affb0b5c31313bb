"""stormpy: sparse DTMCs and CTMCs, with their labels, initial states, rewards and state valuations."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.sources.adapters.adapted import Adapted, refuse


def adapt(given: Any) -> Adapted | None:
    """Chain of a sparse model; a CTMC is uniformised."""
    if not hasattr(given, "model_type"):
        return None
    kind = str(given.model_type).rpartition(".")[2].upper()
    if not given.is_sparse_model:
        raise refuse(given, "is symbolic", "build a sparse model, with stormpy.build_model")
    if kind not in ("DTMC", "CTMC"):
        raise refuse(
            given,
            f"({kind}) is not a Markov chain: its actions are not chosen",
            "apply a scheduler first, so that it becomes a DTMC",
        )
    if given.has_parameters:
        raise refuse(given, "has parameters", "instantiate it first, so that its transitions are numbers")
    matrix, rate = _to_csr(given.transition_matrix), None
    if kind == "CTMC":
        from klump.sources.rates import uniformize_with_rate

        matrix, rate = uniformize_with_rate(_without_diagonal(matrix))
    return Adapted(
        matrix,
        _valuations(given),
        labels={label: _mask(given, label) for label in sorted(given.labeling.get_labels())},
        initial=_initial(given),
        rewards=None if kind == "CTMC" else _state_rewards(given),
        rate=rate,
    )


def _to_csr(matrix: Any) -> sparse.csr_array:
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for row in range(matrix.nr_rows):
        for entry in matrix.get_row(row):
            # A method before stormpy 2, an attribute since.
            value = entry.value() if callable(entry.value) else entry.value
            columns.append(entry.column)
            values.append(float(value))
        ends.append(len(columns))
    shape = (matrix.nr_rows, matrix.nr_columns)
    return sparse.csr_array(
        (np.array(values), np.array(columns, dtype=np.int64), np.array(ends)), shape=shape
    )


def _without_diagonal(rates: sparse.csr_array) -> sparse.csr_array:
    """Rates of the moves to other states: a loop of a CTMC is no event."""
    entries = rates.tocoo()
    other = entries.row != entries.col
    kept = (entries.data[other], (entries.row[other], entries.col[other]))
    return sparse.csr_array(sparse.coo_array(kept, shape=rates.shape))


def _mask(model: Any, label: str) -> NDArray[np.bool_]:
    mask = np.zeros(model.nr_states, dtype=bool)
    mask[list(model.labeling.get_states(label))] = True
    return mask


def _initial(model: Any) -> NDArray[np.float64] | None:
    starts = list(model.initial_states)
    if not starts:
        return None
    initial = np.zeros(model.nr_states)
    initial[starts] = 1.0 / len(starts)
    return initial


def _state_rewards(model: Any) -> dict[str, NDArray[np.float64]]:
    """State rewards by name; rewards of actions and transitions are left out."""
    return {
        name or "reward": np.array([float(value) for value in found.state_rewards])
        for name, found in model.reward_models.items()
        if found.has_state_rewards
    }


def _valuations(model: Any) -> tuple[Hashable, ...] | None:
    """Values of the model's variables in each state as text, if the model was built with them and they differ."""
    if not model.has_state_valuations():
        return None
    found = model.state_valuations
    # Its name before stormpy 2, and since.
    to_text = found.get_string if hasattr(found, "get_string") else found.to_string
    names = tuple(str(to_text(state)) for state in range(model.nr_states))
    return names if len(set(names)) == len(names) else None
