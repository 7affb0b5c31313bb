"""Cluster points by aggregating a random walk between them, or a power of its transition matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump import information
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.question import aggregate
from klump.arguments import DEFAULT_SEED, Progress, check_groups, is_integer
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.chain.powers import MAX_DENSE_STATES, product
from klump.errors import UNSET, InvalidArgumentError, Setting
from klump.search.registry import DEFAULT_EFFORT

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

# A curve ends where I(X_1; X_{1+r}) is at most this share of the entropy H(X_1).
_MIN_INFORMATION_SHARE = 1e-6
# Largest number of doublings of r: 2^50 steps.
_MAX_DOUBLINGS = 50
# On a plateau the loss per doubling is at most this share of the largest loss before and of the largest loss after.
_PLATEAU_LOSS_SHARE = 0.75
# Losses per doubling that differ by at most this are equal, in bits.
_LOSS_TOLERANCE = 1e-9
# Entries of a relaxed matrix of relax(): 2,000 dense states, 32 MB.
_MAX_RELAXED_TRANSITIONS = 4_000_000
# relax() stops at a plateau, where a doubling of the steps loses less than this, in bits.
_MIN_LOSS = 1e-3
# Rows per chunk: 10 MB of float64 at 5,000 states.
_ROWS_PER_CHUNK = 256


@dataclass(frozen=True, eq=False)
class RelaxationCurve:
    """Mutual information I(X_1; X_{1+r}) between states r = 1, 2, 4, 8, ... steps apart.

    Examples
    --------
    >>> import klump
    >>> chain = klump.datasets.three_state_example()[0]
    >>> curve = klump.relaxation_curve(chain)
    >>> curve.steps[:4], curve.information[:4].round(3)
    (array([1, 2, 4, 8]), array([0.042, 0.002, 0.   , 0.   ]))
    >>> curve.plateau is None
    True
    """

    steps: NDArray[np.int64]
    """Numbers of steps r."""
    information: NDArray[np.float64]
    """I(X_1; X_{1+r}) in bits, never increasing."""
    plateau: int | None
    """Number of steps r at which the curve is flattest; None if there is no plateau."""

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw the curve; needs matplotlib (the extra ``klump[plots]``).

        Parameters
        ----------
        path
            File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from klump.plots.relaxation import draw_figure

        return draw_figure(self, path)

    def __repr__(self) -> str:
        first, last = self.information[[0, -1]]
        return (
            f"RelaxationCurve({first:.4g} bits after 1 step, {last:.2g} after {self.steps[-1]:,}, "
            f"plateau={self.plateau})"
        )


def cluster(
    points: Any,
    n_clusters: int,
    *,
    beta: float = 0.5,
    walk: Literal["neighbors", "similarity"] = "neighbors",
    n_neighbors: int = 15,
    relaxation: int | Literal["plateau"] | None = None,
    method: str = "auto",
    n_init: int = 20,
    random_state: Any = DEFAULT_SEED,
    n_jobs: int | None = None,
    seed: Any = UNSET,
    effort: str = DEFAULT_EFFORT,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Aggregation:
    """Cluster points by aggregating a random walk between them.

    Parameters
    ----------
    points
        An array of shape (n_points, n_features). The index of a pandas DataFrame names the points, unless two of
        them have the same entry.
    n_clusters
        The number of clusters wanted.
    beta
        As in :func:`aggregate`: 1/2 (Alush, Friedman and Goldberger) maximises I(Y1;Y2), the mutual information between
        successive clusters; 1 (Tishby and Slonim) maximises I(X1;Y2), that between a point and the next cluster.
    walk
        ``"neighbors"``: to one of the nearest neighbours, a sparse chain. ``"similarity"``: to any point, near ones
        preferred, a dense chain. The latter is the paper's walk, and the default of
        :meth:`MarkovChain.from_points`; here the former is the default, because its memory is linear instead of
        quadratic in the number of points, and clouds far apart are clusters, not an error.
    n_neighbors
        Number of neighbours of a point; for ``"similarity"`` of those that set the length scale.
    relaxation
        Power of the transition matrix: steps of the walk per step of the chain. More steps forget the point within a
        cluster, but not the cluster. ``"plateau"``: chosen by :func:`relaxation_curve`, for at most 5,000 points.
    method, n_init, random_state, n_jobs, seed, effort, time_limit, progress
        As in :func:`aggregate`.

    Returns
    -------
    Aggregation
        ``labels`` has the cluster of each point, and ``original`` is the walk.

    Examples
    --------
    >>> cluster([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]], 2, n_neighbors=2).labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    chain = _build_walk(points, n_neighbors, walk)
    if not chain.is_irreducible:  # the similarity of points far apart is 0
        raise InvalidArgumentError(
            f"sets a scale on which the points fall into {chain.classes.n_classes} clouds that the walk never leaves",
            argument="n_neighbors",
            value=n_neighbors,
            remedy=("pass more neighbours, or ", Setting("walk", "neighbors"), ", which links clouds"),
        )
    n_groups = check_groups(n_clusters, chain.n_states, "points", name="n_clusters")
    return aggregate(
        chain.power(check_relaxation(chain, relaxation)),
        n_groups,
        beta,
        method,
        n_init,
        random_state,
        n_jobs,
        seed=seed,
        effort=effort,
        time_limit=time_limit,
        progress=progress,
    )


def _build_walk(points: Any, n_neighbors: int, walk: Any) -> MarkovChain:
    try:
        return MarkovChain.from_points(points, n_neighbors, walk=walk, states=_row_names(points))
    except InvalidArgumentError as error:
        error.rename("X", "points")  # as MarkovChain.from_points calls it
        raise


def _row_names(points: Any) -> list[Any] | None:
    """The index of a DataFrame, if it is unique and not just 0, 1, 2, ..."""
    if not (hasattr(points, "index") and hasattr(points, "columns")):
        return None
    names = list(points.index)
    return names if len(set(names)) == len(names) and names != list(range(len(names))) else None


def check_relaxation(chain: MarkovChain, relaxation: Any, choices: str = "'plateau'") -> int:
    """Return the number of steps of the walk per step of the chain; ``choices`` are the words of an error."""
    if relaxation is None:
        return 1
    if isinstance(relaxation, str) and relaxation == "plateau":
        plateau = relaxation_curve(chain).plateau
        if plateau is None:
            raise InvalidArgumentError(
                "finds no plateau: the mutual information of the walk decreases steadily",
                argument="relaxation",
                value=relaxation,
                remedy=("pass a number of steps, or other ", Setting("n_neighbors")),
            )
        return plateau
    if not is_integer(relaxation) or relaxation < 1:
        raise InvalidArgumentError(
            f"must be a number of steps, {choices} or None", argument="relaxation", value=relaxation
        )
    return int(relaxation)


def relax(chain: MarkovChain, min_information: float) -> tuple[MarkovChain, int]:
    """Double the steps that are taken as one while I(X_1; X_{1+r}) stays at least ``min_information`` bits.

    Ends before a matrix with more than 4,000,000 transitions, and on a plateau of the information.

    Returns
    -------
    The relaxed chain, and its number of steps r.

    Examples
    --------
    >>> from klump.sources.random_chains import block_chain
    >>> chain, blocks = block_chain((10, 10, 10, 10), alpha=0.99, random_state=1)
    >>> relaxed, steps = relax(chain, 1.0)
    >>> steps, chain.redundancy_rate > relaxed.redundancy_rate > 1.0
    (16, True)
    """
    relaxed, steps = chain, 1
    while relaxed.n_transitions <= _MAX_RELAXED_TRANSITIONS and steps < 2**_MAX_DOUBLINGS:
        matrix = relaxed.transition_matrix
        try:
            further = chain._with_power(product(matrix, matrix, chain.stationary_distribution), 2 * steps)
        except InvalidArgumentError:  # the product has too many transitions
            break
        information = further.redundancy_rate if further.is_irreducible else 0.0
        if information < min_information or further.n_transitions > _MAX_RELAXED_TRANSITIONS:
            break
        loss = relaxed.redundancy_rate - information
        relaxed, steps = further, 2 * steps
        if loss < _MIN_LOSS:
            break
    return relaxed, steps


def relaxation_curve(chain: ChainLike) -> RelaxationCurve:
    """Compute I(X_1; X_{1+r}) for r = 1, 2, 4, 8, ... (Tishby and Slonim).

    A chain with metastable groups first loses the information on the state within the group, and much later that on the
    group. Against log r the curve has a plateau, about as high as the entropy of the groups, where P^r is nearly a
    projection on them. The plateau reported is where a doubling of r loses least, provided that some doubling before it
    (or the first step) and some doubling after it lose at least a third more. Nested groups have several plateaus; the
    flattest one mostly belongs to the coarsest groups.

    Parameters
    ----------
    chain
        A MarkovChain, or anything that converts to one, with at most 5,000 states: powers are dense.

    Examples
    --------
    >>> from klump.sources.random_chains import block_chain
    >>> chain, blocks = block_chain((10, 10, 10, 10), alpha=0.9999, random_state=1)
    >>> curve = relaxation_curve(chain)
    >>> curve.plateau, curve.information[curve.steps == curve.plateau].round(2)
    (4, array([1.99]))
    """
    chain = as_chain(chain)
    n, mu = chain.n_states, chain.stationary_distribution
    if n > MAX_DENSE_STATES:
        raise InvalidArgumentError(
            f"the chain has {n:,} states, but a relaxation curve needs dense powers: at most {MAX_DENSE_STATES:,}",
            remedy="take a sample, or set a number of steps",
        )
    matrix = chain.transition_matrix
    matrix = np.asarray(matrix.toarray() if chain.is_sparse else matrix)
    entropy = information.entropy(mu)
    values = [_mutual_information(matrix, mu, entropy)]
    while values[-1] > _MIN_INFORMATION_SHARE * entropy and len(values) <= _MAX_DOUBLINGS:
        matrix = product(matrix, matrix, mu)
        values.append(_mutual_information(matrix, mu, values[-1]))
    steps = 2 ** np.arange(len(values), dtype=np.int64)
    curve = np.array(values)
    for array in (steps, curve):
        array.flags.writeable = False
    return RelaxationCurve(steps, curve, _find_plateau(steps, curve, entropy))


def _mutual_information(matrix: Any, mu: NDArray[np.float64], upper_bound: float) -> float:
    """I(X1;X2) = sum_i mu[i] D(P[i, :] || mu), at most an upper bound that rounding must not exceed."""
    total = 0.0
    for begin in range(0, mu.size, _ROWS_PER_CHUNK):
        rows = matrix[begin : begin + _ROWS_PER_CHUNK]
        marginal, weight = np.broadcast_to(mu, rows.shape), mu[begin : begin + _ROWS_PER_CHUNK, None]
        total += information.divergence(rows, marginal, np.broadcast_to(weight, rows.shape))
    return min(total, upper_bound)


def _find_plateau(steps: NDArray[np.int64], curve: NDArray[np.float64], entropy: float) -> int | None:
    """Number of steps at which the flattest doubling begins."""
    # Losses of the first step, of every doubling, and of all further steps together: their sum is the entropy.
    loss = -np.diff(np.concatenate([[entropy], curve, [0.0]]))
    before, after = np.maximum.accumulate(loss), np.maximum.accumulate(loss[::-1])[::-1]
    inner = loss[1:-1]
    # A chain without any loss before, such as a periodic one, has no plateau.
    flat = (inner <= _PLATEAU_LOSS_SHARE * np.minimum(before[:-2], after[2:])) & (
        before[:-2] > _LOSS_TOLERANCE
    )
    if not flat.any():
        return None
    flattest = np.flatnonzero(flat & (inner <= inner[flat].min() + _LOSS_TOLERANCE))
    return int(steps[flattest[(flattest.size - 1) // 2]])
