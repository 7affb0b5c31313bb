"""Recursive bisection by eigenvectors, against a slow version that evaluates the whole cost for every cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import klump
import reference
from chains import betas, matrices, matrices_and_labels, random_matrix, seeds
from klump.chain import MarkovChain
from klump.search import spectral
from klump.search.kernels import cuts
from klump.search.problem import make_problem
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain

# Kinds with connected groups and simple eigenvalues: the answer is unique.
GENERIC = ("dense", "reversible", "nonreversible")
FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def cut_changes(chain, labels, order, begin, size):
    """Changes of sum f(A) and of sum f(B) by every cut."""
    problem = make_problem(chain)
    into, flow = np.zeros(len(labels)), np.zeros(len(labels))
    for first, members in zip(begin, size, strict=True):
        cuts.into_sums(problem, order, int(first), int(first + members), np.zeros((2, len(labels))), into)
    k = begin.size
    cuts.flow_sums(problem, labels, order, begin, size, cuts.make_links(k), np.zeros((2, k)), flow)
    return into, flow


@FORMS
@settings(max_examples=40)
@given(case=matrices_and_labels(max_size=6), beta=betas, seed=seeds)
def test_the_price_of_every_cut_is_what_the_whole_cost_says(form, case, beta, seed):
    P, labels, k = case
    chain = MarkovChain(form(P))
    mu, labels = chain.stationary_distribution, np.asarray(labels, dtype=np.int32)
    order = np.random.default_rng(seed).permutation(len(mu))
    order = order[np.argsort(labels[order], kind="stable")]
    size = np.bincount(labels, minlength=k)
    begin = np.cumsum(size) - size
    into, flow = cut_changes(chain, labels, order, begin, size)
    before = reference.cost_of_labels(P, mu, labels, k, beta)
    for y in range(k):
        mass = spectral._mass_changes(mu[order[begin[y] : begin[y] + size[y]]])
        for place in range(begin[y], begin[y] + size[y] - 1):
            after = labels.copy()
            after[order[begin[y] : place + 1]] = k
            price = (1 - 2 * beta) * into[place] - (1 - beta) * flow[place] + mass[place - begin[y]]
            expected = reference.cost_of_labels(P, mu, after, k + 1, beta) - before
            assert price == pytest.approx(expected, abs=1e-12)


@FORMS
@settings(max_examples=30)
@given(P=matrices(kinds=GENERIC, min_size=3, max_size=8), k=st.integers(2, 4), beta=betas)
def test_cuts_are_those_of_the_textbook(form, P, k, beta):
    k = min(k, len(P))
    answer = klump.aggregate(form(P), k, beta=beta, method="spectral")
    mu = answer.original.stationary_distribution
    expected = reference.recursive_bisection(P, mu, k, beta)
    assert reference.same_partition(answer.labels, expected)
    assert answer.cost == pytest.approx(reference.cost_of_labels(P, mu, expected, k, beta), abs=1e-10)


# Sign cuts only, as published


@FORMS
@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("seed", range(8))
def test_sign_cuts_are_those_of_the_textbook(form, kind, seed):
    rng = np.random.default_rng([seed, GENERIC.index(kind)])
    P, k, beta = random_matrix(kind, 9, rng), int(rng.integers(2, 6)), float(rng.choice([0.0, 0.3, 0.5, 1.0]))
    answer = klump.aggregate(form(P), k, beta=beta, method="spectral-sign")
    mu = answer.original.stationary_distribution
    expected = reference.recursive_sign_bisection(P, mu, k, beta)
    assert reference.same_partition(answer.labels, expected)
    assert answer.cost == pytest.approx(reference.cost_of_labels(P, mu, expected, k, beta), abs=1e-10)


def test_the_cheapest_cut_can_be_cheaper_than_the_sign_cut():
    """A walk on three states that mostly alternates between the first and the last."""
    weights = np.array([[0, 5, 15], [5, 6, 6], [15, 6, 2]])
    P = weights / weights.sum(axis=1, keepdims=True)
    sign, cheapest = (
        klump.aggregate(P, 2, beta=0.5, method=method) for method in ("spectral-sign", "spectral")
    )
    assert sign.cost == pytest.approx(0.191965, abs=1e-6)
    assert cheapest.cost == pytest.approx(0.069469, abs=1e-6)
    best = reference.exhaustive(P, sign.original.stationary_distribution, 2, 0.5)[1]
    assert cheapest.cost == pytest.approx(best, abs=1e-10)


def test_both_on_the_letters():
    """The figures of docs/measurements/comparison.md."""
    chain = klump.datasets.letter_bigrams()
    for method, expected in (("spectral", 0.4431), ("spectral-sign", 0.4477)):
        assert klump.aggregate(chain, 4, beta=0.5, method=method).cost == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("method", ["spectral", "spectral-sign"])
@pytest.mark.parametrize("beta", [0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("alpha", [0.9, 0.999999])
def test_nearly_decomposable_chains_are_cut_into_their_blocks(alpha, beta, method):
    for seed in range(3):
        chain, planted = block_chain((5, 9, 13), alpha=alpha, eps=(1 - alpha) / 5, random_state=seed)
        answer = klump.aggregate(chain, 3, beta=beta, method=method)
        assert reference.same_partition(answer.labels, planted)


def test_blocks_of_a_large_sparse_chain():
    chain, planted = sparse_block_chain(250, 3, degree=12, kind="metastable", random_state=0)
    answer = klump.aggregate(chain, 3, beta=0.5, method="spectral")
    assert answer.cost <= klump.score(chain, planted).at(0.5) * 1.01


def test_nothing_is_random_and_more_groups_refine_fewer():
    chain = random_chain(60, "sparse", degree=4, random_state=3)
    before = np.zeros(60, dtype=int)
    for k in range(2, 9):
        first, second = (
            klump.aggregate(chain, k, method="spectral", random_state=seed, n_init=1 + seed)
            for seed in range(2)
        )
        assert np.array_equal(first.labels, second.labels)
        assert len(set(zip(first.labels.tolist(), before.tolist(), strict=True))) == k
        before = first.labels


def test_an_initial_map_is_returned_only_if_it_is_cheaper():
    chain, _ = block_chain((5, 5, 10), eps=0.8, random_state=5)
    found = klump.aggregate(chain, 3, beta=0.5, method="spectral")
    best = klump.aggregate(chain, 3, beta=0.5, method="sequential", n_init=3)
    assert best.cost < found.cost - 1e-6
    again = klump.aggregate(chain, 3, beta=0.5, method="spectral", initial=best.labels)
    assert np.array_equal(again.labels, best.labels)
    poor = np.arange(20) % 3
    again = klump.aggregate(chain, 3, beta=0.5, method="spectral", initial=poor)
    assert np.array_equal(again.labels, found.labels)
    assert again.trace == (pytest.approx(again.cost, abs=1e-12),)


def test_an_interrupted_search_returns_the_initial_map():
    def impatient(done, total, best):
        raise KeyboardInterrupt

    chain, labels = block_chain((10, 10, 20), eps=0.5, random_state=5)
    answer = klump.aggregate(chain, 3, method="spectral", initial=labels, progress=impatient)
    assert answer.interrupted
    assert reference.same_partition(answer.labels, labels)
    with pytest.raises(KeyboardInterrupt):
        klump.aggregate(chain, 3, method="spectral", progress=impatient)


def test_a_cut_between_identical_states_costs_nothing():
    for n, k in ((12, 5), (12, 12), (210, 2)):
        answer = klump.aggregate(np.full((n, n), 1 / n), k, beta=0.5, method="spectral")
        assert answer.n_states == k
        assert abs(answer.cost) <= 1e-12


# The order of the members


def path(weights):
    """Symmetric joint matrix of a lazy walk on a path."""
    return np.diag(weights, 1) + np.diag(weights, -1) + 0.1 * np.eye(len(weights) + 1)


@FORMS
def test_a_path_is_sorted_along_itself_and_cut_where_it_is_thin(form):
    order, negative = spectral.sort_by_eigenvector(form(path([1.0, 1.0, 0.01, 1.0, 1.0])))
    assert order.tolist() == [0, 1, 2, 3, 4, 5]
    assert negative == 3


@FORMS
@pytest.mark.parametrize("link", [0.0, 1e-200])
def test_components_are_sorted_by_mass(form, link):
    mass = np.full((7, 7), link)
    mass[np.ix_([1, 4], [1, 4])] = 1.0
    mass[np.ix_([0, 3, 6], [0, 3, 6])] = 1.0
    mass[2, 2] = mass[5, 5] = 0.1 * (link > 0)
    order, negative = spectral.sort_by_eigenvector(form(mass))
    assert order.tolist() == [0, 3, 6, 1, 4, 2, 5]
    assert negative == 3


def test_equal_entries_are_sorted_by_number():
    mass = np.where(np.arange(6)[:, None] % 2 == np.arange(6) % 2, 1.0, 0.01)
    order, negative = spectral.sort_by_eigenvector(mass)
    assert order.tolist() == [0, 2, 4, 1, 3, 5]
    assert negative == 3


@pytest.mark.parametrize("scale", [1.0, 1e-290, 1e-310])
def test_masses_may_be_tiny(scale):
    rng = np.random.default_rng(0)
    mass = path(rng.random(9)) * scale
    assert spectral.sort_by_eigenvector(mass)[0].tolist() in (list(range(10)), list(range(9, -1, -1)))


@pytest.mark.parametrize("n_blocks", [2, 5])
def test_lanczos_finds_the_same_eigenvector_as_the_dense_solver(rng, n_blocks):
    n = 150
    block = np.arange(n) % n_blocks
    mass = rng.random((n, n)) * np.where(block[:, None] == block, 1.0, 0.2 + 0.1 * (block[:, None] + block))
    normalized, root = spectral._normalise(mass + mass.T)
    exact = spectral._second_eigenvector(normalized, root)
    found = spectral._thick_restart_lanczos(normalized, root)
    assert abs(found @ exact) == pytest.approx(1.0, abs=1e-6)
    assert abs(found @ root) <= 1e-12


def test_lanczos_without_convergence_returns_a_ritz_vector(rng, monkeypatch):
    """Two restarts are too few for a long path, whose spectral gap is small."""
    monkeypatch.setattr(spectral, "_MAX_RESTARTS", 2)
    normalized, root = spectral._normalise(sparse.csr_array(path(np.ones(999))))
    found = spectral._thick_restart_lanczos(normalized, root)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert found @ (normalized @ found) > 0.5
