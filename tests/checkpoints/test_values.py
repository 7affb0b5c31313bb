"""Values of records: they come back as they were, and nothing else is ever built from a file."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from klump.checkpoints.values import decode, digest, encode, storable
from klump.search.method import Found, Record

KINDS = [np.int32, np.int64, np.uint8, np.float64, np.float32, np.bool_]
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
some_array = st.sampled_from(KINDS).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4))
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_plain_values_come_back(value):
    found = decode(encode(value))
    assert found == value
    assert repr(found) == repr(value)


@given(some_array)
def test_arrays_come_back(array):
    found = decode(encode(array))
    assert (found.dtype, found.shape, found.flags.writeable) == (array.dtype, array.shape, True)
    assert found.tobytes() == array.tobytes()


def test_arrays_are_aligned_copies_that_keep_their_writeability():
    content = encode(("a", np.arange(3.0), np.arange(5)))
    _, first, second = decode(content)
    for array in (first, second):
        assert array.flags.aligned
        assert array.flags.owndata
    fixed = np.arange(3)
    fixed.flags.writeable = False
    assert not decode(encode(fixed)).flags.writeable


def test_labels_of_few_groups_take_one_byte_each():
    labels = np.arange(10_000, dtype=np.int32) % 256
    assert len(encode(labels)) < 10_100
    assert len(encode(labels + 1)) > 20_000


def test_scalars_keep_their_type():
    for value in (np.float64(0.1), np.int32(7), np.bool_(True), float("inf"), -0.0):
        found = decode(encode(value))
        assert type(found) is type(value)
        assert repr(found) == repr(value)
    assert np.isnan(decode(encode(float("nan"))))


def test_results_of_a_search_come_back():
    weights = sparse.csr_array(np.array([[0.25, 0.75], [1.0, 0.0]]))
    record = Record("merges", {"first": np.array([0, 1]), "cost": np.array([0.5, np.inf])})
    found = Found(np.array([1, 0], np.int32), 0.5, (1.0, 0.5), False, weights, record, 2.5, 7)
    again = decode(encode(found))
    assert (again.cost, again.trace, again.sweeps, again.steps) == (0.5, (1.0, 0.5), 2.5, 7)
    assert again.labels.dtype == np.int32
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_array_equal(again.weights.toarray(), weights.toarray())
    assert again.record.kind == "merges"
    np.testing.assert_array_equal(again.record.columns["cost"], [0.5, np.inf])


def test_other_classes_are_neither_written_nor_built():
    class Secret(NamedTuple):
        value: int

    for value in (Secret(1), object(), {1: 2}, np.array(["a"]), np.array([None]), {"x": {1, 2}}):
        with pytest.raises(TypeError):
            encode(value)
    text = json.dumps({"object": ["Secret", {"value": 1}]}).encode()
    with pytest.raises(KeyError):
        decode(len(text).to_bytes(4, "little") + text)
    assert decode(encode(storable(Secret)(3))) == Secret(3)
    # A class of the same name is another one.
    with pytest.raises(TypeError):
        encode(NamedTuple("Secret", [("value", int)])(1))


@pytest.mark.parametrize(
    "text",
    ["[1]", '{"array": ["|O", "|O", [1], true]}', '{"tuple": 3}', '{"new": 1}', '{"a": 1, "b": 2}', "{"],
)
def test_content_that_is_no_value(text):
    content = len(text).to_bytes(4, "little") + text.encode()
    with pytest.raises((ValueError, TypeError)):
        decode(content)


def test_left_over_bytes_are_an_error():
    with pytest.raises(ValueError, match="1 bytes are left over"):
        decode(encode(np.arange(3)) + b"x")
    with pytest.raises(ValueError):
        decode(encode(np.arange(3))[:-1])


@given(values, values)
def test_digests_differ_where_values_do(a, b):
    assert (digest(a) == digest(b)) == (encode(a) == encode(b))
