"""
All numbers of groups, all betas
================================

``klump.grid`` aggregates a chain for several numbers of groups and several betas. A step of the curves that is much
larger than the later ones speaks for that number of groups: here 3, the number from which the chain was made.
"""

import klump
from klump.sources.random_chains import block_chain

chain, planted = block_chain((6, 6, 8), alpha=0.5, eps=0.3, random_state=0)
grid = klump.grid(chain, [2, 3, 4, 5], [0.0, 0.5, 1.0], effort="quick")
figure = grid.plot()

# %%
# Each cell is a complete answer.
print(grid[3, 0.5])
