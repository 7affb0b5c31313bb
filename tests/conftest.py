"""What all tests share: one source of randomness, and one way to run property tests."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run and every machine; none of them is timed.
settings.register_profile(
    "klump",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("klump")

SEED = 20170913


@pytest.fixture
def rng():
    """The one seed of all tests that draw by themselves."""
    return np.random.default_rng(SEED)


@pytest.fixture(autouse=True)
def close_figures():
    """Pyplot keeps its figures, and warns of many."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
