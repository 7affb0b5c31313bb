"""Validation of transition matrices and state names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import Matrix as Matrix
from klump.chain.rows import row_blocks
from klump.errors import CountsError, InvalidChainError, Setting, Symbol

# Remedy for rows that do not sum to 1.
NORMALIZE = ("pass ", Setting("normalize", True), " to divide each row by its sum")
# Remedy for empty rows.
_MEND_EMPTY = (
    "give it a self-transition, or pass ",
    Setting("restrict", "connected"),
    " to drop dead ends, or ",
    Setting("restart", Symbol("p")),
    " to restart there",
)
# Largest |row sum - 1| that is taken for rounding of the input's precision and corrected silently, per precision.
_TOLERANCE = {"double": 1e-8, "single": 1e-5}
# Largest |row sum - 1| that is left as it is: float64 rounding of a sum of some thousand terms.
_ROUNDING = 1e-12


def square_matrix(given: Any, what: str = "transition matrix") -> tuple[Matrix, str]:
    """Copy of a square array-like in float64 (dense, or CSR without stored zeros), and the precision of the input."""
    matrix = _copy(given, what)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidChainError(
            f"the {what} must be square, but its shape is {tuple(matrix.shape)}",
            remedy="pass one row and one column per state",
        )
    if matrix.shape[0] == 0:
        raise InvalidChainError(f"the {what} is empty", remedy="pass at least one state")
    _require_non_negative(matrix, what)
    if isinstance(matrix, sparse.csr_array):
        matrix.eliminate_zeros()
    return matrix, _precision(given)


def _precision(given: Any) -> str:
    dtype = getattr(given, "dtype", None)
    single = isinstance(dtype, np.dtype) and dtype in (np.float32, np.float16)
    return "single" if single else "double"


def _copy(given: Any, what: str) -> Matrix:
    return _sparse_copy(given, what) if sparse.issparse(given) else _dense_copy(given, what)


def _sparse_copy(given: Any, what: str) -> sparse.csr_array:
    if np.issubdtype(given.dtype, np.complexfloating):
        raise InvalidChainError(f"the {what} has complex entries", remedy="take its real part first")
    matrix = sparse.csr_array(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    return downcast_indices(matrix)


def downcast_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """Convert the index arrays of a sparse matrix to int32 in place, where int32 can hold them."""
    if max(matrix.shape[0], matrix.nnz) < 2**31 - 1:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def _dense_copy(given: Any, what: str) -> NDArray[np.float64]:
    if np.ma.is_masked(given):
        n_masked = int(np.ma.getmaskarray(given).sum())
        raise InvalidChainError(
            f"the {what} has {n_masked} masked entries", remedy="fill them, for instance by .filled(0)"
        )
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise InvalidChainError(
            f"the {what} is not a matrix: its rows differ in length", remedy="pass rows of equal length"
        ) from error
    if np.issubdtype(array.dtype, np.complexfloating):
        raise InvalidChainError(f"the {what} has complex entries", remedy="take its real part first")
    try:
        with np.errstate(over="ignore"):  # an infinite entry is reported as such
            return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidChainError(f"the {what} must hold numbers, but it holds {array.dtype} values") from error


def _require_non_negative(matrix: Matrix, what: str, first_row: int = 0) -> None:
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix.ravel()
    for bad, rule in (
        (~np.isfinite(values), "every entry must be a finite number"),
        (values < 0, "probabilities cannot be negative"),
    ):
        position = np.flatnonzero(bad)
        if position.size:
            row, col = _coordinates(matrix, int(position[0]))
            more = f" (and {position.size - 1} more)" if position.size > 1 else ""
            value = float(values[position[0]])
            raise InvalidChainError(
                f"of the {what} has {value} in column {col}{more}: {rule}", row=first_row + row
            )


def _coordinates(matrix: Matrix, position: int) -> tuple[int, int]:
    if isinstance(matrix, sparse.csr_array):
        row = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
        return row, int(matrix.indices[position])
    row, col = divmod(position, matrix.shape[1])
    return row, col


def row_sums(matrix: Matrix) -> NDArray[np.float64]:
    """Row sums of a dense or sparse matrix, as a 1-D array."""
    with np.errstate(over="ignore"):  # an infinite sum is reported like any other that is not 1
        return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def scale_rows(matrix: Matrix, factor: NDArray[np.float64]) -> Matrix:
    """Product diag(factor) matrix; sparse stays sparse."""
    if isinstance(matrix, sparse.csr_array):
        scaled = matrix.copy()
        scaled.data *= np.repeat(factor, np.diff(matrix.indptr))
        return scaled
    return np.asarray(matrix * factor[:, None])


def _divide_rows(matrix: Matrix, divisor: NDArray[np.float64]) -> Matrix:
    if isinstance(matrix, sparse.csr_array):
        divided = matrix.copy()
        divided.data /= np.repeat(divisor, np.diff(matrix.indptr))
        return divided
    return np.asarray(matrix / divisor[:, None])


def normalize_rows(
    matrix: Matrix, what: str = "transition matrix", first_row: int = 0, *, allow_empty: bool = False
) -> Matrix:
    """Divide every row by its sum; an all-zero row is an error that names it, unless ``allow_empty``."""
    # Scaling by powers of two is exact, and keeps row sums of tiny or huge weights from underflow and overflow.
    if isinstance(matrix, sparse.csr_array):
        largest = np.asarray(matrix.max(axis=1).todense()).ravel()
    else:
        largest = matrix.max(axis=1)
    empty = np.flatnonzero(largest == 0)
    if allow_empty:
        largest[empty] = 1.0
    elif empty.size:
        more = f" ({empty.size} such rows)" if empty.size > 1 else ""
        raise InvalidChainError(
            f"of the {what} is all zero{more}: a state needs a transition",
            row=first_row + int(empty[0]),
            remedy=_MEND_EMPTY,
        )
    with np.errstate(over="ignore"):
        inverse = np.ldexp(1.0, -np.frexp(largest)[1])
    if not np.isfinite(inverse).all():
        raise InvalidChainError(
            f"of the {what} holds only denormal weights",
            row=first_row + int(np.argmax(inverse)),
            remedy="rescale it",
        )
    scaled = scale_rows(matrix, inverse)
    sums = row_sums(scaled)
    sums[empty] = 1.0
    normalized = _divide_rows(scaled, sums)
    if isinstance(normalized, sparse.csr_array):
        normalized.eliminate_zeros()  # weights that underflow relative to the largest of their row
    return normalized


def transition_matrix(given: Any, *, normalize: bool = False) -> Matrix:
    """Validate a transition matrix and return a copy."""
    matrix, precision = square_matrix(given)
    return make_stochastic(matrix, precision, normalize=normalize)


def transition_rows(
    given: Any, n_states: int, first_row: int, *, normalize: bool = False
) -> sparse.csr_array:
    """Validate a row block of a transition matrix, and return a copy in CSR format."""
    what = "transition matrix"
    rows = _copy(given, what)
    if rows.ndim != 2 or rows.shape[1] != n_states:
        raise InvalidChainError(
            f"of the {what} starts a block of shape {tuple(rows.shape)}",
            row=first_row,
            remedy=f"pass rows of {n_states} entries, like those of the first block",
        )
    rows = downcast_indices(sparse.csr_array(rows))
    _require_non_negative(rows, what, first_row)
    rows.eliminate_zeros()
    return sparse.csr_array(
        make_stochastic(rows, _precision(given), normalize=normalize, first_row=first_row)
    )


def make_stochastic(
    matrix: Matrix, precision: str, *, normalize: bool, first_row: int = 0, allow_empty: bool = False
) -> Matrix:
    """Divide rows by their sums if ``normalize``, or if they differ from 1 by rounding only; else raise.

    Empty rows stay as they are if ``allow_empty``.
    """
    if normalize:
        return normalize_rows(matrix, first_row=first_row, allow_empty=allow_empty)
    sums = row_sums(matrix)
    if allow_empty:
        sums[sums == 0.0] = 1.0
    error = np.abs(sums - 1.0)
    if not (error <= _TOLERANCE[precision]).all():
        raise _row_sum_error(matrix, sums, error > _TOLERANCE[precision], first_row)
    if (error > _ROUNDING).any():
        return _divide_rows(matrix, sums)
    return matrix


def require_canonical_form(matrix: sparse.csr_array) -> None:
    """Check, without a copy, that a CSR matrix is stochastic and in SciPy's canonical format.

    That is: columns strictly increasing within each row, no stored zeros, and row sums of 1 up to rounding.
    """
    n = matrix.shape[0]
    indptr = matrix.indptr
    if indptr[0] != 0 or indptr[-1] != len(matrix.data) or (np.diff(indptr) < 1).any():
        raise InvalidChainError("its index pointer is not increasing, or a row is empty")
    for rows, block in row_blocks(matrix):
        column, value = block.indices, block.data
        inside = np.ones(len(column), dtype=bool)
        inside[block.indptr[:-1]] = False
        if column.min() < 0 or column.max() >= n or (np.diff(column)[inside[1:]] <= 0).any():
            raise InvalidChainError(f"the columns of rows {rows.start} to {rows.stop - 1} are not in order")
        if not (np.isfinite(value) & (value > 0.0)).all():
            raise InvalidChainError(f"a probability in rows {rows.start} to {rows.stop - 1} is not positive")
        error = np.abs(row_sums(block) - 1.0)
        if error.max() > _ROUNDING:
            raise InvalidChainError("does not sum to 1", row=rows.start + int(np.argmax(error)))


def _row_sum_error(
    matrix: Matrix, sums: NDArray[np.float64], wrong: NDArray[np.bool_], first_row: int
) -> InvalidChainError:
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    first, n_wrong = int(np.flatnonzero(wrong)[0]), int(wrong.sum())
    problem = f"of the transition matrix sums to {sums[first]:.12g} instead of 1"
    if n_wrong > 1:
        problem += f" ({n_wrong} such rows)"
    if np.all(values == np.floor(values)) and values.max(initial=0.0) > 1:
        problem += ": these look like counts"
        return CountsError(problem, row=first_row + first, remedy="use MarkovChain.from_counts")
    return InvalidChainError(problem, row=first_row + first, remedy=NORMALIZE)


def state_names(states: Iterable[Hashable], n: int) -> tuple[Hashable, ...]:
    """Validate state names: hashable, unique, one per state."""
    if not isinstance(states, Iterable):
        raise InvalidChainError(
            "must be the names of the states, one per state", argument="states", value=states
        )
    names = tuple(states.tolist()) if isinstance(states, np.ndarray) else tuple(states)
    if len(names) != n:
        raise InvalidChainError(
            f"has {len(names)} names, but the chain has {n} states",
            argument="states",
            remedy="pass one name per state",
        )
    seen: dict[Hashable, int] = {}
    for position, name in enumerate(names):
        try:
            first = seen.setdefault(name, position)
        except TypeError as error:
            raise InvalidChainError(
                f"state name {name!r} at position {position} is not hashable",
                state=name,
                remedy="use text, numbers or tuples",
            ) from error
        if isinstance(name, str) and not _is_unicode(name):
            raise InvalidChainError(
                f"state name {name!r} at position {position} has half of a surrogate pair, which is not Unicode text",
                state=name,
                remedy="replace it",
            )
        if first != position:
            raise InvalidChainError(
                f"state name {name!r} is given twice (positions {first} and {position})",
                state=name,
                remedy="give each state a name of its own",
            )
    return names


def _is_unicode(name: str) -> bool:
    """Whether a string can be encoded; one with lone surrogates can be neither printed nor written."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
