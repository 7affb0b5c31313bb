"""Square tables of pandas, polars and pyarrow, whose columns name the states."""

from __future__ import annotations

from typing import Any

import numpy as np

from klump.errors import InvalidArgumentError
from klump.sources.adapters.adapted import Adapted, article_name_of, refuse

# Names that polars gives to the columns of an array.
_DEFAULT = "column_{}"
_EVENTS = "use MarkovChain.from_events or MarkovChain.from_table for lists of events or transitions"


def adapt(given: Any) -> Adapted | None:
    """Matrix of a table with one row and one column per state; rows have the order of the columns."""
    if type(given).__name__ == "LazyFrame":
        raise refuse(given, "has no values yet", "pass given.collect()")
    if hasattr(given, "column_names"):  # pyarrow
        names = [str(name) for name in given.column_names]
        columns = [given.column(i).to_numpy() for i in range(given.num_columns)]
        return _named(_square(given, np.stack(columns, axis=1) if columns else np.empty((0, 0))), names)
    if not hasattr(given, "columns") or not hasattr(given, "to_numpy"):
        return None
    if not hasattr(given, "index"):  # polars
        return _named(_square(given, given.to_numpy()), list(given.columns))
    if list(given.index) != list(given.columns):
        square = given.shape[0] == given.shape[1]
        raise InvalidArgumentError(
            "the rows and columns of the table are named differently or in another order",
            remedy="pass a table with equal index and columns" + ("" if square else f"; {_EVENTS}"),
        )
    return _named(given.to_numpy(), list(given.columns))


def _square(given: Any, matrix: Any) -> Any:
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgumentError(
            f"{article_name_of(given)} with {matrix.shape[0]} rows and {matrix.shape[1]} columns is not a square table",
            remedy=f"pass one row per column, in the same order; {_EVENTS}",
        )
    return matrix


def _named(matrix: Any, names: list[Any]) -> Adapted:
    numbers = list(range(len(names)))
    default = names in (numbers, [_DEFAULT.format(number) for number in numbers])
    return Adapted(matrix, None if default else tuple(names))
