"""Every method on the same chain, klump's own and other people's, scored on the same costs."""

from klump.comparison.comparison import Comparison, Row
from klump.comparison.contest import compare

__all__ = ["Comparison", "Row", "compare"]
