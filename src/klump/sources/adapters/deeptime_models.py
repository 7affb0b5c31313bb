"""deeptime: Markov state models, transition counts, hidden Markov models, and estimators that were fitted."""

from __future__ import annotations

from typing import Any

from klump.sources.adapters.adapted import Adapted, DeadEnds, refuse

_STATES = DeadEnds("state {} has no counted transition", "restrict the counts with submodel_largest()")


def adapt(given: Any) -> Adapted | None:
    """Chain of a model; of a hidden Markov model the hidden chain."""
    model = fitted_model(given)
    if is_posterior(model):
        raise refuse(
            model,
            f"holds {len(model.samples)} chains",
            "pass it to klump.posterior or klump.bootstrap, or pass one chain: its .prior, or one of its .samples",
        )
    model = getattr(model, "transition_model", model)  # of a hidden Markov model
    if hasattr(model, "transition_matrix"):
        counted = getattr(model, "has_count_model", False)
        return Adapted(model.transition_matrix, symbols_of(model.count_model) if counted else None)
    if hasattr(model, "count_matrix"):
        return Adapted(model.count_matrix, symbols_of(model), normalize=True, dead_ends=_STATES)
    return None


def fitted_model(given: Any) -> Any:
    """Model of a fitted estimator; any other object as it is."""
    if not hasattr(given, "fetch_model"):
        return given
    if not given.has_model:
        raise refuse(given, "is not fitted", "call its fit() first")
    return given.fetch_model()


def is_posterior(model: Any) -> bool:
    """Whether a model is a Bayesian posterior: a maximum likelihood chain, and samples of others."""
    return hasattr(model, "samples") and hasattr(model, "prior")


def symbols_of(counts: Any) -> tuple[int, ...] | None:
    """Symbols of the states in the trajectories that were counted; None if they are ``0 .. n-1``."""
    symbols = tuple(int(symbol) for symbol in counts.state_symbols)
    return None if symbols == tuple(range(len(symbols))) else symbols
