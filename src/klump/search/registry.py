"""The methods by name, each with its traits. A new method is one file and one entry here.

Nothing is imported but the standard library: the help of the command line lists the methods without loading NumPy.
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
    """A way to search, and what questions it takes."""

    name: str
    """What users call it."""
    run: Callable[[Task], Found]
    """Finds a map for a task, with exactly ``task.n_groups`` groups unless a trait says otherwise."""
    summary: str
    """What it does, in a few words."""
    by_cost: bool = True
    """Minimises C_beta + gamma C_G, and so takes a gamma; other methods minimise a cost of their own."""
    finds_number: bool = False
    """Finds the number of groups itself: it is asked without one."""
    merges: bool = False
    """Merges groups: an initial map may have more groups than asked for."""
    may_empty: bool = False
    """Takes ``allow_empty``: one of the paper's algorithms, which may empty a group."""
    takes_tolerance: bool = False
    """Takes ``tolerance``."""
    soft: bool = False
    """May return a stochastic map."""
    lumps: bool = False
    """Returns an exact lumping, of chains that are not irreducible too."""


def _lazily(module: str, function: str) -> Callable[[Task], Found]:
    """Import a method's module when it runs for the first time."""

    def run(task: Task) -> Found:
        found: Found = getattr(import_module(f"klump.search.{module}"), function)(task)
        return found

    return run


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("auto", _lazily("portfolio", "portfolio"), "a portfolio of searches, the cheapest partition"),
        Method("sequential", _lazily("sequential", "sequential"), "Algorithm 1", may_empty=True),
        Method("annealing", _lazily("annealing", "annealing"), "Algorithm 2", may_empty=True),
        Method("spectral", _lazily("spectral", "spectral"), "groups cut in two along eigenvectors"),
        Method(
            "spectral-sign", _lazily("spectral", "spectral_sign"), "the same, at the sign of the eigenvector"
        ),
        Method(
            "agglomerative",
            _lazily("agglomerative", "agglomerative"),
            "groups merged two by two, by the cost",
            merges=True,
        ),
        Method(
            "agglomerative-relaxed",
            _lazily("agglomerative", "agglomerative_relaxed"),
            "the same, by a bound on the cost of lumpability",
            by_cost=False,
            merges=True,
        ),
        Method(
            "deterministic-annealing",
            _lazily("deterministic_annealing", "deterministic_annealing"),
            "groups that split while a temperature falls",
            by_cost=False,
        ),
        Method("stochastic", _lazily("stochastic", "stochastic"), "soft groups", soft=True),
        Method(
            "exact",
            _lazily("exact", "exact"),
            "the coarsest exact lumping, without a number of groups",
            by_cost=False,
            finds_number=True,
            takes_tolerance=True,
            lumps=True,
        ),
    )
}


def names_of(trait: Callable[[Method], bool]) -> list[str]:
    """List the names of the methods that have a trait.

    >>> names_of(lambda method: method.may_empty)
    ['sequential', 'annealing']
    """
    return [name for name, method in METHODS.items() if trait(method)]
