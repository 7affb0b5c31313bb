"""Shuffled chains keep the groups and the degrees, and nothing else."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.selection.shuffling import shuffle
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain


def block_masses(chain, labels):
    joint = chain.joint.toarray() if chain.is_sparse else chain.joint
    groups = np.eye(labels.max() + 1)[labels]
    return groups.T @ joint @ groups


def lists(chain):
    return sparse.csr_array(chain.transition_matrix)


@pytest.fixture(params=["dense", "sparse", "reversible", "sparse reversible"])
def question(request):
    labels = np.arange(60) % 3
    if request.param == "dense":
        chain, labels = block_chain((15, 20, 25), 0.5, 0.4, random_state=1)
    elif request.param == "sparse":
        chain, labels = sparse_block_chain(200, 4, degree=8, random_state=1)
    elif request.param == "reversible":
        chain = random_chain(60, "reversible", random_state=1)
    else:
        weights = sparse.random_array((60, 60), density=0.06, random_state=1)
        chain = klump.MarkovChain(sparse.csr_array(weights + weights.T), restrict="connected", normalize=True)
        labels = np.arange(chain.n_states) % 3
    return chain, labels


def test_groups_are_kept_on_average(question):
    chain, labels = question
    found = [block_masses(shuffle(chain, labels, np.random.default_rng(seed)), labels) for seed in range(10)]
    np.testing.assert_allclose(np.mean(found, axis=0), block_masses(chain, labels), atol=0.03)


def test_the_chain_is_valid_of_the_same_kind_and_different(question):
    chain, labels = question
    found = shuffle(chain, labels, np.random.default_rng(0))
    assert found.is_irreducible
    assert found.is_sparse == chain.is_sparse
    assert found.is_reversible == chain.is_reversible
    assert abs(lists(found) - lists(chain)).sum() > 0.1 * chain.n_states


def test_degrees_of_sparse_chains_are_kept():
    chain, labels = sparse_block_chain(300, 3, degree=5, random_state=2)
    found = shuffle(chain, labels, np.random.default_rng(0))
    before, after = (lists(one).astype(bool).astype(int) for one in (chain, found))
    assert after.nnz >= 0.995 * before.nnz  # few transitions coincide
    for axis in (0, 1):
        assert np.mean(before.sum(axis=axis) == after.sum(axis=axis)) > 0.98
    groups = sparse.csr_array(np.eye(3, dtype=int)[labels])
    counts = [(groups.T @ one @ groups).toarray() for one in (before, after)]
    np.testing.assert_allclose(counts[1], counts[0], atol=8)


def test_structure_beyond_the_groups_is_gone():
    chain, planted = block_chain((25, 25, 25, 25), 0.9, 0.2, random_state=3)
    coarse = np.minimum(planted, 2)  # the last two groups are one
    share = [
        klump.score(shuffle(chain, labels, np.random.default_rng(0)), planted).kept
        for labels in (planted, coarse, np.zeros(100, dtype=int))
    ]
    whole = klump.score(chain, planted).kept
    assert share[0] == pytest.approx(whole, rel=0.03)
    assert share[1] < 0.8 * whole
    assert share[2] < 0.03 * whole


def test_a_null_step_gains_as_much_as_a_structureless_chain():
    """Calibration: on chains without groups, the step to two groups gains as much as after shuffling."""
    ratios = []
    for seed in range(4):
        for kind in ("dense", "reversible", "sparse"):
            chain = random_chain(50, kind, random_state=seed)
            shuffled = shuffle(chain, np.zeros(50, dtype=int), np.random.default_rng(seed))
            gains = [
                0.5 * one.redundancy_rate - klump.aggregate(one, 2, method="annealing").cost
                for one in (chain, shuffled)
            ]
            ratios.append(gains[0] / gains[1])
    assert 0.85 < np.mean(ratios) < 1.15


def test_a_cycle_is_mended():
    """Random ends of a cycle's transitions make several cycles; a little of the chain connects them."""
    n = 30
    chain = klump.MarkovChain(sparse.csr_array((np.ones(n), (range(n), np.roll(range(n), -1)))))
    assert all(
        shuffle(chain, np.zeros(n, dtype=int), np.random.default_rng(s)).is_irreducible for s in range(5)
    )


def test_same_generator_same_chain(question):
    chain, labels = question
    one, other = (shuffle(chain, labels, np.random.default_rng(5)) for _ in range(2))
    assert abs(lists(one) - lists(other)).max() == 0


@pytest.mark.parametrize("seed", range(6))
def test_small_chains_with_zeros(seed):
    """Permuted zeros may leave a state without successors; a little of the chain mends that."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.4) + np.roll(np.eye(n), 1, axis=1)
    chain = klump.MarkovChain(P, normalize=True)
    for number in range(20):
        assert shuffle(chain, np.arange(n) % 2, np.random.default_rng(number)).is_irreducible


def test_vanishing_masses():
    n = 200  # masses fall to 1e-190
    up, down = 0.1 * np.eye(n, k=1), 0.9 * np.eye(n, k=-1)
    up[0, 0], down[-1, -1] = 0.9, 0.1
    found = shuffle(klump.MarkovChain(up + down), np.arange(n) // 100, np.random.default_rng(0))
    assert np.isfinite(found.transition_matrix).all()
