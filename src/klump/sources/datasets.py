"""Bundled example chains."""

from __future__ import annotations

import csv
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from klump.chain import MarkovChain


def letter_bigrams() -> MarkovChain:
    """Letters of *The Great Gatsby*: the chain of the paper's language experiment.

    The states are the 76 characters of the book (chapter headings and underscores removed, line breaks read
    as blanks, e for é); the probabilities come from the 266,806 pairs of adjacent characters.

    Examples
    --------
    >>> from klump import datasets
    >>> chain = datasets.letter_bigrams()
    >>> chain
    MarkovChain(76 states, 1146 transitions)
    >>> after_q = chain.transition_matrix[chain.states.index("q")]
    >>> chain.states[after_q.argmax()]
    'u'
    """
    from klump.chain import MarkovChain

    table = resources.files("klump").joinpath("data", "letter_bigrams.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    letters = sorted({row["from"] for row in rows} | {row["to"] for row in rows})
    number = {letter: i for i, letter in enumerate(letters)}
    counts = np.zeros((len(letters), len(letters)))
    for row in rows:
        counts[number[row["from"]], number[row["to"]]] = int(row["count"])
    return MarkovChain.from_counts(counts, letters)


def three_state_example() -> tuple[MarkovChain, NDArray[np.intp]]:
    """Non-reversible chain of the paper's first experiment, and its map to two groups.

    There C_P < 2 C_L, so the cost falls with growing beta, which no reversible chain allows.

    Returns
    -------
    chain : MarkovChain
        The chain on the states 1, 2, 3.
    labels : ndarray
        Its groups: the first state by itself, the two others together.

    Examples
    --------
    >>> from klump import datasets
    >>> chain, labels = datasets.three_state_example()
    >>> chain.states, labels
    ((1, 2, 3), array([0, 1, 1]))
    """
    from klump.chain import MarkovChain

    P = [[0.4, 0.3, 0.3], [0.25, 0.3, 0.45], [0.15, 0.425, 0.425]]
    return MarkovChain(P, states=(1, 2, 3)), np.array([0, 1, 1])
