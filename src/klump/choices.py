"""Choices that Python and the command line share, with the sentences that explain them."""

from __future__ import annotations

from typing import Literal

Restriction = Literal["connected", "closed", "largest"]

# Parts of a reducible chain that ``restrict=`` and ``--restrict`` keep.
RESTRICTIONS: dict[str, str] = {
    "connected": "the largest strongly connected set, for chains from data; transitions out of it are dropped",
    "closed": "the largest closed class, which no transition leaves",
    "largest": "the old name of closed",
}
# What sequences do at their ends, ``ends=``.
ENDS: dict[str, str] = {"join": "one state between the last symbol of a sequence and the first of any other"}
