"""Transition counts of symbol sequences."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.choices import ENDS
from klump.errors import InvalidArgumentError, Setting
from klump.sources.symbols import encode

# Most states of a dense count matrix: 8 MB, and dense chains are faster downstream.
_MAX_DENSE_STATES = 1000

# Mean number of occurrences of a character below which strings are not read as sequences of characters.
_MIN_RECURRENCE = 2
# Mean length of strings, in characters, above which they are no words: DNA reads may recur.
_MAX_WORD = 20

_WRAP_HINT = "to pass one sequence, wrap it in a list"


# Name of the state between two sequences that are joined.
JOINT = "(start/end)"


def transition_counts(
    sequences: Any, lag: int = 1, ends: str | None = None
) -> tuple[Any, tuple[Hashable, ...]]:
    """Count the transitions at distance ``lag`` within each sequence, never from one to the next.

    Parameters
    ----------
    sequences
        A list (or other iterable) of sequences, each a list, tuple, string, 1-D array or other ordered
        iterable of hashable symbols; the rows of a 2-D array are sequences too. Taken as a single
        sequence: a string (of its characters), a 1-D array or column of a table (unless it holds lists or
        arrays), and a list of plain values such as ``[0, 1, 0]``. A list of strings is a list of
        sequences of characters, so one sequence of words is ``[["sun", "rain", "sun"]]``. A list of strings that looks
        like one sequence of words is refused: at most 20 characters on average, and a string occurs twice or characters
        occur less than twice on average.
    lag
        Distance of the counted pairs. They overlap: every position starts one (sliding window).
    ends
        ``"join"`` adds a state ``(start/end)`` before the first and after the last symbol of every sequence.

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
    return count_sequences(sequences, lag, ends)[:2]


class CountedSequences(NamedTuple):
    """Counts of transitions, and what else a chain needs to know about the sequences."""

    counts: Any
    """``counts[i, j]`` transitions from state ``i`` to state ``j``: an array up to 1000 states, sparse beyond."""
    states: tuple[Hashable, ...]
    initial: NDArray[np.float64] | None
    """Distribution of the first symbols, or the state between sequences; None if no first symbol is a state."""


def count_sequences(sequences: Any, lag: int = 1, ends: str | None = None) -> CountedSequences:
    """Count transitions as :func:`transition_counts`, and first symbols.

    >>> count_sequences(["abab", "ba", "ab"], 1).initial.round(3)
    array([0.667, 0.333])
    """
    codes, symbols, lengths = _encode_sequences(sequences, lag, ends)
    source, target = _pairs(codes, lengths, int(lag))
    counts, used = _tabulate(source, target, len(symbols))
    first = np.bincount(_first_codes(codes, lengths), minlength=len(symbols))[used]
    initial = first / first.sum() if first.any() else None
    return CountedSequences(counts, tuple(symbols[i] for i in used.tolist()), initial)


def _first_codes(codes: NDArray[np.intp], lengths: NDArray[np.int64]) -> NDArray[np.intp]:
    return codes[(np.cumsum(lengths) - lengths)[lengths > 0]]


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
    first: NDArray[np.intp]
    """Index of the first state of each sequence."""


def transitions(sequences: Any, lag: int = 1, ends: str | None = None) -> Transitions:
    """List the transitions that :func:`transition_counts` counts.

    >>> transitions([["a", "b", "a", "a"], ["b", "a"]]).sequence.tolist()
    [0, 0, 0, 1]
    """
    codes, symbols, lengths = _encode_sequences(sequences, lag, ends)
    source, target = _pairs(codes, lengths, int(lag))
    within = np.maximum(lengths - lag, 0)
    sequence = np.repeat(np.arange(within.size), within)
    place = np.arange(sequence.size) - np.repeat(np.cumsum(within) - within, within)
    return Transitions(source, target, sequence, place, symbols, _first_codes(codes, lengths))


def _encode_sequences(
    sequences: Any, lag: int, ends: str | None
) -> tuple[NDArray[np.intp], tuple[Hashable, ...], NDArray[np.int64]]:
    """Codes of the concatenated sequences, the symbols by code, and the lengths of the sequences."""
    lag = check_count("lag", lag, most=None)
    _check_ends(ends, lag)
    parts = _split(sequences)
    if ends == "join":
        return _join(parts)
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
    return *encode(parts), lengths


def _check_ends(ends: Any, lag: int) -> None:
    if ends is None:
        return
    if not isinstance(ends, str) or ends not in ENDS:
        raise InvalidArgumentError(
            "is not known",
            argument="ends",
            value=ends,
            remedy=f"choose {' or '.join(map(repr, ENDS))}, or leave it out",
        )
    if lag != 1:
        raise InvalidArgumentError(
            ("does not go with ", Setting("lag", lag), ": the state between sequences takes one step"),
            argument="ends",
            value=ends,
            remedy=("leave it out, or pass ", Setting("lag", 1)),
        )


def _join(parts: list[Any]) -> tuple[NDArray[np.intp], tuple[Hashable, ...], NDArray[np.int64]]:
    """Encode sequences with one more symbol, the last, before and after each of them; empty sequences are dropped."""
    parts = [part for part in parts if len(part)]
    if not parts:
        raise InvalidArgumentError(
            "hold no symbol", argument="sequences", remedy=f"pass longer sequences ({_WRAP_HINT})"
        )
    from klump.chain.wording import free_name

    codes, symbols = encode(parts)
    lengths = np.array([len(part) for part in parts], dtype=np.int64) + 2
    ends = np.cumsum(lengths)
    joined = np.full(int(ends[-1]), len(symbols), dtype=np.intp)
    inside = np.ones(joined.size, dtype=bool)
    inside[ends - 1] = inside[ends - lengths] = False
    joined[inside] = codes
    return joined, (*symbols, free_name(JOINT, symbols)), lengths


def _split(sequences: Any) -> list[Any]:
    """List of sequences in the argument of the caller."""
    if isinstance(sequences, (str, bytes)):
        return [sequences]
    if hasattr(sequences, "columns") and hasattr(sequences, "to_numpy"):
        raise InvalidArgumentError(
            f"is a {type(sequences).__name__}, whose rows are events rather than sequences",
            argument="sequences",
            remedy="pass it to MarkovChain.from_events(table, session=..., time=..., state=...), or its to_numpy() if "
            "every row is a sequence",
        )
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
    _refuse_words(given)
    return [_to_sequence(part, f"sequences[{number}]") for number, part in enumerate(given)]


def _refuse_words(given: Any) -> None:
    """Refuse a flat list of words, which would be read as sequences of characters.

    Strings are sequences of characters (``"aabba"``) only as long as that is plausible. If a string recurs, as the
    states of one sequence do, or if the characters hardly recur, the strings are more likely to be the states.
    """
    if len(given) < 2 or not all(isinstance(part, (str, bytes)) for part in given):
        return
    words = [part for part in given if len(part) > 1]
    n_symbols = len(set(itertools.chain.from_iterable(words)))
    recurring = next((word for word, number in Counter(words).items() if number > 1), None)
    n_characters = sum(map(len, words))
    if n_characters > _MAX_WORD * len(words):
        return
    if recurring is None and n_characters >= _MIN_RECURRENCE * n_symbols:
        return
    reason = "its characters hardly recur" if recurring is None else f"{recurring!r} occurs more than once"
    raise InvalidArgumentError(
        f"is a list of strings, each of which would be a sequence of characters, but {reason}",
        argument="sequences",
        remedy="pass [words] if the strings are the states of one sequence, and [list(word) for word in words] or "
        "MarkovChain.from_text if the characters are the states",
    )


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


def _tabulate(source: NDArray[np.intp], target: NDArray[np.intp], n: int) -> tuple[Any, NDArray[np.intp]]:
    """Count matrix of the pairs, restricted to symbols that occur in one, and the codes of these symbols."""
    counts: Any
    if n <= _MAX_DENSE_STATES:
        counts = np.bincount(source * n + target, minlength=n * n).reshape(n, n)
    else:
        ones = np.ones(source.size, dtype=np.int64)
        counts = sparse.csr_array(sparse.coo_array((ones, (source, target)), shape=(n, n)))
    used = np.zeros(n, dtype=bool)
    used[source] = True
    used[target] = True
    kept = np.flatnonzero(used)
    if kept.size == n:
        return counts, kept
    counts = counts[kept][:, kept]
    if sparse.issparse(counts) and kept.size <= _MAX_DENSE_STATES:
        counts = counts.toarray()
    return counts, kept
