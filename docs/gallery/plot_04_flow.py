"""
Which states change their group
===============================

Bars are groups, as tall as their mass, one column per beta; ribbons are the states that two groups share. A group keeps
its colour as long as it keeps most of its members.
"""

import klump

chain = klump.datasets.letter_bigrams()
path = klump.beta_path(chain, 4, step=0.2, n_init=5)
axes = path.plot(kind="flow")

# %%
# The same between numbers of groups:
grid = klump.grid(chain, [2, 3, 4, 5], [0.8], effort="quick")
axes_of_numbers = klump.plots.flow([grid[k, 0.8] for k in (2, 3, 4, 5)])
