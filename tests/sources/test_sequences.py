"""Counting transitions, against a loop over the pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klump import MarkovChain
from klump.errors import InvalidArgumentError, ReducibleChainError
from klump.sources import sequences as module
from klump.sources.sequences import transition_counts


def count_pairs(sequences, lag):
    return Counter(
        (sequence[i], sequence[i + lag]) for sequence in sequences for i in range(max(0, len(sequence) - lag))
    )


def as_counter(counts, states):
    dense = counts.toarray() if hasattr(counts, "toarray") else counts
    return Counter(
        {(states[i], states[j]): int(dense[i, j]) for i, j in zip(*np.nonzero(dense), strict=True)}
    )


def looks_like_words(strings):
    longer = [string for string in strings if len(string) > 1]
    text = "".join(longer)
    return len(strings) > 1 and (len(set(longer)) < len(longer) or len(text) < 2 * len(set(text)))


many_sequences = st.lists(st.lists(st.integers(-3, 3), max_size=8), min_size=1, max_size=6)


@given(
    sequences=many_sequences, lag=st.integers(1, 3), kind=st.sampled_from(["list", "tuple", "array", "text"])
)
def test_counts_equal_the_loop_over_pairs(sequences, lag, kind):
    if kind == "text":
        sequences = ["".join(chr(100 + symbol) for symbol in sequence) for sequence in sequences]
    expected = count_pairs(sequences, lag)
    convert = {"list": list, "tuple": tuple, "array": lambda s: np.array(s, dtype=int), "text": str}[kind]
    converted = [convert(sequence) for sequence in sequences]
    if kind == "text" and looks_like_words(sequences):
        with pytest.raises(InvalidArgumentError, match="list of strings"):
            transition_counts(converted, lag)
        return
    if not expected:
        with pytest.raises(InvalidArgumentError, match="no transition"):
            transition_counts(converted, lag)
        return
    counts, states = transition_counts(converted, lag)
    assert as_counter(counts, states) == expected
    assert list(states) == sorted({symbol for pair in expected for symbol in pair})


def test_sparse_beyond_a_thousand_states_and_equal_to_dense(monkeypatch):
    values = np.random.default_rng(0).integers(0, 300, 5000)
    dense, states = transition_counts(values, 2)
    assert isinstance(dense, np.ndarray)
    monkeypatch.setattr(module, "_MAX_DENSE_STATES", 299)
    counts, same_states = transition_counts(values, 2)
    assert counts.format == "csr"
    assert states == same_states
    np.testing.assert_array_equal(counts.toarray(), dense)


def test_dense_up_to_a_thousand_states():
    assert isinstance(transition_counts(np.arange(1000))[0], np.ndarray)
    assert transition_counts(np.arange(1001))[0].format == "csr"


def test_dropping_unused_symbols_may_make_the_table_dense():
    # 1001 symbols, of which two occur in a pair at this lag.
    counts, states = transition_counts(np.arange(1001), lag=1000)
    assert states == (0, 1000)
    np.testing.assert_array_equal(counts, [[0, 1], [0, 0]])


@pytest.mark.parametrize(
    "one",
    [
        "abca",
        [["a", "b", "c", "a"]],
        np.array(["a", "b", "c", "a"]),
        np.array(["a", "b", "c", "a"], dtype=object),
    ],
)
def test_ways_to_pass_one_sequence_of_text(one):
    counts, states = transition_counts(one)
    assert states == ("a", "b", "c")
    np.testing.assert_array_equal(counts, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    "one", [[0, 1, 0], (0, 1, 0), np.array([0, 1, 0]), [[0, 1, 0]], iter([0, 1, 0]), range(2)]
)
def test_ways_to_pass_one_sequence_of_numbers(one):
    counts, states = transition_counts(one)
    assert states == (0, 1)
    assert counts[0, 1] == 1


def test_rows_of_a_matrix_and_object_arrays_of_lists_are_sequences():
    expected = np.array([[0, 2], [0, 0]])
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[0, 1], np.array([0, 1])]
    for given_form in (np.array([[0, 1], [0, 1]]), ragged, ([0, 1] for _ in range(2))):
        np.testing.assert_array_equal(transition_counts(given_form)[0], expected)


def test_list_of_strings_is_a_list_of_sequences_of_characters():
    assert transition_counts(["sun", "nun"])[1] == ("n", "s", "u")


def test_pandas_series():
    pandas = pytest.importorskip("pandas")
    assert transition_counts(pandas.Series(["x", "y", "x"]))[1] == ("x", "y")
    assert transition_counts(pandas.Series(["sun", "rain", "sun"], dtype=object))[1] == ("rain", "sun")
    assert transition_counts(pandas.Series(["x", "y", "x"], dtype="category"))[1] == ("x", "y")
    sessions = pandas.Series([["x", "y"], ["y", "x", "x"]])
    np.testing.assert_array_equal(transition_counts(sessions)[0], [[1, 1], [1, 0]])
    with pytest.raises(InvalidArgumentError, match="missing value"):
        transition_counts([["a", pandas.NA, "a"]])


@pytest.mark.parametrize(
    ("array", "states"),
    [
        (np.array([5, 250, 5], dtype=np.uint8), (5, 250)),
        (np.array([-128, 127, -128], dtype=np.int8), (-128, 127)),
        (np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64), (2**64 - 2, 2**64 - 1)),
        (np.array([-(2**63), 2**63 - 1, -(2**63)]), (-(2**63), 2**63 - 1)),
        (np.array([0.5, -1.0, 0.5]), (-1.0, 0.5)),
        (np.array([True, False, True]), (False, True)),
        (np.array([b"x", b"y", b"x"]), (b"x", b"y")),
    ],
)
def test_every_dtype_keeps_its_values(array, states):
    counts, found = transition_counts(array)
    assert found == states
    assert {type(state) for state in found} == {type(states[0])}
    assert counts.sum() == 2


def test_datetimes_keep_nanoseconds():
    times = np.array([1, 2, 1], dtype="datetime64[ns]")
    assert transition_counts(times)[1] == (times[0], times[1])


def test_arrays_of_different_dtype_kinds_are_not_concatenated():
    # np.concatenate would turn 1 into "1", or round large integers to float64.
    counts, states = transition_counts([np.array([1, 2, 1]), np.array(["1", "2", "1"])])
    assert states == (1, 2, "1", "2")
    assert counts.sum() == 4
    large = 2**63 - 1
    states = transition_counts([np.array([large, large - 1]), np.array([large - 1, large], dtype=np.uint64)])[
        1
    ]
    assert states == (large - 1, large)


def test_numpy_scalars_in_lists_become_python_scalars():
    states = transition_counts([[np.int64(3), 4, np.int64(3)]])[1]
    assert states == (3, 4)
    assert {type(state) for state in states} == {int}


def test_symbols_that_cannot_be_sorted_keep_the_order_of_appearance():
    assert transition_counts([["b", None, 3, "b"]])[1] == ("b", None, 3)


def test_tuples_are_symbols_inside_a_sequence():
    assert transition_counts([[(0, 1), (0, 0), (0, 1)]])[1] == ((0, 0), (0, 1))


def test_symbols_only_in_short_sequences_are_left_out():
    assert transition_counts(["abab", "x", ""], lag=2)[1] == ("a", "b")


@pytest.mark.parametrize("lag", [0, -1, 1.0, True, "1", None])
def test_lag_must_be_a_positive_whole_number(lag):
    with pytest.raises(InvalidArgumentError, match="lag="):
        transition_counts("abab", lag)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([], "no transition"),
        (["a", "b"], "wrap it in a list"),
        ([[1], [2]], "longest of 2 sequences has 1"),
        ([1, [1, 2]], "mixes"),
        ({1, 2}, "not a set"),
        ([{"a": 1}], r"sequences\[0\] .* not a dict"),
        (5, "not a int"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([np.zeros((2, 2))], r"sequences\[0\] has 2 dimensions"),
        ([[1, [2], 1]], r"symbol \[2\], at position 1 of sequence 0, which is not hashable; use"),
        ([[0.0, float("nan"), 0.0]], "missing value nan"),
        (np.array([0.0, np.nan, 0.0]), "missing value nan"),
    ],
)
def test_invalid_sequences_are_refused_by_name(bad, words):
    with pytest.raises(InvalidArgumentError, match=words):
        transition_counts(bad)


def test_chain_from_sequences():
    chain = MarkovChain.from_sequences([["a", "b", "a", "a"], ["b", "a"]])
    np.testing.assert_allclose(chain.transition_matrix, [[0.5, 0.5], [1, 0]])
    assert MarkovChain.from_text("abracadabra").states == ("a", "b", "c", "d", "r")


def test_long_strings_that_recur_are_sequences_of_characters():
    read = "ACGTTACGGATTACACGTTGCA"
    assert MarkovChain.from_sequences([read, read, read[::-1]]).states == ("A", "C", "G", "T")


@pytest.mark.parametrize(
    "words",
    [
        ["home", "cart", "home"],
        ("home", "cart", "home"),
        [b"home", b"cart", b"home"],
        ["home", "cart", "checkout"],  # 1.6 occurrences of a character
        ["a", "ab", "ab"],
    ],
)
def test_a_flat_list_of_words_is_refused(words):
    with pytest.raises(
        InvalidArgumentError, match=r"sequences is a list of strings.*pass \[words\]"
    ) as caught:
        MarkovChain.from_sequences(words)
    assert "\n" not in str(caught.value)
    assert MarkovChain.from_sequences([words], restart=0.1).n_states == len(set(words))
    letters = [list(word) for word in words]
    assert MarkovChain.from_sequences(letters, restart=0.1).n_states == len(set().union(*words))


def test_a_single_string_is_a_sequence_of_characters():
    assert MarkovChain.from_sequences(["abca"]).states == ("a", "b", "c")


def test_tables_are_refused_with_the_right_call():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"session": [1, 1], "page": ["a", "b"]})
    with pytest.raises(
        InvalidArgumentError,
        match=r"is a DataFrame.*MarkovChain.from_events\(table, session=..., time=..., state=...\)",
    ):
        MarkovChain.from_sequences(table)


def test_symbol_without_successor_is_named_with_the_remedy():
    with pytest.raises(
        InvalidArgumentError,
        match=r"'z' has no successor at lag=1, .*pass ends='join' .*, restrict='connected' .*, or restart=p",
    ):
        MarkovChain.from_sequences(["abaz"])
    with pytest.raises(InvalidArgumentError, match="2 such states") as caught:
        MarkovChain.from_sequences(["ababaz", "abababy"], lag=2)
    assert "ends" not in str(caught.value)


def test_symbols_without_successor_are_dropped():
    chain = MarkovChain.from_sequences(["abaz", "abay"], restrict="connected")
    assert chain.states == ("a", "b")
    np.testing.assert_array_equal(chain.transition_matrix, [[0, 1], [1, 0]])
    assert chain.applied == (
        "restricted to the largest connected set, 2 of 4 states and 66.7 % of the counts; dropped 'y', 'z'",
    )
    with pytest.raises(
        ReducibleChainError, match=r"no closed class: all states lead to dead ends \('y', 'z'\)"
    ):
        MarkovChain.from_sequences(["abaz", "abay"], restrict="closed")
    with pytest.raises(ReducibleChainError, match=r"no state of the chain recurs.*restart=p"):
        MarkovChain.from_sequences(["abz"], restrict="connected")


def test_symbol_without_successor_restarts():
    chain = MarkovChain.from_sequences(["abz"], restart=0.25, initial="a")
    np.testing.assert_allclose(chain.transition_matrix, [[0.25, 0.75, 0], [0.25, 0, 0.75], [1, 0, 0]])
    assert chain.is_irreducible
    assert chain.applied == ("restarted at state 'a' with probability 0.25; 1 dead end with probability 1",)


def test_a_restart_leads_to_the_observed_first_symbols():
    walks = ["abz", "bazab", "aab", "z", ""]
    chain = MarkovChain.from_sequences(walks, restart=0.25)
    np.testing.assert_allclose(chain.initial, [0.5, 0.25, 0.25])
    plain = MarkovChain.from_sequences(walks)
    np.testing.assert_allclose(plain.initial, chain.initial)
    np.testing.assert_allclose(chain.transition_matrix, 0.75 * plain.transition_matrix + 0.25 * chain.initial)
    masses = MarkovChain.from_sequences(walks, restart=0.25, initial={"z": 2, "a": 6})
    np.testing.assert_allclose(masses.initial, [0.75, 0, 0.25])


def test_first_symbols_without_a_transition_do_not_count():
    assert MarkovChain.from_sequences(["abab", "x"]).initial.tolist() == [1.0, 0.0]
    assert MarkovChain.from_sequences(["xaabaab", "yabbaa"], lag=2, restrict="connected").initial is None


@given(many_sequences)
def test_joined_sequences_are_one_tour_through_the_joint(sequences):
    walks = [sequence for sequence in sequences if sequence]
    if not walks:
        with pytest.raises(InvalidArgumentError, match="no symbol"):
            transition_counts(sequences, ends="join")
        return
    tour = ["|", *(symbol for walk in walks for symbol in (*walk, "|"))]
    counts, states = transition_counts(sequences, ends="join")
    assert states[-1] == "(start/end)"
    assert as_counter(counts, (*states[:-1], "|")) == count_pairs([tour], 1)
    chain = MarkovChain.from_sequences(sequences, ends="join")
    assert chain.is_irreducible
    assert chain.initial.tolist() == [0.0] * (len(states) - 1) + [1.0]


def test_ends_are_joined_at_lag_one_only():
    with pytest.raises(InvalidArgumentError, match="ends='join' does not go with lag=2"):
        MarkovChain.from_sequences(["abab"], lag=2, ends="join")
    with pytest.raises(InvalidArgumentError, match="ends='cut' is not known; choose 'join'"):
        MarkovChain.from_sequences(["abab"], ends="cut")


def test_a_symbol_may_have_the_name_of_the_joint():
    chain = MarkovChain.from_sequences([["(start/end)", "a"]], ends="join")
    assert chain.states == ("(start/end)", "a", "(start/end 2)")
