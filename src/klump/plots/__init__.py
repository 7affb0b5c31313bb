"""Pictures of finished results with matplotlib.

Pictures of one panel take ``ax``, the axes to draw on, and return them; without ``ax`` they make a new pyplot figure,
which notebooks and ``plt.show()`` display. Pictures of several panels, :func:`overview`, :func:`grid` and
:func:`comparison`, return a ``Figure`` that the caller owns. Every function takes ``path`` to save a file, and needs
matplotlib (the extra ``klump[plots]``). Figures that klump makes have its own colours, whatever style is active.
"""

from klump.plots.chapman_kolmogorov import chapman_kolmogorov
from klump.plots.comparison import comparison
from klump.plots.costs import costs
from klump.plots.dendrogram import dendrogram
from klump.plots.flow import flow
from klump.plots.graph import graph
from klump.plots.grid import grid
from klump.plots.matrix import matrix
from klump.plots.memberships import memberships
from klump.plots.overview import overview
from klump.plots.plane import plane
from klump.plots.relaxation import relaxation
from klump.plots.selection import gains, selection
from klump.plots.stability import agreement, stability
from klump.plots.timescales import lag_scan, timescales
from klump.views import group_colours

__all__ = [
    "agreement",
    "chapman_kolmogorov",
    "comparison",
    "costs",
    "dendrogram",
    "flow",
    "gains",
    "graph",
    "grid",
    "group_colours",
    "lag_scan",
    "matrix",
    "memberships",
    "overview",
    "plane",
    "relaxation",
    "selection",
    "stability",
    "timescales",
]
