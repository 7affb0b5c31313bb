"""Certificates and bounds for an aggregated chain."""

from klump.guarantees.bisimulation import Bisimulation, certify
from klump.guarantees.brackets import Bracket, Guarantees, compute_guarantees
from klump.guarantees.monte_carlo import MonteCarlo, estimate_entropy_rate
from klump.guarantees.reachability import Reachability

__all__ = [
    "Bisimulation",
    "Bracket",
    "Guarantees",
    "MonteCarlo",
    "Reachability",
    "certify",
    "compute_guarantees",
    "estimate_entropy_rate",
]
