"""Coarse-grain Markov chains and say in bits, with guarantees, what was lost.

Names are imported when they are first used, so that ``import klump`` stays light.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Aggregation": "klump.aggregation",
    "AggregationGrid": "klump.aggregation",
    "AggregationPath": "klump.aggregation",
    "AggregationTree": "klump.aggregation",
    "Bisimulation": "klump.guarantees",
    "Bootstrap": "klump.resampling",
    "Bracket": "klump.guarantees",
    "ChapmanKolmogorov": "klump.dynamics",
    "Comparison": "klump.comparison",
    "Costs": "klump.aggregation",
    "Guarantees": "klump.guarantees",
    "KlumpError": "klump.errors",
    "LagScan": "klump.dynamics",
    "LongTimeChain": "klump.dynamics",
    "MarkovAggregation": "klump.estimator",
    "MarkovChain": "klump.chain",
    "MonteCarlo": "klump.guarantees",
    "Reachability": "klump.guarantees",
    "Posterior": "klump.resampling",
    "RelaxationCurve": "klump.clustering",
    "Row": "klump.comparison",
    "Selection": "klump.selection",
    "SelectionRow": "klump.selection",
    "SelectionTable": "klump.selection",
    "SequenceCounts": "klump.resampling",
    "Split": "klump.search.deterministic_annealing",
    "aggregate": "klump.aggregation",
    "aggregation_tree": "klump.aggregation",
    "beta_path": "klump.aggregation",
    "bootstrap": "klump.resampling",
    "cluster": "klump.clustering",
    "compare": "klump.comparison",
    "datasets": "klump.sources",
    "distributed": "klump",
    "divergence_rate": "klump.chain",
    "errors": "klump",
    "grid": "klump.aggregation",
    "is_lumpable": "klump.aggregation",
    "load": "klump.aggregation",
    "plots": "klump",
    "posterior": "klump.resampling",
    "read_chain": "klump.files",
    "relaxation_curve": "klump.clustering",
    "score": "klump.aggregation",
    "select": "klump.selection",
    "write_chain": "klump.files",
    "write_mapped": "klump.files",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from klump import distributed as distributed
    from klump import errors as errors
    from klump import plots as plots
    from klump.aggregation import Aggregation as Aggregation
    from klump.aggregation import AggregationGrid as AggregationGrid
    from klump.aggregation import AggregationPath as AggregationPath
    from klump.aggregation import AggregationTree as AggregationTree
    from klump.aggregation import Costs as Costs
    from klump.aggregation import aggregate as aggregate
    from klump.aggregation import aggregation_tree as aggregation_tree
    from klump.aggregation import beta_path as beta_path
    from klump.aggregation import grid as grid
    from klump.aggregation import is_lumpable as is_lumpable
    from klump.aggregation import load as load
    from klump.aggregation import score as score
    from klump.chain import MarkovChain as MarkovChain
    from klump.chain import divergence_rate as divergence_rate
    from klump.clustering import RelaxationCurve as RelaxationCurve
    from klump.clustering import cluster as cluster
    from klump.clustering import relaxation_curve as relaxation_curve
    from klump.comparison import Comparison as Comparison
    from klump.comparison import Row as Row
    from klump.comparison import compare as compare
    from klump.dynamics import ChapmanKolmogorov as ChapmanKolmogorov
    from klump.dynamics import LagScan as LagScan
    from klump.dynamics import LongTimeChain as LongTimeChain
    from klump.errors import KlumpError as KlumpError
    from klump.estimator import MarkovAggregation as MarkovAggregation
    from klump.files import read_chain as read_chain
    from klump.files import write_chain as write_chain
    from klump.files import write_mapped as write_mapped
    from klump.guarantees import Bisimulation as Bisimulation
    from klump.guarantees import Bracket as Bracket
    from klump.guarantees import Guarantees as Guarantees
    from klump.guarantees import MonteCarlo as MonteCarlo
    from klump.guarantees import Reachability as Reachability
    from klump.resampling import Bootstrap as Bootstrap
    from klump.resampling import Posterior as Posterior
    from klump.resampling import SequenceCounts as SequenceCounts
    from klump.resampling import bootstrap as bootstrap
    from klump.resampling import posterior as posterior
    from klump.search.deterministic_annealing import Split as Split
    from klump.selection import Selection as Selection
    from klump.selection import SelectionRow as SelectionRow
    from klump.selection import SelectionTable as SelectionTable
    from klump.selection import select as select
    from klump.sources import datasets as datasets


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'klump' has no attribute {name!r}")
    if home == "klump":
        return import_module(f"klump.{name}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
