"""Peers: who is tried, and how the groups of PyDTMC are read."""

import sys
import types

import numpy as np
import pytest
from benchmarks import peers
from benchmarks.peers import CONTESTANTS, Contestant

from klump.search.method import Task
from klump.sources.random_chains import block_chain, sparse_block_chain


def question(n_groups=3):
    chain, planted = block_chain((8, 8, 16), alpha=0.0, eps=0.05, random_state=0)
    return Task(chain, n_groups, 0.5), planted


def pydtmc_with(name, code):
    """A module that aggregates in a function of that name."""
    scope = {"np": np}
    exec(f"def {name}(p, s):\n    {code}\n    return p", scope)

    class Chain:
        def __init__(self, matrix):
            self.matrix = matrix

        def aggregate(self, s, method):
            return scope[name](self.matrix, s)

    return types.SimpleNamespace(MarkovChain=Chain)


def test_missing_and_limited_contestants_are_refused():
    assert CONTESTANTS["klump"].refusal(10**9) is None
    assert Contestant(len, ("no_such_module.part",)).refusal(1) == "no_such_module.part is not installed"
    limited = Contestant(len, most_states=10, reason="it is lazy")
    assert limited.refusal(10) is None
    assert limited.refusal(11) == "not tried: it is lazy"


@pytest.mark.parametrize("n_groups", [2, 3])
def test_pydtmc_returns_the_group_of_each_state(n_groups):
    pytest.importorskip("pydtmc")
    task, _ = question(n_groups)
    labels = CONTESTANTS["pydtmc"].find(task)
    assert labels.shape == (32,)
    assert set(labels) == set(range(n_groups))


def test_the_last_membership_is_read(monkeypatch):
    task, _ = question()
    code = "phi = np.eye(s)[np.arange(len(p)) % s]"
    monkeypatch.setitem(sys.modules, "pydtmc", pydtmc_with(peers.PYDTMC_FUNCTION, code))
    np.testing.assert_array_equal(CONTESTANTS["pydtmc"].find(task), np.arange(32) % 3)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("mc_aggregate_anew", "phi = np.eye(len(p))", "has no matrix 'phi'"),
        (peers.PYDTMC_FUNCTION, "groups = np.eye(len(p))", "has no matrix 'phi'"),
        (peers.PYDTMC_FUNCTION, "phi = np.zeros(len(p))", "has no matrix 'phi'"),
        (peers.PYDTMC_FUNCTION, "phi = np.eye(s)", "has no matrix 'phi'"),
        (peers.PYDTMC_FUNCTION, "phi = np.ones((len(p), s))", "does not put each state into one group"),
        (peers.PYDTMC_FUNCTION, "phi = np.full((len(p), 2), 0.5)", "does not put each state into one group"),
    ],
)
def test_a_pydtmc_that_has_changed_is_a_clear_failure(monkeypatch, name, code, words):
    monkeypatch.setitem(sys.modules, "pydtmc", pydtmc_with(name, code))
    before = sys.getprofile()
    with pytest.raises(RuntimeError, match="groups of PyDTMC cannot be read") as raised:
        CONTESTANTS["pydtmc"].find(question()[0])
    assert words in str(raised.value)
    assert sys.getprofile() is before


@pytest.mark.parametrize(
    "name", ["svd-kmeans", "coclustering", "igraph-leiden", "networkit-leiden", "metis", "sib"]
)
@pytest.mark.filterwarnings("ignore")  # what peers warn of is not klump's affair
def test_peers_answer_a_question_about_a_sparse_chain(name):
    contestant = CONTESTANTS[name]
    if contestant.missing:
        pytest.skip(f"{contestant.missing} is not installed")
    chain, _ = sparse_block_chain(300, 3, random_state=0)
    labels = np.asarray(contestant.find(Task(chain, 3, 0.5)))
    assert labels.shape == (300,)
    assert len(np.unique(labels)) >= 2
