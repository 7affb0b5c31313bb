"""The adjusted Rand index against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from klump.aggregation.agreement import adjusted_rand_index
from klump.errors import InvalidArgumentError


@pytest.mark.parametrize("n_states", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("n_groups", [(1, 1), (1, 3), (3, 3), (2, 7)])
def test_it_is_scikit_learns(rng, n_states, n_groups):
    for _ in range(20):
        first, second = (rng.integers(k, size=n_states).astype(np.int32) for k in n_groups)
        assert adjusted_rand_index(first, second) == pytest.approx(
            adjusted_rand_score(first, second), abs=1e-12
        )


def test_partitions_that_are_nearly_the_same(rng):
    planted = np.repeat([0, 1, 2], [25, 25, 50])
    for moved in range(1, 20):
        other = planted.copy()
        other[rng.choice(100, moved, replace=False)] = rng.integers(3, size=moved)
        assert adjusted_rand_index(planted, other) == pytest.approx(
            adjusted_rand_score(planted, other), abs=1e-12
        )


def test_equal_partitions_agree_exactly_whatever_the_groups_are_called(rng):
    labels = rng.integers(5, size=100)
    assert adjusted_rand_index(labels, labels) == 1.0
    assert adjusted_rand_index(labels, 9 - labels) == 1.0
    assert adjusted_rand_index(np.arange(100), np.arange(100)) == 1.0
    assert adjusted_rand_index([], []) == 1.0


def test_it_is_symmetric_and_unaware_of_empty_groups(rng):
    first, second = rng.integers(4, size=60), rng.integers(3, size=60)
    value = adjusted_rand_index(first, second)
    assert adjusted_rand_index(second, first) == value
    assert adjusted_rand_index(10 * first, 7 * second) == value


def test_partitions_of_different_sets_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"\(2,\) and \(3,\)"):
        adjusted_rand_index([0, 1], [0, 1, 2])
