"""Moduli of the largest eigenvalues of a chain, whose gaps are evidence for a number of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain import MarkovChain

# States up to which all eigenvalues are computed, in about a second; beyond, ARPACK finds the largest.
_MAX_DENSE = 1000
# Eigenvalues that ARPACK finds beyond those asked for: it may miss the last ones, whose moduli are close to others.
_N_MORE = 6
# Lanczos vectors per eigenvalue.
_VECTORS_PER_VALUE = 3
# Restarts of ARPACK at most, so that slowly converging spectra do not take longer than the searches.
_MAX_ITERATIONS = 300
# Relative accuracy of ARPACK's eigenvalues.
_TOLERANCE = 1e-6
# Spawn key of ARPACK's first vector, different from those of the searches with the same seed.
_VECTOR_KEY = 211


def eigenvalue_moduli(chain: MarkovChain, number: int, seed: int = 0) -> NDArray[np.float64]:
    """Moduli of the ``number`` eigenvalues of P that are largest in modulus, in decreasing order.

    NaN if they do not converge, and for those beyond the number of states. They are rounded to 12 decimals: the
    eigenvalues of equal modulus of a periodic chain differ by rounding.

    Examples
    --------
    >>> import klump
    >>> eigenvalue_moduli(klump.MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 3)
    array([1. , 0.7, nan])
    """
    n = chain.n_states
    if n <= max(_MAX_DENSE, number + 2):
        matrix: Any = chain.transition_matrix
        found = np.linalg.eigvals(matrix.toarray() if chain.is_sparse else matrix)
    else:
        found = _arpack(chain, number, seed)
    moduli = np.full(number, np.nan)
    largest = np.sort(np.abs(found))[::-1][:number]
    moduli[: len(largest)] = largest.round(12)
    moduli.flags.writeable = False
    return moduli


def _arpack(chain: MarkovChain, number: int, seed: int) -> NDArray[Any]:
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    matrix: Any = chain.transition_matrix
    first = 0.5 + np.random.default_rng([seed, _VECTOR_KEY]).random(chain.n_states)
    try:
        values = eigs(
            matrix if sparse.issparse(matrix) else np.asarray(matrix),
            k=number + _N_MORE,
            ncv=min(chain.n_states, _VECTORS_PER_VALUE * (number + _N_MORE)),
            v0=first,
            maxiter=_MAX_ITERATIONS,
            tol=_TOLERANCE,
            return_eigenvectors=False,
        )
    except ArpackNoConvergence:
        # The eigenvalues that did converge need not be the largest ones.
        return np.empty(0)
    return np.asarray(values)
