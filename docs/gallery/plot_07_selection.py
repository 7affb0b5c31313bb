"""
How many groups
===============

``klump.select`` searches several numbers of groups and betas, and recommends a pair if one stands out: here the three
groups from which the chain was made.
"""

import klump
from klump.sources.random_chains import block_chain

chain, planted = block_chain((10, 10, 10), alpha=0.5, eps=0.3, random_state=0)
choice = klump.select(chain, [2, 3, 4, 5], [0.5, 1.0], n_restarts=2)
axes = choice.plot()

# %%
# The decrease of the cost at each step:
gains = choice.plot(kind="gains")

# %%
print(choice.reason)
