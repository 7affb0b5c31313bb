"""Properties of a chain as rows of a table: name and value."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from klump.chain.wording import format_count, format_number

if TYPE_CHECKING:
    from klump.chain.connectivity import Classes
    from klump.chain.markov_chain import MarkovChain

Rows = list[tuple[str, str]]

# Attributes of a chain that need its stationary distribution, in the order of their rows.
RATES = ("is_reversible", "entropy_rate", "redundancy_rate")


def size_rows(chain: MarkovChain) -> Rows:
    """Numbers of states and transitions.

    >>> from klump import MarkovChain
    >>> size_rows(MarkovChain([[0.9, 0.1], [0.3, 0.7]]))
    [('states', '2'), ('transitions', '4, 2.0 per state; stored dense')]
    """
    degree = chain.n_transitions / chain.n_states
    storage = "sparse" if chain.is_sparse else "dense"
    return [
        ("states", str(chain.n_states)),
        ("transitions", f"{chain.n_transitions}, {degree:.1f} per state; stored {storage}"),
    ]


def format_classes(classes: Classes) -> str:
    """Count the closed classes and the transient states of a chain that is not irreducible.

    >>> from klump import MarkovChain
    >>> format_classes(MarkovChain([[0.5, 0.5], [0.0, 1.0]]).classes)
    '1 closed class, 1 transient state'
    """
    transient = int(np.count_nonzero(~classes.closed[classes.component]))
    closed = int(np.count_nonzero(classes.closed))
    return f"{format_count(closed, 'closed class', 'es')}, {format_count(transient, 'transient state')}"


def rate_rows(chain: MarkovChain, wanted: Collection[str] = RATES) -> Rows:
    """Reversibility, entropy rate and redundancy rate of an irreducible chain, or those wanted of them.

    >>> from klump import MarkovChain
    >>> rate_rows(MarkovChain([[0.9, 0.1], [0.3, 0.7]]))[0]
    ('reversible', 'yes')
    """
    rows = []
    if "is_reversible" in wanted:
        rows.append(("reversible", "yes" if chain.is_reversible else "no"))
    if "entropy_rate" in wanted:
        rows.append(("entropy rate", f"{format_number(chain.entropy_rate)} bits per step, H(X2|X1)"))
    if "redundancy_rate" in wanted:
        rows.append(("redundancy", f"{format_number(chain.redundancy_rate)} bits per step, I(X1;X2)"))
    return rows
