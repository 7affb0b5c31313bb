"""The answer: aggregations, their costs, and how to ask for them."""

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.costs import Costs, score
from klump.aggregation.grids import AggregationGrid, grid
from klump.aggregation.lumpable import is_lumpable
from klump.aggregation.path import AggregationPath
from klump.aggregation.question import aggregate, beta_path
from klump.aggregation.storage import load
from klump.aggregation.tree import AggregationTree, aggregation_tree

__all__ = [
    "Aggregation",
    "AggregationGrid",
    "AggregationPath",
    "AggregationTree",
    "Costs",
    "aggregate",
    "aggregation_tree",
    "beta_path",
    "grid",
    "is_lumpable",
    "load",
    "score",
]
