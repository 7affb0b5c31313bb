"""Rates of a uniformised chain, for the formats that hold models in continuous time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def rates_of(chain: MarkovChain) -> sparse.csr_array:
    """Rates q P off the diagonal; an absorbing state has a rate 1 to itself, which changes nothing.

    >>> from klump import MarkovChain
    >>> rates_of(MarkovChain.from_generator([[0.0, 3.0], [0.0, 0.0]])).toarray()
    array([[0., 3.],
           [0., 1.]])
    """
    rate = chain.uniformization_rate
    if rate is None:
        raise InvalidArgumentError(
            "needs a chain that was made of rates",
            argument="ctmc",
            value=True,
            remedy="leave it out, or read the model with ctmc=True",
        )
    entries = sparse.coo_array(chain.transition_matrix)
    moves = entries.row != entries.col
    row, col, data = entries.row[moves], entries.col[moves], rate * entries.data[moves]
    absorbing = np.setdiff1d(np.arange(chain.n_states), row)
    places = (np.concatenate([row, absorbing]), np.concatenate([col, absorbing]))
    return sparse.csr_array((np.concatenate([data, np.ones(absorbing.size)]), places), shape=entries.shape)
