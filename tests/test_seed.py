"""``seed`` and ``random_state`` are two names of one argument, wherever there is one."""

import inspect
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import klump
from klump.arguments import DEFAULT_SEED, check_seed
from klump.errors import UNSET, InvalidArgumentError
from klump.guarantees import estimate_entropy_rate
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain
from surface import callables_with

CHAIN, PLANTED = block_chain((5, 6, 7), alpha=0.4, eps=0.4, random_state=1)
COUNTS = np.round(100 * CHAIN.transition_matrix) + 1
POINTS = np.random.default_rng(0).normal(size=(24, 2))
RANDOM_LABELS = np.random.default_rng(0).permutation(np.arange(18) % 3)
ANSWER = klump.Aggregation.from_labels(CHAIN, RANDOM_LABELS)
FEW = {"method": "sequential", "n_init": 1}


def matrix(chain):
    found = chain.transition_matrix
    return found.toarray() if chain.is_sparse else found


# An answer of each function that depends on the seed, as something that can be compared.
CALLS = {
    "klump.aggregation.question.aggregate": lambda **seed: klump.aggregate(CHAIN, 4, **FEW, **seed).labels,
    "klump.aggregation.question.beta_path": lambda **seed: [
        answer.labels for answer in klump.beta_path(CHAIN, 4, [1, 0.5], n_init=1, **seed)
    ],
    "klump.aggregation.grids.grid": lambda **seed: klump.grid(CHAIN, [4, 5], **FEW, **seed).costs,
    "klump.comparison.contest.compare": lambda **seed: [
        row.cost for row in klump.compare(CHAIN, 4, methods=["sequential"], outside=False, n_init=1, **seed)
    ],
    "klump.clustering.cluster": lambda **seed: klump.cluster(POINTS, 5, n_neighbors=4, **FEW, **seed).labels,
    "klump.resampling.question.posterior": lambda **seed: (
        klump.posterior(COUNTS, PLANTED, n_samples=3, **seed).costs
    ),
    "klump.resampling.question.bootstrap": lambda **seed: (
        klump.bootstrap(COUNTS, 4, n_samples=3, **FEW, **seed).posterior.costs
    ),
    "klump.selection.question.select": lambda **seed: [
        row.restart_agreement for row in klump.select(CHAIN, [4, 5], [0.5], **FEW, **seed).table
    ],
    "klump.distributed.refinement.refine": lambda **seed: (
        klump.distributed.refine(CHAIN, RANDOM_LABELS, **seed).trace
    ),
    "klump.aggregation.aggregation.Aggregation.monte_carlo": lambda **seed: (
        ANSWER.monte_carlo(2, 5, 1, **seed).entropy_rate
    ),
    "klump.chain.markov_chain.MarkovChain.simulate": lambda **seed: CHAIN.simulate(9, **seed),
    "klump.guarantees.monte_carlo.estimate_entropy_rate": lambda **seed: (
        estimate_entropy_rate(CHAIN, ANSWER.map.weights, 2, 5, 1, **seed).entropy_rate
    ),
    "klump.sources.random_chains.block_chain": lambda **seed: matrix(block_chain((2, 3), **seed)[0]),
    "klump.sources.random_chains.random_chain": lambda **seed: matrix(random_chain(5, **seed)),
    "klump.sources.random_chains.sparse_block_chain": lambda **seed: matrix(
        sparse_block_chain(12, 3, 3, **seed)[0]
    ),
}


def test_every_function_with_a_random_state_is_called_here():
    assert callables_with("random_state").keys() == CALLS.keys()


@pytest.mark.parametrize(("name", "function"), callables_with("random_state").items())
def test_every_function_with_a_random_state_takes_a_seed(name, function):
    parameters = inspect.signature(function).parameters
    assert parameters["random_state"].default == 0
    assert parameters["seed"].default is UNSET
    assert parameters["seed"].kind is inspect.Parameter.KEYWORD_ONLY
    assert re.search(r"\bseed\b.*\n *(Another name of ``random_state``|As in)", function.__doc__) or (
        "parameters are those of :func:`aggregate`" in function.__doc__
    )


def test_every_function_with_a_seed_takes_a_random_state():
    assert callables_with("seed").keys() == CALLS.keys()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_seed_by_either_name_gives_the_same_answer(call):
    by_seed = call(seed=3)
    np.testing.assert_array_equal(by_seed, call(random_state=3))
    np.testing.assert_array_equal(by_seed, call(random_state=3, seed=3))
    np.testing.assert_array_equal(call(), call(seed=0))
    assert any(not np.array_equal(by_seed, call(seed=other)) for other in range(8))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("random_state", [0, 1, None])
def test_two_different_seeds_are_refused(call, random_state):
    with pytest.raises(InvalidArgumentError) as caught:
        call(random_state=random_state, seed=3)
    assert str(caught.value) == (
        f"random_state={random_state} and seed=3 differ, but name the same argument; pass one of them"
    )


def test_an_invalid_seed_is_named_as_it_was_passed():
    for name in ("random_state", "seed"):
        with pytest.raises(InvalidArgumentError, match=f"^{name}=-1 is not a seed; pass a whole number"):
            klump.aggregate(CHAIN, 2, **{name: -1})


def test_generators_and_none_are_seeds_by_either_name():
    assert check_seed(DEFAULT_SEED, np.random.default_rng(4)) == check_seed(np.random.default_rng(4))
    assert check_seed(DEFAULT_SEED, None) != check_seed(DEFAULT_SEED, None)
    rng = np.random.default_rng(4)
    assert check_seed(rng, rng) == check_seed(np.random.default_rng(4))
    assert check_seed(np.int64(3), 3) == 3


def test_results_with_a_random_state_have_a_seed():
    kinds = [getattr(klump, name) for name in klump.__all__]
    kinds = [kind for kind in kinds if is_dataclass(kind)]
    with_state = {kind for kind in kinds if "random_state" in {field.name for field in fields(kind)}}
    assert with_state == {klump.Aggregation, klump.Comparison, klump.Posterior, klump.Selection}
    results = [
        klump.aggregate(CHAIN, 2, seed=3, **FEW),
        klump.compare(CHAIN, 2, methods=["sequential"], outside=False, n_init=1, seed=3),
        klump.posterior(COUNTS, PLANTED, n_samples=2, seed=3),
        klump.select(CHAIN, [2], [0.5], seed=3, **FEW),
    ]
    for result in results:
        assert result.seed == result.random_state == 3
        with pytest.raises(AttributeError):
            result.seed = 4
