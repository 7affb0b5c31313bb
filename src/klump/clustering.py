"""Cluster points: a random walk between them, perhaps relaxed, and the aggregation of that chain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump import information
from klump.aggregation.aggregation import Aggregation
from klump.aggregation.question import aggregate
from klump.arguments import check_groups, is_integer
from klump.chain import ChainLike, MarkovChain, as_chain
from klump.chain.powers import MAX_DENSE_STATES, product
from klump.errors import InvalidArgumentError, Setting
from klump.search.method import Progress

if TYPE_CHECKING:
    from os import PathLike

# Where a curve ends: what is left is a millionth of what there was, or so many doublings have been seen.
_FORGOTTEN, _DOUBLINGS = 1e-6, 50
# On a plateau a doubling costs at most this share of the dearest one before and of the dearest after.
_FLAT = 0.75
# Doublings whose losses differ by less are equally flat, in bits.
_EQUAL = 1e-9
_ROWS = 256


@dataclass(frozen=True, eq=False)
class RelaxationCurve:
    """What the present tells of the state some steps ahead, for 1, 2, 4, 8, ... steps."""

    steps: NDArray[np.int64]
    """Numbers of steps r."""
    information: NDArray[np.float64]
    """I(X_1; X_{1+r}) in bits, never increasing."""
    plateau: int | None
    """Steps after which a doubling costs least, between a fast loss and the final one; None if there is no such."""

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw the curve; needs matplotlib (the extra ``klump[plots]``).

        Parameters
        ----------
        path
            Where to save the picture; its suffix (.png, .svg, .pdf) decides on the format.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from klump import plots

        return plots.finish(plots.relaxation(self), path)

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
    random_state: Any = 0,
    n_jobs: int | None = None,
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
        What to preserve, as in :func:`aggregate`: 1/2 (as Alush, Friedman and Goldberger) groups that predict where
        the walk goes next, 1 (as Tishby and Slonim) groups that tell most about where it came from.
    walk
        ``"neighbors"``: to one of the nearest neighbours, a sparse chain. ``"similarity"``: to any point, near ones
        preferred, a dense chain. The latter is the paper's walk, and therefore what
        :meth:`MarkovChain.from_points` makes unless told otherwise; here the former is the default, because it needs
        memory for each point instead of each pair, and clouds far apart are clusters, not an error.
    n_neighbors
        Neighbours of a point; for ``"similarity"`` those that set the scale.
    relaxation
        Steps of the walk that are taken as one. More make it forget where in a cluster it was, and remember the
        cluster itself longest. ``"plateau"``: chosen by :func:`relaxation_curve`, for at most 5,000 points.
    method, n_init, random_state, n_jobs, progress
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
    chain = _walk(points, n_neighbors, walk)
    if not chain.is_irreducible:  # the similarity of points far apart is 0
        raise InvalidArgumentError(
            f"sets a scale on which the points fall into {chain.classes.n_classes} clouds that the walk never leaves",
            argument="n_neighbors",
            value=n_neighbors,
            remedy=("pass more neighbours, or ", Setting("walk", "neighbors"), ", which links clouds"),
        )
    n_groups = check_groups(n_clusters, chain.n_states, "points", name="n_clusters")
    return aggregate(
        chain.power(_steps(chain, relaxation)),
        n_groups,
        beta,
        method,
        n_init,
        random_state,
        n_jobs,
        progress=progress,
    )


def _walk(points: Any, n_neighbors: int, walk: Any) -> MarkovChain:
    try:
        return MarkovChain.from_points(points, n_neighbors, walk=walk, states=_names(points))
    except InvalidArgumentError as error:
        # It calls the points X, as those who have a matrix of them do.
        raise InvalidArgumentError(re.sub(r"\bX\b", "points", str(error))) from error


def _names(points: Any) -> list[Any] | None:
    """What a table calls its rows, if these names tell them apart and are more than their numbers."""
    if not (hasattr(points, "index") and hasattr(points, "columns")):
        return None
    names = list(points.index)
    return names if len(set(names)) == len(names) and names != list(range(len(names))) else None


def _steps(chain: MarkovChain, relaxation: Any) -> int:
    if relaxation is None:
        return 1
    if isinstance(relaxation, str) and relaxation == "plateau":
        plateau = relaxation_curve(chain).plateau
        if plateau is None:
            raise InvalidArgumentError(
                "finds no plateau: the walk between these points forgets without a pause",
                argument="relaxation",
                value=relaxation,
                remedy=("pass a number of steps, or other ", Setting("n_neighbors")),
            )
        return plateau
    if not is_integer(relaxation) or relaxation < 1:
        raise InvalidArgumentError(
            "must be a number of steps, 'plateau' or None", argument="relaxation", value=relaxation
        )
    return int(relaxation)


def relaxation_curve(chain: ChainLike) -> RelaxationCurve:
    """See how a chain forgets where it started: I(X_1; X_{1+r}) for r = 1, 2, 4, 8, ... (Tishby and Slonim).

    A chain with metastable groups first forgets the state within the group, then nothing for a while, then the group.
    Against the logarithm of r the curve has a plateau, about as high as the entropy of the groups, where P to the
    power of r is nearly a projection on them. The plateau reported is where a doubling of r costs least, provided that
    some doubling before it (or the first step) and some doubling after it cost at least a third more. With groups
    of groups there are several plateaus; the flattest one mostly belongs to the coarsest groups.

    Parameters
    ----------
    chain
        A MarkovChain, or what one can be made from, with at most 5,000 states: powers are dense.

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
    remembered = [_remembered(matrix, mu, entropy)]
    while remembered[-1] > _FORGOTTEN * entropy and len(remembered) <= _DOUBLINGS:
        matrix = product(matrix, matrix, mu)
        remembered.append(_remembered(matrix, mu, remembered[-1]))
    steps = 2 ** np.arange(len(remembered), dtype=np.int64)
    kept = np.array(remembered)
    for array in (steps, kept):
        array.flags.writeable = False
    return RelaxationCurve(steps, kept, _plateau(steps, kept, entropy))


def _remembered(matrix: Any, mu: NDArray[np.float64], at_most: float) -> float:
    """I between both ends of a step, the mean divergence of the rows from ``mu``; rounding must not make it grow."""
    total = 0.0
    for begin in range(0, mu.size, _ROWS):
        rows = matrix[begin : begin + _ROWS]
        law, weight = np.broadcast_to(mu, rows.shape), mu[begin : begin + _ROWS, None]
        total += information.divergence(rows, law, np.broadcast_to(weight, rows.shape))
    return min(total, at_most)


def _plateau(steps: NDArray[np.int64], kept: NDArray[np.float64], entropy: float) -> int | None:
    """Where the flattest doubling begins."""
    # Of the first step, of every doubling, and of all that would follow: they add up to the entropy.
    loss = -np.diff(np.concatenate([[entropy], kept, [0.0]]))
    before, after = np.maximum.accumulate(loss), np.maximum.accumulate(loss[::-1])[::-1]
    inner = loss[1:-1]
    # Where nothing is ever lost, as by a periodic chain, nothing pauses either.
    flat = (inner <= _FLAT * np.minimum(before[:-2], after[2:])) & (before[:-2] > _EQUAL)
    if not flat.any():
        return None
    flattest = np.flatnonzero(flat & (inner <= inner[flat].min() + _EQUAL))
    return int(steps[flattest[(flattest.size - 1) // 2]])
