"""
States that belong to several groups
====================================

Below beta = 1 a map that divides a state between groups can be cheaper than every partition. Each bar is a state, its
colours the probabilities of the groups.
"""

import klump

P = [[0.4638, 0.4871, 0.0491], [0.3018, 0.1419, 0.5563], [0.0173, 0.3155, 0.6672]]
chain = klump.MarkovChain(P, states=["left", "middle", "right"])
soft = klump.aggregate(chain, 2, beta=0.5, method="stochastic")
axes = soft.plot(kind="memberships")
