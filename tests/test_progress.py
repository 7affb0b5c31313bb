"""``progress(done, total, best_cost)``, wherever there is one."""

import math

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import InvalidArgumentError
from klump.guarantees import compute_guarantees, estimate_entropy_rate
from klump.search.registry import METHODS
from klump.sources.random_chains import block_chain
from surface import callables_with

CHAIN, PLANTED = block_chain((6, 7, 8), alpha=0.4, eps=0.4, random_state=1)
COUNTS = np.round(100 * CHAIN.transition_matrix) + 1
POINTS = np.random.default_rng(0).normal(size=(24, 2))
ANSWER = klump.Aggregation.from_labels(CHAIN, PLANTED)
WEIGHTS = ANSWER.map.weights
# Functions that may end before the last planned step.
MAY_END_EARLY = {
    "klump.aggregation.aggregation.Aggregation.guarantees_within",
    "klump.distributed.refinement.refine",
    "klump.guarantees.brackets.compute_guarantees",
}
# Functions of which several costs are known, but not comparable, and those without any cost.
WITHOUT_COST = {
    "klump.aggregation.aggregation.Aggregation.guarantees_within",
    "klump.aggregation.aggregation.Aggregation.monte_carlo",
    "klump.aggregation.grids.grid",
    "klump.guarantees.brackets.compute_guarantees",
    "klump.guarantees.monte_carlo.estimate_entropy_rate",
    "klump.resampling.question.bootstrap",
    "klump.resampling.question.posterior",
    "klump.selection.question.select",
}
FEW = {"method": "sequential", "n_init": 2}
CALLS = {
    "klump.aggregation.question.aggregate": lambda call: klump.aggregate(CHAIN, 4, n_init=3, progress=call),
    "klump.aggregation.question.beta_path": lambda call: klump.beta_path(CHAIN, 4, n_init=3, progress=call),
    "klump.aggregation.tree.aggregation_tree": lambda call: klump.aggregation_tree(CHAIN, progress=call),
    "klump.aggregation.grids.grid": lambda call: klump.grid(CHAIN, [2, 3], **FEW, progress=call),
    "klump.comparison.contest.compare": lambda call: klump.compare(
        CHAIN, 4, methods=["spectral", "sequential", "exact"], outside=False, n_init=2, progress=call
    ),
    "klump.clustering.cluster": lambda call: klump.cluster(POINTS, 3, n_neighbors=4, **FEW, progress=call),
    "klump.resampling.question.posterior": lambda call: klump.posterior(
        COUNTS, PLANTED, n_samples=3, progress=call
    ),
    "klump.resampling.question.bootstrap": lambda call: klump.bootstrap(
        COUNTS, 3, n_samples=3, **FEW, progress=call
    ),
    "klump.selection.question.select": lambda call: klump.select(
        CHAIN, [2, 3], [0.5], **FEW, n_restarts=1, n_shuffles=2, progress=call
    ),
    "klump.distributed.refinement.refine": lambda call: klump.distributed.refine(
        CHAIN, np.arange(21) % 3, progress=call
    ),
    "klump.aggregation.aggregation.Aggregation.guarantees_within": lambda call: ANSWER.guarantees_within(
        progress=call
    ),
    "klump.aggregation.aggregation.Aggregation.monte_carlo": lambda call: ANSWER.monte_carlo(
        2, 5, 1, progress=call
    ),
    "klump.guarantees.brackets.compute_guarantees": lambda call: compute_guarantees(
        CHAIN, WEIGHTS, ANSWER.costs.lumpability, ANSWER.costs.predictability, progress=call
    ),
    "klump.guarantees.monte_carlo.estimate_entropy_rate": lambda call: estimate_entropy_rate(
        CHAIN, WEIGHTS, 2, 5, 1, progress=call
    ),
}


def record(call):
    """Calls of the progress function, checked."""
    seen = []
    call(lambda *arguments: seen.append(arguments))
    assert seen
    for before, (done, total, best_cost) in zip([(0, 0, math.nan), *seen], seen, strict=False):
        assert [type(value) for value in (done, total, best_cost)] == [int, int, float]
        assert before[0] <= done <= total
        assert not math.isinf(best_cost)
        # Once a cost is known, it stays known.
        assert math.isnan(before[2]) or best_cost <= before[2]
    return seen


def test_every_function_with_progress_is_called_here():
    assert callables_with("progress").keys() == CALLS.keys()


@pytest.mark.parametrize(("name", "call"), CALLS.items(), ids=CALLS)
def test_one_signature(name, call):
    seen = record(call)
    assert len({total for _, total, _ in seen}) == 1
    assert seen[-1][0] == seen[-1][1] or name in MAY_END_EARLY
    assert math.isnan(seen[-1][2]) == (name in WITHOUT_COST)
    assert name not in WITHOUT_COST or all(math.isnan(cost) for _, _, cost in seen)


@pytest.mark.parametrize(("name", "call"), CALLS.items(), ids=CALLS)
def test_anything_but_a_function_is_refused(name, call):
    with pytest.raises(InvalidArgumentError) as caught:
        call(7)
    assert str(caught.value) == (
        "progress=7 must be a function of (done, total, best_cost); pass such a function, or leave it out"
    )


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_ends_with_the_cost_of_its_answer(method, beta):
    number = {} if METHODS[method].finds_number else {"n_states": 4}
    answers = []
    seen = record(
        lambda call: answers.append(
            klump.aggregate(CHAIN, beta=beta, method=method, n_init=4, progress=call, **number)
        )
    )
    assert seen[-1][0] == seen[-1][1]
    assert seen[-1][2] == pytest.approx(answers[0].cost, abs=1e-10)


def test_methods_that_merge_or_anneal_know_no_cost_before_the_end():
    """Maps with more groups, or of another beta, have other costs, often lower ones."""
    chain, _ = block_chain((30, 40, 50), eps=0.3, random_state=9)
    for method in ("agglomerative", "agglomerative-relaxed", "annealing"):
        *before, last = record(
            lambda call, method=method: klump.aggregate(chain, 3, method=method, n_init=4, progress=call)
        )
        assert before
        assert all(math.isnan(cost) for _, _, cost in before)
        assert not math.isnan(last[2])


def test_the_path_reports_the_cost_at_its_smallest_beta():
    paths = []
    seen = record(lambda call: paths.append(klump.beta_path(CHAIN, 3, [1, 0.4], n_init=3, progress=call)))
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    assert seen[-1][2] == pytest.approx(paths[0].aggregations[-1].cost, abs=1e-10)


def test_no_cost_without_a_stationary_distribution():
    reducible = sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))
    ((done, total, cost),) = record(
        lambda call: klump.aggregate(reducible, method="exact", initial=[0, 1, 0], progress=call)
    )
    assert (done, total) == (1, 1)
    assert math.isnan(cost)


@pytest.mark.parametrize("method", ["annealing", "exact", "deterministic-annealing"])
def test_ctrl_c_at_the_last_step_keeps_the_answer(method):
    def press(done, total, best_cost):
        if done == total:
            raise KeyboardInterrupt

    options = {"method": method, "initial": PLANTED, **({} if method == "exact" else {"n_states": 3})}
    answer = klump.aggregate(CHAIN, **options, progress=press)
    assert answer.interrupted
    assert np.array_equal(answer.labels, klump.aggregate(CHAIN, **options).labels)
    if method == "annealing":
        assert klump.beta_path(CHAIN, 3, [1, 0.4], initial=PLANTED, progress=press).interrupted
