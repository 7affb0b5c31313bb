"""Pictures of an aggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes


class Pictures:
    """The part of an :class:`klump.Aggregation` that draws it."""

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        kind: str = "matrix",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw this answer; needs matplotlib (the extra ``klump[plots]``).

        - ``"matrix"``: the transition matrix with states ordered by group (:func:`klump.plots.matrix`);
        - ``"graph"``: the aggregated chain, with masses and probabilities (:func:`klump.plots.graph`);
        - ``"memberships"``: the share of each state in each group (:func:`klump.plots.memberships`);
        - ``"chapman_kolmogorov"``: the small chains beside the original one over ``steps`` steps
          (:func:`klump.plots.chapman_kolmogorov`);
        - ``"timescales"``: the ``n`` slowest timescales of the chains (:func:`klump.plots.timescales`).

        :func:`klump.plots.overview` draws the first two side by side.

        Parameters
        ----------
        path
            File to save the figure to; its suffix (.png, .svg, .pdf) sets the format.
        kind
            What to draw.
        ax
            Axes to draw on; new ones if left out.
        options
            Options of that kind of picture.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from klump import Aggregation
        >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
        >>> ax = answer.plot(kind="timescales", n=2)
        >>> ax.get_ylabel()
        'steps'
        """
        from klump.plots import kinds

        return kinds.draw(kinds.ANSWER, kind, self, path, ax, **options)
