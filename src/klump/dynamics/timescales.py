"""Implied timescales -1 / ln|lambda| of the eigenvalues of a transition matrix, without the stationary one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.chain import MarkovChain
from klump.chain.connectivity import period
from klump.dynamics.killed import DENSE_LIMIT, factorise
from klump.dynamics.symmetric_form import has_symmetric_form, symmetric_form, underflows
from klump.errors import ConvergenceError, InvalidArgumentError
from klump.parallel import one_thread

Floats = NDArray[np.float64]

# Default number of timescales of a chain that is too large for all of them.
_DEFAULT = 10
# Distance |1 - lambda| below which eigenvalues of I - P are computed from its group inverse, with small relative error.
_SLOW = 1e-4
# Distance from the unit circle below which an eigenvalue may be one of a periodic chain.
_PERIODIC = 1e-10
# Restarts of ARPACK, and its smallest number of Lanczos vectors.
_RESTARTS, _VECTORS = 300, 40
# Largest residual |A v - lambda v| of an eigenvector of norm 1, relative to the largest |lambda|.
_MAX_RESIDUAL = 1e-8
# Largest chain whose timescales are all computed for an estimate, in states: 10 ms.
_SMALL = 100
# Most transitions of a chain whose slowest timescale is estimated, and restarts for it: about a second.
_MAX_ESTIMATED, _FEW_RESTARTS = 1_000_000, 20
# Work limit of the factorisation for an estimate, in row entries visited: a fraction of a second.
_LITTLE_WORK = 20_000_000
# Work limit of the factorisation for inverse iteration, in row entries visited: some seconds.
_MAX_WORK = 2_000_000_000


def timescales(chain: MarkovChain, n: int | None) -> Floats:
    """The ``n`` slowest timescales of a chain, in its steps; see :meth:`klump.MarkovChain.timescales`."""
    size = chain.n_states
    if n is not None:
        n = check_count("n", n, least=0)
    with one_thread():
        if size <= DENSE_LIMIT:
            return first_timescales(all_timescales(chain), n)
        wanted = min(_DEFAULT if n is None else n, size - 1)
        if wanted > DENSE_LIMIT // 10:
            raise InvalidArgumentError(
                f"is too large for a chain of {size:,} states",
                argument="n",
                value=n,
                remedy=f"ask for at most {DENSE_LIMIT // 10} timescales, or aggregate the chain first",
            )
        if not chain.is_irreducible:
            return _sparse_reducible(chain, wanted)
        return first_timescales(_sparse_timescales(chain, wanted), wanted)


def estimate_slowest(chain: MarkovChain) -> float | None:
    """The slowest timescale of an irreducible chain if that takes little time, else None.

    Up to 100 states all eigenvalues are computed; up to 1,000,000 transitions the eigenvalue nearest to 1 by inverse
    iteration, where elimination is cheap, or the one of largest modulus by a few restarts of ARPACK.
    """
    if chain.n_states <= _SMALL:
        return float(timescales(chain, 1)[0]) if chain.n_states > 1 else None
    if chain.n_transitions > _MAX_ESTIMATED:
        return None
    with one_thread():
        found = _inverse_timescales(chain, 1, _LITTLE_WORK, _FEW_RESTARTS)
        if found is None:
            symmetric = _is_symmetrised(chain)
            values = _eigenvalues(
                _deflate(chain), chain.n_states, 1, symmetric=symmetric, restarts=_FEW_RESTARTS
            )
            found = None if values is None else from_eigenvalues(values)
    return None if found is None else float(found.max())


def first_timescales(found: Floats, n: int | None) -> Floats:
    """The ``n`` slowest timescales, slowest first; all of them if ``n`` is None."""
    if n is not None:
        n = check_count("n", n, least=0)
    ordered = np.sort(found)[::-1]
    return np.ascontiguousarray(ordered if n is None else ordered[:n])


def dense_timescales(matrix: Floats, mu: Floats | None = None) -> Floats:
    """All timescales of an irreducible matrix, in any order; ``mu`` if the chain is reversible.

    Entries may be negative, as long as rows sum to 1.

    >>> dense_timescales(np.array([[0.9, 0.1], [0.3, 0.7]])).round(6)
    array([1.957615])
    """
    n = len(matrix)
    if n == 1:
        return np.zeros(0)
    if mu is not None and not has_symmetric_form(matrix, mu):
        mu = None
    values = np.linalg.eigvals(matrix) if mu is None else np.linalg.eigvalsh(symmetric_form(matrix))
    values = np.delete(values, np.argmin(np.abs(values - 1.0)))
    found = from_eigenvalues(values)
    slow = np.abs(1.0 - values) < _SLOW
    if slow.any() and (matrix >= 0.0).all():
        rates = 1.0 / _group_inverse_eigenvalues(matrix, mu)[: int(slow.sum())]
        found[slow] = _from_rates(rates)
    on_circle = (np.abs(values) > 1.0 - _PERIODIC) & ~slow
    if on_circle.any():
        order = np.argsort(-np.where(on_circle, np.abs(values), -1.0))
        found[order[: period(matrix) - 1]] = np.inf
    return found


def from_eigenvalues(values: NDArray[Any]) -> Floats:
    """Timescales -1 / ln|lambda|; those of a modulus that rounding lifts to 1 or more are the largest below infinity.

    >>> from_eigenvalues(np.array([0.5, -0.5, 0.0])).round(6)
    array([1.442695, 1.442695, 0.      ])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-1.0 / np.log(np.minimum(np.abs(values), np.nextafter(1.0, 0.0))))


def _from_rates(rates: NDArray[Any]) -> Floats:
    """Timescales -1 / ln|1 - rate|, without cancellation if the rate is small.

    >>> _from_rates(np.array([1e-12, 0.5, 1.0])).round(6).tolist()
    [999999999999.5, 1.442695, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(-2.0 / np.log1p(np.abs(rates) ** 2 - 2.0 * rates.real)))


def _group_inverse_eigenvalues(matrix: Floats, mu: Floats | None) -> NDArray[Any]:
    """Eigenvalues 1 / (1 - lambda) of the group inverse of I - P, largest first.

    The group inverse is (I - 1 mu^T) N (I - 1 mu^T), with N the inverse of I - P + e_s e_s^T, a chain that ends at s.
    """
    from klump.chain.stationary import stationary_distribution

    mass = stationary_distribution(matrix) if mu is None else mu
    leak = np.zeros(len(mass))
    leak[np.argmax(mass)] = 1.0
    factors = factorise(matrix, leak)
    assert factors is not None
    inverse = factors.solve(np.eye(len(mass)))
    inverse -= (inverse.sum(axis=1))[:, None] * mass
    inverse -= mass @ inverse
    values = np.linalg.eigvals(inverse) if mu is None else np.linalg.eigvalsh(symmetric_form(inverse))
    return np.asarray(values[np.argsort(-np.abs(values))])


def all_timescales(chain: MarkovChain) -> Floats:
    """All timescales of a small chain: those of its communicating classes."""
    matrix = chain.transition_matrix
    if chain.is_irreducible:
        dense = matrix.toarray() if isinstance(matrix, sparse.csr_array) else np.asarray(matrix)
        return dense_timescales(dense, chain.stationary_distribution if chain.is_reversible else None)
    classes = chain.classes
    parts = [np.full(int(classes.closed.sum()) - 1, np.inf)]
    for number in range(classes.n_classes):
        members = classes.members(number)
        block: Any = matrix[members][:, members]
        block = block.toarray() if sparse.issparse(block) else block
        parts.append(
            dense_timescales(block) if classes.closed[number] else from_eigenvalues(np.linalg.eigvals(block))
        )
    return np.concatenate(parts)


def _sparse_reducible(chain: MarkovChain, n: int) -> Floats:
    """Refuse a large reducible chain, unless the infinite timescales of its closed classes are enough."""
    infinite = int(chain.classes.closed.sum()) - 1
    if infinite >= n:
        return np.full(n, np.inf)
    raise InvalidArgumentError(
        f"the chain is not irreducible and has {chain.n_states:,} states: its timescales are those of its "
        f"{chain.classes.n_classes:,} classes",
        remedy="restrict it to one of them, or give it a restart",
    )


def _sparse_timescales(chain: MarkovChain, n: int) -> Floats:
    """Timescales of the largest |lambda| by ARPACK; of the lambda nearest to 1 by inverse iteration if that fails."""
    values = _eigenvalues(_deflate(chain), chain.n_states, n, symmetric=_is_symmetrised(chain))
    if values is not None:
        return _mark_periodic(chain.transition_matrix, values)
    found = _inverse_timescales(chain, n, _MAX_WORK)
    if found is None:
        raise ConvergenceError(
            f"{n} timescales of {chain.n_states:,} states did not converge",
            remedy="ask for fewer, or for those of an aggregated or long-time chain",
        )
    return found


def _inverse_timescales(
    chain: MarkovChain, n: int, max_work: int, restarts: int = _RESTARTS
) -> Floats | None:
    """Timescales of the lambda nearest to 1 by ARPACK on the group inverse of I - P; None if that takes too long."""
    mu = chain.stationary_distribution
    if chain.is_reversible and underflows(mu):
        return None
    root = np.sqrt(mu) if chain.is_reversible else np.ones(len(mu))
    leak = np.zeros(len(mu))
    leak[np.argmax(mu)] = 1.0
    factors = factorise(chain.transition_matrix, leak, max_work)
    if factors is None:
        return None

    def invert(x: Floats) -> Floats:
        x = np.ravel(x) / root
        found = factors.solve((x - mu @ x)[:, None])[:, 0]
        return np.asarray(root * (found - mu @ found))

    values = _eigenvalues(invert, len(mu), n, symmetric=chain.is_reversible, restarts=restarts)
    if values is None:
        return None
    return _from_rates(1.0 / values)


def _deflate(chain: MarkovChain) -> Callable[[Floats], Floats]:
    """Product with P without its stationary eigenvalue; symmetric for a reversible chain."""
    mu, matrix = chain.stationary_distribution, chain.transition_matrix
    if not _is_symmetrised(chain):
        return lambda x: np.asarray(matrix @ np.ravel(x) - mu @ np.ravel(x))
    root = np.sqrt(mu)
    if underflows(mu):
        similar = symmetric_form(matrix)
        return lambda x: np.asarray(similar @ np.ravel(x) - root * (root @ np.ravel(x)))
    return lambda x: np.asarray(root * (matrix @ (np.ravel(x) / root)) - root * (root @ np.ravel(x)))


def _is_symmetrised(chain: MarkovChain) -> bool:
    return chain.is_reversible and has_symmetric_form(chain.transition_matrix, chain.stationary_distribution)


def _eigenvalues(
    apply: Any, size: int, n: int, *, symmetric: bool, restarts: int = _RESTARTS
) -> NDArray[Any] | None:
    """The ``n`` (or one more) eigenvalues of largest modulus by ARPACK; None if they do not converge."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, eigsh

    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    solve = eigsh if symmetric else eigs
    # One more, as a complex pair at the end would be cut in two.
    k = min(n + (not symmetric), size - 2)
    start = np.random.default_rng(0).normal(size=size)
    vectors = min(size - 1, max(2 * k + 1, _VECTORS))
    try:
        values, found = solve(operator, k, which="LM", v0=start, ncv=vectors, maxiter=restarts)
    except ArpackError:
        return None
    residual = np.column_stack([_apply_complex(apply, v) for v in found.T]) - found * values
    norm = np.linalg.norm(residual, axis=0)
    return np.asarray(values) if (norm <= _MAX_RESIDUAL * np.abs(values).max()).all() else None


def _apply_complex(apply: Any, vector: NDArray[Any]) -> NDArray[Any]:
    return apply(vector.real) + 1j * apply(vector.imag) if np.iscomplexobj(vector) else apply(vector)


def _mark_periodic(matrix: Any, values: NDArray[Any]) -> Floats:
    found = from_eigenvalues(values)
    on_circle = np.abs(values) > 1.0 - _PERIODIC
    if on_circle.any() and (cycle := period(matrix)) > 1:
        order = np.argsort(-np.abs(values))
        found[order[: cycle - 1]] = np.inf
    return found
