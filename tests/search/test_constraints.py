"""Constraints: satisfied exactly, at the least cost, or refused."""

import numpy as np
import pytest

import klump
from chains import random_labels, random_matrix
from constrained import random_constraints, satisfies
from klump.aggregation.constraints import GroupConstraints, build_constraints
from klump.errors import InvalidArgumentError
from klump.search import portfolio
from klump.search.constraints import Constraints
from klump.search.feasibility import Infeasible, find_partition
from klump.search.merging import Merging, NumpyMerging
from klump.search.objective import MIDDLE
from klump.search.problem import make_problem
from klump.search.repair import make_repair
from klump.sources.random_chains import block_chain
from reference import cost_of_labels, partitions

KINDS = ("dense", "sparse", "decomposable", "reversible")


def labelled(P, masks):
    return klump.MarkovChain(P, labels=masks)


def random_question(number, n, k):
    rng = np.random.default_rng([17, number])
    P = random_matrix(KINDS[number % len(KINDS)], n, rng)
    given, masks = random_constraints(n, k, rng)
    return labelled(P, masks), given, masks


@pytest.mark.parametrize("number", range(60))
def test_the_cheapest_of_all_partitions_that_satisfy_the_constraints(number, monkeypatch):
    """Against enumeration in Python: by exhaustive search, and by the search for larger chains."""
    n, k, beta = 5 + number % 3, 2 + number % 2, (0.0, 0.3, 0.5, 0.8, 1.0)[number % 5]
    chain, given, masks = random_question(number, n, k)
    P, mu = np.asarray(chain.transition_matrix), chain.stationary_distribution
    allowed = [labels for labels in partitions(n, k) if satisfies(labels, mu, given, masks)]
    if not allowed:
        with pytest.raises(InvalidArgumentError):
            klump.aggregate(chain, k, beta=beta, **given)
        return
    least = min(cost_of_labels(P, mu, labels, k, beta) for labels in allowed)
    for enumerates in (True, False):
        if not enumerates:
            monkeypatch.setattr(portfolio, "_can_enumerate", lambda n, k: False)
        answer = klump.aggregate(chain, k, beta=beta, effort="quick", **given)
        assert satisfies(answer.labels, mu, given, masks)
        assert answer.n_states == k
        assert answer.cost == pytest.approx(least, abs=1e-10)
        assert all(answer.labels[state] == group for state, group in given.get("fixed", {}).items())


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_five_hundred_random_constraints_are_satisfied_or_refused(block):
    """Larger chains, 50 per block; no refusal contradicts a partition that a random search finds."""
    refused = 0
    for number in range(50 * block, 50 * (block + 1)):
        n, k = 12 + number % 20, 2 + number % 5
        chain, given, masks = random_question(number, n, k)
        mu, rng = chain.stationary_distribution, np.random.default_rng(number)
        try:
            answer = klump.aggregate(
                chain, k, beta=(0.0, 0.5, 1.0)[number % 3], effort="quick", n_init=2, **given
            )
        except InvalidArgumentError:
            refused += 1
            drawn = (random_labels(n, k, rng) for _ in range(300))
            assert not any(satisfies(labels, mu, given, masks) for labels in drawn), given
            continue
        assert satisfies(answer.labels, mu, given, masks), given
        assert sorted(set(answer.labels.tolist())) == list(range(k))
        assert answer.cost == pytest.approx(klump.score(chain, answer.labels).at(answer.beta), abs=1e-10)
    assert refused < 25


def test_repair_returns_valid_labels_as_they_are_and_mends_others():
    chain, _ = block_chain((10, 10, 20), alpha=0.2, eps=0.1, random_state=0)
    given = GroupConstraints((), (), ((0, 30),), ((1, 2),), 0.1)
    constraints = build_constraints(chain, given, 3)
    repair = make_repair(constraints, make_problem(chain), 3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = repair(random_labels(40, 3, rng).astype(np.int32))
        assert constraints.are_satisfied(labels)
        assert len(np.unique(labels)) == 3
        assert repair(labels) is labels


def test_labels_that_fit_the_planted_groups_cost_nothing():
    """Respecting labels that are constant on the planted groups finds those groups, large and small."""
    for sizes in ((15, 15, 30), (150, 150, 300)):
        chain, planted = block_chain(sizes, alpha=0.5, eps=0.1, random_state=1)
        chain = labelled(chain, {"first": planted == 0})
        for beta in (0.3, 0.5, 0.8):
            answer = klump.aggregate(chain, 3, beta=beta, respect_labels=True)
            assert answer.cost <= klump.score(chain, planted).at(beta) + 1e-10


def test_a_group_more_than_the_labels_need_goes_where_it_helps():
    """Labels across two of four planted groups: with enough groups, the planted ones are split by the label."""
    chain, planted = block_chain((100, 100, 100, 100), alpha=0.3, eps=0.05, random_state=2)
    mask = np.arange(400) % 2 == 0
    mask[planted >= 2] = False
    answer = klump.aggregate(labelled(chain, {"even": mask}), 6, beta=0.5, respect_labels=True)
    split = 2 * planted + mask
    assert answer.cost <= klump.score(chain, np.unique(split, return_inverse=True)[1]).at(0.5) + 1e-10


def test_the_same_seed_gives_the_same_answer_in_parallel():
    chain, _ = block_chain((20, 20, 20), alpha=0.5, eps=0.5, random_state=3)
    ask = {"n_states": 4, "beta": 0.5, "cannot_link": [(0, 1), (2, 3)], "must_link": [(4, 50)], "seed": 5}
    one, two = klump.aggregate(chain, **ask), klump.aggregate(chain, **ask, n_jobs=2)
    assert np.array_equal(one.labels, two.labels)


def test_a_checkpoint_is_that_of_its_constraints(tmp_path):
    chain, _ = block_chain((20, 20, 20), alpha=0.5, eps=0.5, random_state=3)
    ask = {"n_states": 4, "effort": "quick", "checkpoint": tmp_path / "run"}
    one = klump.aggregate(chain, **ask, cannot_link=[(0, 1)])
    again = klump.aggregate(chain, **ask, cannot_link=[(0, 1)], resume=True)
    assert np.array_equal(one.labels, again.labels)
    with pytest.raises(klump.KlumpError, match="constraints"):
        klump.aggregate(chain, **ask, cannot_link=[(0, 2)], resume=True)


def test_an_interrupted_search_satisfies_the_constraints():
    chain, _ = block_chain((100, 100, 200), alpha=0.5, eps=0.5, random_state=3)
    answer = klump.aggregate(chain, 4, cannot_link=[(0, 1)], must_link=[(2, 399)], time_limit=1e-6)
    assert answer.interrupted
    assert answer.labels[0] != answer.labels[1]
    assert answer.labels[2] == answer.labels[399]


@pytest.mark.parametrize("kind", [NumpyMerging, Merging])
def test_groups_apart_are_not_merged(kind):
    """Greedy merging with excluded pairs, against the same choice by the textbook."""
    rng = np.random.default_rng(4)
    P = random_matrix("dense", 12, rng)
    chain = klump.MarkovChain(P)
    apart = np.triu(rng.random((12, 12)) < 0.5, 1)
    apart |= apart.T
    merging = kind(chain.joint, chain.stationary_distribution, np.arange(12), MIDDLE.weights, apart)
    groups = [{i} for i in range(12)]
    numbers = {frozenset([i]): i for i in range(12)}
    done = merging.run(1)
    for first, second in merging.pairs[: np.count_nonzero(merging.prices)]:
        prices = {}
        for a in groups:
            for b in groups:
                if min(a) < min(b) and not any(apart[i, j] for i in a for j in b):
                    labels = np.zeros(12, dtype=int)
                    for number, group in enumerate([a | b, *(g for g in groups if g not in (a, b))]):
                        labels[list(group)] = number
                    prices[frozenset(a), frozenset(b)] = klump.score(chain, labels).at(0.5)
        a, b = min(prices, key=prices.get)
        assert sorted((numbers[a], numbers[b])) == [first, second]
        groups = [group for group in groups if group not in (a, b)] + [set(a | b)]
        numbers[a | b] = 12 + len(numbers) - 12
    assert done == (len(groups) == 1)


def units(apart, n, colours=None, mass=None, min_mass=0.0):
    colour = np.zeros(n, np.int32) if colours is None else np.asarray(colours, np.int32)
    mass = np.full(n, 1 / n) if mass is None else np.asarray(mass)
    pairs = np.asarray(apart, dtype=np.int64).reshape(-1, 2)
    return Constraints(np.arange(n, dtype=np.int32), colour, pairs, mass, min_mass)


def test_colouring_finds_the_fewest_groups():
    """Odd cycles need 3 groups, the Petersen graph 3, a complete graph all; bipartite graphs 2."""
    petersen = [(i, (i + 1) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)]
    petersen += [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    crown = [(i, 10 + j) for i in range(10) for j in range(10) if i != j]
    complete = [(i, j) for i in range(6) for j in range(i)]
    for pairs, n, needed in (
        ([(i, (i + 1) % 7) for i in range(7)], 7, 3),
        (petersen, 10, 3),
        (crown, 20, 2),
        (complete, 8, 6),
    ):
        constraints = units(pairs, n)
        group = find_partition(constraints, needed)
        assert constraints.are_satisfied(group)
        assert len(np.unique(group)) == needed
        with pytest.raises(Infeasible, match=f"at least {needed} groups"):
            find_partition(constraints, needed - 1)


def test_many_pairs_are_coloured_greedily_and_said_so():
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(500) for j in range(i) if rng.random() < 0.1]
    constraints = units(pairs, 500)
    assert constraints.are_satisfied(find_partition(constraints, 60))
    with pytest.raises(Infeasible, match="could find"):
        find_partition(constraints, 5)


@pytest.mark.parametrize(
    ("mass", "least", "k", "feasible"),
    [
        ([0.5, 0.3, 0.1, 0.1], 0.2, 3, True),
        ([0.5, 0.3, 0.1, 0.1], 0.2, 4, False),
        ([0.98, 0.01, 0.01], 0.02, 2, True),
        ([0.98, 0.01, 0.01], 0.03, 2, False),
    ],
)
def test_the_least_mass_is_met_or_refused(mass, least, k, feasible):
    constraints = units([], len(mass), mass=mass, min_mass=least)
    if feasible:
        assert constraints.are_satisfied(find_partition(constraints, k))
    else:
        with pytest.raises(Infeasible):
            find_partition(constraints, k)
