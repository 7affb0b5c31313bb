"""One bootstrap that several tests look at."""

import pytest

import klump
from counted import COUNTS, FEW


@pytest.fixture(scope="session")
def found():
    return klump.bootstrap(COUNTS, 3, n_samples=30, states="abcdefg", **FEW)
