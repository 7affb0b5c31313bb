"""The Hummer-Szabo projection: an aggregated chain that keeps first-passage times and slow timescales."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain
from klump.chain.quantities import read_only
from klump.dynamics import krylov
from klump.dynamics.chapman_kolmogorov import check_masses
from klump.dynamics.killed import factorise
from klump.dynamics.passage import group_inverse_times
from klump.dynamics.timescales import dense_timescales, first_timescales
from klump.errors import ConvergenceError, InvalidArgumentError, Setting

Floats = NDArray[np.float64]

# Negative entries above this are rounding errors of 0, and are set to 0.
_ROUNDING = 1e-12
# Work limit of sparse elimination, in row entries visited: a second.
_MAX_WORK = 200_000_000
# Largest residual max|A x - b| of an iterative solution; b is at most 1.
_MAX_RESIDUAL = 1e-10
# Largest condition number of the projection, after equilibration: above it the groups are linearly dependent.
_MAX_CONDITION = 1e14


@dataclass(frozen=True, eq=False)
class LongTimeChain:
    """The Hummer-Szabo projection of a chain to groups.

    With Z = (I - P + 1 mu^T)^-1 and nu the masses of the groups, its matrix is

        Q = I + 1 nu^T - (W^T diag(mu) Z W)^-1 diag(nu).

    Rows of Q sum to 1, and nu Q = nu. Its mean first-passage time from group y to group z is exactly the weighted one
    of the original chain, t[y, z] - t[z, z] with t[y, z] = sum_ij U[y, i] U[z, j] m[i, j]: m[i, j] is the mean
    first-passage time from state i to state j, and U = diag(1/nu) W^T diag(mu) has the stationary distributions within
    the groups as rows. All of this holds for soft maps, too. For a reversible chain and a partition no timescale
    exceeds the original one of the same rank.

    Entries of Q are mostly, not always, non-negative: :attr:`is_stochastic` tells, and nothing is clipped, except
    rounding errors above -1e-12. :meth:`timescales` and :meth:`first_passage_times` are computed from Q in both cases;
    what needs probabilities, like :meth:`simulate`, raises an error that names the negative entry.

    Usually made by :attr:`klump.Aggregation.long_time_chain`.

    Examples
    --------
    >>> import klump
    >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
    >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
    >>> for chain in (answer.original, answer.chain, answer.long_time_chain):
    ...     print(chain.timescales(1).round(2))
    [9.49]
    [4.94]
    [8.73]
    >>> answer.long_time_chain.is_stochastic
    True
    """

    transition_matrix: Floats
    """The k x k matrix Q, read-only."""
    stationary_distribution: Floats
    """Masses nu of the groups, read-only."""

    @property
    def n_states(self) -> int:
        """Number of groups."""
        return len(self.transition_matrix)

    @property
    def states(self) -> tuple[int, ...]:
        """Numbers of the groups."""
        return tuple(range(self.n_states))

    @cached_property
    def most_negative(self) -> float:
        """The most negative entry of Q; 0 if there is none."""
        return min(0.0, float(self.transition_matrix.min()))

    @property
    def is_stochastic(self) -> bool:
        """Whether Q has no negative entry, so that it is a Markov chain."""
        return self.most_negative == 0.0

    @cached_property
    def chain(self) -> MarkovChain:
        """The projection as a MarkovChain.

        Raises
        ------
        InvalidArgumentError
            If Q has a negative entry.
        """
        if not self.is_stochastic:
            y, z = np.unravel_index(int(np.argmin(self.transition_matrix)), self.transition_matrix.shape)
            raise InvalidArgumentError(
                f"the long-time chain is no Markov chain: its entry from group {y} to group {z} is "
                f"{self.most_negative:.3g}",
                remedy=(
                    "aggregate to fewer groups, or with a larger ",
                    Setting("lag"),
                    "; timescales and first-passage times need no Markov chain",
                ),
            )
        return MarkovChain(self.transition_matrix)

    def timescales(self, n: int | None = None) -> Floats:
        """Implied timescales ``-1 / ln|lambda|``, slowest first, as :meth:`klump.MarkovChain.timescales`."""
        return first_timescales(dense_timescales(self.transition_matrix), n)

    def first_passage_times(self, target: Any = None, source: Any = None) -> Any:
        """Mean first-passage times in steps, as :meth:`klump.MarkovChain.first_passage_times`."""
        if self.is_stochastic:
            return self.chain.first_passage_times(target, source)
        if target is not None or source is not None:
            return self.chain  # raises
        return group_inverse_times(self.transition_matrix, self.stationary_distribution)

    def committor(self, source: Any, target: Any, *, forward: bool = True) -> Floats:
        """Committor, as :meth:`klump.MarkovChain.committor`."""
        return self.chain.committor(source, target, forward=forward)

    def absorption_probabilities(self, targets: Any = None) -> Floats:
        """Absorption probabilities, as :meth:`klump.MarkovChain.absorption_probabilities`."""
        return self.chain.absorption_probabilities(targets)

    def simulate(self, n_steps: int, **options: Any) -> NDArray[np.intp]:
        """Simulate, as :meth:`klump.MarkovChain.simulate`."""
        return self.chain.simulate(n_steps, **options)

    def __repr__(self) -> str:
        negative = "" if self.is_stochastic else f", most negative entry {self.most_negative:.3g}"
        return f"LongTimeChain({self.n_states} states{negative})"


def project(chain: MarkovChain, weights: sparse.csr_array) -> LongTimeChain:
    """Hummer-Szabo projection of an irreducible chain by a map W, n x k.

    Let N = (I - P + e)^-1 with a matrix e of rank one that makes I - P regular, v = U N W, and H = v^-1. Then

        Q = I - H + h nu^T H / (nu^T h)    with h = H 1,

    for every e that is r mu^T or 1 c^T times a number, up to vectors r and c: both Z (e = 1 mu^T) and a chain that
    ends at one state (e = e_s e_s^T). The latter needs no subtraction in N, and v has small relative errors in every
    entry, however slow the chain is; it is used where elimination is affordable.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    >>> project(chain, sparse.csr_array([[1.0, 0], [1, 0], [0, 1]])).transition_matrix.round(12)
    array([[0.9, 0.1], [0.2, 0.8]])
    """
    mu = chain.stationary_distribution
    columns = weights.toarray()
    nu = mu @ columns
    check_masses(nu)
    within = sparse.csr_array(sparse.diags_array(1.0 / nu) @ weights.T @ sparse.diags_array(mu))
    visits = within @ _collect(chain, columns, weights)
    matrix = np.eye(len(nu)) - _generator(visits, nu)
    matrix[(matrix < 0.0) & (matrix >= -_ROUNDING)] = 0.0
    # The diagonal closes the rows: the other entries are relatively accurate, however small.
    np.fill_diagonal(matrix, 0.0)
    diagonal = 1.0 - matrix.sum(axis=1)
    diagonal[(diagonal < 0.0) & (diagonal >= -_ROUNDING)] = 0.0
    np.fill_diagonal(matrix, diagonal)
    return LongTimeChain(read_only(matrix), read_only(nu / nu.sum()))


def _generator(visits: Floats, nu: Floats) -> Floats:
    """I - Q = H - h nu^T H / (nu^T h), with H the inverse of ``visits`` and h = H 1."""
    k = len(nu)
    scale = visits.max(axis=1, keepdims=True)
    equilibrated = visits / scale
    # Slow timescales make rows nearly equal, without making groups dependent: columns are compared after that.
    if not np.isfinite(equilibrated).all() or np.linalg.cond(equilibrated) > _MAX_CONDITION:
        raise InvalidArgumentError(
            f"the long-time chain of {k} groups does not exist: the groups are linearly dependent",
            remedy="aggregate to fewer groups, or harden() a soft map",
        )
    solved = np.linalg.solve(equilibrated, np.column_stack([np.diag(1.0 / scale[:, 0]), 1.0 / scale]))
    inverse, leak = solved[:, :k], solved[:, k]
    entry = np.linalg.solve(equilibrated.T, nu) / scale[:, 0]
    return np.asarray(inverse - np.outer(leak, entry) / (nu @ leak))


def _collect(chain: MarkovChain, columns: Floats, weights: sparse.csr_array) -> Floats:
    """N W, by elimination with an end at the heaviest state, or iteratively with N = Z."""
    matrix, mu = chain.transition_matrix, chain.stationary_distribution
    leak = np.zeros(len(mu))
    leak[np.argmax(mu)] = 1.0
    factors = factorise(matrix, leak, _MAX_WORK)
    if factors is not None:
        found = factors.solve(columns)
        if np.isfinite(found).all():
            return found

    system = krylov.System(matrix, mu)
    labels = np.asarray(weights.argmax(axis=1)).ravel().astype(np.int32)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    found = krylov.solve(system.apply, krylov.coarse_correction(system, labels, mu), columns)
    residual = float(np.abs(system.apply(found) - columns).max())
    if not residual <= _MAX_RESIDUAL:
        raise ConvergenceError(
            f"the long-time chain of {len(mu):,} states was not computed: the residual is {residual:.3g}",
            remedy="aggregate to more groups, which mix faster within",
        )
    return found
