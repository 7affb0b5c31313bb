"""The methods by name. A new method is one file and one line here."""

from __future__ import annotations

from klump.search.agglomerative import agglomerative, agglomerative_relaxed
from klump.search.annealing import annealing
from klump.search.deterministic_annealing import deterministic_annealing
from klump.search.exact import exact
from klump.search.method import Method
from klump.search.portfolio import portfolio
from klump.search.sequential import sequential
from klump.search.spectral import spectral, spectral_sign
from klump.search.stochastic import stochastic

METHODS: dict[str, Method] = {
    "auto": portfolio,
    "sequential": sequential,
    "annealing": annealing,
    "spectral": spectral,
    "spectral-sign": spectral_sign,
    "agglomerative": agglomerative,
    "agglomerative-relaxed": agglomerative_relaxed,
    "deterministic-annealing": deterministic_annealing,
    "stochastic": stochastic,
    "exact": exact,
}

# Methods that minimise the cost of the objective, and so take a gamma; the others have a cost of their own.
BY_COST: frozenset[str] = frozenset(
    {"auto", "sequential", "annealing", "spectral", "spectral-sign", "agglomerative", "stochastic"}
)
# Methods that find out themselves how many groups there are: they are asked without a number.
FINDS_NUMBER: frozenset[str] = frozenset({"exact"})
# Methods that merge groups: what they start from may have more groups than asked for.
MERGES: frozenset[str] = frozenset({"agglomerative", "agglomerative-relaxed"})
