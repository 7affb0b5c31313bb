"""The figures of the page, by Bokeh: glyphs on empty sources, which the page fills for the selected answer.

Names of sources and glyphs are those that ``page.js`` asks for. User text appears only in columns of sources, never in
properties of models, which Bokeh would parse as TeX.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from klump.errors import MissingPackageError

# Font size of labels within figures.
_FONT = "12px"


def bokeh_script() -> str:
    """JavaScript of Bokeh, to be placed in the page."""
    resources = _import("bokeh.resources").Resources(mode="inline", components=["bokeh"], minified=True)
    return "\n".join(resources.js_raw)


def figures() -> dict[str, Any]:
    """JSON items of all figures by the id of the element that shows them."""
    json_item = _import("bokeh.embed").json_item
    made = {
        "matrix": _matrix(),
        "graph": _graph(),
        "costs": _curves("costs", "beta", "cost (bits)"),
        "kept": _curves("kept", "number of groups", "kept (%)"),
        "plane": _plane(),
        "flow": _flow(),
        "over-time": _over_time(),
        "timescales": _timescales(),
    }
    return {name: json_item(figure, name) for name, figure in made.items()}


def require_bokeh() -> None:
    """Raise MissingPackageError if Bokeh is not installed."""
    _import("bokeh")


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError("reports need bokeh", remedy="pip install 'klump[report]'") from error


def _source(name: str, *columns: str) -> Any:
    return _import("bokeh.models").ColumnDataSource({column: [] for column in columns}, name=name)


def _figure(name: str, *, ratio: float | None = None, height: int = 300, **options: Any) -> Any:
    """Empty figure without a background of its own, as wide as its element."""
    size: dict[str, Any] = {"height": height} if ratio is None else {"aspect_ratio": ratio}
    made = _import("bokeh.plotting").figure(
        name=name,
        sizing_mode="stretch_width" if ratio is None else "scale_width",
        toolbar_location=None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=4,
        output_backend="canvas",
        tools="",
        **size,
        **options,
    )
    made.toolbar.logo = None
    made.grid.grid_line_alpha = 0.35
    made.axis.axis_label_text_font_style = "normal"
    made.axis.minor_tick_line_color = None
    return made


def _hide_axes(figure: Any) -> None:
    figure.axis.visible = False
    figure.grid.visible = False


def _ranges(x: tuple[float, float], y: tuple[float, float]) -> dict[str, Any]:
    range1d = _import("bokeh.models").Range1d
    return {"x_range": range1d(*x), "y_range": range1d(*y)}


def _matrix() -> Any:
    """Quads of the bins, coloured by density; borders of the groups, and a strip with their numbers."""
    models = _import("bokeh.models")
    made = _figure("matrix", ratio=1.0, **_ranges((-0.06, 1.0), (1.0, -0.06)))
    _hide_axes(made)
    cells = _source("matrix-cells", "left", "right", "top", "bottom", "level")
    mapper = models.LinearColorMapper(palette=["#ffffff"], low=0, high=255, name="matrix-colours")
    colour = {"field": "level", "transform": mapper}
    edges = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
    made.quad(**edges, source=cells, fill_color=colour, line_color=colour, line_width=0.5)
    strips = _source("matrix-strips", "left", "right", "top", "bottom", "colour")
    made.quad(**edges, source=strips, fill_color="colour", line_color=None)
    borders = _source("matrix-borders", "x0", "y0", "x1", "y1")
    made.segment(x0="x0", y0="y0", x1="x1", y1="y1", source=borders, line_width=1.0, name="foreground-line")
    return made


def _graph() -> Any:
    """Arrows, groups, rings for the probability of staying, and labels."""
    models = _import("bokeh.models")
    made = _figure("graph", ratio=1.25, **_ranges((-1.8, 1.8), (-1.42, 1.46)))
    _hide_axes(made)
    edges = _source("graph-edges", "xs", "ys", "colour", "source", "target", "probability")
    arrows = made.patches("xs", "ys", source=edges, fill_color="colour", fill_alpha=0.75, line_color=None)
    nodes = _source(
        "graph-nodes", "x", "y", "r", "inner", "outer", "end", "colour", "name", "mass", "states", "staying"
    )
    made.annular_wedge(
        "x", "y", "inner", "outer", start_angle=math.pi / 2.0, end_angle="end", direction="clock", source=nodes,
        color="colour", line_color=None,
    )  # fmt: skip
    discs = made.circle("x", "y", radius="r", source=nodes, fill_color="colour", line_color=None)
    labels = _source("graph-labels", "x", "y", "text", "align")
    made.text(
        "x", "y", "text", source=labels, text_align="align", text_baseline="middle", text_font_size=_FONT,
        name="foreground-text",
    )  # fmt: skip
    numbers = _source("graph-numbers", "x", "y", "text")
    made.text(
        "x", "y", "text", source=numbers, text_align="center", text_baseline="middle", text_font_size=_FONT,
        text_color="white", text_font_style="bold",
    )  # fmt: skip
    made.add_tools(
        models.HoverTool(
            renderers=[arrows],
            tooltips=[("from", "@source"), ("to", "@target"), ("probability", "@probability{0.0000}")],
        ),
        models.HoverTool(
            renderers=[discs],
            tooltips=[
                ("group", "@name"),
                ("mass", "@mass{0.0000}"),
                ("states", "@states"),
                ("stays", "@staying{0.0000}"),
            ],
        ),
    )
    return made


def _curves(name: str, x: str, y: str) -> Any:
    """Lines of all numbers of groups or betas, the selected one in front; a tap on a dot selects its cell."""
    models = _import("bokeh.models")
    made = _figure(name, height=260, x_axis_label=x, y_axis_label=y)
    made.multi_line(
        "xs", "ys", source=_source(f"{name}-lines", "xs", "ys"), name="muted-line", line_width=1.2
    )
    made.line("x", "y", source=_source(f"{name}-line", "x", "y"), line_width=2.2, name="accent-line")
    dots = _source(f"{name}-dots", "x", "y", "k", "beta", "row", "column")
    drawn = made.scatter("x", "y", source=dots, size=8, line_color=None, name="muted-dot")
    here = _source(f"{name}-here", "x", "y")
    made.scatter("x", "y", source=here, size=13, line_width=2, fill_alpha=0.0, name="accent-ring")
    made.add_tools(
        models.TapTool(renderers=[drawn]),
        models.HoverTool(
            renderers=[drawn],
            tooltips=[("groups", "@k"), ("beta", "@beta"), (y.partition(" ")[0], "@y{0.0000}")],
        ),
    )
    return made


def _plane() -> Any:
    """Lumpability against predictability: the path through beta at the selected number of groups."""
    models = _import("bokeh.models")
    made = _figure(
        "plane", height=260, x_axis_label="lumpability (bits)", y_axis_label="predictability (bits)"
    )
    for axis in (made.x_range, made.y_range):
        axis.range_padding = 0.25  # for the labels beside the dots
    made.line("x", "y", source=_source("plane-line", "x", "y"), line_width=1.4, name="muted-line")
    dots = _source("plane-dots", "x", "y", "beta")
    drawn = made.scatter("x", "y", source=dots, size=8, line_color=None, name="accent-dot")
    made.scatter(
        "x",
        "y",
        source=_source("plane-here", "x", "y"),
        size=14,
        line_width=2,
        fill_alpha=0.0,
        name="accent-ring",
    )
    made.text(
        "x", "y", "text", source=_source("plane-labels", "x", "y", "text"), x_offset=9, y_offset=-4,
        text_font_size="11px", name="foreground-text",
    )  # fmt: skip
    made.add_tools(
        models.HoverTool(
            renderers=[drawn],
            tooltips=[("beta", "@beta"), ("lumpability", "@x{0.0000}"), ("predictability", "@y{0.0000}")],
        )
    )
    return made


def _flow() -> Any:
    """Bars of the groups, and ribbons between neighbouring answers."""
    models = _import("bokeh.models")
    made = _figure("flow", height=300, **_ranges((-0.4, 1.4), (-0.1, 1.1)))
    made.yaxis.visible = False
    made.grid.visible = False
    made.xaxis.ticker = models.FixedTicker(ticks=[])
    ribbons = _source("flow-ribbons", "xs", "ys", "colour", "source", "target", "mass")
    drawn = made.patches("xs", "ys", source=ribbons, fill_color="colour", fill_alpha=0.4, line_color=None)
    bars = _source("flow-bars", "left", "right", "top", "bottom", "colour")
    made.quad("left", "right", "top", "bottom", source=bars, fill_color="colour", line_color=None)
    here = _source("flow-here", "left", "right", "top", "bottom")
    made.quad(
        "left", "right", "top", "bottom", source=here, fill_alpha=0.0, line_width=1.6, name="accent-ring"
    )
    made.add_tools(
        models.HoverTool(
            renderers=[drawn], tooltips=[("from", "@source"), ("to", "@target"), ("mass", "@mass{0.0000}")]
        )
    )
    return made


def _over_time() -> Any:
    """Probability of being in the group of the start: original chain solid, small chains dashed and dotted."""
    made = _figure(
        "over-time",
        height=300,
        x_axis_type="log",
        x_axis_label="steps",
        y_axis_label="probability of the start group",
    )
    for kind, dash in (("original", "solid"), ("aggregated", "dashed"), ("long_time", "dotted")):
        source = _source(f"over-time-{kind}", "xs", "ys", "colour")
        made.multi_line("xs", "ys", source=source, line_color="colour", line_width=1.8, line_dash=dash)
    return made


def _timescales() -> Any:
    """Timescales by rank, on a logarithmic axis, one marker per chain."""
    models = _import("bokeh.models")
    made = _figure("timescales", height=300, y_axis_type="log", x_axis_label="rank", y_axis_label="steps")
    made.xaxis.ticker = models.BasicTicker(min_interval=1, num_minor_ticks=0)
    markers = {
        "original": {"marker": "dash", "size": 20, "name": "foreground-dot"},
        "aggregated": {"marker": "circle", "size": 9, "name": "accent-dot"},
        "long_time": {"marker": "square", "size": 9, "name": "second-dot"},
    }
    for kind, style in markers.items():
        source = _source(f"timescales-{kind}", "x", "y")
        drawn = made.scatter("x", "y", source=source, fill_alpha=0.0, line_width=2.2, **style)
        made.add_tools(
            models.HoverTool(
                renderers=[drawn], tooltips=[(kind.replace("_", "-"), "@y{0,0.[00]} steps"), ("rank", "@x")]
            )
        )
    return made
