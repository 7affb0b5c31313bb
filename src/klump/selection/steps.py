"""Steps from each number of groups to the next: how much they gain, and how much more than all later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Gain per group, as a share of the cost of a single group of all states, below which a step counts as this much.
# It keeps a tiny step before even tinier ones from standing out.
_SMALLEST_SHARE = 1e-3


class Step(NamedTuple):
    """The step from one number of groups to the next larger one, at one beta."""

    beta: float
    previous: int
    """The number of groups before the step; 1 is a single group of all states."""
    n_states: int
    """The number of groups after it."""
    gain: float
    """Decrease of the cost per added group, in bits."""
    next_gain: float
    """Gain of the next step; NaN for the last one."""
    bend: float
    """Gain divided by the largest one of all later steps; NaN for the last step."""


def compute_steps(
    beta: float, numbers: Sequence[int], costs: Mapping[int, float], single: float
) -> tuple[Step, ...]:
    """Steps at one beta, to ascending ``numbers`` of groups.

    Parameters
    ----------
    beta
        The beta of the costs.
    numbers
        The numbers of groups, in ascending order.
    costs
        Cost of each number of groups.
    single
        Cost of a single group of all states, from which the first step starts.

    Examples
    --------
    >>> steps = compute_steps(0.5, (2, 3, 4), {2: 0.5, 3: 0.1, 4: 0.06}, single=0.9)
    >>> [(step.n_states, round(step.gain, 3), round(step.bend, 1)) for step in steps]
    [(2, 0.4, 1.0), (3, 0.4, 10.0), (4, 0.04, nan)]
    """
    starts = (1, *numbers[:-1])
    before = (single, *(costs[number] for number in numbers[:-1]))
    gains = [
        (cost - costs[number]) / (number - start)
        for start, number, cost in zip(starts, numbers, before, strict=True)
    ]
    least = max(_SMALLEST_SHARE * single, 1e-12)
    steps = []
    for place, (start, number, gain) in enumerate(zip(starts, numbers, gains, strict=True)):
        later = gains[place + 1 :]
        bend = gain / max(*later, least) if later else float("nan")
        steps.append(Step(beta, start, number, gain, later[0] if later else float("nan"), bend))
    return tuple(steps)
