"""Algorithms 1 and 2 against literal versions of the paper's pseudocode."""

import numpy as np
import pytest

import klump
from klump.search.annealing import schedule
from klump.sources.random_chains import block_chain, random_chain
from reference import algorithm_1, algorithm_2, cost_of_labels, same_partition


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("allow_empty", [False, True])
def test_algorithm_1_takes_the_steps_of_the_pseudocode(beta, allow_empty):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        chain = random_chain(7, kind="dense", random_state=rng)
        start = rng.permutation(np.arange(7) % 3)
        ours = klump.aggregate(
            chain, 3, beta=beta, method="sequential", initial=start, allow_empty=allow_empty
        )
        law = np.asarray(chain.transition_matrix), chain.stationary_distribution
        theirs = algorithm_1(*law, start, 3, beta, 100, allow_empty)
        assert same_partition(ours.labels, theirs)
        assert ours.cost == pytest.approx(cost_of_labels(*law, theirs, 3, beta), abs=1e-10)


def test_algorithm_2_keeps_every_intermediate_aggregation():
    chain = random_chain(7, kind="dense", random_state=4)
    start = np.arange(7) % 3
    betas = [1.0, 0.75, 0.5, 0.25, 0.0]
    path = klump.beta_path(chain, 3, betas=betas, initial=start, step=0.25)
    law = np.asarray(chain.transition_matrix), chain.stationary_distribution
    theirs = algorithm_2(*law, start, 3, 0.0, 0.25, 100, allow_empty=False)
    assert path.betas.tolist() == [beta for beta, _ in theirs] == betas
    for answer, (beta, labels) in zip(path, theirs, strict=True):
        assert same_partition(answer.labels, labels)
        assert answer.cost == pytest.approx(cost_of_labels(*law, labels, 3, beta), abs=1e-10)


def test_a_path_holds_what_annealing_finds_for_each_beta():
    chain, _ = block_chain((8, 8, 16), alpha=0.5, eps=0.4, random_state=1)
    path = klump.beta_path(chain, 3, n_init=3)
    assert len(path) == 11
    for answer in path:
        alone = klump.aggregate(chain, 3, beta=answer.beta, method="annealing", n_init=3)
        assert alone.cost == pytest.approx(answer.cost, abs=1e-12)
    assert path.at(0.3).beta == pytest.approx(0.3)
    with pytest.raises(klump.errors.InvalidArgumentError, match="not on this path"):
        path.at(0.123)


def test_restarts_at_beta_1_help():
    chain, _ = block_chain((8, 8, 16), eps=0.7, random_state=3)
    one = klump.beta_path(chain, 4, betas=[1], n_init=1, random_state=5)[0].cost
    many = klump.beta_path(chain, 4, betas=[1], n_init=30, random_state=5)[0].cost
    assert many < one


def test_schedules_step_down_and_stop_at_what_is_asked():
    assert schedule([0.5], 0.25) == [1.0, 0.75, 0.5]
    assert schedule([1.0], 0.1) == [1.0]
    assert schedule([0.6], 0.25) == [1.0, 0.75, 0.6]
    assert np.allclose(schedule([1.0, 0.55, 0.0], 0.5), [1.0, 0.55, 0.5, 0.0])
    assert len(schedule([1 - 0.1 * i for i in range(11)], 0.1)) == 11


def test_groups_may_run_empty_only_if_allowed():
    chain, _ = block_chain((5, 5, 10), random_state=0)
    counts = []
    for seed in range(10):
        ask = {"beta": 0.0, "method": "sequential", "n_init": 1, "random_state": seed}
        counts.append(klump.aggregate(chain, 6, allow_empty=True, **ask).n_states)
        assert klump.aggregate(chain, 6, **ask).n_states == 6
    assert min(counts) < 6


def test_a_tie_moves_nothing():
    independent = np.full((6, 6), 1 / 6)
    start = [0, 1, 2, 0, 1, 2]
    for beta in (0.0, 0.5, 1.0):
        answer = klump.aggregate(independent, 3, beta=beta, method="sequential", initial=start)
        assert answer.labels.tolist() == start
