"""Bounds from the initial distribution by occupation: sound, and tight if states that deviate are rarely visited."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import models
import reference
from klump import Aggregation, MarkovChain
from klump.aggregation import verification
from klump.chain.restart_record import undo_blocks
from klump.guarantees.occupation import bound_occupation


def occupation_of(chain):
    restart = chain._attributes.restart
    blocks = undo_blocks(chain.transition_matrix, restart)
    return bound_occupation(chain.stationary_distribution, chain.initial, restart, blocks)


def random_chain(rng, n, n_dead=0):
    weights = rng.random((n, n)) * (rng.random((n, n)) < 4 / n)
    weights[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    dead = rng.choice(np.arange(1, n), size=n_dead, replace=False)
    weights[dead] = 0.0
    P = np.where(
        np.isin(np.arange(n), dead)[:, None],
        np.eye(n),
        weights / np.maximum(weights.sum(axis=1), 1e-9)[:, None],
    )
    return weights, P


@pytest.mark.parametrize("n_dead", [0, 2])
@pytest.mark.parametrize(("n", "spread"), [(12, False), (12, True), (130, True)])
def test_the_bound_is_the_discounted_occupation(n, spread, n_dead, rng):
    """y = sum over s of (1 - p)^s a P^s; for 130 states the restart goes through a state."""
    weights, P = random_chain(rng, n, n_dead)
    initial = rng.dirichlet(np.ones(n)) if spread else np.eye(n)[0]
    chain = MarkovChain.from_counts(
        sparse.csr_array(weights), restart=0.1, initial=initial, restrict="closed"
    )
    kept = chain.original_index[chain.original_index >= 0]
    found = occupation_of(chain)
    assert ("(restart)" in chain.states) == (n == 130)
    expected = np.linalg.solve(np.eye(n) - found.discount * P.T, initial)[kept]
    visits = found.visits[: len(kept)]
    assert (visits >= expected * (1 - 1e-12)).all()
    np.testing.assert_allclose(visits, expected, rtol=1e-6)
    assert 0.9 * (1 - 2e-6) < found.discount < 0.9


def test_another_initial_distribution_has_a_loose_bound_or_none(rng):
    weights, P = random_chain(rng, 10)
    chain = MarkovChain.from_counts(weights, restart=0.1, initial=0)
    found = occupation_of(MarkovChain(chain, initial=5))
    if found is not None:
        expected = np.linalg.solve(np.eye(10) - found.discount * P.T, np.eye(10)[5])
        assert (found.visits >= expected).all()


def test_a_wrong_stationary_distribution_has_no_bound(rng):
    weights, _ = random_chain(rng, 10)
    chain = MarkovChain.from_counts(weights, restart=0.1, initial=0)
    wrong = chain.stationary_distribution * np.linspace(0.5, 1.5, 10)
    blocks = undo_blocks(chain.transition_matrix, chain._attributes.restart)
    assert bound_occupation(wrong, chain.initial, chain._attributes.restart, blocks) is None


@settings(max_examples=80)
@given(
    st.integers(0, 10**6), st.sampled_from([1, 4, 30, 400, None]), st.sampled_from([0.02, 0.2]), st.booleans()
)
def test_the_probability_is_between_the_bounds(seed, steps, probability, spread):
    """For groups whose states differ little, so that the bounds are neither 0 nor 1; the last group is the target."""
    rng = np.random.default_rng(seed)
    n, k = 14, 4
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    flows = rng.dirichlet(np.full(k, 0.7), size=k)[labels] + 0.01 * rng.random((n, k))
    P = np.zeros((n, n))
    for x in range(n):
        for y in range(k):
            members = labels == y
            P[x, members] = flows[x, y] * rng.dirichlet(np.ones(members.sum()))
    P /= P.sum(axis=1, keepdims=True)
    if rng.random() < 0.5:
        P[1] = np.eye(n)[1]
    initial = rng.dirichlet(np.ones(n)) if spread else np.eye(n)[0]
    target = set(np.flatnonzero(labels == k - 1).tolist())
    chain = MarkovChain(P, labels={"goal": sorted(target)}, initial=initial, restart=probability)
    found = Aggregation.from_labels(chain, labels).reachability("goal", steps)
    exact = reference.reach_ever(P, target) if steps is None else reference.reach_within(P, target, steps)
    assert found.lower - 1e-11 <= initial @ exact <= found.upper + 1e-11
    assert found.lower <= found.estimate <= found.upper


def test_rarely_visited_states_hardly_count(monkeypatch):
    """A sender with retries, grouped by the packets sent: an adversary may always take the last try."""
    model = models.retransmission(packets=16, tries=4, loss=0.2)
    groups = [name.split(",n=")[0] + name.split("phase=")[1] for name in model.names]
    groups = ["failure" if name.endswith("2") else name for name in groups]
    chain = MarkovChain(model.matrix, labels=model.labels, initial=0, restart=0.01)
    answer = Aggregation.from_labels(chain, groups)
    exact = reference.reach_within(models.dense(model), set(model.labels["failure"]), 60)[0]
    found = answer.reachability("failure", 60)
    assert exact == pytest.approx(0.0253, abs=1e-4)
    assert found.lower <= exact <= found.upper < 0.07
    ever = answer.reachability("failure")
    assert ever.lower <= exact <= ever.upper < 0.2
    monkeypatch.setattr(verification, "bound_occupation", lambda *_: None)
    assert answer.reachability("failure", 60).upper > 0.9
