"""What can be promised about an aggregated chain."""

from klump.guarantees.bisimulation import Bisimulation, certify
from klump.guarantees.brackets import Bracket, Guarantees, bracketed
from klump.guarantees.monte_carlo import MonteCarlo, simulated

__all__ = ["Bisimulation", "Bracket", "Guarantees", "MonteCarlo", "bracketed", "certify", "simulated"]
