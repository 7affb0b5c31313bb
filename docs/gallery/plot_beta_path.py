"""
From predictable to lumpable groups
===================================

``klump.beta_path`` begins at beta = 1, where groups should tell as much as possible about the next state, and goes down
to beta = 0, where they should be Markov. The table has the costs at each beta, and how many states change their group.
"""

import klump

chain = klump.datasets.letter_bigrams()
path = klump.beta_path(chain, 4, step=0.25, n_init=5)
print(path)

# %%
# Each step is a complete answer. At beta = 0.75 the groups of letters are
for name, members in zip(path.at(0.75).names, path.at(0.75).groups, strict=True):
    print(f"{name}: {' '.join(map(repr, members[:12]))}{' ...' if len(members) > 12 else ''}")
