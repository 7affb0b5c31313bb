"""What notebooks show for chains and results: HTML with small pictures, made without a drawing library.

Pictures are inline SVG. Text and lines have the colour of the page's text, and nothing has a background, so that cells
are legible on light and on dark pages. There are no scripts, no style sheets and no ids. All names are escaped and cut.
"""

from klump.notebooks.answers import aggregation_html
from klump.notebooks.chains import chain_html
from klump.notebooks.comparisons import comparison_html, selection_html
from klump.notebooks.samples import bootstrap_html
from klump.notebooks.searches import grid_html, path_html, tree_html

__all__ = [
    "aggregation_html",
    "bootstrap_html",
    "chain_html",
    "comparison_html",
    "grid_html",
    "path_html",
    "selection_html",
    "tree_html",
]
