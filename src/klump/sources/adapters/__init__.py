"""Objects of other packages as Markov chains: one module per package, found through a registry."""

from klump.sources.adapters.adapted import Adapted
from klump.sources.adapters.registry import adapt

__all__ = ["Adapted", "adapt"]
