"""Other people's tools, as far as they are installed: asked the right way, and the same way each time."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.comparison.outside import OUTSIDE
from klump.search.method import Task
from klump.sources.random_chains import block_chain
from reference import same_partition

MODULES = {name: tool.module.partition(".")[0] for name, tool in OUTSIDE.items()}


@pytest.fixture
def blocks():
    """Three groups that a walker rarely leaves: every tool should see them."""
    return block_chain((6, 8, 10), alpha=0.97, eps=0.02, random_state=3)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_tool(name, form, blocks):
    pytest.importorskip(MODULES[name])
    chain, planted = blocks
    matrix = form(chain.transition_matrix)
    compared = klump.compare(matrix, 3, methods=[], outside=[name], n_init=3, random_state=2**40)
    (row,) = compared
    assert row.error is None
    assert row.labels.shape == (24,)
    assert row.as_asked
    assert same_partition(row.labels, planted)
    assert row.version == OUTSIDE[name].version
    assert row.version is not None
    again = klump.compare(matrix, 3, methods=[], outside=[name], n_init=3, random_state=2**40)
    assert np.array_equal(again[0].labels, row.labels)


@pytest.mark.parametrize("name", OUTSIDE)
def test_same_seed_same_labels_without_structure(name, rng):
    pytest.importorskip(MODULES[name])
    matrix = rng.dirichlet(np.ones(30), size=30)
    rows = [
        klump.compare(matrix, 4, methods=[], outside=[name], n_init=2, random_state=9)[0] for _ in range(2)
    ]
    assert rows[0].error == rows[1].error
    assert np.array_equal(rows[0].labels, rows[1].labels)


@pytest.mark.parametrize("name", OUTSIDE)
def test_one_group_and_as_many_as_states(name):
    """Some tools cannot; then they say so."""
    pytest.importorskip(MODULES[name])
    chain = block_chain((2, 3), alpha=0.5, eps=0.2, random_state=3)[0]
    for k in (1, 5):
        (row,) = klump.compare(chain, k, methods=[], outside=[name], n_init=1)
        assert (row.error is None) == (row.labels is not None)


def test_sib_minimises_the_bottleneck():
    """It is asked for groups of X2 that tell of X1; groups of X1 would cost more."""
    sib = pytest.importorskip("sib")
    chain = klump.datasets.letter_bigrams()
    (row,) = klump.compare(chain, 4, beta=1, methods=[], outside=["sib"], n_init=10)
    joint = np.ascontiguousarray(chain.joint)
    turned = sib.SIB(4, n_init=10, n_jobs=1, random_state=0, uniform_prior=False).fit(joint).labels_
    assert row.cost < 0.75 * klump.score(chain, turned).bottleneck
    assert row.cost == pytest.approx(0.4138, abs=1e-3)


@pytest.mark.parametrize("k", [2, 4, 7])
def test_infomap_is_asked_for_the_number_of_groups(k):
    """Left alone it finds 4 modules of letters, and one of a chain without structure."""
    pytest.importorskip("infomap")
    unstructured = np.random.default_rng(0).dirichlet(np.ones(30), size=30)
    for chain in (klump.datasets.letter_bigrams(), unstructured):
        (row,) = klump.compare(chain, k, methods=[], outside=["infomap"], n_init=5)
        assert row.n_states == k


def test_the_question_that_infomap_gets(blocks):
    """Without the package: its options by name, and J as the weights of the links."""
    asked = {}

    class Infomap:
        def __init__(self, **options):
            asked.update(options)

        def add_links(self, links):
            asked["links"] = links

        def run(self):
            pass

        def get_modules(self):
            return {state: 1 + state % 3 for state in range(24)}

    chain, _ = blocks
    task = Task(chain, 3, 0.5, n_init=4, seed=2)
    labels = OUTSIDE["infomap"].labels(SimpleNamespace(Infomap=Infomap), task)
    assert labels.tolist() == [state % 3 for state in range(24)]
    assert asked["preferred_number_of_modules"] == 3
    assert asked["two_level"] is True
    assert asked["num_trials"] == 4
    assert asked["seed"] == 3
    flow = np.zeros((24, 24))
    for source, target, weight in asked["links"]:
        flow[source, target] = weight
    np.testing.assert_array_equal(flow, chain.joint)


def test_the_tools_leave_the_random_numbers_alone(blocks):
    import random

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    klump.compare(blocks[0], 3, methods=[], n_init=2)
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002


@pytest.mark.slow  # it runs every method there is
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_auto_is_the_cheapest_partition_of_the_letters(beta):
    """Among all that return a partition into exactly the number of groups asked for."""
    compared = klump.compare(klump.datasets.letter_bigrams(), 4, beta=beta)
    auto = compared.named("auto")
    assert auto.as_asked
    partitions = [row for row in compared if row.as_asked and not row.soft]
    assert {"auto", "sequential", "annealing", "sklearn-spectral"} <= {row.name for row in partitions}
    for row in partitions:
        assert auto.cost <= row.cost + 1e-9, row.name
