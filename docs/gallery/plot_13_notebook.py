"""
In a notebook
=============

Chains, answers, paths, grids and comparisons show themselves in a notebook: a small picture and a table, on light and
dark pages, without a drawing library. This page shows what the last line of a cell shows.
"""

# sphinx_gallery_thumbnail_path = 'figures/weather_groups.svg'
import klump

states = ["clear", "fair", "cloudy", "front", "rain", "showers"]
P = [
    [0.60, 0.25, 0.10, 0.05, 0.00, 0.00],
    [0.30, 0.40, 0.20, 0.10, 0.00, 0.00],
    [0.10, 0.30, 0.30, 0.30, 0.00, 0.00],
    [0.00, 0.00, 0.10, 0.10, 0.60, 0.20],
    [0.00, 0.00, 0.10, 0.00, 0.50, 0.40],
    [0.20, 0.30, 0.10, 0.00, 0.20, 0.20],
]
chain = klump.MarkovChain(P, states)
chain

# %%
# An answer:
answer = klump.aggregate(chain, n_states=3).with_names(["dry", "wet", "turning"])
answer

# %%
# A path:
klump.beta_path(chain, n_states=3, step=0.25)
