"""Choosing a number of groups and a beta."""

from klump.selection.question import select
from klump.selection.selection import Selection
from klump.selection.table import SelectionRow, SelectionTable

__all__ = ["Selection", "SelectionRow", "SelectionTable", "select"]
