"""
How fast a walk forgets
=======================

A random walk between points first forgets where it is within a cluster, and much later in which cluster it is. In
between, the information about its start hardly falls: a plateau. ``klump.relaxation_curve`` finds it, and
``klump.cluster(points, 3, relaxation="plateau")`` aggregates the walk at that number of steps.
"""

from sklearn.datasets import make_blobs

import klump

points, _ = make_blobs(150, centers=3, cluster_std=0.6, random_state=4)
walk = klump.MarkovChain.from_points(points, 8, walk="neighbors")
curve = klump.relaxation_curve(walk)
figure = curve.plot()

# %%
# The plateau is near log2(3) = 1.58 bits, the entropy of three clusters of equal size.
after = curve.information[list(curve.steps).index(curve.plateau)]
print(f"plateau at {curve.plateau} steps: {after:.2f} bits")
