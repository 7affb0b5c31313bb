"""Memory layout of a search: the joint distribution by rows and by columns, in memory or memory-mapped."""

from __future__ import annotations

import errno
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
from klump import MarkovChain
from klump.chain import rows
from klump.search.kernels import descent
from klump.search.kernels.tables import NoA
from klump.search.method import Task
from klump.search.multilevel import multilevel
from klump.search.problem import make_problem, make_table
from klump.sources.random_chains import sparse_block_chain

AS_LARGE_AS_TRANSITIONS = ("indices", "mass", "out_indices", "out_mass")


@pytest.fixture
def mapped(tmp_path):
    """Write a chain to a folder and read it back memory-mapped."""

    def write(chain):
        _ = chain.stationary_distribution
        klump.write_chain(chain, tmp_path / "chain.mapped")
        return klump.read_chain(tmp_path / "chain.mapped")

    return write


def by_definition(joint, order):
    """Columns and rows of J permuted by the order: lists of (other state, mass) without zeros."""
    shown = joint[np.ix_(order, order)]
    columns = [[(i, shown[i, x]) for i in range(len(shown)) if shown[i, x] != 0.0] for x in range(len(shown))]
    place = np.argsort(order)
    # A row keeps the order of its transitions: that of the chain.
    rows = [[(place[j], joint[i, j]) for j in range(len(joint)) if joint[i, j] != 0.0] for i in order]
    return columns, rows


def listed(indptr, indices, mass):
    return [
        list(zip(indices[begin:end].tolist(), mass[begin:end].tolist(), strict=True))
        for begin, end in pairwise(indptr)
    ]


def require_as_defined(problem, joint, mu, order):
    columns, rows_ = by_definition(joint, order)
    assert listed(problem.indptr, problem.indices, problem.mass) == columns
    assert listed(problem.out_indptr, problem.out_indices, problem.out_mass) == rows_
    np.testing.assert_array_equal(problem.loops, np.diag(joint)[order])
    np.testing.assert_array_equal(problem.mu, mu[order])
    assert problem.indices.dtype == problem.out_indices.dtype == np.int32
    assert not any(array.flags.writeable for array in problem)


@given(
    chains.matrices(kinds=("sparse", "reversible", "nonreversible"), max_size=9),
    st.booleans(),
    st.booleans(),
    st.integers(1, 30),
    chains.seeds,
)
def test_layout_by_definition(tmp_path_factory, P, in_files, in_order, most_transitions, seed):
    """For any bucket size, in memory and memory-mapped."""
    order = np.random.default_rng(seed).permutation(len(P)) if in_order else None
    chain = MarkovChain(sparse.csr_array(P))
    mu = chain.stationary_distribution
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_BLOCK_TRANSITIONS", most_transitions)
        if in_files:
            folder = tmp_path_factory.mktemp("chains") / "chain.mapped"
            klump.write_chain(chain, folder)
            chain = klump.read_chain(folder)
        problem = make_problem(chain, order)
    require_as_defined(problem, mu[:, None] * P, mu, np.arange(len(P)) if order is None else order)


def test_arrays_of_the_size_of_the_transitions_are_memory_mapped(rng, mapped, tmp_path):
    chain = mapped(MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 30, rng))))
    files = sorted((tmp_path / "chain.mapped").iterdir())
    labels = chains.random_labels(30, 3, rng)
    for order in (None, rng.permutation(30)):
        problem = make_problem(chain, order)
        for name in AS_LARGE_AS_TRANSITIONS:
            assert rows.folder_of(getattr(problem, name)) == tmp_path / "chain.mapped", name
        blocks = make_table(problem, labels, 3).a.blocks
        assert rows.folder_of(blocks) == tmp_path / "chain.mapped"
        assert blocks.ctypes.data % 64 == 0
        assert isinstance(make_table(problem, labels, 3, keep_a=False).a, NoA)
    assert sorted((tmp_path / "chain.mapped").iterdir()) == files


def test_a_chain_in_memory_needs_no_files(rng):
    chain = MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 30, rng)))
    problem = make_problem(chain)
    assert all(rows.folder_of(array) is None for array in problem)
    assert np.shares_memory(problem.out_mass, chain.joint.data)
    assert np.shares_memory(problem.out_indices, chain.transition_matrix.indices)


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_masses_that_underflow_are_not_stored(mapped, monkeypatch, in_files, in_order):
    """The joint masses of a state with tiny stationary probability underflow to 0."""
    P = np.array([[1 - 1e-200, 1e-200, 0.0], [0.5, 0.5 - 1e-200, 1e-200], [1.0 - 1e-150, 1e-150, 0.0]])
    chain = MarkovChain(sparse.csr_array(P))
    mu = chain.stationary_distribution
    chain = mapped(chain) if in_files else chain
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 2)
    order = np.array([2, 0, 1])
    joint = mu[:, None] * P
    assert (joint == 0.0).sum() > (P == 0.0).sum()
    problem = make_problem(chain, order if in_order else None)
    require_as_defined(problem, joint, mu, order if in_order else np.arange(3))


@pytest.mark.parametrize("in_order", [False, True])
def test_int64_columns_are_cast_to_int32(rng, in_order):
    """SciPy uses int64 for many transitions; a search numbers states with int32."""
    P = chains.random_matrix("sparse", 12, rng)
    chain = MarkovChain(sparse.csr_array(P))
    mu = chain.stationary_distribution
    matrix = chain.transition_matrix
    matrix.indices, matrix.indptr = (array.astype(np.int64) for array in (matrix.indices, matrix.indptr))
    assert chain.joint.indices.dtype == np.int64
    order = rng.permutation(12) if in_order else None
    require_as_defined(
        make_problem(chain, order), mu[:, None] * P, mu, np.arange(12) if order is None else order
    )


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_the_same_search_in_files(mapped, monkeypatch, beta):
    chain, _ = sparse_block_chain(1500, 6, kind="noisy", random_state=1)
    expected = multilevel(Task(chain, 6, beta, seed=3))
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 1000)
    monkeypatch.setattr(rows, "MAX_BLOCK_ROWS", 100)
    found = multilevel(Task(mapped(chain), 6, beta, seed=3))
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.cost == pytest.approx(expected.cost, abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "sequential", "annealing"])
def test_the_same_answer_in_files(mapped, monkeypatch, method):
    chain, _ = sparse_block_chain(400, 4, kind="metastable", random_state=1)
    options = {"beta": 0.7, "method": method, "n_init": 2}
    expected = klump.aggregate(chain, 4, **options)
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 1000)
    found = klump.aggregate(mapped(chain), 4, **options)
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_lists_in_files_are_filled_alike(rng, mapped):
    P = chains.random_matrix("sparse", 30, rng)
    labels = chains.random_labels(30, 4, rng)
    chain = MarkovChain(sparse.csr_array(P))
    tables, sums = [], []
    for each in (chain, mapped(chain)):
        problem = make_problem(each)
        tables.append(make_table(problem, labels, 4))
        sums.append(descent.build(problem, tables[-1]))
    assert sums[0] == sums[1]
    for in_memory, in_files in zip(tables[0].a, tables[1].a, strict=True):
        np.testing.assert_array_equal(in_memory, in_files)


def test_full_disk_is_one_line(rng, mapped, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    chain = mapped(MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 12, rng))))
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(klump.KlumpError, match=r"chain\.mapped: .*No space left on device; free some space"):
        make_problem(chain, np.arange(12))


@pytest.mark.parametrize("lacking", ["system", "disk"])
def test_space_that_cannot_be_set_aside_is_filled(monkeypatch, tmp_path, lacking):
    def unable(*_):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    if lacking == "disk":
        monkeypatch.setattr(os, "posix_fallocate", unable, raising=False)
    else:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(rows, "_ZERO_CHUNK", 7)
    array = rows.empty_array((3, 2), np.float64, tmp_path)
    assert array.tolist() == np.zeros((3, 2)).tolist()
    array[2, 1] = 5.0
    assert array.sum() == 5.0
    assert list(tmp_path.iterdir()) == []
