"""From data to chains: sequences, points, graphs, rates, random generators and bundled data."""

from klump.sources import datasets

__all__ = ["datasets"]
