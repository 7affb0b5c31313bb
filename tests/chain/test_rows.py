"""Row blocks: no result depends on the block boundaries, or on whether the transitions are memory-mapped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chains
import klump
import reference
from klump import MarkovChain
from klump.aggregation.lumpable import is_lumpable
from klump.chain import rows, stationary
from klump.chain.kernels import flows


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few transitions, so that small chains have many."""
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 7)
    monkeypatch.setattr(rows, "MAX_BLOCK_ROWS", 3)


@pytest.fixture
def mapped(tmp_path):
    """Write a matrix to a folder and read it back, as a chain whose transitions stay there."""

    def write(P, name="chain.mapped"):
        klump.write_chain(MarkovChain(sparse.csr_array(P)), tmp_path / name)
        return klump.read_chain(tmp_path / name)

    return write


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 9), chains.seeds)
def test_row_blocks_partition_the_matrix(n, most_rows, most_transitions, seed):
    rng = np.random.default_rng(seed)
    matrix = sparse.csr_array(rng.random((n, n)) * (rng.random((n, n)) < 0.4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_BLOCK_TRANSITIONS", most_transitions)
        patch.setattr(rows, "MAX_BLOCK_ROWS", most_rows)
        blocks = list(rows.row_blocks(matrix))
        again = rows.stack_row_blocks((block for _, block in blocks), matrix)
        row, col, value = (np.concatenate(parts) for parts in zip(*rows.entries(matrix), strict=True))
    covered = [i for each, _ in blocks for i in range(each.start, each.stop)]
    assert covered == list(range(n))
    for each, block in blocks:
        assert np.array_equal(block.toarray(), matrix.toarray()[each])
        assert 1 <= block.shape[0] <= max(1, most_rows)
        assert block.nnz <= most_transitions or block.shape[0] == 1
    assert np.array_equal(again.toarray(), matrix.toarray())
    assert np.array_equal(matrix.toarray()[row, col], value)
    assert len(value) == matrix.nnz


def test_dense_blocks_are_views(rng, monkeypatch):
    monkeypatch.setattr(rows, "MAX_BLOCK_TRANSITIONS", 10)
    P = rng.random((5, 4))
    blocks = list(rows.row_blocks(P))
    assert [covered for covered, _ in blocks] == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert all(np.shares_memory(block, P) for _, block in blocks)
    assert np.array_equal(np.concatenate([block for _, block in blocks]), P)


def test_total_agrees_with_sum(rng):
    matrices = [
        sparse.csr_array(rng.random((6, 6)) * (rng.random((6, 6)) < density))
        for density in (0.1, 0.9, 0.2, 0.2, 0.5)
    ]
    np.testing.assert_allclose(
        rows.total(iter(matrices)).toarray(), sum(m.toarray() for m in matrices), rtol=1e-15
    )


@pytest.mark.parametrize("kind", chains.KINDS)
def test_quantities_do_not_depend_on_blocks_or_memory_maps(kind, rng, small_blocks, mapped):
    P = chains.random_matrix(kind, 12, rng)
    labels = chains.random_labels(12, 3, rng)
    soft = chains.random_map(12, 3, rng)
    mu = reference.stationary_law(P)
    joint = reference.joint_of_states(P, mu)
    for chain in (MarkovChain(sparse.csr_array(P)), mapped(P)):
        np.testing.assert_allclose(chain.stationary_distribution, mu, rtol=1e-12)
        np.testing.assert_allclose(chain.joint.toarray(), joint, rtol=1e-12)
        assert chain.entropy_rate == pytest.approx(reference.conditional_entropy(joint), abs=1e-12)
        assert chain.redundancy_rate == pytest.approx(reference.mutual_information(joint), abs=1e-12)
        assert chain.is_reversible == reference.is_reversible(P, mu)
        for given_map, W in ((labels, reference.indicator(labels, 3)), (soft, soft)):
            costs = klump.score(chain, given_map)
            assert costs.lumpability == pytest.approx(reference.lumpability(P, mu, W), abs=1e-12)
            assert costs.predictability == pytest.approx(reference.predictability(P, mu, W), abs=1e-12)
            answer = klump.Aggregation.from_labels(chain, given_map)
            np.testing.assert_allclose(
                answer.chain.transition_matrix, reference.aggregated_matrix(P, mu, W), rtol=1e-12
            )
        epsilon = klump.Aggregation.from_labels(chain, labels).bisimulation.epsilon
        assert epsilon == pytest.approx(reference.exact_epsilon(P, mu, labels, 3), abs=1e-12)


@pytest.mark.parametrize("kind", chains.KINDS)
def test_stationary_distribution_does_not_depend_on_blocks(kind, rng, monkeypatch, small_blocks):
    """All methods for large chains, on a small one."""
    monkeypatch.setattr(stationary, "_DENSE_LIMIT", 4)
    monkeypatch.setattr(stationary, "_FULL_LIMIT", 4)
    P = chains.random_matrix(kind, 24, rng)
    law = MarkovChain(sparse.csr_array(P)).stationary_distribution
    np.testing.assert_allclose(law, reference.stationary_law(P), rtol=1e-10)


@pytest.mark.parametrize("scarce", ["by size", "by error"])
def test_slow_chain_that_does_not_fit_in_memory(rng, monkeypatch, mapped, small_blocks, scarce):
    """Slow mixing without nearly closed blocks, with sparse elimination and multilevel aggregation ruled out."""
    n = 40
    inside = rng.random((n, n)) * (np.arange(n)[:, None] % 2 == np.arange(n)[None, :] % 2)
    P = chains.normalized(inside * 0.98 + 0.02 * n * np.roll(np.eye(n), 1, axis=1) * rng.random((n, n)))
    chain = mapped(P)
    monkeypatch.setattr(stationary, "_DENSE_LIMIT", 4)
    jumps, _ = stationary._jump_chain(chain.transition_matrix)

    def no_memory(*_):
        raise MemoryError if scarce == "by error" else AssertionError("this copies the chain")

    monkeypatch.setattr("klump.chain.kernels.sparse_elimination.reduce_chain", no_memory)
    monkeypatch.setattr(stationary, "_multilevel_cycle", no_memory)
    if scarce == "by size":
        monkeypatch.setattr(stationary, "_MAX_COPIED", 10)
    assert stationary._eliminate_sparse(jumps, stationary._MAX_WORK) is None
    mass, converged = stationary._iterate_slowly(jumps, np.full(n, 1 / n))
    assert converged
    np.testing.assert_allclose(np.abs(mass @ jumps - mass).sum(), 0.0, atol=1e-13)
    np.testing.assert_allclose(chain.stationary_distribution, reference.stationary_law(P), rtol=1e-10)


@given(chains.matrices(kinds=("sparse", "reversible", "nonreversible"), max_size=9), chains.seeds)
def test_balance_residual_by_definition(P, seed):
    mass = np.random.default_rng(seed).dirichlet(np.ones(len(P)))
    matrix, flow = sparse.csr_array(P), mass[:, None] * P
    found = flows.balance_residual(matrix.indptr, matrix.indices, matrix.data, mass, np.inf)
    assert found == pytest.approx(np.abs(flow - flow.T).sum(), rel=1e-12, abs=1e-15)


def test_balance_residual_stops_at_the_limit(rng):
    matrix = sparse.csr_array(chains.random_matrix("nonreversible", 50, rng))
    mass = np.full(50, 0.02)
    everything = flows.balance_residual(matrix.indptr, matrix.indices, matrix.data, mass, np.inf)
    stopped = flows.balance_residual(matrix.indptr, matrix.indices, matrix.data, mass, 1e-10)
    assert 1e-10 < stopped < 0.5 * everything


# Arrays derived from a mapped chain


def test_matrices_derived_from_a_mapped_chain_are_mapped(rng, small_blocks, mapped, tmp_path):
    P = chains.random_matrix("sparse", 12, rng)
    P = np.block([[P, np.zeros((12, 2))], [np.full((2, 14), 1 / 14)]])  # two transient states
    chain = mapped(P)
    folder = tmp_path / "chain.mapped"
    files = sorted(folder.iterdir())
    part = MarkovChain(chain, restrict="largest")
    again = MarkovChain(chain, restart=0.1, initial=3, restrict="largest")
    jumps, _ = stationary._jump_chain(part.transition_matrix)
    for matrix in (
        chain.transition_matrix,
        part.transition_matrix,
        again.transition_matrix,
        part.joint,
        jumps,
    ):
        assert rows.folder_of(matrix) == folder
    assert sorted(folder.iterdir()) == files
    assert rows.folder_of(sparse.csr_array(P)) is None
    assert not any(array.flags.writeable for array in (part.joint.data, part.transition_matrix.indices))
    np.testing.assert_array_equal(part.transition_matrix.toarray(), P[:12, :12])
    in_memory = MarkovChain(sparse.csr_array(P), restart=0.1, initial=3, restrict="largest")
    np.testing.assert_array_equal(again.transition_matrix.toarray(), in_memory.transition_matrix.toarray())
    assert (again.states, again.applied) == (in_memory.states, in_memory.applied)


def test_joint_shares_the_index_arrays(rng):
    chain = MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 9, rng)))
    assert np.shares_memory(chain.joint.indices, chain.transition_matrix.indices)
    assert not np.shares_memory(chain.joint.data, chain.transition_matrix.data)


def test_a_deleted_folder_does_no_harm(rng, mapped, tmp_path):
    chain = mapped(chains.random_matrix("sparse", 9, rng))
    for file in (tmp_path / "chain.mapped").iterdir():
        file.unlink()
    (tmp_path / "chain.mapped").rmdir()
    assert chain.joint.sum() == pytest.approx(1.0)


def test_full_disk_is_reported_in_one_line(rng, mapped, monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

    chain = mapped(chains.random_matrix("sparse", 9, rng))
    _ = chain.stationary_distribution
    monkeypatch.setattr(rows, "_temporary_file", lambda folder: Full())
    with pytest.raises(klump.KlumpError, match=r"chain\.mapped: .*No space left on device; free some space"):
        _ = chain.joint


def test_lumpability_by_blocks(rng, small_blocks, mapped):
    block = rng.dirichlet(np.ones(3), size=3)
    labels = chains.random_labels(12, 3, rng)
    size = np.bincount(labels)
    P = block[np.ix_(labels, labels)] / size[labels]
    P = P * (1 - 1e-6) + 1e-6 * np.eye(12)
    chain = mapped(P)
    assert is_lumpable(chain, labels)
    assert not is_lumpable(chain, np.roll(labels, 1))
    shifted = P.copy()
    shifted[0, np.flatnonzero(labels != labels[0])[0]] += 1e-8
    shifted[0, 0] -= 1e-8
    other = mapped(shifted, "other.mapped")
    assert not is_lumpable(other, labels, tolerance=1e-9)
    assert is_lumpable(other, labels, tolerance=1e-7)
    absorbing = mapped(np.array([[1.0, 0, 0], [0.5, 0, 0.5], [0, 0, 1.0]]), "absorbing.mapped")
    assert is_lumpable(absorbing, [0, 1, 2])
    assert not is_lumpable(absorbing, [0, 0, 1])  # of the first group only one state leads to the second


# A chain of a chain


def test_chain_of_a_chain_shares_cached_quantities(rng):
    chain = MarkovChain(sparse.csr_array(chains.random_matrix("sparse", 9, rng)), list("abcdefghi"))
    law = chain.stationary_distribution
    again = MarkovChain(chain, restrict="largest")  # irreducible already
    assert again.transition_matrix is chain.transition_matrix
    assert again.stationary_distribution is law
    assert again.states == chain.states
    renamed = MarkovChain(chain, range(9, 18))
    assert renamed.states == tuple(range(9, 18))


def test_changed_chain_of_a_chain_has_its_own_stationary_distribution(rng):
    chain = MarkovChain(chains.random_matrix("dense", 5, rng))
    _ = chain.stationary_distribution
    again = MarkovChain(chain, restart=0.5, initial=0)
    np.testing.assert_allclose(
        again.stationary_distribution, reference.stationary_law(again.transition_matrix), rtol=1e-12
    )
