"""Codes 0 .. n-1 for the symbols of sequences, which may be any hashable values."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.errors import InvalidArgumentError

# Sets of dtype kinds that np.concatenate joins without changing a symbol: never integers with floats or text.
_LOSSLESS_KINDS = ({"b"}, {"i"}, {"u"}, {"f"}, {"U"}, {"S"})


def encode(parts: list[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
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
