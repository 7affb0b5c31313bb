"""The methods by name, each with its traits. A new method is one file and one entry here.

Imports the standard library only, so that the command line's help lists the methods without importing NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from klump.search.method import Found, Task


@dataclass(frozen=True)
class Method:
    """A search method and its traits."""

    name: str
    """Value of the argument ``method``."""
    run: Callable[[Task], Found]
    """Maps a task to a result with exactly ``task.n_groups`` groups, unless a trait says otherwise."""
    summary: str
    """One line for the help."""
    by_cost: bool = True
    """Minimises C_beta + gamma C_G, and so takes a gamma; other methods minimise a cost of their own."""
    finds_number: bool = False
    """Finds the number of groups itself: takes no ``n_states``."""
    merges: bool = False
    """Merges groups: an initial map may have more than ``n_groups`` groups."""
    may_empty: bool = False
    """Takes ``allow_empty``: the paper's algorithms, which may leave a group empty."""
    takes_tolerance: bool = False
    """Takes ``tolerance``."""
    soft: bool = False
    """May return a stochastic map."""
    takes_effort: bool = False
    """Takes an ``effort``; other methods have ``n_init``."""
    lumps: bool = False
    """Returns an exact lumping; accepts chains that are not irreducible."""
    respects_labels: bool = False
    """Takes ``respect_labels``."""
    takes_constraints: bool = False
    """Takes ``fixed``, ``must_link``, ``cannot_link`` and ``min_mass``."""


def _lazy(module: str, function: str) -> Callable[[Task], Found]:
    """Function that imports the method's module on its first call."""

    def run(task: Task) -> Found:
        found: Found = getattr(import_module(f"klump.search.{module}"), function)(task)
        return found

    return run


# Efforts of "auto", in ascending order; ``portfolio.EFFORTS`` has their budgets.
EFFORT_NAMES = ("quick", "balanced", "thorough")
DEFAULT_EFFORT = "balanced"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "auto",
            _lazy("portfolio", "portfolio"),
            "a portfolio of searches, the cheapest partition",
            takes_effort=True,
            respects_labels=True,
            takes_constraints=True,
        ),
        Method("sequential", _lazy("sequential", "sequential"), "Algorithm 1", may_empty=True),
        Method("annealing", _lazy("annealing", "annealing"), "Algorithm 2", may_empty=True),
        Method("spectral", _lazy("spectral", "spectral"), "recursive bisection along eigenvectors"),
        Method(
            "spectral-sign",
            _lazy("spectral", "spectral_sign"),
            "the same, cut at the sign of the eigenvector",
        ),
        Method(
            "agglomerative",
            _lazy("agglomerative", "agglomerative"),
            "greedy merging of groups, by the cost",
            merges=True,
        ),
        Method(
            "agglomerative-relaxed",
            _lazy("agglomerative", "agglomerative_relaxed"),
            "the same, by an upper bound of the cost of lumpability",
            by_cost=False,
            merges=True,
        ),
        Method(
            "deterministic-annealing",
            _lazy("deterministic_annealing", "deterministic_annealing"),
            "groups that split while a temperature falls",
            by_cost=False,
        ),
        Method(
            "stochastic",
            _lazy("stochastic", "stochastic"),
            "a stochastic map, by projected gradient descent",
            soft=True,
        ),
        Method(
            "exact",
            _lazy("exact", "exact"),
            "the coarsest exact lumping, without a number of groups",
            by_cost=False,
            finds_number=True,
            takes_tolerance=True,
            lumps=True,
            respects_labels=True,
        ),
    )
}


def names_of(trait: Callable[[Method], bool]) -> list[str]:
    """List the names of the methods that have a trait.

    >>> names_of(lambda method: method.may_empty)
    ['sequential', 'annealing']
    """
    return [name for name, method in METHODS.items() if trait(method)]
