"""Validate arguments that several public functions share: each check returns the converted value, or raises."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from klump.errors import UNSET, InvalidArgumentError, Setting

# Callback of long computations, progress(done, total, best_cost): steps done and planned, and the lowest cost so far in
# bits, NaN where none is known.
Progress = Callable[[int, int, float], None]

# Default upper limit of counts; a search with more restarts or sweeps would not end.
_MAX_COUNT = 1_000_000
# Largest gamma: beyond it, C_beta is within the rounding error of C_beta + gamma C_G.
_MAX_GAMMA = 1e6
# Smallest step of beta in annealing: 10,000 descents from 1 to 0.
_MIN_STEP = 1e-4


class _DefaultSeed(int):
    """A default of ``random_state`` that differs by identity from the same number passed by the user."""


DEFAULT_SEED = _DefaultSeed(0)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy, but not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or NumPy, but not a bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_count(name: str, value: Any, least: int = 1, most: int | None = _MAX_COUNT) -> int:
    """Return a count as an int.

    >>> check_count("n_init", 20)
    20
    >>> check_count("t", -1, least=0, most=None)
    Traceback (most recent call last):
    ...
    klump.errors.InvalidArgumentError: t=-1 must be a whole number, 0 or more
    """
    if is_integer(value) and least <= value and (most is None or value <= most):
        return int(value)
    limits = f", {least:,} or more" if most is None else f" between {least:,} and {most:,}"
    raise InvalidArgumentError(f"must be a whole number{limits}", argument=name, value=value)


def check_number(name: str, value: Any, least: float = 0.0, most: float = np.inf) -> float:
    """Return a finite number within limits as a float.

    >>> check_number("tolerance", 1, most=1.0)
    1.0
    """
    if is_number(value) and least <= value <= most and value < np.inf:
        return float(value)
    limits = (
        f"finite number, {least:g} or more" if most == np.inf else f"number between {least:g} and {most:g}"
    )
    raise InvalidArgumentError(f"must be a {limits}", argument=name, value=value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of several names.

    >>> check_choice("effort", "high", ("quick", "thorough"))
    Traceback (most recent call last):
    ...
    klump.errors.InvalidArgumentError: effort='high' is not known; choose one of quick, thorough
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentError(
            "is not known", argument=name, value=value, remedy=f"choose one of {', '.join(choices)}"
        )
    return value


def check_time_limit(time_limit: Any) -> float | None:
    """Return a time limit in seconds; None is no limit.

    >>> check_time_limit(0)
    Traceback (most recent call last):
    ...
    klump.errors.InvalidArgumentError: time_limit=0 must be a number of seconds above 0; leave it out for no limit
    """
    if time_limit is None:
        return None
    if not is_number(time_limit) or not 0.0 < time_limit < np.inf:
        raise InvalidArgumentError(
            "must be a number of seconds above 0",
            argument="time_limit",
            value=time_limit,
            remedy="leave it out for no limit",
        )
    return float(time_limit)


def check_beta(beta: Any) -> float:
    """Return beta as a float in [0, 1]."""
    try:
        value = float(beta)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("is not a number", argument="beta", value=beta) from error
    if not 0.0 <= value <= 1.0:
        raise InvalidArgumentError(
            "must lie between 0 (lumpability) and 1 (information bottleneck)", argument="beta", value=beta
        )
    return value


def check_betas(betas: Any) -> list[float]:
    """Return several betas as floats in [0, 1]."""
    if isinstance(betas, str) or not isinstance(betas, Iterable):
        raise InvalidArgumentError(
            "must be a sequence of numbers between 0 and 1, like [1, 0.5, 0]", argument="betas", value=betas
        )
    checked = [check_beta(beta) for beta in betas]
    if not checked:
        raise InvalidArgumentError(
            "is empty", argument="betas", remedy="give at least one beta between 0 and 1"
        )
    return checked


def check_gamma(gamma: Any) -> float:
    """Return gamma as a float in [0, 1e6]."""
    try:
        value = float(gamma)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("is not a number", argument="gamma", value=gamma) from error
    if not 0.0 <= value <= _MAX_GAMMA:
        raise InvalidArgumentError(
            f"must lie between 0 (generated information has no weight) and {_MAX_GAMMA:,.0f}",
            argument="gamma",
            value=gamma,
        )
    return value


def check_groups(value: Any, most: int, of_what: str, name: str = "n_states") -> int:
    """Return a number of groups as an int, at most the number of states or points (``of_what``)."""
    if not is_integer(value):
        raise InvalidArgumentError("must be a whole number of groups", argument=name, value=value)
    if not 1 <= value <= most:
        raise InvalidArgumentError(
            f"must lie between 1 and the {most} {of_what}", argument=name, value=int(value)
        )
    return int(value)


def choose_seed(random_state: Any, seed: Any = UNSET) -> Any:
    """Return ``seed`` if it is given, else ``random_state``: two names of one argument.

    >>> choose_seed(DEFAULT_SEED), choose_seed(3), choose_seed(DEFAULT_SEED, 3), choose_seed(3, seed=3)
    (0, 3, 3, 3)
    >>> choose_seed(0, seed=3)
    Traceback (most recent call last):
    ...
    klump.errors.InvalidArgumentError: random_state=0 and seed=3 differ, but name the same argument; pass one of them
    """
    if seed is UNSET:
        return random_state
    are_equal = is_integer(random_state) and is_integer(seed) and random_state == seed
    if random_state is not DEFAULT_SEED and random_state is not seed and not are_equal:
        raise InvalidArgumentError(
            ("and ", Setting("seed", seed), " differ, but name the same argument"),
            argument="random_state",
            value=random_state,
            remedy="pass one of them",
        )
    return seed


def check_seed(random_state: Any, seed: Any = UNSET) -> int:
    """Return an integer seed, from a seed, a generator or None, by either of its names."""
    value = choose_seed(random_state, seed)
    if value is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if is_integer(value) and value >= 0:
        return int(value)
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**32))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31))
    raise InvalidArgumentError(
        "is not a seed",
        argument="random_state" if seed is UNSET else "seed",
        value=value,
        remedy="pass a whole number, 0 or more",
    )


def check_jobs(n_jobs: Any) -> int | None:
    """Return a number of workers as joblib takes it."""
    if n_jobs is None:
        return None
    if not is_integer(n_jobs) or n_jobs == 0:
        raise InvalidArgumentError(
            "must be a number of workers, or -1 for one per core", argument="n_jobs", value=n_jobs
        )
    return int(n_jobs)


def check_step(step: Any) -> float:
    """Return the step of beta in annealing."""
    return check_number("step", step, _MIN_STEP, 1.0)


def check_progress(progress: Any) -> Progress | None:
    """Return the callback in a :class:`Reporter`, or None."""
    if progress is None:
        return None
    if not callable(progress):
        raise InvalidArgumentError(
            "must be a function of (done, total, best_cost)",
            argument="progress",
            value=progress,
            remedy="pass such a function, or leave it out",
        )
    return Reporter(progress)


class Reporter:
    """A progress callback whose steps never decrease, and whose best cost never increases and is NaN while unknown.

    Examples
    --------
    >>> report = Reporter(print)
    >>> report(1, 2, np.inf)
    1 2 nan
    >>> report(2, 2, 0.5)
    2 2 0.5
    >>> report(1, 3, 0.7)  # a second phase that counts its own steps
    3 5 0.5
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0
        # Steps done before the present phase.
        self._before = 0
        self._best_cost = math.nan

    def __call__(self, done: int, total: int, best_cost: float) -> None:
        """Call the callback."""
        if self._before + done < self._done:
            self._before = self._done
        self._done = self._before + int(done)
        if np.isfinite(best_cost):
            self._best_cost = float(np.fmin(self._best_cost, best_cost))
        self._progress(self._done, self._before + int(total), self._best_cost)
