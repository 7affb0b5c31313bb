"""Groups of the samples beside those of the estimate."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import klump
from counted import COUNTS, FEW
from klump.errors import InvalidArgumentError
from klump.resampling.stability import match_labels


def test_shares_of_samples():
    """A state between two groups is in either; the others stay where they are."""
    blocks = np.kron(np.eye(2), np.full((3, 3), 300))
    counts = np.block([[blocks + 10, np.full((6, 1), 30)], [np.full((1, 6), 30), np.array([[20]])]])
    found = klump.bootstrap(counts, 2, n_samples=60, states=[*"uvwxyz", "between"])
    reference = found.estimate.labels
    np.testing.assert_allclose(found.membership.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.stability[:6], 1.0)
    assert 0.05 < found.stability[6] < 0.95
    assert found.stability[6] == np.mean(found.labels[:, 6] == reference[6])
    assert found.together("u", "v") == 1.0
    assert found.together("u", "x") == 0.0
    assert found.together("between", "u") + found.together("between", "x") == pytest.approx(1.0)
    assert found.labels.dtype == np.uint8
    mass = found.estimate.original.stationary_distribution
    last = str(found).splitlines()[-1]
    assert last == f"{mass @ found.stability:.1%} of the mass stays in its group; least sure: between " + (
        f"{found.stability[6]:.0%}"
    )
    with pytest.raises(InvalidArgumentError, match="state='q' is not the name of a state"):
        found.together("u", "q")


def test_groups_that_the_data_decide():
    found = klump.bootstrap(100 * COUNTS, 3, n_samples=10, **FEW)
    np.testing.assert_array_equal(found.agreement, 1.0)
    np.testing.assert_allclose(found.regret, 0.0, atol=1e-12)
    assert repr(found) == "Bootstrap(7 states in 3 groups, 10 samples, mean agreement 1.000)"
    assert str(found).splitlines()[-1] == "every state is in the same group in all samples"
    # Intervals are those of the estimate's groups.
    alone = klump.posterior(100 * COUNTS, found.estimate.labels, n_samples=10)
    for name in ("transition_matrix", "masses", "cost", "kept"):
        ends = zip(
            getattr(found, f"{name}_interval")(0.8), getattr(alone, f"{name}_interval")(0.8), strict=True
        )
        for one, other in ends:
            np.testing.assert_array_equal(one, other)


def test_matching_is_the_best_there_is(rng):
    """By total mass, not group by group: against all permutations."""
    from itertools import permutations

    for _ in range(20):
        labels, reference = rng.permutation(np.arange(12) % 4), rng.permutation(np.arange(12) % 4)
        mass = rng.random(12)
        best = max(mass[np.array(p)[labels] == reference].sum() for p in permutations(range(4)))
        found = match_labels(labels, reference, mass, 4)
        assert mass[found == reference].sum() == pytest.approx(best)
        assert adjusted_rand_score(found, labels) == 1.0


@pytest.mark.parametrize("n_groups", [1, 7])
def test_extreme_numbers_of_groups(n_groups):
    found = klump.bootstrap(COUNTS, n_groups, n_samples=4, **FEW)
    np.testing.assert_array_equal(found.agreement, 1.0)
    np.testing.assert_array_equal(found.stability, 1.0)
    assert "every state" in str(found)
