"""How sure an aggregation is if its chain was estimated from counts."""

from klump.resampling.intervals import Interval, Posterior
from klump.resampling.question import bootstrap, posterior
from klump.resampling.sequences import SequenceCounts
from klump.resampling.stability import Bootstrap

__all__ = ["Bootstrap", "Interval", "Posterior", "SequenceCounts", "bootstrap", "posterior"]
