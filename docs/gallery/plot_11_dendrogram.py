"""
The tree of all numbers of groups
=================================

Greedy merging gives one partition for every number of groups, each a refinement of the next: a tree. The height of a
merger is what it costs, in bits. ``n_states`` colours the groups of one cut.
"""

import klump
from klump.sources.random_chains import block_chain

chain, planted = block_chain((5, 6, 7, 8), alpha=0.6, eps=0.3, random_state=1)
tree = klump.aggregation_tree(chain, beta=0.5)
figure = tree.plot(n_states=4)

# %%
# Cutting the tree anywhere gives an answer.
print(tree.cut(4).costs)
