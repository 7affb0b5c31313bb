"""What is aggregated: a finite Markov chain with its stationary law."""

from klump.chain.divergence import divergence_rate
from klump.chain.markov_chain import ChainLike, MarkovChain, as_chain

__all__ = ["ChainLike", "MarkovChain", "as_chain", "divergence_rate"]
