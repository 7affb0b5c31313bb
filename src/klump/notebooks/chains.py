"""Markov chains in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from klump.chain.facts import RATES, format_classes, rate_rows, size_rows
from klump.chain.wording import list_states
from klump.notebooks.budget import is_small, knows_classes, knows_masses, why_no_masses
from klump.notebooks.markup import cell, facts, never_raises
from klump.notebooks.matrices import chain_picture

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Most states whose names are read, and width of their list in columns.
_MAX_NAMES = 100_000
_NAMES_WIDTH = 60


@never_raises
def chain_html(chain: MarkovChain) -> str:
    """HTML of a chain: its transition matrix and its properties.

    Communicating classes of chains with more than 2,000,000 transitions, and the stationary distribution of chains
    with more than 1,000 states, are not computed for it.

    Examples
    --------
    >>> from klump import MarkovChain
    >>> "entropy rate" in chain_html(MarkovChain([[0.9, 0.1], [0.3, 0.7]]))
    True
    """
    wanted = _cheap_rates(chain)
    rows = size_rows(chain)
    if chain.has_names and chain.n_states <= _MAX_NAMES:
        rows.append(("names", list_states(chain.states, _NAMES_WIDTH)))
    rows += [("applied", change) for change in chain.applied]
    missing = [name for name in RATES if name not in wanted]
    if not knows_classes(chain):
        missing.insert(0, "is_irreducible")
    elif chain.is_irreducible:
        rows.append(("irreducible", "yes"))
    else:
        rows.append(("irreducible", f"no: {format_classes(chain.classes)}"))
        missing = []
    rows += rate_rows(chain, wanted)
    notes = [f"{why_no_masses(chain)}: {', '.join(missing)}"] if missing else []
    return cell("Markov chain", [chain_picture(chain), facts(rows)], notes)


def _cheap_rates(chain: MarkovChain) -> tuple[str, ...]:
    """Attributes among the rates that are known or cheap."""
    if knows_classes(chain) and is_small(chain) and knows_masses(chain):
        return RATES
    return tuple(name for name in RATES if name in chain.__dict__)
