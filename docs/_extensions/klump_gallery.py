"""What the gallery needs: a scraper for figures that pyplot does not know."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_DPI = 150


def scrape(block, block_vars, gallery_conf):
    """Save the figures that a block of a script has assigned to names, each once."""
    found = []
    for value in block_vars["example_globals"].values():
        figure = value.figure if isinstance(value, Axes) else value
        if isinstance(figure, Figure) and not getattr(figure, "_klump_scraped", False):
            figure._klump_scraped = True
            found.append(figure)
    paths = []
    for figure, path in zip(found, block_vars["image_path_iterator"], strict=False):
        figure.savefig(path, dpi=_DPI, facecolor="white", bbox_inches="tight")
        paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
