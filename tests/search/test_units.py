"""Sweeps under constraints, with and without the compiler."""

import numpy as np
import pytest
from scipy import sparse

import klump
from chains import random_labels, random_matrix
from klump.aggregation.constraints import GroupConstraints, build_constraints
from klump.errors import InvalidArgumentError
from klump.search.constrained import ConstrainedSearch
from klump.search.objective import Objective
from klump.search.problem import make_problem
from klump.search.repair import make_repair


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.7, 1.0])
def test_sweeps_of_units_track_the_cost_and_keep_the_constraints(form, beta):
    """The change of the cost that a sweep returns is that of its recomputation; no move violates a constraint."""
    rng = np.random.default_rng(3)
    n, k = 24, 4
    P = random_matrix("sparse" if form is sparse.csr_array else "dense", n, rng)
    chain = klump.MarkovChain(form(P), labels={"a": rng.random(n) < 0.5})
    given = GroupConstraints(("a",), (), ((0, 1), (1, 2), (5, 6)), ((3, 4), (3, 7)), 0.01)
    try:
        constraints = build_constraints(chain, given, k)
    except InvalidArgumentError:
        given = GroupConstraints((), (), given.must_link, given.cannot_link, 0.01)
        constraints = build_constraints(chain, given, k)
    problem = make_problem(chain)
    repair = make_repair(constraints, problem, k)
    labels = repair(random_labels(n, k, rng).astype(np.int32))
    order = rng.permutation(constraints.n_units)
    search = ConstrainedSearch(problem, labels, k, Objective(beta), order, repair)
    before, visited = search.cost, 0
    while True:
        moves, change = search.sweep(order, 1e-13, allow_empty=False)
        visited += moves
        search.build()
        assert search.cost == pytest.approx(before + change, abs=1e-12)
        assert constraints.are_satisfied(search.table.labels)
        before = search.cost
        if moves == 0:
            break
    assert visited > 0
    for unit in range(constraints.n_units):  # a local optimum: no allowed move of a unit is cheaper
        for y in range(k):
            moved = search.table.labels.copy()
            moved[constraints.unit == unit] = y
            if len(set(moved.tolist())) == k and constraints.are_satisfied(moved):
                other = ConstrainedSearch(problem, moved, k, Objective(beta), order, repair)
                assert other.cost >= before - 1e-12
