"""Picture of a relaxation curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from klump.clustering import RelaxationCurve
from klump.plots.arguments import check_path, check_result
from klump.plots.figure import FAILED, KLUMP, TEXT, finish, new_figure, own_style, panel, tidy

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Width and height of the figure, in inches.
_SIZE = (6.4, 4.0)


def relaxation(
    curve: RelaxationCurve, path: str | PathLike[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw I(X_1; X_{1+r}) against r on a logarithmic axis, and the plateau if there is one.

    Parameters
    ----------
    curve
        The curve.
    path
        File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
    ax
        Axes to draw on; new ones if left out.

    Examples
    --------
    >>> import klump
    >>> curve = klump.relaxation_curve([[0.9, 0.1], [0.2, 0.8]])
    >>> klump.plots.relaxation(curve).get_xlabel()
    'steps r'
    """
    check_result("curve", curve, RelaxationCurve, "pass what klump.relaxation_curve(...) returns")
    with panel(ax, path, *_SIZE) as axes:
        style: Any = {"linewidth": 1.4, "marker": "o", "markersize": 4, "clip_on": False, "zorder": 3}
        axes.plot(curve.steps, curve.information, color=KLUMP, **style)
        if curve.plateau is None:
            axes.set_title("no plateau", color=TEXT, fontsize=10)
        else:
            height = float(curve.information[curve.steps == curve.plateau][0])
            axes.axhline(height, color=FAILED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            ring: Any = {"marker": "o", "markersize": 10, "markerfacecolor": "none", "markeredgewidth": 1.4}
            axes.plot([curve.plateau], [height], color=TEXT, **ring)
            axes.set_title(
                f"plateau at {curve.plateau:,} step{'s' * (curve.plateau > 1)}: {height:.2f} bits, as much as "
                f"{2.0**height:.3g} equally likely groups",
                color=TEXT,
                fontsize=10,
            )
        axes.set_xscale("log", base=2)
        # A margin on both sides, also for a curve with one step.
        axes.set_xlim(0.9, 1.1 * max(int(curve.steps[-1]), 2))
        axes.set_ylim(0.0, 1.08 * float(curve.information[0]) or 1.0)
        axes.set_xlabel("steps r")
        axes.set_ylabel(r"$I(X_1; X_{1+r})$ (bits)")
        tidy(axes, grid="both")
    return axes


@own_style()
def draw_figure(curve: RelaxationCurve, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the curve in a figure that the caller owns: what ``curve.plot(path)`` returns."""
    check_path(path)
    figure = new_figure(*_SIZE)
    relaxation(curve, ax=figure.subplots())
    return finish(figure, path)
