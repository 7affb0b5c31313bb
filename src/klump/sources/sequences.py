"""Transition counts of symbol sequences."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.errors import InvalidArgumentError, Setting

# Most states of a dense count matrix: 8 MB, and dense chains are faster downstream.
_MAX_DENSE_STATES = 1000

# Sets of dtype kinds that np.concatenate joins without changing a symbol: never integers with floats or text.
_LOSSLESS_KINDS = ({"b"}, {"i"}, {"u"}, {"f"}, {"U"}, {"S"})

_WRAP_HINT = "to pass one sequence, wrap it in a list"


def transition_counts(sequences: Any, lag: int = 1) -> tuple[Any, tuple[Hashable, ...]]:
    """Count the transitions at distance ``lag`` within each sequence, never from one to the next.

    Parameters
    ----------
    sequences
        A list (or other iterable) of sequences, each a list, tuple, string, 1-D array or other ordered
        iterable of hashable symbols; the rows of a 2-D array are sequences too. Taken as a single
        sequence: a string (of its characters), a 1-D array or column of a table (unless it holds lists or
        arrays), and a list of plain values such as ``[0, 1, 0]``. A list of strings is always a
        list of sequences of characters, so one sequence of words is ``[["sun", "rain", "sun"]]``.
    lag
        Distance of the counted pairs. They overlap: every position starts one (sliding window).

    Returns
    -------
    counts : ndarray or csr_array of int64
        ``counts[i, j]`` transitions from state ``i`` to state ``j``; an array up to 1000 states, sparse
        beyond.
    states : tuple
        The symbols, sorted if they are comparable and by first appearance otherwise. Symbols without a counted
        transition (in sequences too short for the lag, say) are left out.

    Examples
    --------
    >>> counts, states = transition_counts([["a", "b", "a", "a"], ["b", "a"]])
    >>> states
    ('a', 'b')
    >>> counts
    array([[1, 1], [2, 0]])
    """
    codes, symbols, lengths = _encode_sequences(sequences, lag)
    source, target = _pairs(codes, lengths, int(lag))
    return _tabulate(source, target, symbols)


class Transitions(NamedTuple):
    """Individual transitions, in order of occurrence; one element per transition."""

    source: NDArray[np.intp]
    """Index of the source state."""
    target: NDArray[np.intp]
    """Index of the target state."""
    sequence: NDArray[np.intp]
    """Index of the sequence."""
    place: NDArray[np.intp]
    """Position of the source in its sequence."""
    symbols: tuple[Hashable, ...]
    """Names of the states; some may have no transition."""


def transitions(sequences: Any, lag: int = 1) -> Transitions:
    """List the transitions that :func:`transition_counts` counts.

    >>> transitions([["a", "b", "a", "a"], ["b", "a"]]).sequence.tolist()
    [0, 0, 0, 1]
    """
    codes, symbols, lengths = _encode_sequences(sequences, lag)
    source, target = _pairs(codes, lengths, int(lag))
    within = np.maximum(lengths - lag, 0)
    sequence = np.repeat(np.arange(within.size), within)
    place = np.arange(sequence.size) - np.repeat(np.cumsum(within) - within, within)
    return Transitions(source, target, sequence, place, symbols)


def _encode_sequences(
    sequences: Any, lag: int
) -> tuple[NDArray[np.intp], tuple[Hashable, ...], NDArray[np.int64]]:
    """Codes of the concatenated sequences, the symbols by code, and the lengths of the sequences."""
    lag = check_count("lag", lag, most=None)
    parts = _split(sequences)
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    if lengths.size == 0 or lengths.max() <= lag:
        longest = int(lengths.max()) if lengths.size else 0
        raise InvalidArgumentError(
            (
                "hold no transition at ",
                Setting("lag", lag),
                f": the longest of {lengths.size} sequences has {longest} symbols",
            ),
            argument="sequences",
            remedy=f"{'lower lag or ' if lag > 1 else ''}pass longer sequences ({_WRAP_HINT})",
        )
    return *_encode(parts), lengths


def _split(sequences: Any) -> list[Any]:
    """List of sequences in the argument of the caller."""
    if isinstance(sequences, (str, bytes)):
        return [sequences]
    given = _to_sequence(sequences, "sequences", max_dimensions=2)
    if isinstance(given, np.ndarray):
        if given.ndim == 2:
            return list(given)
        # An object array of hashable elements is one sequence; unhashable elements are sequences themselves.
        if given.dtype != object or all(isinstance(part, Hashable) for part in given):
            return [given]
    nested = [_is_sequence(part) for part in given]
    if not any(nested):
        return [given]
    if not all(nested):
        place = nested.index(False)
        raise InvalidArgumentError(
            f"mixes sequences with plain values ({given[place]!r} at position {place})",
            argument="sequences",
            remedy=_WRAP_HINT,
        )
    return [_to_sequence(part, f"sequences[{number}]") for number, part in enumerate(given)]


def _is_sequence(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.ndim > 0
    return isinstance(part, Iterable)


def _to_sequence(given: Any, name: str, max_dimensions: int = 1) -> Any:
    """Convert an ordered iterable to a sized one: a string, list, tuple or array."""
    if isinstance(given, (str, bytes, list, tuple)):
        return given
    if isinstance(given, (Set, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"must be an ordered collection of symbols, not a {type(given).__name__}",
            argument=name,
            remedy="pass a list, a string or an array",
        )
    array = (
        given if isinstance(given, np.ndarray) else given.to_numpy() if hasattr(given, "to_numpy") else None
    )
    if array is None:
        return list(given)
    if not 1 <= array.ndim <= max_dimensions:
        raise InvalidArgumentError(
            f"has {array.ndim} dimensions",
            argument=name,
            remedy="pass an array of symbols with one dimension",
        )
    return array


def _encode(parts: list[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Codes of the concatenated sequences, and the symbols by code."""
    kinds = {part.dtype.kind if isinstance(part, np.ndarray) else "?" for part in parts}
    if kinds in _LOSSLESS_KINDS:
        return _encode_array(np.concatenate(parts))
    lists = [_to_objects(part) for part in parts]
    try:
        symbols = list(dict.fromkeys(itertools.chain.from_iterable(lists)))
    except TypeError as error:
        raise _unhashable_error(lists) from error
    for symbol in symbols:
        if _is_missing(symbol):
            raise _missing_error(symbol)
    symbols = _sort_if_possible(symbols)
    code = {symbol: number for number, symbol in enumerate(symbols)}
    total = sum(len(part) for part in lists)
    codes = np.fromiter(
        map(code.__getitem__, itertools.chain.from_iterable(lists)), dtype=np.intp, count=total
    )
    return codes, tuple(map(_to_python, symbols))


def _encode_array(values: NDArray[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise _missing_error(float("nan"))
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < max(2 * values.size, 1 << 16):
            return _encode_narrow(values, low, high)
    found, codes = np.unique(values, return_inverse=True)
    return codes, tuple(found.tolist())


def _encode_narrow(
    values: NDArray[Any], low: int, high: int
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Encode integers of a small range by a lookup table, without a sort."""
    # high - low fits in intp; the subtraction is done in a dtype that holds both operands.
    offset = (values - values.dtype.type(low)).astype(np.intp) if low >= 0 else values.astype(np.intp) - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offset] = True
    found = np.flatnonzero(present)
    rank = np.zeros(present.size, dtype=np.intp)
    rank[found] = np.arange(found.size)
    return rank[offset], tuple(low + value for value in found.tolist())


def _to_objects(part: Any) -> Any:
    if not isinstance(part, np.ndarray):
        return part
    # datetime64 and timedelta64 stay NumPy scalars: datetime.datetime has no nanoseconds.
    return list(part) if part.dtype.kind in "mM" else part.tolist()


def _to_python(symbol: Any) -> Any:
    """Python scalar for a NumPy scalar: equal, with the same hash, and a shorter repr."""
    return symbol.item() if isinstance(symbol, np.generic) and symbol.dtype.kind in "biufUS" else symbol


def _sort_if_possible(symbols: list[Any]) -> list[Any]:
    try:
        return sorted(symbols)
    except TypeError:
        return symbols


def _is_missing(symbol: Any) -> bool:
    try:
        return bool(symbol != symbol)
    except TypeError:  # pandas.NA has no truth value
        return True


def _missing_error(symbol: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"hold the missing value {symbol!r}",
        argument="sequences",
        remedy="drop it, split the sequence there, or give it a name of its own",
    )


def _unhashable_error(parts: list[Any]) -> InvalidArgumentError:
    for number, part in enumerate(parts):
        for place, symbol in enumerate(part):
            try:
                hash(symbol)
            except TypeError:
                return InvalidArgumentError(
                    f"hold the symbol {symbol!r}, at position {place} of sequence {number}, which is not hashable",
                    argument="sequences",
                    remedy="use tuples or strings as symbols",
                )
    raise AssertionError("every symbol is hashable")


def _pairs(
    codes: NDArray[np.intp], lengths: NDArray[np.int64], lag: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Codes of the first and the second symbol of every pair."""
    source, target = codes[:-lag], codes[lag:]
    if lengths.size == 1:
        return source, target
    sequence = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
    same = sequence[:-lag] == sequence[lag:]
    return source[same], target[same]


def _tabulate(
    source: NDArray[np.intp], target: NDArray[np.intp], symbols: tuple[Hashable, ...]
) -> tuple[Any, tuple[Hashable, ...]]:
    """Count matrix of the pairs, restricted to symbols that occur in one."""
    n = len(symbols)
    counts: Any
    if n <= _MAX_DENSE_STATES:
        counts = np.bincount(source * n + target, minlength=n * n).reshape(n, n)
    else:
        ones = np.ones(source.size, dtype=np.int64)
        counts = sparse.csr_array(sparse.coo_array((ones, (source, target)), shape=(n, n)))
    used = np.zeros(n, dtype=bool)
    used[source] = True
    used[target] = True
    if used.all():
        return counts, symbols
    kept = np.flatnonzero(used)
    counts = counts[kept][:, kept]
    if sparse.issparse(counts) and kept.size <= _MAX_DENSE_STATES:
        counts = counts.toarray()
    return counts, tuple(symbols[i] for i in kept.tolist())
