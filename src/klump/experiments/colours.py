"""Colours of the experiments' pictures: one per mode, the same in every experiment."""

from __future__ import annotations

from klump.plots.figure import FAILED, KLUMP, OUTSIDE, TEXT

# The paper's numbers.
PAPER = TEXT
# The published algorithm.
PUBLISHED = OUTSIDE
# klump's default.
DEFAULT = KLUMP
# Secondary information: bounds, Algorithm 1 without annealing, other maps.
SECONDARY = FAILED
# Third colour, beside PUBLISHED and DEFAULT, where three groups or kinds are shown.
THIRD = "#4b9b5f"
# Background of a region in which a bound is trivial.
SHADE = "#f0f1f2"
