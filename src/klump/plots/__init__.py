"""Pictures of finished results with matplotlib.

Pictures of one panel take ``ax``, the axes to draw on, and return them; without ``ax`` they make a new pyplot figure,
which notebooks and ``plt.show()`` display. Pictures of several panels return a ``Figure`` that the caller owns. Every
function takes ``path`` to save a file, and needs matplotlib (the extra ``klump[plots]``).
"""

from klump.plots.comparison import comparison
from klump.plots.costs import costs
from klump.plots.dendrogram import dendrogram
from klump.plots.dynamics import chapman_kolmogorov, lag_scan, timescales
from klump.plots.figure import FAILED, KLUMP, OUTSIDE, finish, import_figure, new_figure, save
from klump.plots.flow import flow
from klump.plots.graph import graph
from klump.plots.grid import grid
from klump.plots.matrix import matrix
from klump.plots.memberships import memberships
from klump.plots.overview import dynamics, overview, save_picture
from klump.plots.plane import plane
from klump.plots.relaxation import relaxation
from klump.plots.selection import gains, selection
from klump.plots.stability import agreement, stability
from klump.views import group_colours

__all__ = [
    "FAILED",
    "KLUMP",
    "OUTSIDE",
    "agreement",
    "chapman_kolmogorov",
    "comparison",
    "costs",
    "dendrogram",
    "dynamics",
    "finish",
    "flow",
    "gains",
    "graph",
    "grid",
    "group_colours",
    "import_figure",
    "lag_scan",
    "matrix",
    "memberships",
    "new_figure",
    "overview",
    "plane",
    "relaxation",
    "save",
    "save_picture",
    "selection",
    "stability",
    "timescales",
]
