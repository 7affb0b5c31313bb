"""Finite Markov chains: transition matrix, communicating classes, stationary distribution."""

from klump.chain.divergence import divergence_rate
from klump.chain.markov_chain import ChainLike, MarkovChain, as_chain

__all__ = ["ChainLike", "MarkovChain", "as_chain", "divergence_rate"]
