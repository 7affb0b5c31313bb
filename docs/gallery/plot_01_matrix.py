"""
The matrix, ordered by group
============================

The transition matrix with the states of a group next to each other, the heaviest first; lines are the borders between
groups. Where a block is even, all states of a group go to the other group alike: that is what makes groups good.

Chains of more states than fit into a picture are drawn as densities of bins, without a dense matrix.
"""

import klump
from klump.sources.random_chains import sparse_block_chain

chain = klump.datasets.letter_bigrams()
answer = klump.aggregate(chain, n_states=4, beta=0.8)
axes = answer.plot()

# %%
# A sparse chain with 20,000 states in 5 groups:
large, planted = sparse_block_chain(20_000, 5, random_state=0)
axes_of_large = klump.Aggregation.from_labels(large, planted).plot()
