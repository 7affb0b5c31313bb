"""Transition counts of sequences of symbols."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.errors import InvalidArgumentError

# Up to here a dense table of counts is small (8 MB) and everything downstream is faster with it.
_MOST_DENSE_STATES = 1000

# Kinds of NumPy arrays that can be joined without changing a symbol: never an int with a float or a text.
_JOINED_KINDS = ({"b"}, {"i"}, {"u"}, {"f"}, {"U"}, {"S"})

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
        Distance of the pairs that are counted. They overlap: every position starts one.

    Returns
    -------
    counts : ndarray or csr_array of int64
        ``counts[i, j]`` transitions from state ``i`` to state ``j``; an array up to 1000 states, sparse
        beyond.
    states : tuple
        The symbols, sorted if they can be sorted and by first appearance otherwise. Symbols that take
        part in no counted transition (in sequences too short for the lag, say) are left out.

    Examples
    --------
    >>> counts, states = transition_counts([["a", "b", "a", "a"], ["b", "a"]])
    >>> states
    ('a', 'b')
    >>> counts
    array([[1, 1], [2, 0]])
    """
    codes, symbols, lengths = _coded(sequences, lag)
    source, target = _pairs(codes, lengths, int(lag))
    return _tabulate(source, target, symbols)


class Transitions(NamedTuple):
    """Transitions one by one, in the order in which they were seen."""

    source: NDArray[np.intp]
    """Number of the state that each one leaves."""
    target: NDArray[np.intp]
    """Number of the state that it leads to."""
    sequence: NDArray[np.intp]
    """Number of the sequence in which it was seen."""
    place: NDArray[np.intp]
    """Where in that sequence."""
    symbols: tuple[Hashable, ...]
    """What the states are called; some of them may take part in no transition."""


def transitions(sequences: Any, lag: int = 1) -> Transitions:
    """List the transitions that :func:`transition_counts` counts.

    >>> transitions([["a", "b", "a", "a"], ["b", "a"]]).sequence.tolist()
    [0, 0, 0, 1]
    """
    codes, symbols, lengths = _coded(sequences, lag)
    source, target = _pairs(codes, lengths, int(lag))
    within = np.maximum(lengths - lag, 0)
    sequence = np.repeat(np.arange(within.size), within)
    place = np.arange(sequence.size) - np.repeat(np.cumsum(within) - within, within)
    return Transitions(source, target, sequence, place, symbols)


def _coded(sequences: Any, lag: int) -> tuple[NDArray[np.intp], tuple[Hashable, ...], NDArray[np.int64]]:
    """Numbers of the symbols of all sequences, end to end, what they are called, and where sequences end."""
    lag = check_count("lag", lag, most=None)
    parts = _split(sequences)
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    if lengths.size == 0 or lengths.max() <= lag:
        longest = int(lengths.max()) if lengths.size else 0
        raise InvalidArgumentError(
            f"sequences hold no transition at lag={lag}: the longest of {lengths.size} sequences has "
            f"{longest} symbols; {'lower lag or ' if lag > 1 else ''}pass longer sequences ({_WRAP_HINT})"
        )
    return *_encode(parts), lengths


def _split(sequences: Any) -> list[Any]:
    """Find the sequences in what the caller passed."""
    if isinstance(sequences, (str, bytes)):
        return [sequences]
    given = _materialized(sequences, "sequences")
    if isinstance(given, np.ndarray):
        if given.ndim == 2:
            return list(given)
        # A column of names is one sequence; only what cannot be a symbol is a sequence of its own.
        if given.dtype != object or all(isinstance(part, Hashable) for part in given):
            return [given]
    nested = [_is_sequence(part) for part in given]
    if not any(nested):
        return [given]
    if not all(nested):
        place = nested.index(False)
        raise InvalidArgumentError(
            f"sequences mixes sequences with plain values ({given[place]!r} at position {place}); "
            f"{_WRAP_HINT}"
        )
    return [_materialized(part, f"sequence {number}") for number, part in enumerate(given)]


def _is_sequence(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.ndim > 0
    return isinstance(part, Iterable)


def _materialized(given: Any, what: str) -> Any:
    """Turn an ordered collection into something with a length: a string, list, tuple or 1- or 2-D array."""
    if isinstance(given, (str, bytes, list, tuple)):
        return given
    if isinstance(given, (Set, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"{what} must be an ordered collection of symbols, such as a list, a string or an array, "
            f"not a {type(given).__name__}"
        )
    array = (
        given if isinstance(given, np.ndarray) else given.to_numpy() if hasattr(given, "to_numpy") else None
    )
    if array is None:
        return list(given)
    most = 2 if what == "sequences" else 1
    if not 1 <= array.ndim <= most:
        raise InvalidArgumentError(f"{what} has {array.ndim} dimensions; an array of symbols has one")
    return array


def _encode(parts: list[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Give the symbols of all sequences, end to end, numbers in the order of the states."""
    kinds = {part.dtype.kind if isinstance(part, np.ndarray) else "?" for part in parts}
    if kinds in _JOINED_KINDS:
        return _encode_array(np.concatenate(parts))
    lists = [_as_objects(part) for part in parts]
    try:
        symbols = list(dict.fromkeys(itertools.chain.from_iterable(lists)))
    except TypeError as error:
        raise _unhashable(lists) from error
    for symbol in symbols:
        if _is_missing(symbol):
            raise _missing(symbol)
    symbols = _sorted_if_possible(symbols)
    code = {symbol: number for number, symbol in enumerate(symbols)}
    total = sum(len(part) for part in lists)
    codes = np.fromiter(
        map(code.__getitem__, itertools.chain.from_iterable(lists)), dtype=np.intp, count=total
    )
    return codes, tuple(map(_plain, symbols))


def _encode_array(values: NDArray[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise _missing(float("nan"))
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < max(2 * values.size, 1 << 16):
            return _encode_narrow(values, low, high)
    found, codes = np.unique(values, return_inverse=True)
    return codes, tuple(found.tolist())


def _encode_narrow(
    values: NDArray[Any], low: int, high: int
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Encode integers of a small range by looking them up, without a sort."""
    # The range fits, so the subtraction cannot overflow once it is done in a type that holds both ends.
    offset = (values - values.dtype.type(low)).astype(np.intp) if low >= 0 else values.astype(np.intp) - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offset] = True
    found = np.flatnonzero(present)
    rank = np.zeros(present.size, dtype=np.intp)
    rank[found] = np.arange(found.size)
    return rank[offset], tuple(low + value for value in found.tolist())


def _as_objects(part: Any) -> Any:
    if not isinstance(part, np.ndarray):
        return part
    # Times stay NumPy's own: Python's have no nanoseconds.
    return list(part) if part.dtype.kind in "mM" else part.tolist()


def _plain(symbol: Any) -> Any:
    """Python's own value for a NumPy scalar: it compares equal and prints as the user expects."""
    return symbol.item() if isinstance(symbol, np.generic) and symbol.dtype.kind in "biufUS" else symbol


def _sorted_if_possible(symbols: list[Any]) -> list[Any]:
    try:
        return sorted(symbols)
    except TypeError:
        return symbols


def _is_missing(symbol: Any) -> bool:
    try:
        return bool(symbol != symbol)
    except TypeError:  # pandas.NA has no truth value
        return True


def _missing(symbol: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"sequences hold the missing value {symbol!r}; drop it, split the sequence there, "
        "or give it a name of its own"
    )


def _unhashable(parts: list[Any]) -> InvalidArgumentError:
    for number, part in enumerate(parts):
        for place, symbol in enumerate(part):
            try:
                hash(symbol)
            except TypeError:
                return InvalidArgumentError(
                    f"symbol {symbol!r} at position {place} of sequence {number} is not hashable; "
                    "use tuples or strings as symbols"
                )
    raise AssertionError("every symbol is hashable")


def _pairs(
    codes: NDArray[np.intp], lengths: NDArray[np.int64], lag: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Codes of the first and the second symbol of every pair."""
    source, target = codes[:-lag], codes[lag:]
    if lengths.size == 1:
        return source, target
    owner = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
    same = owner[:-lag] == owner[lag:]
    return source[same], target[same]


def _tabulate(
    source: NDArray[np.intp], target: NDArray[np.intp], symbols: tuple[Hashable, ...]
) -> tuple[Any, tuple[Hashable, ...]]:
    """Count the pairs, over the symbols that are in one."""
    n = len(symbols)
    counts: Any
    if n <= _MOST_DENSE_STATES:
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
    if sparse.issparse(counts) and kept.size <= _MOST_DENSE_STATES:
        counts = counts.toarray()
    return counts, tuple(symbols[i] for i in kept.tolist())
