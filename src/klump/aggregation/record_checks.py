"""Checks of the records that files hold: the loops over merges do no bounds checks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.archive import FLOATS, INTEGERS, damage_error
from klump.search.method import Record

# Dtypes of the columns, by the end of the record's kind: "relaxed merges" are merges too.
_COLUMNS = {
    "merges": {"leaf": INTEGERS, "first": INTEGERS, "second": INTEGERS, "cost": FLOATS},
    "splits": {"temperature": FLOATS, "groups": INTEGERS},
}


def check_record(record: Record, n_states: int) -> Record:
    """Return the record if its columns fit together; those of unknown kinds, which nothing reads, are not checked."""
    expected = next((columns for kind, columns in _COLUMNS.items() if record.kind.endswith(kind)), None)
    if expected is None:
        return record
    if record.columns.keys() != expected.keys():
        raise damage_error(f"its record of {record.kind} has other columns than {', '.join(expected)}")
    for name, types in expected.items():
        if record.columns[name].dtype.name not in types:
            raise damage_error(f"the column {name!r} of its record is of {record.columns[name].dtype}")
    if record.kind.endswith("splits"):
        if len(record.columns["temperature"]) != len(record.columns["groups"]):
            raise damage_error("the columns of its splits differ in length")
    elif not _is_tree(record.columns, n_states):
        raise damage_error("its merges make no tree of the states")
    return record


def _is_tree(columns: dict[str, NDArray[np.generic]], n_states: int) -> bool:
    """Whether every state has a leaf, and every node but the root is merged once, after it exists."""
    leaf, first, second = (columns[name].astype(np.int64) for name in ("leaf", "first", "second"))
    n_merges = len(columns["cost"])
    if leaf.shape != (n_states,) or not len(first) == len(second) == n_merges:
        return False
    # Leaves may be empty, but for the last.
    if leaf.min() < 0 or leaf.max() != n_merges or not np.isfinite(columns["cost"].astype(np.float64)).all():
        return False
    exists = n_merges + 1 + np.arange(n_merges)
    merged = np.sort(np.concatenate([first, second]))
    return bool(
        (np.maximum(first, second) < exists).all() and np.array_equal(merged, np.arange(2 * n_merges))
    )
