"""Tasks per block in a step, against textbook versions; also with the JIT compiler disabled."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import klump
from chains import matrices_and_labels, random_labels, random_matrix
from klump.distributed import steps
from klump.distributed.blocks import from_chain
from klump.distributed.kernels import steps as kernels
from klump.distributed.kernels.tables import ONE, QUANTUM, Groups
from klump.distributed.refinement import _nest
from klump.distributed.steps import Moves, Proposals
from reference import cost_of_labels, indicator, joint_of_groups


def cut(P, labels, n_blocks):
    """Blocks of a chain, their labels, and the masses of the groups."""
    labels = np.asarray(labels, dtype=np.int32)
    transitions = from_chain(klump.MarkovChain(P))
    bounds = transitions.bounds(n_blocks)
    blocks = [transitions.block(a, b) for a, b in pairwise(bounds)]
    local_labels = [steps.local_labels(block, labels) for block in blocks]
    k = int(labels.max()) + 1
    sums = [steps.sum_masses(*pair, k) for pair in zip(blocks, local_labels, strict=True)]
    size = np.bincount(labels, minlength=k)
    return blocks, local_labels, Groups(sum(s.flow for s in sums), sum(s.nu for s in sums), size)


def stationary(P):
    return klump.MarkovChain(P).stationary_distribution


@settings(max_examples=40)
@given(matrices_and_labels(min_size=3, max_size=7))
def test_proposals_are_the_best_moves_of_single_states(example):
    P, labels, k = example
    mu = stationary(P)
    before = cost_of_labels(P, mu, labels, k, 0.5)
    blocks, local_labels, groups = cut(P, labels, 2)
    found = [steps.propose_moves(*pair, groups, 1e-13) for pair in zip(blocks, local_labels, strict=True)]
    states, targets = (np.concatenate(part) for part in zip(*found, strict=True))
    proposed = dict(zip(states.tolist(), targets.tolist(), strict=True))
    for x in range(len(P)):
        if groups.size[labels[x]] == 1:
            assert x not in proposed
            continue
        costs = []
        for y in range(k):
            moved = labels.copy()
            moved[x] = y
            costs.append(cost_of_labels(P, mu, moved, k, 0.5))
        best = costs[proposed[x]] if x in proposed else before
        assert best == pytest.approx(min(costs), abs=1e-12)


@settings(max_examples=40)
@given(matrices_and_labels(min_size=3, max_size=7))
def test_masses_and_cost_are_those_of_the_textbook(example):
    P, labels, k = example
    mu = stationary(P)
    _, _, groups = cut(P, labels, 3)
    textbook = joint_of_groups(P, mu, indicator(labels, k))
    assert np.abs(groups.flow * QUANTUM - textbook).max() <= 1e-14
    assert np.abs(groups.nu * QUANTUM - np.bincount(labels, mu, minlength=k)).max() <= 1e-14
    one = np.zeros(len(P), dtype=int)
    _, _, all_in_one = cut(P, one, 1)
    difference = kernels.cost(groups) - kernels.cost(all_in_one)
    expected = cost_of_labels(P, mu, labels, k, 0.5) - cost_of_labels(P, mu, one, 1, 0.5)
    assert difference == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "periodic"])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_changes_are_exact_for_every_set_of_moves(kind, n_blocks, rng):
    P = random_matrix(kind, 24, rng)
    labels = random_labels(24, 4, rng).astype(np.int32)
    movers = rng.permutation(24)[:17]
    targets = ((labels[movers] + rng.integers(1, 4, 17)) % 4).astype(np.int32)
    moves, count = _nest(Proposals(movers.astype(np.int64), targets))
    assert count.tolist() == [17, 9, 5, 3, 2, 1]
    blocks, local_labels, groups = cut(P, labels, n_blocks)
    changes = [steps.sum_changes(*pair, moves, 4) for pair in zip(blocks, local_labels, strict=True)]
    flow, nu = (sum(part) for part in zip(*changes, strict=True))
    for level, number in enumerate(count):
        after = labels.copy()
        after[movers[:number]] = targets[:number]
        _, labels_then, fresh = cut(P, after, n_blocks)
        assert np.array_equal(groups.flow + flow[level], fresh.flow)
        assert np.array_equal(groups.nu + nu[level], fresh.nu)
        for block, before, then in zip(blocks, local_labels, labels_then, strict=True):
            assert np.array_equal(steps.apply_moves(block, before, moves, level), then)


def test_a_block_stores_labels_of_its_neighbours_only():
    ring = sparse.csr_array(np.roll(np.eye(12), 1, axis=1))
    blocks, local_labels, _ = cut(ring, np.arange(12) % 3, 3)
    assert [block.neighbours.tolist() for block in blocks] == [
        [0, 1, 2, 3, 4, 11],
        [3, 4, 5, 6, 7, 8],
        [0, 7, 8, 9, 10, 11],
    ]
    assert local_labels[2].tolist() == [0, 1, 2, 0, 1, 2]
    # A block ignores moves of states that are not its neighbours.
    moves = Moves(np.array([5, 11]), np.array([0, 0], dtype=np.int32), np.zeros(2, dtype=np.int8), 1)
    assert steps.apply_moves(blocks[2], local_labels[2], moves, 0).tolist() == [0, 1, 2, 0, 1, 0]


def test_blocks_are_cut_by_transitions():
    P = np.eye(10)[:, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]] * 0.5
    P[0] = 0.1
    P[1:] += np.eye(10)[1:] * 0.5
    transitions = from_chain(klump.MarkovChain(sparse.csr_array(P)))
    assert transitions.bounds(1) == [0, 10]
    assert transitions.bounds(2) == [0, 3, 10]
    assert transitions.bounds(1000)[-1] == 10
    assert len(set(transitions.bounds(1000))) == len(transitions.bounds(1000))


def test_quanta_add_up_to_one(rng):
    _, _, groups = cut(random_matrix("dense", 30, rng), random_labels(30, 5, rng), 4)
    assert groups.flow.sum() == pytest.approx(ONE, rel=1e-15)
    assert groups.nu.sum() == pytest.approx(ONE, rel=1e-15)
