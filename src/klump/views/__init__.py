"""What a picture shows, computed without a drawing library.

Matplotlib figures, notebook cells and the HTML report draw the same orders, bins, positions and colours.
"""

from klump.views.colours import PALETTE, colour_of, group_colours, track_groups
from klump.views.flow import Flow, flow
from klump.views.graph import Edge, Graph, graph
from klump.views.matrix import OrderedMatrix, ordered_matrix

__all__ = [
    "PALETTE",
    "Edge",
    "Flow",
    "Graph",
    "OrderedMatrix",
    "colour_of",
    "flow",
    "graph",
    "group_colours",
    "ordered_matrix",
    "track_groups",
]
