"""What can be promised about an aggregated chain."""

from klump.guarantees.bisimulation import Bisimulation, certify

__all__ = ["Bisimulation", "certify"]
