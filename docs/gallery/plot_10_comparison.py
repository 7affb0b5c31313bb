"""
Methods side by side
====================

``klump.compare`` runs several methods on the same chain and scores their groups by the same costs. On the left the cost
that was asked for, on the right where each answer lies between lumpability and predictability.

Here tools of other packages are left out; ``klump.compare(chain, 4)`` runs those that are installed, too.
"""

import klump

chain = klump.datasets.letter_bigrams()
compared = klump.compare(chain, 4, outside=False, n_init=5, effort="quick")
figure = compared.plot()

# %%
# The same as a table:
print(compared)
