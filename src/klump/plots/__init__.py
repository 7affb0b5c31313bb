"""Pictures of finished results, one function for each kind of result.

Every function returns a Matplotlib ``Figure`` that belongs to the caller: nothing is shown, and no global state of
pyplot is touched.
"""

from klump.plots.comparison import comparison
from klump.plots.dendrogram import dendrogram
from klump.plots.figure import FAILED, KLUMP, OUTSIDE, finish, import_figure, new_figure, save
from klump.plots.grid import grid
from klump.plots.relaxation import relaxation

__all__ = [
    "FAILED",
    "KLUMP",
    "OUTSIDE",
    "comparison",
    "dendrogram",
    "finish",
    "grid",
    "import_figure",
    "new_figure",
    "relaxation",
    "save",
]
