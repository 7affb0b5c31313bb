"""Pictures of finished results, one function per kind of result.

Every function returns a Matplotlib ``Figure`` that the caller owns. No function shows a window or changes the global
state of pyplot.
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
