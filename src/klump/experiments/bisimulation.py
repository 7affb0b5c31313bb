"""Error of the aggregated chain: the guaranteed bound and the observed total variation.

The paper proves a bound (Proposition 1) and prints no numbers. Here the bound, the exact epsilon and the error over
several steps are computed for the chains of all its experiments. As published: the groups that the paper plants, draws
or finds. By default: the groups that ``aggregate`` finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.question import aggregate, beta_path
from klump.chain import MarkovChain
from klump.experiments.points import PUBLISHED, chain_of, draw_points, points_seed
from klump.experiments.quasi_lumpable import ALPHAS, EPSILONS
from klump.experiments.result import MIN_DRAWS, Mode
from klump.experiments.trials import Settings, run_pieces
from klump.guarantees import Bisimulation
from klump.sources.datasets import letter_bigrams, three_state_example
from klump.sources.random_chains import block_chain

NAME = "bisimulation"
# Chains per random kind in a full-size run: as many as a median needs to be shown. A theorem needs no more.
FULL_CHAINS = MIN_DRAWS
# Trials per chain of a smaller run. Chosen.
TRIALS_PER_CHAIN = 10
# Data sets and numbers of neighbours of the paper's experiment with points.
POINTS = (("clouds", 15), ("clouds", 100), ("circles", 15), ("circles", 120))
# Betas of the default on random chains. Chosen.
BETAS = (0.0, 0.5)
# Betas of the letters: those of the paper's Table I.
LETTER_BETAS = (1.0, 0.8, 0.5, 0.0)
# Groups of the letters: those of the paper's Table I.
N_LETTER_GROUPS = 4
# Steps of the marginal distribution of the group.
STEPS = 20
# Steps of the joint distribution of the groups, which has k ** PATH_STEPS values.
PATH_STEPS = 5
# Rounding error of a total variation: smaller differences count as none.
ROUNDING = 1e-12
# Experiments of the paper from which the chains are.
FAMILIES = ("three-state", "quasi-lumpable", "bigrams", "clouds", "circles")
# Families of one chain that is not random.
FIXED = ("three-state", "bigrams")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """Guaranteed and observed errors of one chain and its groups, in total variation."""

    family: str
    chain: str
    groups: str
    mode: Mode
    kept: float
    """Share of the information that the groups keep, I(Y1;Y2) / I(X1;X2)."""
    epsilon: float
    """Exact epsilon: the largest error of one step over all states."""
    mean: float
    """Mean error of one step, weighted by the stationary distribution."""
    proposition: float
    """Bound of Proposition 1, computed from C_L and the smallest stationary probability."""
    marginal: tuple[float, ...]
    """Error of the distribution of the group after 1, 2, ... steps, from the worst initial state."""
    paths: tuple[float, ...]
    """Error of the joint distribution of the first 1, 2, ... groups, from the worst initial state."""
    draw: int | None = None
    """Seed of the random chain or of its points; None if the chain is not random."""

    def bound(self, t: int) -> float:
        """Return the bound of the error over t steps, 1 - (1 - epsilon)^t."""
        return Bisimulation(self.epsilon, self.proposition, self.mean).horizon(t)

    @property
    def proposition_holds(self) -> bool:
        """Whether epsilon is at most the bound of Proposition 1."""
        return self.epsilon <= self.proposition + ROUNDING

    @property
    def proposition_can_fail(self) -> bool:
        """Whether epsilon could exceed the bound of Proposition 1: a total variation is at most 1."""
        return self.proposition < 1.0

    @property
    def horizon_holds(self) -> bool:
        """Whether every observed error is at most 1 - (1 - epsilon)^t."""
        observed = [*enumerate(self.marginal, 1), *enumerate(self.paths, 1)]
        return all(error <= self.bound(t) + ROUNDING for t, error in observed)

    @property
    def horizon_can_fail(self) -> bool:
        """Whether an error could exceed 1 - (1 - epsilon)^t: not if epsilon is 1."""
        return self.epsilon < 1.0

    @property
    def first_step_is_epsilon(self) -> bool:
        """Whether the error of the first step equals epsilon."""
        return all(abs(errors[0] - self.epsilon) <= ROUNDING for errors in (self.marginal, self.paths))


def marginal_errors(answer: Aggregation, steps: int) -> list[float]:
    """Largest total variation over x between g(X_t) from X_0 = x and the aggregated chain from g(x), per t.

    Examples
    --------
    >>> answer = Aggregation.from_labels(*three_state_example())
    >>> [round(error, 4) for error in marginal_errors(answer, 3)]
    [0.0535, 0.0065, 0.0018]
    """
    transitions, coarse = _matrices(answer)
    distribution, approximation = answer.mapping, np.eye(answer.n_states)
    errors = []
    for _ in range(steps):
        distribution, approximation = transitions @ distribution, coarse @ approximation
        errors.append(_largest_variation(distribution, approximation[answer.labels]))
    return errors


def path_errors(answer: Aggregation, steps: int) -> list[float]:
    """Largest total variation between the joint distributions of g(X_1..t) and of the aggregated chain, per t.

    Examples
    --------
    >>> answer = Aggregation.from_labels(*three_state_example())
    >>> [round(error, 4) for error in path_errors(answer, 3)]
    [0.0535, 0.0535, 0.0535]
    """
    transitions, coarse = _matrices(answer)
    labels, groups = answer.labels, range(answer.n_states)
    distribution, approximation = np.ones((len(labels), 1)), np.ones((answer.n_states, 1))
    errors = []
    for _ in range(steps):
        # A path of t steps is a step into a group followed by a path of t - 1 steps.
        distribution = np.hstack([transitions[:, labels == y] @ distribution[labels == y] for y in groups])
        approximation = np.hstack([coarse[:, [y]] * approximation[y] for y in groups])
        errors.append(_largest_variation(distribution, approximation[labels]))
    return errors


def _matrices(answer: Aggregation) -> tuple[Array, Array]:
    fine: Any = answer.original.transition_matrix
    dense = fine.toarray() if hasattr(fine, "toarray") else fine
    return np.asarray(dense), np.asarray(answer.chain.transition_matrix)


def _largest_variation(distribution: Array, approximation: Array) -> float:
    return float(0.5 * np.abs(distribution - approximation).sum(axis=1).max())


def certify(settings: Settings) -> list[Certificate]:
    """Certify the groups of all chains."""
    calls = _calls(settings)
    pieces = run_pieces(NAME, run_chain, calls, settings)
    return [
        _certificate(record, None if call[0] in FIXED else call[2])
        for call, piece in zip(calls, pieces, strict=True)
        for record in piece
    ]


def _calls(settings: Settings) -> list[tuple[Any, ...]]:
    chains = FULL_CHAINS
    if settings.trials is not None:
        chains = min(FULL_CHAINS, -(-settings.trials // TRIALS_PER_CHAIN))
    seed = settings.seed_of
    calls: list[tuple[Any, ...]] = [("three-state", [], 0, 0)]
    for i, alpha in enumerate(ALPHAS):
        for j, eps in enumerate(EPSILONS):
            calls += [
                ("quasi-lumpable", [alpha, eps], seed(2, i, j, c), seed(3, i, j, c)) for c in range(chains)
            ]
    calls.append(("bigrams", [], 0, seed(4)))
    for name, k in POINTS:
        calls += [
            (name, [k, PUBLISHED], points_seed(settings, name, draw), seed(5, k, draw))
            for draw in range(chains)
        ]
    return calls


def run_chain(family: str, parameters: list[Any], chain_seed: int, seed: int) -> list[dict[str, Any]]:
    """Certify the groups of one chain: the paper's and the default's."""
    return [
        {
            "family": family,
            "chain": name,
            "groups": groups,
            "mode": mode,
            "kept": answer.kept,
            "epsilon": answer.bisimulation.epsilon,
            "mean": answer.bisimulation.mean,
            "proposition": _proposition(answer),
            "marginal": marginal_errors(answer, STEPS),
            "paths": path_errors(answer, PATH_STEPS),
        }
        for name, groups, mode, answer in _ANSWERS[family](parameters, chain_seed, seed)
    ]


def _proposition(answer: Aggregation) -> float:
    """Bound of Proposition 1 as the paper states it; ``bisimulation.bound`` is at least epsilon by construction."""
    least = float(answer.original.stationary_distribution.min())
    return math.sqrt(math.log(2.0) * answer.costs.lumpability / (2.0 * least))


Answers = Iterator[tuple[str, str, Mode, Aggregation]]


def _three_state(parameters: list[Any], chain_seed: int, seed: int) -> Answers:
    yield "three states", "the paper's", "as published", Aggregation.from_labels(*three_state_example())


def _quasi_lumpable(parameters: list[Any], chain_seed: int, seed: int) -> Answers:
    alpha, eps = parameters
    chain, planted = block_chain(alpha=alpha, eps=eps, random_state=chain_seed)
    yield from _planted_and_found(f"alpha = {alpha:g}, eps = {eps:g}", chain, planted, "planted", seed)


def _points(data_set: str, parameters: list[Any], chain_seed: int, seed: int) -> Answers:
    k, reading = parameters
    points, truth = draw_points(data_set, chain_seed)
    chain = chain_of(points, k, reading)
    yield from _planted_and_found(f"{data_set}, k = {k}", chain, truth, "true", seed)


def _planted_and_found(
    name: str, chain: MarkovChain, planted: NDArray[np.intp], word: str, seed: int
) -> Answers:
    yield name, word, "as published", Aggregation.from_labels(chain, planted)
    for beta in BETAS:
        answer = aggregate(chain, int(planted.max()) + 1, beta=beta, random_state=seed)
        yield name, f"beta = {beta:g}", "default", answer


def _bigrams(parameters: list[Any], chain_seed: int, seed: int) -> Answers:
    chain = letter_bigrams()
    path = beta_path(chain, N_LETTER_GROUPS, random_state=seed, allow_empty=True)
    for beta in LETTER_BETAS:
        yield "bigrams, k = 4", f"beta = {beta:g}", "as published", path.at(beta)
    for beta in LETTER_BETAS:
        answer = aggregate(chain, N_LETTER_GROUPS, beta=beta, random_state=seed)
        yield "bigrams, k = 4", f"beta = {beta:g}", "default", answer


_ANSWERS: dict[str, Callable[[list[Any], int, int], Answers]] = {
    "three-state": _three_state,
    "quasi-lumpable": _quasi_lumpable,
    "bigrams": _bigrams,
    "clouds": partial(_points, "clouds"),
    "circles": partial(_points, "circles"),
}


def _certificate(record: dict[str, Any], draw: int | None) -> Certificate:
    lists = {key: tuple(record[key]) for key in ("marginal", "paths")}
    return Certificate(**{**record, **lists}, draw=draw)


def count_draws(certificates: Sequence[Certificate]) -> int | None:
    """Count the random draws behind the certificates; None if some chain is not random."""
    draws = {c.draw for c in certificates}
    return None if None in draws else len(draws)


def are_few(certificates: Sequence[Certificate]) -> bool:
    """Whether the certificates have too few random draws to show their statistics."""
    draws = count_draws(certificates)
    return draws is not None and draws < MIN_DRAWS


def is_lumpable(certificate: Certificate) -> bool:
    """Whether the chain is exactly lumpable for its groups by construction."""
    return certificate.groups == "planted" and certificate.chain.endswith("eps = 0")


def ratios(certificates: Sequence[Certificate]) -> Array:
    """Ratios of the bound of Proposition 1 to epsilon, where epsilon is not 0."""
    return np.array([c.proposition / c.epsilon for c in certificates if c.epsilon > ROUNDING])
