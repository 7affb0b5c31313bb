"""
From predictable to lumpable groups
===================================

``klump.beta_path`` begins at beta = 1, where groups should tell as much as possible about the next state, and goes down
to beta = 0, where they should be Markov. The costs at each beta:
"""

import klump

chain = klump.datasets.letter_bigrams()
path = klump.beta_path(chain, 4, step=0.1, n_init=5)
axes = path.plot()

# %%
# The same path in the plane of both costs. The dots are labelled by their betas.
plane = path.plot(kind="plane")

# %%
# The same as a table:
print(path)
