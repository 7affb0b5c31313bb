"""Many searches at once: each of them takes one worker, so that together they take as many as were asked for."""

from __future__ import annotations

from typing import Any

from klump.aggregation.question import Options, check_method, run_method
from klump.chain import MarkovChain
from klump.errors import InvalidArgumentError
from klump.search.method import Found
from klump.search.registry import METHODS, names_of


def run_on_one_worker(chain: MarkovChain, options: Options, n_states: int, beta: float, method: str) -> Found:
    """Search on one worker, whatever engine runs this call; the options have been checked before."""
    import joblib

    # Not n_jobs=1: a cluster takes no notice of that, so that each search would spread over all of it.
    with joblib.parallel_config(backend="sequential"):
        return run_method(options.task(chain, n_states, beta, method), method)


def check_method_with_number(method: Any) -> str:
    """Insist on a method that is told how many groups to find."""
    if METHODS[check_method(method)].finds_number:
        others = ", ".join(names_of(lambda method: not method.finds_number))
        raise InvalidArgumentError(
            "finds the number of groups itself",
            argument="method",
            value=method,
            remedy=f"choose one of {others}",
        )
    return str(method)
