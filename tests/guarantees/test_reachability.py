"""Bounds on the probability of reaching a label: sound, as tight as the definition, never wider than by coupling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import klump
import reference
from klump import Aggregation, MarkovChain
from klump.errors import InvalidArgumentError
from klump.guarantees import reachability

TOLERANCE = 1e-10


def random_model(rng, n, k, density=0.5, absorbing=True):
    """A chain with zeros and a label, and a partition of its states that respects it; every group has a member."""
    P = rng.random((n, n)) ** 3 * (rng.random((n, n)) < density)
    P[np.arange(n), rng.integers(n, size=n)] += 0.2
    if absorbing:
        for x in np.flatnonzero(rng.random(n) < 0.2):
            P[x] = np.eye(n)[x]
    P /= P.sum(axis=1, keepdims=True)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    n_targets = int(rng.integers(1, k))
    return P, labels, set(range(n_targets))


def members_of(labels, target):
    return {x for x, y in enumerate(labels) if y in target}


def ask(P, labels, target, steps, *, initial=0, form=np.array, **options):
    chain = MarkovChain(
        form(P), labels={"goal": sorted(members_of(labels, target))}, initial=initial, **options
    )
    return Aggregation.from_labels(chain, labels).reachability("goal", steps)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("seed", range(5))
def test_within_some_steps_as_defined(form, steps, seed):
    P, labels, target = random_model(np.random.default_rng(seed), 12, 4)
    found = ask(P, labels, target, steps, form=form)
    lower, upper = reference.reach_bounds_within(P, labels, 4, target, steps)
    np.testing.assert_allclose(found.lower_by_group, lower, rtol=1e-13)
    np.testing.assert_allclose(found.upper_by_group, upper, rtol=1e-13)
    assert (found.lower_by_group <= lower).all()
    assert (found.upper_by_group >= upper).all()


@pytest.mark.parametrize("density", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(25))
def test_ever_by_all_strategies(density, seed):
    """Also with end components, states that never reach the label, and groups that can avoid it."""
    P, labels, target = random_model(np.random.default_rng(seed), 11, 5, density)
    found = ask(P, labels, target, None)
    lower, upper = reference.reach_bounds_ever(P, labels, 5, target)
    np.testing.assert_allclose(found.lower_by_group, lower, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.upper_by_group, upper, rtol=1e-11, atol=1e-13)
    assert (found.lower_by_group <= lower + 1e-12).all()
    assert (found.upper_by_group >= upper - 1e-12).all()


@settings(deadline=None, max_examples=150)
@given(
    st.integers(0, 10**6),
    st.integers(2, 20),
    st.sampled_from([0, 1, 3, 50, None]),
    st.sampled_from([0.1, 0.3, 0.8]),
    st.sampled_from([None, 0.01, 0.4]),
)
def test_the_probability_from_every_state_is_between_the_bounds(seed, n, steps, density, restart):
    rng = np.random.default_rng(seed)
    P, labels, target = random_model(rng, n, int(rng.integers(2, n + 1)), density)
    initial = rng.dirichlet(np.full(n, 0.5))
    found = ask(P, labels, target, steps, initial=initial, form=sparse.csr_array, restart=restart)
    members = members_of(labels, target)
    exact = reference.reach_ever(P, members) if steps is None else reference.reach_within(P, members, steps)
    tolerance = 1e-12 if restart is None else 1e-11
    assert (found.lower_by_group[labels] <= exact + tolerance).all()
    assert (exact - tolerance <= found.upper_by_group[labels]).all()
    assert found.lower - tolerance <= initial @ exact <= found.upper + tolerance
    assert 0.0 <= found.lower <= found.upper <= 1.0
    if not np.isnan(found.estimate):
        assert found.lower <= found.estimate <= found.upper


@pytest.mark.parametrize("steps", [1, 4, 30, None])
@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_the_quotient(steps, seed):
    rng = np.random.default_rng(seed)
    P, labels, target = random_model(rng, 12, 4)
    initial = np.full(12, 1 / 12)
    chain = MarkovChain(P, labels={"goal": sorted(members_of(labels, target))}, initial=initial, restart=0.05)
    answer = Aggregation.from_labels(chain, labels)
    found = answer.reachability("goal", steps)
    Q = answer.quotient.transition_matrix
    exact = reference.reach_ever(Q, target) if steps is None else reference.reach_within(Q, target, steps)
    np.testing.assert_allclose(found.estimate_by_group, exact, rtol=0, atol=1e-11)
    assert found.estimate == pytest.approx(exact[labels].mean(), abs=1e-11)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5, 20, 200]))
def test_never_wider_than_the_coupling_bound(seed, steps):
    """|bound - value of the aggregated chain| <= 1 - (1 - epsilon)^t."""
    rng = np.random.default_rng(seed)
    P, labels, target = random_model(rng, 10, 4, 0.9, absorbing=False)
    P = 0.9 * P + 0.1 / 10
    answer = Aggregation.from_labels(
        MarkovChain(P, labels={"goal": sorted(members_of(labels, target))}), labels
    )
    found = answer.reachability("goal", steps)
    bound = answer.bisimulation.horizon(steps)
    assert (found.estimate_by_group - found.lower_by_group <= bound + TOLERANCE).all()
    assert (found.upper_by_group - found.estimate_by_group <= bound + TOLERANCE).all()


def gambler(n, p):
    """Random walk on 0 .. n-1 with absorbing ends: up with probability p."""
    P = np.zeros((n, n))
    P[0, 0] = P[-1, -1] = 1.0
    for x in range(1, n - 1):
        P[x, x + 1], P[x, x - 1] = p, 1 - p
    return P


def test_a_slow_chain_ever():
    """Two halves of a well, left with probability 1e-6 per step, to the goal or to the trap."""
    leave = 1e-6
    P = np.zeros((6, 6))
    P[0, 1] = P[1, 0] = 0.5
    P[0, 0] = P[1, 1] = 0.5 - leave
    P[0, 4], P[1, 4], P[1, 5] = leave, 0.7 * leave, 0.3 * leave
    P[2] = P[0]
    P[3] = P[1]
    P[4, 4] = P[5, 5] = 1.0
    labels = [0, 1, 0, 1, 2, 3]
    found = ask(P, labels, {2}, None)
    exact = reference.reach_ever(P, {4})
    assert found.lower == pytest.approx(exact[0], abs=1e-7)
    assert found.upper == pytest.approx(exact[0], abs=1e-7)
    assert found.lower <= exact[0] + 1e-9
    assert found.upper >= exact[0] - 1e-9
    assert found.upper - found.lower < 1e-7


def test_a_group_that_is_left_slowly_costs_no_accuracy():
    leave = 1e-15
    P = np.array([[1 - leave, leave, 0], [0, 1, 0], [0, 0, 1.0]])
    found = ask(P, [0, 1, 2], {1}, None)
    assert found.lower == pytest.approx(1.0, abs=1e-13)
    assert found.upper == 1.0


def test_a_slow_chain_within_many_steps():
    leave, steps = 1e-4, 50_000
    P = np.array([[1 - leave, 0.9 * leave, 0.1 * leave], [0, 1, 0], [0, 0, 1.0]])
    found = ask(P, [0, 1, 2], {1}, steps)
    exact = 0.9 * (1 - (1 - leave) ** steps)
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 1e-9
    assert found.estimate == pytest.approx(exact, abs=1e-10)


def test_more_steps_than_can_be_computed(monkeypatch):
    """The bounds of fewer steps, and of ever: still bounds."""
    monkeypatch.setattr(reachability, "_MAX_OPERATIONS", 1e6)
    P = gambler(9, 0.5)
    labels = [0, 1, 1, 2, 2, 3, 3, 3, 4]
    exact = reference.reach_within(P, {8}, 500)
    found = ask(P, labels, {4}, 500, initial=4)
    assert found.lower <= exact[4] <= found.upper
    assert found.upper == ask(P, labels, {4}, None, initial=4).upper


@pytest.mark.parametrize("margins", [(), ((8.0, 8.0),)])
def test_other_margins(monkeypatch, margins):
    """Without a verified solution the bounds are loose, but hold."""
    monkeypatch.setattr(reachability, "_MARGINS", margins)
    monkeypatch.setattr(reachability, "_FALLBACK_STEPS", 50)
    for seed in range(10):
        P, labels, target = random_model(np.random.default_rng(seed), 10, 4, 0.3)
        found = ask(P, labels, target, None)
        lower, upper = reference.reach_bounds_ever(P, labels, 4, target)
        assert (found.lower_by_group <= lower + 1e-12).all()
        assert (found.upper_by_group >= upper - 1e-12).all()


def test_an_end_component_that_may_be_left():
    """In groups 0 and 1 some strategy stays forever, another one reaches the goal: between 0 and 1."""
    P = np.zeros((6, 6))
    P[0, 2], P[1, 4] = 1.0, 1.0  # group 0
    P[2, 0], P[3, 5] = 1.0, 1.0  # group 1
    P[4, 4] = P[5, 5] = 1.0
    found = ask(P, [0, 0, 1, 1, 2, 3], {2}, None)
    assert found.lower_by_group.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert found.upper_by_group[:2] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert found.upper_by_group[3] == 0.0


def test_a_label_that_cannot_be_reached():
    P = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    for steps in (5, None):
        found = ask(P, [0, 1, 2], {2}, steps)
        assert (found.lower, found.upper, found.estimate) == (0.0, 0.0, 0.0)


def test_a_label_without_states():
    chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], labels={"never": []}, initial=0)
    found = Aggregation.from_labels(chain, [0, 1]).reachability("never")
    assert (found.lower, found.upper) == (0.0, 0.0)


def test_a_label_of_all_states():
    chain = MarkovChain([[0.5, 0.5], [0.0, 1.0]], labels={"all": [0, 1]}, initial=0)
    found = Aggregation.from_labels(chain, [0, 1]).reachability("all", 0)
    assert found.lower == pytest.approx(1.0, abs=1e-14)
    assert found.upper == 1.0


def test_an_exact_lumping_has_tight_bounds():
    P = gambler(11, 0.5)
    labels = [abs(x - 5) for x in range(11)]
    found = ask(P, labels, {5}, 40, initial=5)
    assert found.lower == pytest.approx(found.upper, rel=1e-12)
    assert found.estimate == pytest.approx(reference.reach_within(P, {0, 10}, 40)[5], rel=1e-12)


def test_an_initial_distribution_over_several_states():
    P = gambler(6, 0.3)
    initial = np.array([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    found = ask(P, np.arange(6), {5}, None, initial=initial)
    exact = float(initial @ reference.reach_ever(P, {5}))
    assert found.lower == pytest.approx(exact, rel=1e-12)
    assert found.upper == pytest.approx(exact, rel=1e-12)


def test_without_an_initial_distribution_the_bounds_hold_for_every_one():
    P = gambler(6, 0.3)
    chain = MarkovChain(P, labels={"goal": [5]})
    found = Aggregation.from_labels(chain, [0, 1, 2, 3, 4, 5]).reachability("goal")
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert np.isnan(found.estimate)
    np.testing.assert_allclose(found.lower_by_group, reference.reach_ever(P, {5}), rtol=1e-12)


def test_a_reducible_chain_without_stationary_distribution_has_bounds_but_no_estimate():
    P = gambler(6, 0.3)
    found = ask(P, [0, 1, 1, 2, 2, 3], {3}, None, initial=2)
    exact = reference.reach_ever(P, {5})[2]
    assert found.lower <= exact <= found.upper
    assert np.isnan(found.estimate)
    assert np.isnan(found.estimate_by_group).all()


def test_many_groups_are_solved_as_a_sparse_system(monkeypatch):
    P = gambler(60, 0.45)
    expected = ask(P, np.arange(60), {59}, None, initial=30)
    monkeypatch.setattr(reachability, "_MAX_DENSE", 10)
    found = ask(P, np.arange(60), {59}, None, initial=30)
    np.testing.assert_allclose(found.upper_by_group, expected.upper_by_group, rtol=1e-11)
    np.testing.assert_allclose(found.lower_by_group, expected.lower_by_group, rtol=1e-11)


def test_small_probabilities_have_a_small_relative_error():
    P = gambler(40, 0.2)
    exact = reference.reach_ever(P, {39})
    found = ask(P, np.arange(40), {39}, None, initial=1)
    assert exact[1] < 1e-20
    assert found.lower == pytest.approx(exact[1], rel=1e-9, abs=0.0)
    assert found.upper == pytest.approx(exact[1], rel=1e-9, abs=0.0)


@pytest.fixture
def labelled():
    chain = MarkovChain(gambler(5, 0.5), labels={"goal": [4], "middle": [2, 3]}, initial=2)
    return Aggregation.from_labels(chain, [0, 1, 1, 2, 3])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("gaol", "label='gaol' is not a label of the chain; choose one of 'goal', 'middle'"),
        (3, "label=3 is not a label of the chain"),
        (
            "middle",
            "label='middle' is the label of 1 of the 2 states of group 1; aggregate with respect_labels=True",
        ),
    ],
)
def test_labels_that_are_refused(labelled, label, message):
    with pytest.raises(InvalidArgumentError, match=message):
        labelled.reachability(label)


def test_a_chain_without_labels():
    answer = Aggregation.from_labels(MarkovChain(gambler(3, 0.5)), [0, 1, 2])
    with pytest.raises(
        InvalidArgumentError, match=r"label='goal' is not a label .* pass labels= to MarkovChain"
    ):
        answer.reachability("goal")


def test_soft_maps_are_refused(labelled):
    weights = np.array(labelled.mapping)
    weights[1] = [0.5, 0.5, 0, 0]
    with pytest.raises(
        InvalidArgumentError, match=r"label='goal' cannot be bounded for a soft map; use harden"
    ):
        Aggregation.from_labels(labelled.original, weights).reachability("goal")


@pytest.mark.parametrize("steps", [-1, 1.5, "many", True])
def test_bad_numbers_of_steps(labelled, steps):
    with pytest.raises(InvalidArgumentError, match="steps"):
        labelled.reachability("goal", steps)


def test_the_result_is_immutable(labelled):
    found = labelled.reachability("goal")
    with pytest.raises(ValueError, match="read-only"):
        found.lower_by_group[0] = 1.0
    assert isinstance(found, klump.Reachability)
