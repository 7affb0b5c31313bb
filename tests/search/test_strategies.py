"""The order of the portfolio's starts, as the module's docstring prints it."""

from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from klump.search import strategies
from klump.search.objective import Objective
from klump.search.starts import Embeddings
from klump.search.strategies import SINGLETONS, SPECTRAL, starts

NAMES = {
    strategy: name for name, strategy in vars(strategies).items() if isinstance(strategy, strategies.Strategy)
}


def documented_orders():
    """Rows of the docstring's last table: whether powers are informative, poor starts are trapped, and the order."""
    table = strategies.__doc__.split("traps poor starts  order\n")[1].split("\n\n")[0]
    for informative, traps, *order in (line.split() for line in table.splitlines()):
        yield informative == "yes", traps == "yes", order


def context(informative, traps, *, has_embedding=True):
    coordinates = (np.zeros((3, 1)),) if has_embedding else ()
    return SimpleNamespace(
        powers=(None,) if informative else (),
        objective=Objective(0.3 if traps else 0.5),
        embeddings=Embeddings(np.ones(3) / 3, coordinates),
    )


def test_there_are_four_orders():
    assert len(list(documented_orders())) == len(strategies.ORDERS) == 4


@pytest.mark.parametrize(("informative", "traps", "order"), list(documented_orders()))
def test_orders_are_as_documented(informative, traps, order):
    schedule = list(islice(starts(context(informative, traps)), 24))
    assert [strategy for strategy, _ in schedule[1::2]] == [SPECTRAL] * 12
    expected = order * 3
    if traps:
        expected[0] = NAMES[SINGLETONS]
    assert [NAMES[strategy] for strategy, _ in schedule[0::2]] == expected
    for name in set(expected):
        uses = [uses for strategy, uses in schedule if NAMES[strategy] == name]
        assert uses == list(range(len(uses)))


def test_without_an_embedding_each_other_strategy_runs_twice():
    alternating = list(islice(starts(context(True, False)), 16))
    schedule = list(islice(starts(context(True, False, has_embedding=False)), 16))
    assert schedule[0::2] == schedule[1::2] == alternating[0::2]


def test_every_strategy_is_used():
    used = {strategy for order in strategies.ORDERS.values() for cycle in order for strategy in cycle}
    assert used | {SPECTRAL} == set(NAMES)
