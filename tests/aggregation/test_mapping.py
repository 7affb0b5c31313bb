"""Labels and matrices that are accepted as maps, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import chains
import reference
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.mapping import as_mapping
from klump.errors import InvalidArgumentError

P = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1],
        (0, 1, 1),
        np.array([0, 1, 1]),
        np.array([0, 1, 1], dtype=np.uint8),
        [0.0, 1.0, 1.0],
        ["dry", "wet", "wet"],
        "aoo",
        [None, "wet", "wet"],
        [("a", 1), ("b", 1), ("b", 1)],
        [("a",), ("b", 1), ("b", 1)],
        [True, False, False],
        [2**70, 3, 3],
        iter([0, 1, 1]),
        [[1, 0], [0, 1], [0, 1]],
        ((1.0, 0.0), (0.0, 1.0), (0.0, 1.0)),
        np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32),
        np.array([[True, False], [False, True], [False, True]]),
        sparse.csr_array([[1.0, 0], [0, 1], [0, 1]]),
        sparse.coo_matrix([[1.0, 0], [0, 1], [0, 1]]),
        Aggregation.from_labels(P, [0, 1, 1]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_one_map_given_in_many_ways(labels):
    mapping = as_mapping(labels, 3)
    assert mapping.labels is not None
    assert mapping.n_groups == 2
    assert mapping.labels.dtype == np.int32
    assert mapping.labels.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(mapping.weights.toarray(), [[1, 0], [0, 1], [0, 1]])


def test_pandas_labels():
    pandas = pytest.importorskip("pandas")
    assert as_mapping(pandas.Series(["x", "y", "y"]), 3).labels.tolist() == [0, 1, 1]
    frame = pandas.DataFrame([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_array_equal(as_mapping(frame, 3).weights.toarray(), frame.to_numpy())


@given(
    st.lists(
        st.one_of(st.text(max_size=2), st.none(), st.tuples(st.text(max_size=1))), min_size=1, max_size=8
    )
)
def test_names_make_the_partition_that_they_say(names):
    labels = as_mapping(names, len(names)).labels
    assert reference.same_partition(labels, names)
    # Numbered in the order in which the names appear.
    assert list(dict.fromkeys(labels.tolist())) == list(range(labels.max() + 1))


@given(chains.seeds, st.integers(1, 6), st.integers(2, 4))
def test_stochastic_maps_keep_their_rows(seed, n, k):
    W = chains.random_map(n, k, np.random.default_rng(seed))
    for given_as in (W, W.tolist(), sparse.csc_array(W)):
        mapping = as_mapping(given_as, n)
        assert mapping.labels is None
        np.testing.assert_allclose(mapping.weights.toarray(), W, rtol=1e-15)


def test_rounding_of_the_input_is_removed(rng):
    W = rng.dirichlet(np.ones(3), size=5)
    for rounded in (W.astype(np.float32), sparse.csr_array(W.astype(np.float32)), W / (1 + 5e-9)):
        np.testing.assert_allclose(as_mapping(rounded, 5).weights.sum(axis=1), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "labels has 2 entries, but the chain has 3 states"),
        ([0, 1, 1, 0], "labels has 4 entries"),
        ([0, 2, 2], "leaves group 1 empty .3 groups.*numpy.unique"),
        ([1, 2, 2], "leaves group 0 empty"),
        ([0, 10**9, 1], "leaves group 2 empty"),
        ([0, -1, 1], "labels has -1 at state 1; number groups from 0"),
        ([0, 0.5, 1], "whole numbers or names, but holds 0.5"),
        ([0, np.nan, 1], "holds nan"),
        ([0, np.inf, 1], "holds inf"),
        ([0, 1e300, 1], "holds 1e.300"),
        (None, "of type NoneType"),
        (3, "of type int"),
        ({"a": 0, "b": 1, "c": 1}, "of type dict"),
        ({0, 1, 2}, "of type set"),
        (["a", ["b"], "c"], "hashable"),
        ([[1, 0], [1], [0, 1]], "hashable"),
        (np.zeros((3, 2, 2)), "hashable"),
        ([[1, 0], [0, 1]], "the map has 2 rows, but the chain has 3 states"),
        ([[1, 0], [0.5, 0.6], [0, 1]], "row 1 of the map sums to 1.1 instead of 1"),
        ([[1, 0], [1.5, -0.5], [0, 1]], "negative, infinite or NaN entry"),
        ([[1, 0], [np.nan, 1], [0, 1]], "negative, infinite or NaN entry"),
        ([[1, 0], [np.inf, 1], [0, 1]], "negative, infinite or NaN entry"),
        ([[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]], "leaves group 1 empty; drop its column"),
        ([[0], [1], [1]], "row 0 of the map sums to 0"),
    ],
)
def test_bad_maps_get_one_clear_error(labels, message):
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        as_mapping(labels, 3)
    assert "\n" not in str(caught.value)


def test_aggregation_of_another_chain_is_refused():
    with pytest.raises(InvalidArgumentError, match="3 rows, but the chain has 2 states"):
        as_mapping(Aggregation.from_labels(P, [0, 1, 1]), 2)


def test_what_was_given_is_neither_kept_nor_changed():
    labels, W = np.array([0, 1, 1]), sparse.csr_array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    stored_zeros = W.nnz
    hard, soft = as_mapping(labels, 3), as_mapping(W, 3)
    labels[:] = 0
    W.data[:] = 0.0
    assert hard.labels.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(soft.weights.toarray(), [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    assert W.nnz == stored_zeros
    with pytest.raises(ValueError, match="read-only"):
        hard.labels[0] = 1


@given(chains.seeds, st.integers(2, 12), st.integers(1, 4))
def test_comparisons_of_partitions_that_other_tests_rely_on(seed, n, k):
    rng = np.random.default_rng(seed)
    one, other = chains.random_labels(n, min(k, n), rng), rng.integers(4, size=n)
    index = reference.adjusted_rand_index(one, other)
    assert index == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)
    assert reference.same_partition(one, (one * 7 + 3) % 11)
    assert reference.same_partition(one, other) == (index == 1.0)
