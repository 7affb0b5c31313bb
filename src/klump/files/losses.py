"""What a file of a format cannot hold of a chain."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy import sparse

from klump.chain.markov_chain import ChainLike, as_chain
from klump.files.explicit_labels import INIT
from klump.files.registry import format_of
from klump.files.umb_valuations import encode_valuations


def losses(chain: ChainLike, path: str | os.PathLike[str]) -> list[str]:
    """Parts of a chain that :func:`klump.write_chain` would not write to a file of this name.

    Examples
    --------
    >>> from klump import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], ["sun", "rain"], labels={"wet": ["rain"]})
    >>> losses(chain, "weather.csv"), losses(chain, "weather.mtx"), losses(chain, "weather.npz")
    (["labels ('wet')"], ['state names', "labels ('wet')"], [])
    """
    chain = as_chain(chain)
    keeps = format_of(Path(path)).KEEPS
    lost = []
    is_kept = "names" in keeps or ("valuations" in keeps and encode_valuations(chain.states) is not None)
    if chain.has_names and not is_kept:
        lost.append("state names")
    if "labels" not in keeps:
        labels = [
            name for name, members in chain.labels.items() if not ("used labels" in keeps and len(members))
        ]
        if labels:
            lost.append(f"labels ({', '.join(map(repr, labels))})")
    # There the label "init" marks the initial states, whatever else it marked.
    if "initial label" in keeps and INIT in chain.labels:
        start = np.zeros(0) if chain.initial is None else np.flatnonzero(chain.initial)
        if not np.array_equal(start, chain.labels[INIT]):
            lost.append(f"labels ({INIT!r})")
    if chain.initial is not None and "initial" not in keeps:
        masses = chain.initial[chain.initial > 0]
        if "initial states" not in keeps:
            lost.append("initial distribution")
        elif not np.allclose(masses, masses[0], rtol=1e-9, atol=0.0):
            lost.append("probabilities of the initial states")
    if "rewards" not in keeps:
        names = [
            name
            for name, reward in chain.rewards.items()
            if sparse.issparse(reward) or "state rewards" not in keeps
        ]
        if names:
            lost.append(f"rewards ({', '.join(map(repr, names))})")
    return lost
