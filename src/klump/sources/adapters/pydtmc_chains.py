"""PyDTMC: Markov chains, and the hidden chain of a hidden Markov model."""

from __future__ import annotations

from typing import Any

from klump.sources.adapters.adapted import Adapted


def adapt(given: Any) -> Adapted | None:
    """Transition matrix ``p`` and names of the states."""
    if not hasattr(given, "p") or not hasattr(given, "states"):
        return None
    return Adapted(given.p, tuple(given.states))
