"""Random chains with and without planted groups, for tests, experiments and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import DEFAULT_SEED, check_count, check_number, choose_seed
from klump.errors import UNSET, InvalidArgumentError

if TYPE_CHECKING:
    from klump.chain import MarkovChain

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Share of the successors of a state drawn from its planted target group; the others are drawn from all states.
_PLANTED_SHARE = {"metastable": 0.9, "cyclic": 0.9, "noisy": 0.5}


def block_chain(
    sizes: Sequence[int] = (25, 25, 50),
    alpha: float = 0.0,
    eps: float = 0.0,
    concentration: float | None = None,
    random_state: Any = DEFAULT_SEED,
    *,
    seed: Any = UNSET,
) -> tuple[MarkovChain, Labels]:
    """Chain of the paper's second experiment: lumpable for planted groups, up to noise.

    With ``A = (1 - alpha) A' + alpha I`` and block ``(i, j)`` of P' equal to ``A[i, j] P'_ij``, the chain
    is ``P = (1 - eps) P' + eps E``. All of ``A'``, ``P'_ij`` and ``E`` are random stochastic matrices, drawn
    in this order whatever ``alpha`` and ``eps`` are, so that one seed gives comparable chains.

    Parameters
    ----------
    sizes
        Number of states of each group.
    alpha
        Extra weight of the diagonal blocks: near 1 the chain is nearly completely decomposable, and for
        ``alpha = 1`` with ``eps = 0`` it is not irreducible.
    eps
        Weight of the noise; at 0 the chain is exactly lumpable.
    concentration
        ``None``: independent uniform entries, rows normalised, as in the paper. A number: rows from the
        symmetric Dirichlet distribution with this parameter; small ones make a few transitions dominate.
    random_state
        Seed or generator.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.

    Returns
    -------
    chain : MarkovChain
        The chain, its states in the order of the groups.
    labels : ndarray
        Group of each state.

    Examples
    --------
    >>> chain, labels = block_chain(sizes=(2, 3), eps=0.1)
    >>> chain, labels
    (MarkovChain(5 states, 25 transitions), array([0, 0, 1, 1, 1]))
    """
    from klump.chain import MarkovChain

    counts = [check_count("sizes", size, most=None) for size in sizes]
    if not counts:
        raise InvalidArgumentError(
            "is empty", argument="sizes", remedy="give the number of states of at least one group"
        )
    check_number("alpha", alpha, most=1.0)
    check_number("eps", eps, most=1.0)
    rng = np.random.default_rng(choose_seed(random_state, seed))
    n_groups, n = len(counts), sum(counts)
    between = (1.0 - alpha) * _random_stochastic(rng, n_groups, n_groups, concentration) + alpha * np.eye(
        n_groups
    )
    blocks = [
        [
            between[i, j] * _random_stochastic(rng, counts[i], counts[j], concentration)
            for j in range(n_groups)
        ]
        for i in range(n_groups)
    ]
    noise = _random_stochastic(rng, n, n, concentration)
    labels = np.repeat(np.arange(n_groups), counts)
    return MarkovChain((1.0 - eps) * np.block(blocks) + eps * noise), labels


def random_chain(
    n: int,
    kind: Literal["dense", "sparse", "decomposable", "reversible"] = "dense",
    *,
    concentration: float | None = None,
    degree: int = 5,
    n_blocks: int = 2,
    coupling: float = 1e-3,
    random_state: Any = DEFAULT_SEED,
    seed: Any = UNSET,
) -> MarkovChain:
    """Irreducible random chain without planted groups.

    Parameters
    ----------
    n
        Number of states.
    kind
        ``"dense"``: every transition has positive probability. ``"sparse"``: a CSR matrix in which each state
        has at most ``degree`` successors, one of them next on a random cycle through all states.
        ``"decomposable"``: ``n_blocks`` blocks with exit probability about ``coupling`` per step.
        ``"reversible"``: a random walk on symmetric weights.
    concentration
        As in :func:`block_chain`; ignored for ``"sparse"``.
    degree
        Successors of each state of a sparse chain.
    n_blocks, coupling
        Number of blocks of a decomposable chain, and weight of the dense chain mixed in.
    random_state
        Seed or generator.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.

    Examples
    --------
    >>> random_chain(100, "sparse", degree=3).is_irreducible
    True
    """
    from klump.chain import MarkovChain

    n = check_count("n", n, most=None)
    rng = np.random.default_rng(choose_seed(random_state, seed))
    if kind == "sparse":
        successors = np.column_stack(
            [rng.integers(n, size=(n, check_count("degree", degree, most=None) - 1)), _random_cycle(rng, n)]
        )
        return MarkovChain(_random_weights(rng, successors))
    if kind == "dense":
        return MarkovChain(_random_stochastic(rng, n, n, concentration))
    if kind == "reversible":
        weights = _random_stochastic(rng, n, n, concentration)
        return MarkovChain(weights + weights.T, normalize=True)
    if kind == "decomposable":
        return MarkovChain(
            _decomposable(rng, n, check_count("n_blocks", n_blocks, most=None), coupling, concentration)
        )
    raise InvalidArgumentError(
        "is not known",
        argument="kind",
        value=kind,
        remedy="choose 'dense', 'sparse', 'decomposable' or 'reversible'",
    )


def sparse_block_chain(
    n_states: int,
    n_groups: int,
    degree: int = 10,
    kind: Literal["metastable", "cyclic", "noisy"] = "metastable",
    random_state: Any = DEFAULT_SEED,
    *,
    seed: Any = UNSET,
) -> tuple[MarkovChain, Labels]:
    """Large sparse chain with planted groups of equal size, its states in random order.

    Each state draws ``degree`` successors with uniformly random weights (duplicates are summed). Some are drawn from a
    target group that depends on the state's own group, the others from all states; one of the latter is the successor
    on a random cycle through all states, which makes the chain irreducible.

    Parameters
    ----------
    n_states, n_groups
        Number of states and of groups.
    degree
        Successors drawn per state, at least 2.
    kind
        ``"metastable"``: 90 % of the successors are in the state's own group. ``"cyclic"``: 90 % are in the next
        group, so that the groups are (nearly) lumpable but not metastable. ``"noisy"``: 50 % are in the own group.
    random_state
        Seed or generator.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.

    Returns
    -------
    chain : MarkovChain
        The chain, with a CSR matrix.
    labels : ndarray
        Planted group of each state.

    Examples
    --------
    >>> chain, labels = sparse_block_chain(1000, 5)
    >>> chain.is_irreducible, np.bincount(labels)
    (True, array([200, 200, 200, 200, 200]))
    """
    from klump.chain import MarkovChain

    n_states, n_groups = (
        check_count("n_states", n_states, most=None),
        check_count("n_groups", n_groups, most=None),
    )
    if n_groups > n_states:
        raise InvalidArgumentError(
            f"is more than the {n_states} states",
            argument="n_groups",
            value=n_groups,
            remedy=f"pass at most {n_states}",
        )
    if check_count("degree", degree, most=None) < 2:
        raise InvalidArgumentError(
            "must be at least 2: one successor only keeps the chain irreducible",
            argument="degree",
            value=degree,
        )
    if kind not in _PLANTED_SHARE:
        raise InvalidArgumentError(
            "is not known",
            argument="kind",
            value=kind,
            remedy=f"choose one of {', '.join(map(repr, _PLANTED_SHARE))}",
        )
    rng = np.random.default_rng(choose_seed(random_state, seed))
    labels = rng.permutation(np.arange(n_states) % n_groups)
    goals = (labels + 1) % n_groups if kind == "cyclic" else labels
    n_planted = min(degree - 1, round(_PLANTED_SHARE[kind] * degree))
    successors = np.empty((n_states, degree), dtype=np.int32)
    successors[:, :n_planted] = _draw_members(rng, labels, goals, n_planted)
    successors[:, n_planted:-1] = rng.integers(n_states, size=(n_states, degree - n_planted - 1))
    successors[:, -1] = _random_cycle(rng, n_states)
    return MarkovChain(_random_weights(rng, successors)), labels


def _decomposable(
    rng: np.random.Generator, n: int, n_blocks: int, coupling: float, concentration: float | None
) -> Array:
    """Nearly completely decomposable matrix (1 - coupling) * block diagonal + coupling * dense."""
    if n_blocks > n:
        raise InvalidArgumentError(
            f"is more than the {n} states", argument="n_blocks", value=n_blocks, remedy=f"pass at most {n}"
        )
    check_number("coupling", coupling, most=1.0)
    if coupling == 0:
        raise InvalidArgumentError(
            "makes the chain reducible",
            argument="coupling",
            value=coupling,
            remedy="pass a positive probability",
        )
    sizes = np.bincount(np.arange(n) * n_blocks // n)
    inside = np.zeros((n, n))
    for size, first in zip(sizes.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True):
        inside[first : first + size, first : first + size] = _random_stochastic(
            rng, size, size, concentration
        )
    return np.asarray((1.0 - coupling) * inside + coupling * _random_stochastic(rng, n, n, concentration))


def _draw_members(rng: np.random.Generator, labels: Labels, goals: Labels, n_draws: int) -> Labels:
    """Draw ``n_draws`` random members of group ``goals[i]`` per state ``i``."""
    by_group = np.argsort(labels, kind="stable")
    size = np.bincount(labels)
    first = np.cumsum(size) - size
    position = rng.integers(0, size[goals][:, None], size=(len(goals), n_draws))
    return np.asarray(by_group[first[goals][:, None] + position])


def _random_cycle(rng: np.random.Generator, n: int) -> Labels:
    """Successor of each state on a random cycle through all states."""
    order = rng.permutation(n)
    following = np.empty(n, dtype=np.intp)
    following[order] = np.roll(order, -1)
    return following


def _random_weights(rng: np.random.Generator, successors: NDArray[Any]) -> sparse.csr_array:
    """Stochastic matrix with random positive weights on the given successors."""
    n, degree = successors.shape
    weights = 1.0 - rng.random((n, degree))
    weights /= weights.sum(axis=1, keepdims=True)
    indptr = np.arange(n + 1, dtype=np.int64) * degree
    matrix = sparse.csr_array((weights.ravel(), successors.ravel(), indptr), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def _random_stochastic(
    rng: np.random.Generator, n_rows: int, n_cols: int, concentration: float | None
) -> Array:
    """Random stochastic matrix: normalised uniform entries, or Dirichlet rows."""
    if concentration is None:
        entries = rng.random((n_rows, n_cols))
    else:
        if not (np.isfinite(concentration) and concentration > 0):
            raise InvalidArgumentError(
                "must be a positive number, or None", argument="concentration", value=concentration
            )
        # Gamma(c) = Gamma(c + 1) * U ** (1 / c) in distribution. Dividing by the largest U keeps rows of small c from
        # underflow, and rounding favours no column, unlike in Generator.dirichlet.
        base = 1.0 - rng.random((n_rows, n_cols))
        base /= base.max(axis=1, keepdims=True)
        entries = rng.standard_gamma(concentration + 1.0, (n_rows, n_cols)) * base ** (1.0 / concentration)
    return np.asarray(entries / entries.sum(axis=1, keepdims=True))
