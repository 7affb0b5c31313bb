"""Options of a search: validated, they make a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from klump.aggregation.constraints import NO_CONSTRAINTS, GroupConstraints, build_constraints
from klump.aggregation.mapping import as_mapping
from klump.arguments import (
    DEFAULT_SEED,
    Progress,
    check_choice,
    check_count,
    check_gamma,
    check_groups,
    check_jobs,
    check_number,
    check_progress,
    check_seed,
    check_step,
    check_time_limit,
)
from klump.chain import MarkovChain
from klump.chain.wording import format_count
from klump.errors import UNSET, InvalidArgumentError, Setting
from klump.search.constraints import Constraints
from klump.search.deadline import Deadline
from klump.search.method import Labels, Task
from klump.search.registry import DEFAULT_EFFORT, EFFORT_NAMES, METHODS, names_of

# Default tolerance of method="exact": largest difference between probabilities that count as equal.
TOLERANCE = 1e-10


@dataclass(frozen=True)
class Options:
    """Options of a search, not yet validated."""

    n_init: Any = 20
    random_state: Any = DEFAULT_SEED
    n_jobs: int | None = None
    initial: Any = None
    step: Any = 0.1
    max_sweeps: Any = 100
    allow_empty: bool = False
    progress: Progress | None = None
    tolerance: Any = TOLERANCE
    gamma: Any = 0.0
    seed: Any = UNSET
    effort: Any = DEFAULT_EFFORT
    time_limit: Any = None
    constraints: GroupConstraints = NO_CONSTRAINTS

    def task(self, chain: MarkovChain, n_states: Any, beta: float, method: str) -> Task:
        """Validate the options and build a task, whose time starts now."""
        n_groups = _check_n_states(n_states, chain, method)
        gamma = check_gamma(self.gamma)
        if gamma > 0.0 and not METHODS[method].by_cost:
            raise InvalidArgumentError(
                ("is not for ", Setting("method", method), ", which does not minimise the cost"),
                argument="gamma",
                value=self.gamma,
                remedy=f"leave it out, or choose one of {', '.join(names_of(lambda method: method.by_cost))}",
            )
        time_limit = _check_time_limit(self.time_limit, method)
        return Task(
            chain,
            n_groups,
            beta,
            n_init=check_count("n_init", self.n_init),
            seed=check_seed(self.random_state, self.seed),
            n_jobs=check_jobs(self.n_jobs),
            initial=_check_initial(self.initial, chain, n_groups, method, allow_empty=self.allow_empty),
            max_sweeps=check_count("max_sweeps", self.max_sweeps),
            step=check_step(self.step),
            allow_empty=self.allow_empty,
            tolerance=check_number("tolerance", self.tolerance, most=1.0),
            gamma=gamma,
            effort=_check_effort(self.effort, method),
            progress=check_progress(self.progress),
            deadline=None if time_limit is None else Deadline(time_limit),
            constraints=_build_constraints(chain, self.constraints, n_groups, method),
        )


def check_method(method: Any) -> str:
    """Return the name of a registered method."""
    return check_choice("method", method, METHODS)


def _check_effort(effort: Any, method: str) -> str:
    checked = check_choice("effort", effort, EFFORT_NAMES)
    if checked != DEFAULT_EFFORT and not METHODS[method].takes_effort:
        raise InvalidArgumentError(
            ("is not for ", Setting("method", method)),
            argument="effort",
            value=effort,
            remedy=("leave it out, and set the number of restarts with ", Setting("n_init")),
        )
    return checked


def _build_constraints(
    chain: MarkovChain, given: GroupConstraints, n_groups: int, method: str
) -> Constraints | None:
    """Refuse what the method does not take."""
    traits = METHODS[method]
    others = ("fixed", "must_link", "cannot_link", "min_mass")
    refused = [] if traits.takes_constraints else [name for name in others if getattr(given, name)]
    if given.labels and not traits.respects_labels:
        refused.append("respect_labels")
    if refused:
        is_label = refused[0] == "respect_labels"
        takers = names_of(lambda method: method.respects_labels if is_label else method.takes_constraints)
        raise InvalidArgumentError(
            ("is not for ", Setting("method", method)),
            argument=refused[0],
            remedy=("leave it out, or pass ", Setting("method", takers[0])),
        )
    return build_constraints(chain, given, None if traits.finds_number else n_groups)


def _check_time_limit(time_limit: Any, method: str) -> float | None:
    checked = check_time_limit(time_limit)
    if checked is not None and METHODS[method].lumps:
        raise InvalidArgumentError(
            ("is not for ", Setting("method", method), ", which has no answer before its end"),
            argument="time_limit",
            value=time_limit,
            remedy="leave it out",
        )
    return checked


def _check_n_states(n_states: Any, chain: MarkovChain, method: str) -> int:
    if METHODS[method].finds_number:
        if n_states is not None:
            raise InvalidArgumentError(
                ("is not for ", Setting("method", method), ", which finds the number of groups itself"),
                argument="n_states",
                value=n_states,
                remedy="leave it out",
            )
        return 1
    if n_states is None:
        raise InvalidArgumentError(
            "is missing",
            argument="n_states",
            remedy=("say how many groups ", Setting("method", method), " is to find"),
        )
    return check_groups(n_states, chain.n_states, "states of the chain")


def _check_initial(
    initial: Any, chain: MarkovChain, n_groups: int, method: str, *, allow_empty: bool
) -> Labels | None:
    if initial is None:
        return None
    try:
        mapping = as_mapping(initial, chain.n_states, allow_empty=True)
    except InvalidArgumentError as error:
        error.rename("labels", "initial")
        raise
    if mapping.labels is None:
        raise InvalidArgumentError(
            "must be a deterministic map", argument="initial", remedy="pass one group for each state"
        )
    traits = METHODS[method]
    size = np.bincount(mapping.labels, minlength=mapping.n_groups)
    if not allow_empty and not size.all():
        renumber = "renumber them with numpy.unique(labels, return_inverse=True)[1]"
        raise InvalidArgumentError(
            f"leaves group {int(np.argmin(size))} empty ({mapping.n_groups} groups are numbered from 0)",
            argument="initial",
            remedy=(renumber, ", or pass ", Setting("allow_empty", True)) if traits.may_empty else renumber,
        )
    if traits.finds_number or (traits.merges and mapping.n_groups >= n_groups):
        return mapping.labels
    if mapping.n_groups != n_groups and not (allow_empty and mapping.n_groups < n_groups):
        limit = "at least " if traits.merges else "at most " * allow_empty
        raise InvalidArgumentError(
            (f"has {format_count(mapping.n_groups, 'group')}, but ", Setting("n_states", n_groups)),
            argument="initial",
            remedy=f"pass labels of {limit}{format_count(n_groups, 'group')}",
        )
    return mapping.labels
