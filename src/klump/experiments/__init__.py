"""The paper's experiments: its numbers, a run that reproduces them, and a verdict on each.

Every experiment runs in two modes: as published (the paper's algorithm) and default (klump's ``"auto"``). Experiment X
is computed in ``X.py``, judged in ``X_verdicts.py`` and drawn in ``X_pictures.py``; ``run`` in ``X_report.py`` composes
its :class:`Result`.
"""

from __future__ import annotations

from importlib import import_module

from klump.errors import InvalidArgumentError
from klump.experiments.result import Result
from klump.experiments.trials import Settings

__all__ = ["EXPERIMENTS", "Result", "Settings", "run"]

EXPERIMENTS = {
    "nonreversible": "a 3-state chain whose cost falls as beta grows",
    "quasi-lumpable": "planted groups under noise: cost and ARI over beta, with and without annealing",
    "bigrams": "the letters of a novel in 2 to 7 groups",
    "clustering": "points as a random walk: three clouds, three circles",
    "bisimulation": "observed error of the aggregated chain against the guaranteed bound",
}


def run(name: str, settings: Settings) -> Result:
    """Run one experiment.

    Examples
    --------
    >>> result = run("nonreversible", Settings())
    >>> {verdict.outcome for verdict in result.verdicts}
    {'agrees'}
    """
    if name not in EXPERIMENTS:
        raise InvalidArgumentError(
            "is not an experiment",
            argument="name",
            value=name,
            remedy=f"choose one of {', '.join(EXPERIMENTS)}",
        )
    module = import_module(f"klump.experiments.{name.replace('-', '_')}_report")
    result: Result = module.run(settings)
    return result
