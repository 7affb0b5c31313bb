"""
Right over one step, right over many steps
==========================================

A particle in a double well, the left one deeper, on 60 grid points. The aggregated chain is the best one for a single
step, and forgets too fast; the long-time chain keeps slow timescales and first-passage times. The Chapman-Kolmogorov
test compares both with the original chain over many steps.
"""

import numpy as np

import klump

x = np.linspace(-1.6, 1.6, 60)
energy = 4 * (x**2 - 1) ** 2 + 0.3 * x
P = np.diag(0.5 * np.exp(np.minimum(0, energy[:-1] - energy[1:])), 1)
P += np.diag(0.5 * np.exp(np.minimum(0, energy[1:] - energy[:-1])), -1)
chain = klump.MarkovChain(P + np.diag(1 - P.sum(axis=1)))
answer = klump.aggregate(chain, n_states=2).with_names(["left well", "right well"])
axes = answer.plot(kind="chapman_kolmogorov", steps=[1, 3, 10, 30, 100, 300, 1000, 3000, 10_000])

# %%
# The slowest timescale of all three chains:
timescales = answer.plot(kind="timescales", n=1)

# %%
# What a longer lag does to the timescale of the same groups:
scan = answer.lag_scan([1, 3, 10, 30, 100, 300, 1000])
lags = scan.plot()
