"""The Chapman-Kolmogorov test: t steps of small chains beside the groups after t steps of the original chain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.chain import MarkovChain
from klump.chain.quantities import read_only
from klump.dynamics.killed import DENSE_LIMIT
from klump.dynamics.symmetric_form import underflows
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Most steps; the number that takes hours at a second per step.
_MAX_STEPS = 10_000
# Most steps of a chain with at most 2,000 states, whose powers are computed by repeated squaring.
_MAX_SQUARED = 2**60
# Most numbers of a result: 1.6 GB.
_MAX_RESULT = 2 * 10**8


@dataclass(frozen=True, eq=False)
class ChapmanKolmogorov:
    """Transition matrices between groups over several numbers of steps t: of the original and of small chains.

    Examples
    --------
    >>> import klump
    >>> P = [[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]
    >>> answer = klump.Aggregation.from_labels(P, [0, 0, 1])
    >>> test = answer.chapman_kolmogorov([1, 2, 4])
    >>> test.total_variation.round(4)
    array([[0.    , 0.    ],
           [0.0347, 0.0417],
           [0.0712, 0.0854]])
    >>> round(test.largest_difference, 4)
    0.0854
    """

    steps: NDArray[np.int64]
    """Numbers of steps t, increasing."""
    original: Floats
    """U P^t W per t: the distribution of the group after t steps, from the stationary distribution in each group."""
    aggregated: Floats
    """Q^t per t, with Q the aggregated chain."""
    long_time: Floats
    """Powers of the long-time chain per t; NaN if there is none."""

    @property
    def total_variation(self) -> Floats:
        """Total variation between rows of ``original`` and ``aggregated``, per t and group of the start: exact."""
        return np.abs(self.aggregated - self.original).sum(axis=2) / 2.0

    @property
    def long_time_variation(self) -> Floats:
        """Half of the L1 distance between rows of ``original`` and ``long_time``, per t and group of the start."""
        return np.abs(self.long_time - self.original).sum(axis=2) / 2.0

    @property
    def largest_difference(self) -> float:
        """Largest entry of ``|original - aggregated|`` over all t."""
        return float(np.abs(self.aggregated - self.original).max())

    def table(self) -> list[tuple[int, float, float, float]]:
        """Per t: t, the largest difference of an entry, and the largest total variations of the two small chains."""
        differences = np.abs(self.aggregated - self.original).max(axis=(1, 2))
        worst = self.total_variation.max(axis=1)
        long_time = self.long_time_variation.max(axis=1)
        return list(
            zip(self.steps.tolist(), differences.tolist(), worst.tolist(), long_time.tolist(), strict=True)
        )

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        ax: Axes | None = None,
        start: int | None = None,
        names: Sequence[str] | None = None,
        colours: Sequence[str] | None = None,
    ) -> Axes:
        """Draw the probabilities of the groups after t steps; needs matplotlib (the extra ``klump[plots]``).

        The parameters are those of :func:`klump.plots.chapman_kolmogorov`. ``answer.plot(kind="chapman_kolmogorov")``
        writes the names of the groups.
        """
        from klump import plots

        return plots.chapman_kolmogorov(self, path, ax=ax, start=start, names=names, colours=colours)

    def __str__(self) -> str:
        lines = ["   steps  difference  aggregated  long-time   (largest total variation of a start group)"]
        lines += [f"{t:8,}  {d:10.6f}  {a:10.6f}  {b:9.6f}" for t, d, a, b in self.table()]
        return "\n".join(lines)


def compare(
    chain: MarkovChain, weights: sparse.csr_array, aggregated: Floats, long_time: Floats | None, steps: Any
) -> ChapmanKolmogorov:
    """Chapman-Kolmogorov test of a map; see :meth:`klump.Aggregation.chapman_kolmogorov`."""
    times = check_steps(steps, chain.n_states, "steps")
    k = weights.shape[1]
    if len(times) * k * k > _MAX_RESULT:
        raise InvalidArgumentError(
            f"asks for {len(times):,} matrices of {k:,} x {k:,} numbers",
            argument="steps",
            remedy="pass a list of fewer steps",
        )
    within = distributions_within(chain, weights)
    shape = (len(times), k, k)
    original, small, late = np.empty(shape), np.empty(shape), np.full(shape, np.nan)
    for position, (step, state_to_group) in enumerate(propagate(chain, weights, times)):
        original[position] = within @ state_to_group
        small[position] = stochastic_power(aggregated, step)
        if long_time is not None:
            late[position] = stochastic_power(long_time, step)
    arrays = [read_only(array) for array in (np.array(times, dtype=np.int64), original, small, late)]
    return ChapmanKolmogorov(*arrays)


def distributions_within(chain: MarkovChain, weights: sparse.csr_array) -> sparse.csr_array:
    """U = diag(1/nu) W^T diag(mu): the stationary distributions within the groups, one per row."""
    mu = chain.stationary_distribution
    nu = mu @ weights
    check_masses(nu)
    return sparse.csr_array(sparse.diags_array(1.0 / nu) @ weights.T @ sparse.diags_array(mu))


def check_masses(nu: Floats) -> None:
    """Refuse groups whose mass underflows."""
    if underflows(nu):
        raise InvalidArgumentError(
            f"group {int(np.argmin(nu))} has a stationary mass below the range of float64, and no distribution within",
            remedy="take groups with more mass",
        )


def propagate(
    chain: MarkovChain, weights: sparse.csr_array, times: Sequence[int]
) -> Iterator[tuple[int, Floats]]:
    """Yield t and P^t W, n x k, for increasing t: by products with P, or by squaring P if that is cheaper."""
    matrix: Any = chain.transition_matrix
    now, found = 0, weights.toarray()
    for step in times:
        ahead = step - now
        if chain.n_states <= DENSE_LIMIT and ahead > chain.n_states:
            dense = matrix.toarray() if chain.is_sparse else matrix
            found = _with_unit_rows(stochastic_power(dense, ahead) @ found)
        else:
            for _ in range(ahead):
                found = _with_unit_rows(np.asarray(matrix @ found))
        now = step
        yield step, found


def stochastic_power(matrix: Floats, steps: int) -> Floats:
    """Power of a matrix whose rows sum to 1, by repeated squaring; NaN if it exceeds the range of float64.

    Rows are divided by their sums after each product. Otherwise their rounding errors double with each squaring, and
    2**60 steps multiply an error of 1e-16 by 1e18.

    >>> stochastic_power(np.array([[0.9, 0.1], [0.3, 0.7]]), 2**60).round(12)
    array([[0.75, 0.25], [0.75, 0.25]])
    """
    with np.errstate(all="ignore"):  # powers of a long-time chain with negative entries may diverge
        square, found = _with_unit_rows(matrix), None
        while True:
            if steps % 2:
                found = square if found is None else _with_unit_rows(found @ square)
            steps //= 2
            if not steps:
                break
            square = _with_unit_rows(square @ square)
    assert found is not None
    return found if np.isfinite(found).all() else np.full_like(found, np.nan)


def _with_unit_rows(matrix: Floats) -> Floats:
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def check_steps(given: Any, n_states: int, argument: str) -> list[int]:
    """Increasing numbers of steps, from a number (1 up to it) or a list."""
    most = _MAX_SQUARED if n_states <= DENSE_LIMIT else _MAX_STEPS
    if isinstance(given, Iterable) and not isinstance(given, str):
        values = sorted({check_count(argument, value, most=most) for value in given})
        if not values:
            raise InvalidArgumentError(
                "is empty", argument=argument, remedy="pass at least one number of steps"
            )
        return values
    return list(range(1, check_count(argument, given, most=_MAX_STEPS) + 1))
