"""``.parquet``: one transition per row, in the columns of a list of transitions in CSV.

``from`` and ``to`` (or ``source`` and ``target``) hold text or integers, ``weight``, ``count``, ``probability`` or
``rate`` numbers; without it, each row is a transition of weight 1. Other columns are not read. Integer names are
sorted, as in CSV, unless the metadata of the file says that states are in order of appearance. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import entries
from klump.errors import FileFormatError, MissingPackageError, Setting
from klump.files.gate import FETCH_AGAIN, quote, require_file
from klump.files.limits import FREE_ARCHIVE_BYTES, expansion_error, expansion_limit
from klump.files.registry import Contents
from klump.files.transitions import drop_default_names, rank_states

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("names",)
_ENDS = (("from", "to"), ("source", "target"))
_WEIGHTS = ("weight", "count", "probability", "rate")
# Metadata of a file whose integer names are not in numeric order.
_ORDER = (b"klump:states", b"in order of appearance")
# Rows per batch.
_BATCH = 2**16
# Memory per row in bytes: numbers of two states, a weight.
_ROW_BYTES = 24
# Longest text and list in the metadata.
_MAX_METADATA = 2**20


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackageError(
            "Parquet files need pyarrow", remedy="pip install 'klump[parquet]'"
        ) from error
    return pyarrow, pyarrow.parquet


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a list of transitions; duplicates are an error unless ``add_up``."""
    pyarrow, parquet = _pyarrow()
    length = require_file(path)
    stream = path.open("rb")
    try:
        with stream:
            file = _open(parquet, stream)
            columns = _columns(file)
            _check_size(file, length)
            file = _open(parquet, stream, read_dictionary=columns[:2])
            numbers = _Numbers(pyarrow)
            parts = [
                numbers.convert(batch, columns)
                for batch in file.iter_batches(_BATCH, columns=columns, use_threads=False)
            ]
            metadata = file.schema_arrow.metadata or {}
    except (pyarrow.ArrowException, MemoryError, OSError) as error:
        # pyarrow allocates what a page announces, and an OSError of it is about the content.
        problem = " ".join(str(error).split())[:100]
        raise FileFormatError(f"the Parquet file is damaged: {problem}", remedy=FETCH_AGAIN) from error
    if not parts:
        raise FileFormatError("there is no transition", remedy="write one per row")
    rows, cols, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _contents(numbers, (rows, cols), weights, add_up=add_up, keeps_order=_ORDER in metadata.items())


def _open(parquet: Any, stream: Any, **options: Any) -> Any:
    stream.seek(0)
    return parquet.ParquetFile(
        stream,
        pre_buffer=False,
        thrift_string_size_limit=_MAX_METADATA,
        thrift_container_size_limit=_MAX_METADATA,
        **options,
    )


def _columns(file: Any) -> list[str]:
    """Names of the columns of both states, and of the weights if there are any."""
    names = {name.strip().lower(): name for name in file.schema_arrow.names}
    ends = next((ends for ends in _ENDS if set(ends) <= names.keys()), None)
    if ends is None:
        listed = quote(", ".join(map(str, file.schema_arrow.names)))
        raise FileFormatError(
            f"there are no columns from and to among {listed}", remedy="name the columns from, to and weight"
        )
    weight = next((name for name in _WEIGHTS if name in names), None)
    return [names[name] for name in (*ends, *([] if weight is None else [weight]))]


def _check_size(file: Any, length: int) -> None:
    """Compare the numbers of rows and bytes that the metadata announces with the length of the file."""
    limit = expansion_limit(length, FREE_ARCHIVE_BYTES)
    metadata = file.metadata
    # Not RowGroupMetaData.column: a damaged one ends the process, as pyarrow does not catch its exception.
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    n_rows = sum(group.num_rows for group in groups)
    n_bytes = sum(max(0, group.total_byte_size) for group in groups)
    if n_rows < 0 or n_rows != metadata.num_rows:
        raise FileFormatError("the Parquet file is damaged: its row groups do not add up", remedy=FETCH_AGAIN)
    if max(n_bytes, _ROW_BYTES * n_rows) > limit:
        raise expansion_error(length, limit)


class _Numbers:
    """Numbers of the state names, in the order of their occurrence."""

    def __init__(self, pyarrow: Any) -> None:
        self._pyarrow = pyarrow
        self.number: dict[Hashable, int] = {}

    def convert(
        self, batch: Any, columns: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of both states, and weights, of the rows of a batch."""
        first, second = (self._distinct(batch.column(i), columns[i]) for i in range(2))
        # In the order of the rows, and of source before target.
        places = np.concatenate([2 * first[1], 2 * second[1] + 1])
        names = [*first[0], *second[0]]
        for at in np.argsort(places, kind="stable").tolist():
            self.number.setdefault(names[at], len(self.number))
        source, target = (
            np.array([self.number[name] for name in names], dtype=np.int64)[codes]
            for names, _, codes in (first, second)
        )
        if len(columns) == 2:
            return source, target, np.ones(len(source))
        return source, target, self._weights(batch.column(2), columns[2])

    def _distinct(self, column: Any, name: str) -> tuple[list[Hashable], NDArray[np.intp], NDArray[np.intp]]:
        """Distinct names, the row where each occurs first, and the code of each row."""
        types = self._pyarrow.types
        if not types.is_dictionary(column.type):
            column = column.dictionary_encode()
        kind = column.type.value_type
        if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
            raise FileFormatError(f"the column {quote(name)} is of type {kind}, not of text or integers")
        if column.null_count:
            raise FileFormatError(
                f"the column {quote(name)} has empty cells", remedy="give every state a name"
            )
        codes = column.indices.to_numpy(zero_copy_only=False)
        used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        names = column.dictionary.take(self._pyarrow.array(used)).to_pylist()
        return names, first, inverse.ravel()

    def _weights(self, column: Any, name: str) -> NDArray[np.float64]:
        types = self._pyarrow.types
        if not (types.is_integer(column.type) or types.is_floating(column.type)) or column.null_count:
            raise FileFormatError(f"the column {quote(name)} does not hold a number per row")
        weights = column.to_numpy(zero_copy_only=False).astype(np.float64)
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if wrong.size:
            raise FileFormatError(
                f"the column {quote(name)} has {weights[wrong[0]]:g}, which is no weight", remedy=FETCH_AGAIN
            )
        return weights


def _contents(
    numbers: _Numbers,
    places: tuple[NDArray[Any], NDArray[Any]],
    weights: NDArray[Any],
    *,
    add_up: bool,
    keeps_order: bool,
) -> Contents:
    names = list(numbers.number)
    n = len(names)
    kinds = {type(name) for name in names}
    if len(kinds) > 1:  # of two columns of different types
        raise FileFormatError("the columns of the states differ in type", remedy="write both as text")
    if not add_up:
        keys = np.sort(places[0] * np.int64(n) + places[1])
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if again.size:
            row, column = divmod(int(keys[again[0]]), n)
            raise FileFormatError(
                f"the transition from {quote(str(names[row]))} to {quote(str(names[column]))} is given twice",
                remedy=("remove one, or pass ", Setting("normalize", True), " to add them up"),
            )
    is_sorted = kinds == {int} and not keeps_order
    order, rank = rank_states(n, places[0], cast(list[int], names) if is_sorted else None)
    matrix = sparse.csr_array((weights, (rank[places[0]], rank[places[1]])), shape=(n, n))
    return Contents(matrix, drop_default_names([names[i] for i in order.tolist()]))


def write(chain: MarkovChain, path: Path) -> None:
    """Write a chain; names are integers if all are, else text."""
    pyarrow, parquet = _pyarrow()
    states = chain.states
    integers = all(type(name) is int and abs(name) < 2**63 for name in states)
    names = list(states) if integers else [str(name) for name in states]
    if len(set(names)) < len(names):
        raise FileFormatError(
            "two state names are the same when written as text", remedy="write an .npz file instead"
        )
    kind = pyarrow.int64() if integers else pyarrow.string()
    is_sorted = not integers or names == sorted(names)  # type: ignore[type-var]
    schema = pyarrow.schema(
        [("from", kind), ("to", kind), ("probability", pyarrow.float64())],
        metadata=None if is_sorted else dict([_ORDER]),
    )
    dictionary = pyarrow.array(names, kind)
    matrix: Any = chain.transition_matrix
    with parquet.ParquetWriter(path, schema) as writer:
        for row, col, probability in entries(matrix):
            ends = [dictionary.take(pyarrow.array(part)) for part in (row, col)]
            writer.write_table(
                pyarrow.table([*ends, pyarrow.array(np.ascontiguousarray(probability))], schema=schema)
            )
