"""Comparison of klump's methods and of other tools on one chain, by the same costs."""

from klump.comparison.comparison import Comparison, Row
from klump.comparison.contest import compare, contestant_names

__all__ = ["Comparison", "Row", "compare", "contestant_names"]
