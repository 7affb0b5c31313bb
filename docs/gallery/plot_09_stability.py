"""
How sure the groups are
=======================

A chain that was estimated from counts has errors, and so have its groups. ``klump.bootstrap`` draws chains that the
counts allow, and aggregates each: how often does a state stay in its group?
"""

import numpy as np

import klump
from klump.sources.random_chains import block_chain

chain, planted = block_chain((5, 6, 7), alpha=0.5, eps=0.4, random_state=0)
rng = np.random.default_rng(0)
counts = np.array([rng.multinomial(40, row) for row in chain.transition_matrix])
sure = klump.bootstrap(counts, 3, n_samples=20, method="annealing", n_init=3)
axes = sure.plot()

# %%
# The agreement of each sample with the estimate:
agreement = sure.plot(kind="agreement")
