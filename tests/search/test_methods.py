"""Conformance tests of all methods, on any chain."""

import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import klump
from klump.cli import main
from klump.search.registry import METHODS, names_of
from klump.sources.random_chains import block_chain, random_chain
from reference import cost, same_partition

BETAS = (0.0, 0.3, 0.5, 0.8, 1.0)
# Methods that find the number of groups themselves have tests of their own.
ASKED = names_of(lambda method: not method.finds_number)


def awkward_chains():
    """Chains that break tools: spiky, sparse, periodic, nearly reducible, with weights down to 1e-300."""
    rng = np.random.default_rng(5)
    yield "spiky", rng.dirichlet(np.full(30, 0.3), size=30) * 0.999 + 0.001 / 30
    yield "sparse", random_chain(25, kind="sparse", random_state=1).transition_matrix
    yield "nearly reducible", random_chain(20, kind="decomposable", random_state=2).transition_matrix
    yield "periodic", np.roll(np.eye(6), 1, axis=1)
    tiny = np.full((6, 6), 1e-300)
    np.fill_diagonal(tiny, 1.0)
    tiny[np.arange(6), (np.arange(6) + 1) % 6] = 1e-150
    yield "weights down to 1e-300", sparse.csr_array(tiny)
    two = np.full((8, 8), 1e-14)
    two[:4, :4] = rng.random((4, 4))
    two[4:, 4:] = rng.random((4, 4))
    yield "two islands", two / two.sum(axis=1, keepdims=True)


AWKWARD = dict(awkward_chains())


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("name", AWKWARD)
def test_exactly_k_groups_and_a_valid_chain(method, name):
    matrix = AWKWARD[name]
    n = matrix.shape[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in sorted({1, 2, 4, n - 1, n}):
            for beta in (0.0, 0.5, 1.0):
                answer = klump.aggregate(matrix, k, beta=beta, method=method, n_init=3)
                assert answer.labels.shape == (n,)
                assert answer.n_states == k
                assert (answer.mapping.max(axis=0) > 0).all()
                coarse = answer.chain.transition_matrix
                assert coarse.shape == (k, k)
                assert (coarse >= 0).all()
                assert np.abs(coarse.sum(axis=1) - 1).max() <= 1e-12
                if answer.map.labels is None:  # truly stochastic
                    answer = answer.harden()
                assert sorted(set(answer.labels.tolist())) == list(range(k))
                assert 0 <= answer.bisimulation.epsilon <= answer.bisimulation.bound


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("beta", BETAS)
def test_the_cost_is_what_score_says(method, beta):
    chain, _ = block_chain((6, 8, 10), alpha=0.5, eps=0.3, random_state=3)
    answer = klump.aggregate(chain, 3, beta=beta, method=method, n_init=4)
    fresh = klump.score(chain, answer.mapping)
    assert answer.cost == pytest.approx(fresh.at(beta), abs=1e-10)
    assert answer.trace[-1] == pytest.approx(answer.cost, abs=1e-10)
    textbook = cost(chain.transition_matrix, chain.stationary_distribution, answer.mapping, beta)
    assert answer.cost == pytest.approx(textbook, abs=1e-10)


@pytest.mark.parametrize("method", ASKED)
def test_the_trace_never_increases(method):
    chain, _ = block_chain((10, 10, 20), alpha=0.0, eps=0.4, random_state=4)
    for beta in BETAS:
        trace = klump.aggregate(chain, 3, beta=beta, method=method, n_init=2).trace
        assert len(trace) >= 1
        assert np.diff(trace).max(initial=0.0) <= 1e-12


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_same_seed_same_labels_on_every_engine(method, form):
    chain = klump.MarkovChain(form(block_chain((8, 8, 16), eps=0.5, random_state=6)[0].transition_matrix))
    ask = {"n_states": 3, "beta": 0.3, "method": method, "random_state": 11}
    expected = klump.aggregate(chain, **ask, n_jobs=1).labels
    assert np.array_equal(klump.aggregate(chain, **ask, n_jobs=2).labels, expected)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert np.array_equal(klump.aggregate(chain, **ask).labels, expected)


@pytest.mark.parametrize("method", ASKED)
def test_names_are_kept_and_groups_are_heaviest_first(method):
    chain, _ = block_chain((4, 5), alpha=0.5, eps=0.1, random_state=1)
    names = [("state", i) for i in range(9)]
    named = klump.MarkovChain(chain.transition_matrix, names)
    answer = klump.aggregate(named, 2, method=method)
    assert sorted(name for group in answer.groups for name in group) == names
    for group, mass in zip(answer.groups, answer.masses, strict=True):
        weights = [named.stationary_distribution[name[1]] for name in group]
        assert weights == sorted(weights, reverse=True)
        assert sum(weights) == pytest.approx(mass)
    assert list(answer.masses) == sorted(answer.masses, reverse=True)


@pytest.mark.parametrize("method", ASKED)
def test_dense_and_sparse_agree(method):
    chain, _ = block_chain((8, 12), alpha=0.3, eps=0.2, random_state=8)
    for beta in BETAS:
        dense = klump.aggregate(chain, 2, beta=beta, method=method)
        other = klump.aggregate(sparse.csr_array(chain.transition_matrix), 2, beta=beta, method=method)
        assert same_partition(dense.labels, other.labels)
        assert dense.cost == pytest.approx(other.cost, abs=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_auto_is_never_costlier_than_a_single_method(beta):
    for seed in range(3):
        chain, _ = block_chain((10, 10, 20), eps=0.6, concentration=0.2, random_state=seed)
        best = klump.aggregate(chain, 4, beta=beta, random_state=seed).cost
        for method in sorted(set(ASKED) - {"auto"}):
            other = klump.aggregate(chain, 4, beta=beta, method=method, random_state=seed)
            # Auto is a search among deterministic maps.
            assert best <= other.cost + 1e-12 or other.map.labels is None, method


def test_different_seeds_try_different_starts():
    chain, _ = block_chain((20, 20, 20), eps=0.9, random_state=0)
    found = {
        klump.aggregate(chain, 3, beta=0.3, method="sequential", n_init=1, random_state=seed).labels.tobytes()
        for seed in range(5)
    }
    assert len(found) > 1


@pytest.mark.parametrize("method", ASKED)
def test_a_given_start_is_improved(method):
    chain, labels = block_chain((10, 10, 20), alpha=0.5, eps=0.2, random_state=2)
    for beta in BETAS:
        answer = klump.aggregate(chain, 3, beta=beta, method=method, initial=labels)
        assert answer.n_states == 3
        if method not in (
            "annealing",
            "deterministic-annealing",
        ):  # which start at beta = 1, or from one group
            assert answer.cost <= klump.score(chain, labels).at(beta) + 1e-12


def test_ctrl_c_keeps_the_best_so_far():
    chain, _ = block_chain((10, 10, 20), eps=0.6, random_state=0)
    calls = []

    def impatient(done, total, best):
        assert 0 < done <= total
        calls.append(best)
        if len(calls) == 5:
            raise KeyboardInterrupt

    answer = klump.aggregate(chain, 3, progress=impatient)
    assert answer.interrupted
    assert any("interrupted" in note for note in answer.notes)
    assert answer.cost == pytest.approx(calls[-1], abs=1e-12)
    assert answer.n_states == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 0}, "between 1 and"),
        ({"n_states": 4}, "between 1 and"),
        ({"n_states": 2.5}, "whole number"),
        ({"n_states": True}, "whole number"),
        ({"n_states": 2, "beta": -0.1}, "beta=-0.1"),
        ({"n_states": 2, "beta": 1.5}, "beta=1.5"),
        ({"n_states": 2, "beta": float("nan")}, "beta=nan"),
        ({"n_states": 2, "beta": "big"}, "beta='big'"),
        ({"n_states": 2, "method": "magic"}, "method='magic'"),
        ({"n_states": 2, "n_init": 0}, "n_init=0"),
        ({"n_states": 2, "max_sweeps": 0}, "max_sweeps=0"),
        ({"n_states": 2, "step": 0.0}, "step=0.0"),
        ({"n_states": 2, "n_jobs": 0}, "n_jobs=0"),
        ({"n_states": 2, "random_state": -1}, "random_state=-1"),
        ({"n_states": 2, "random_state": "x"}, "random_state='x'"),
        ({"n_states": 2, "initial": [0, 1]}, "2 entries"),
        ({"n_states": 2, "initial": [0, 0, 0]}, "1 group, but"),
        ({"n_states": 2, "initial": [0, 2, 2]}, "empty"),
        ({"n_states": 2, "initial": [[0.5, 0.5]] * 3}, "deterministic"),
        ({"n_states": 2, "allow_empty": True}, "allow_empty"),
    ],
)
def test_bad_questions_get_one_clear_error(arguments, message):
    with pytest.raises(klump.errors.InvalidArgumentError, match=message) as caught:
        klump.aggregate([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_documented(method):
    """A row in the table of docs/methods.md, a word in the docstring, its summary in the help of the command line."""
    table = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    assert f'\n| `"{method}"` |' in table
    assert f'``"{method}"``' in klump.aggregate.__doc__
    command = CliRunner().invoke(main, ["aggregate", "--help"])
    listed = f"{method} ({METHODS[method].summary})"
    # Lines may be broken after a hyphen.
    assert "".join(listed.split()) in "".join(command.output.split())
