"""Information measures against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import reference
from klump import information


@st.composite
def joint_distributions(draw):
    """Joint distributions with zero entries, rows and columns, and masses over many orders of magnitude."""
    rng = np.random.default_rng(draw(chains.seeds))
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    spread = draw(st.sampled_from([0, 3, 30, 290]))
    weights = 10.0 ** -rng.uniform(0, spread, size=shape) * (rng.random(shape) < 0.7)
    weights[rng.integers(shape[0]), rng.integers(shape[1])] = 1.0
    return weights / weights.sum()


@given(joint_distributions())
def test_entropy(joint):
    assert information.entropy(joint) == pytest.approx(reference.entropy(joint), abs=1e-13)


@given(joint_distributions())
def test_mutual_information_dense_and_sparse(joint):
    expected = reference.mutual_information(joint)
    assert information.mutual_information(joint) == pytest.approx(expected, abs=1e-13)
    assert information.mutual_information(sparse.csr_array(joint)) == pytest.approx(expected, abs=1e-13)
    assert information.mutual_information(sparse.csc_matrix(joint)) == pytest.approx(expected, abs=1e-13)


@given(joint_distributions())
def test_mutual_information_is_symmetric_and_bounded_by_both_entropies(joint):
    value = information.mutual_information(joint)
    assert value == pytest.approx(information.mutual_information(joint.T), abs=1e-13)
    assert value >= 0.0
    assert value <= information.entropy(joint.sum(axis=0)) + 1e-13
    assert value <= information.entropy(joint.sum(axis=1)) + 1e-13


@given(joint_distributions())
def test_conditional_entropy_and_the_chain_rule(joint):
    weight = joint.sum(axis=1)
    some = weight > 0
    conditional = joint[some] / weight[some, None]
    value = information.conditional_entropy(
        conditional, np.broadcast_to(weight[some, None], conditional.shape)
    )
    assert value == pytest.approx(reference.conditional_entropy(joint), abs=1e-13)
    assert value == pytest.approx(information.entropy(joint) - information.entropy(weight), abs=1e-12)


@given(joint_distributions(), chains.seeds)
def test_divergence_and_pinsker(joint, seed):
    p = joint.ravel()
    q = np.random.default_rng(seed).dirichlet(np.ones(p.size))
    value = information.divergence(p, q)
    assert value == pytest.approx(reference.divergence(p, q), abs=1e-12)
    distance = np.abs(p - q).sum() / 2
    assert 2 * distance**2 / np.log(2) <= value + 1e-12


def test_divergence_with_weights_is_a_mean(rng):
    p, q = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(3), size=4)
    mass = rng.dirichlet(np.ones(4))
    expected = sum(m * reference.divergence(a, b) for m, a, b in zip(mass, p, q, strict=True))
    assert information.divergence(p, q, np.repeat(mass[:, None], 3, axis=1)) == pytest.approx(
        expected, abs=1e-14
    )


def test_equal_distributions_have_divergence_exactly_zero(rng):
    p = rng.dirichlet(np.ones(6))
    assert information.divergence(p, p.copy()) == 0.0


def test_a_deterministic_variable_has_entropy_zero():
    assert information.entropy(np.array([0.0, 1.0])) == 0.0
    assert information.mutual_information(np.array([[1.0]])) == 0.0
    # -0.0 would be printed with its sign.
    assert str(information.entropy(np.array([1.0]))) == "0.0"


def test_mutual_information_of_independent_variables_is_not_negative(rng):
    for _ in range(20):
        joint = np.outer(rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(9)))
        assert 0.0 <= information.mutual_information(joint) < 1e-14


def test_xlog2x_at_and_near_zero():
    values = information.xlog2x(np.array([0.0, 5e-324, 1e-300, 1.0]))
    assert values[0] == 0.0
    assert values[3] == 0.0
    assert np.all(np.isfinite(values))
    assert values[2] == pytest.approx(1e-300 * np.log2(1e-300), rel=1e-15, abs=0)


def test_denormal_masses_are_negligible_without_warning():
    joint = np.array([[0.5, 5e-324], [1e-310, 0.5]])
    assert information.mutual_information(joint) == pytest.approx(1.0, abs=1e-15)
    assert information.entropy(joint) == pytest.approx(1.0, abs=1e-15)


def test_coordinates_of_dense_and_sparse_agree(rng):
    matrix = rng.random((4, 5)) * (rng.random((4, 5)) < 0.5)
    for given_as in (matrix, sparse.csr_array(matrix), sparse.coo_matrix(matrix)):
        row, col, value = information.coordinates(given_as)
        rebuilt = np.zeros_like(matrix)
        rebuilt[row, col] = value
        np.testing.assert_array_equal(rebuilt, matrix)
