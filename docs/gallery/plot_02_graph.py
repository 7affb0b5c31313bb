"""
The small chain as a graph
==========================

The area of a disc is the mass of its group, the share of time that the chain spends there; the width of an arrow is the
probability of a step from group to group.
"""

import klump

chain = klump.datasets.letter_bigrams()
answer = klump.aggregate(chain, n_states=4, beta=0.8)
answer = answer.with_names(["consonants", "vowels", "ends of words", "capitals and h"])
axes = answer.plot(kind="graph")
