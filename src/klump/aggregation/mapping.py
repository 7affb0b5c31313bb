"""Maps from states to groups: validate labels or a stochastic matrix."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from collections.abc import Mapping as Mappable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError

# Largest deviation of a row sum from 1 that counts as rounding of the input, for float64 and for narrower types.
_ROW_SUM_TOLERANCE = 1e-8
_ROW_SUM_TOLERANCE_FLOAT32 = 1e-5


@dataclass(frozen=True, eq=False)
class Mapping:
    """A map from states to groups: per state one group, or a distribution over groups."""

    weights: sparse.csr_array
    """The map W as an n x k stochastic matrix."""
    labels: NDArray[np.int32] | None
    """The group of each state; None if the map is not deterministic."""

    def __post_init__(self) -> None:
        for array in (self.weights.data, self.weights.indices, self.weights.indptr):
            array.flags.writeable = False

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.weights.shape[1])


def from_labels(labels: NDArray[Any], n_groups: int) -> Mapping:
    """Build a map from labels; trusts that they are valid and no group is empty."""
    n = len(labels)
    numbers = np.array(labels, dtype=np.int32)
    numbers.flags.writeable = False
    weights = sparse.csr_array(
        (np.ones(n), numbers.copy(), np.arange(n + 1, dtype=np.int32)), shape=(n, n_groups)
    )
    return Mapping(weights, numbers)


def as_mapping(given: Any, n_states: int, *, allow_empty: bool = False) -> Mapping:
    """Validate labels (one for each state) or a stochastic matrix (n x k).

    Unless ``allow_empty``, every number from 0 to the largest label must have a member.
    """
    if isinstance(given, Mapping) and given.weights.shape[0] == n_states:
        return given
    if isinstance(given, Mapping):
        given = given.weights
    if isinstance(getattr(given, "map", None), Mapping):  # an Aggregation, perhaps of another chain
        given = given.map.weights
    if sparse.issparse(given) or _is_matrix(given):
        return _from_matrix(given, n_states)
    if not isinstance(given, Iterable) or isinstance(given, Set | Mappable):
        raise InvalidArgumentError(
            f"must list the group of each state in order, but is of type {type(given).__name__}",
            argument="labels",
        )
    values = list(given)
    if len(values) != n_states:
        raise InvalidArgumentError(
            f"has {len(values)} entries, but the chain has {n_states} states", argument="labels"
        )
    return _from_values(values, allow_empty=allow_empty)


def _is_matrix(given: Any) -> bool:
    """Whether this is a two-dimensional array of numbers; a list of tuples may also hold names of groups."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different length
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"


def _from_values(values: list[Hashable], *, allow_empty: bool) -> Mapping:
    try:
        array = np.asarray(values)
    except ValueError:  # tuples of different length
        return _from_names(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return _from_names(values)
    if array.dtype.kind == "f":
        fraction = ~(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2.0**53))
        if fraction.any():
            raise InvalidArgumentError(
                f"must be whole numbers or names, but holds {array[fraction][0]}", argument="labels"
            )
        array = array.astype(np.int64)
    if array.min() < 0:
        where = int(np.argmin(array))
        raise InvalidArgumentError(
            f"has {array[where]} at state {where}", argument="labels", remedy="number groups from 0"
        )
    n_groups = int(array.max()) + 1
    if allow_empty and n_groups > len(array):
        raise InvalidArgumentError(
            f"has {array.max()} at state {int(np.argmax(array))}",
            argument="labels",
            remedy=f"number groups from 0 to at most {len(array) - 1}, as there are {len(array)} states",
        )
    missing = np.setdiff1d(np.arange(min(n_groups, len(array) + 1)), array)
    if missing.size and not allow_empty:
        raise InvalidArgumentError(
            f"leaves group {missing[0]} empty ({n_groups} groups are numbered from 0)",
            argument="labels",
            remedy="renumber them with numpy.unique(labels, return_inverse=True)[1]",
        )
    return from_labels(array, n_groups)


def _from_names(names: list[Hashable]) -> Mapping:
    """Number groups in the order in which their names first appear."""
    numbers: dict[Hashable, int] = {}
    try:
        labels = [numbers.setdefault(value, len(numbers)) for value in names]
    except TypeError as error:
        raise InvalidArgumentError(
            "must be hashable: numbers or names of groups", argument="labels"
        ) from error
    return from_labels(np.array(labels), len(numbers))


def _from_matrix(given: Any, n_states: int) -> Mapping:
    # csr_array would read a tuple of tuples as (data, indices, indptr).
    table = given if sparse.issparse(given) else np.asarray(given)
    tolerance = _ROW_SUM_TOLERANCE_FLOAT32 if table.dtype in (np.float32, np.float16) else _ROW_SUM_TOLERANCE
    weights = sparse.csr_array(table, dtype=np.float64, copy=True)
    weights.sum_duplicates()
    weights.eliminate_zeros()
    if weights.shape[0] != n_states:
        raise InvalidArgumentError(
            f"the map has {weights.shape[0]} rows, but the chain has {n_states} states",
            remedy="pass one row for each state",
        )
    if not np.isfinite(weights.data).all() or (weights.data < 0).any():
        raise InvalidArgumentError(
            "the map has a negative, infinite or NaN entry", remedy="pass probabilities between 0 and 1"
        )
    sums = np.asarray(weights.sum(axis=1)).ravel()
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > tolerance:
        raise InvalidArgumentError(
            f"of the map sums to {sums[worst]:.12g} instead of 1", row=worst, remedy="normalise it"
        )
    empty = np.flatnonzero(np.asarray(weights.sum(axis=0)).ravel() == 0)
    if empty.size:
        raise InvalidArgumentError(f"the map leaves group {empty[0]} empty", remedy="drop its column")
    # Normalise: rounding errors of the input must not enter the costs.
    weights.data /= np.repeat(sums, np.diff(weights.indptr))
    if weights.nnz == n_states and np.array_equal(np.diff(weights.indptr), np.ones(n_states)):
        return from_labels(weights.indices, weights.shape[1])
    return Mapping(weights, None)
