"""Implied timescales against other packages, exact eigenvalues, and where eigenvalues alone lose all digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import chains
import klump
from klump.dynamics import timescales
from klump.errors import ConvergenceError, InvalidArgumentError


def birth_death(n, up, down):
    """Random walk on a path with reflecting ends: eigenvalues are 1 - up - down + 2 sqrt(up down) cos(pi j / n)."""
    diagonals = [np.full(n - 1, down), np.full(n, 1 - up - down), np.full(n - 1, up)]
    P = sparse.diags_array(diagonals, offsets=[-1, 0, 1]).tolil()
    P[0, 0], P[n - 1, n - 1] = 1 - up, 1 - down
    return sparse.csr_array(P)


def exact_birth_death(n, up, down):
    values = 1 - up - down + 2 * np.sqrt(up * down) * np.cos(np.pi * np.arange(1, n) / n)
    return np.sort(-1 / np.log(np.abs(values)))[::-1]


@pytest.mark.filterwarnings("ignore:Using eigenvalues with non-zero imaginary part")
@pytest.mark.parametrize("kind", ["dense", "skewed", "sparse", "decomposable", "nonreversible", "reversible"])
def test_timescales_equal_those_of_deeptime(kind, rng):
    analysis = pytest.importorskip("deeptime.markov.tools.analysis")
    for n in (3, 8, 25):
        P = chains.random_matrix(kind, n, rng)
        if kind == "decomposable":  # deeptime has errors of 1e-16 times the timescale
            P = chains.normalized(P + 1e-3)
        expected = np.sort(analysis.timescales(P))[::-1][1:]
        found = klump.MarkovChain(P).timescales()
        assert found.shape == (n - 1,)
        slow = expected > 0.05  # smaller ones belong to eigenvalues of 1e-9 and less
        np.testing.assert_allclose(found[slow], expected[slow], rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_timescales_equal_those_of_pydtmc(rng):
    pydtmc = pytest.importorskip("pydtmc")
    P = chains.random_matrix("reversible", 6, rng)
    expected = np.sort(pydtmc.MarkovChain(P.tolist()).implied_timescales)[::-1][1:]
    np.testing.assert_allclose(klump.MarkovChain(P).timescales(), expected, rtol=1e-8)


@pytest.mark.parametrize("coupling", [1e-4, 1e-9, 1e-14])
def test_slow_timescales_are_relatively_accurate(coupling):
    """Two pairs of states: by symmetry lambda = 1 - 2 coupling exactly, and t = -1 / ln lambda."""
    P = np.kron(np.eye(2), [[0.5, 0.5], [0.5, 0.5]]) * (1 - coupling)
    P += np.kron([[0, 1], [1, 0]], [[0.5, 0.5], [0.5, 0.5]]) * coupling
    for given in (P, P[np.ix_([2, 0, 3, 1], [2, 0, 3, 1])]):
        chain = klump.MarkovChain._from_parts(given, None, None, np.arange(4), ())
        assert chain.timescales(1)[0] == pytest.approx(-1 / np.log1p(-2 * coupling), rel=1e-11)


def test_a_slow_chain_without_reversibility_is_accurate(rng):
    """Three blocks in a cycle: the reduced generator has eigenvalues c (1 - exp(2 pi i / 3)) exactly."""
    c, block = 1e-10, np.full((3, 3), 1 / 3)
    P = np.kron(np.eye(3), block) * (1 - c) + np.kron(np.roll(np.eye(3), 1, axis=1), block) * c
    rate = c * (1 - np.exp(2j * np.pi / 3))
    expected = -2 / np.log1p(abs(rate) ** 2 - 2 * rate.real)
    chain = klump.MarkovChain._from_parts(P, None, None, np.arange(9), ())
    np.testing.assert_allclose(chain.timescales(2), expected, rtol=1e-10)


def test_periodic_chains_have_infinite_timescales():
    ring = np.roll(np.eye(4), 1, axis=1)
    assert np.isinf(klump.MarkovChain(ring).timescales()).all()
    two = klump.MarkovChain([[0, 0.5, 0, 0.5], [0.3, 0, 0.7, 0], [0, 0.2, 0, 0.8], [0.9, 0, 0.1, 0]])
    assert np.isinf(two.timescales()).tolist() == [True, False, False]


def test_reducible_chains_have_one_infinite_timescale_per_further_closed_class():
    chain = klump.MarkovChain([[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(chain.timescales(), [np.inf, 1 / np.log(2)])
    assert klump.MarkovChain([[0.5, 0.5], [0, 1]]).timescales() == pytest.approx([1 / np.log(2)])


def test_sizes_at_the_edge():
    assert klump.MarkovChain([[1.0]]).timescales().shape == (0,)
    chain = klump.MarkovChain([[0.9, 0.1], [0.3, 0.7]])
    assert chain.timescales(0).shape == (0,)
    np.testing.assert_allclose(chain.timescales(5), -1 / np.log(0.6))
    with pytest.raises(InvalidArgumentError, match="n=-1"):
        chain.timescales(-1)
    np.testing.assert_allclose(klump.MarkovChain([[0.5, 0.5], [0.5, 0.5]]).timescales(), 0, atol=0.03)


@pytest.fixture
def low_limits(monkeypatch):
    monkeypatch.setattr(timescales, "DENSE_LIMIT", 50)


@pytest.mark.parametrize(("up", "down"), [(0.3, 0.2), (0.25, 0.25), (0.5, 0.5)])
def test_sparse_chains_by_arpack(up, down, low_limits):
    found = klump.MarkovChain(birth_death(60, up, down)).timescales(5)
    np.testing.assert_allclose(found, exact_birth_death(60, up, down)[:5], rtol=1e-8)


def test_sparse_chains_by_inverse_iteration(low_limits, monkeypatch):
    """Where ARPACK does not converge: 400 states, whose slow eigenvalues are 1 - 3e-5, 1 - 1e-4, ..."""
    monkeypatch.setattr(timescales, "_RESTARTS", 1)
    found = klump.MarkovChain(birth_death(400, 0.25, 0.25))
    np.testing.assert_allclose(found.timescales(5), exact_birth_death(400, 0.25, 0.25)[:5], rtol=1e-9)


def test_sparse_chains_that_do_not_converge_are_errors(low_limits, monkeypatch):
    monkeypatch.setattr(timescales, "_eigenvalues", lambda *_, **__: None)
    with pytest.raises(ConvergenceError, match="did not converge"):
        klump.MarkovChain(birth_death(60, 0.3, 0.2)).timescales(2)
    with pytest.raises(InvalidArgumentError, match="n=20 is too large"):
        klump.MarkovChain(birth_death(60, 0.3, 0.2)).timescales(20)


def test_large_sparse_reducible_chains(low_limits):
    P = sparse.block_diag([birth_death(60, 0.3, 0.2)] * 3, format="csr")
    chain = klump.MarkovChain(P)
    assert chain.timescales(2).tolist() == [np.inf, np.inf]
    with pytest.raises(InvalidArgumentError, match="not irreducible"):
        chain.timescales(3)


def queue(n, up, down):
    """Random walk whose stationary masses (up / down)^i underflow."""
    P = birth_death(n, up, down)
    P = P.toarray() if sparse.issparse(P) else P
    assert (up / down) ** (n - 1) == 0
    return P


@pytest.mark.parametrize(("n", "up", "down"), [(60, 1e-8, 0.5), (1200, 0.25, 0.5)])
def test_timescales_where_masses_underflow(n, up, down):
    P = queue(n, up, down)
    values = 1 - up - down + 2 * np.sqrt(up * down) * np.cos(np.pi * np.arange(1, n) / n)
    found = klump.MarkovChain(P).timescales()
    np.testing.assert_allclose(found, np.sort(-1 / np.log(np.abs(values)))[::-1], rtol=1e-8)
    for labels in (np.arange(n) > 0, np.arange(n) > n // 2):
        answer = klump.Aggregation.from_labels(P, labels.astype(int))
        assert str(answer)
        assert len(answer.to_dict()["notes"]) == len(answer.notes)


def test_sparse_timescales_where_masses_underflow():
    """Two states that alternate slowly, and a long queue behind the second: its first states decide."""

    def matrix(n):
        P = queue(n, 0.02, 0.9) if n > 200 else birth_death(n, 0.02, 0.9).toarray()
        P[:2, :3] = [[0.999, 0.001, 0], [0.001, 0.979, 0.02]]
        return P

    chain = klump.MarkovChain(sparse.csr_array(matrix(2500)))
    assert chain.is_sparse
    assert chain.stationary_distribution.min() == 0
    start = matrix(40)
    value = np.linalg.eigvalsh(np.sqrt(start * start.T))[-2]
    assert chain.timescales(1)[0] == pytest.approx(-1 / np.log(value), rel=1e-8)
    # Eigenvalues of the queue alone are too dense for ARPACK.
    with pytest.raises(ConvergenceError, match="did not converge"):
        klump.MarkovChain(sparse.csr_array(queue(2500, 0.02, 0.9))).timescales(1)


def test_detailed_balance_is_checked_where_masses_underflow():
    """A cycle of three states at the far end, which is left and entered with masses that underflow."""
    P = queue(18, 1e-30, 0.5)
    P[15:, 15:] = [[0, 0.4, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]]
    chain = klump.MarkovChain(P)
    assert chain.is_reversible
    assert chain.stationary_distribution[15:].max() == 0
    block = np.linalg.eigvals(P[15:, 15:])
    expected = -1 / np.log(np.abs(block).max())
    assert chain.timescales(1)[0] == pytest.approx(expected, rel=1e-5)


def test_notes_are_complete_where_timescales_fail(monkeypatch):
    def fail(*_):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(timescales, "estimate_slowest", fail)
    P = chains.random_matrix("reversible", 6, np.random.default_rng(0))
    assert str(klump.Aggregation.from_labels(P, [0, 0, 0, 1, 1, 1]))
