"""How far the aggregated chain strays from the original: what is guaranteed, and what is observed.

The paper proves a bound (Proposition 1) and shows no numbers. Here the bound, the exact epsilon and the error over
many steps are computed for the chains of all its experiments. As published: the groups that the paper plants, draws or
finds. By default: the groups that ``aggregate`` finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.question import aggregate, beta_path
from klump.chain import MarkovChain
from klump.experiments.clustering import draw_points, points_seed
from klump.experiments.quasi_lumpable import ALPHAS, EPSILONS
from klump.experiments.result import Outcome, Picture, Result, Table, Verdict
from klump.experiments.shares import Share
from klump.experiments.trials import Settings, run_pieces
from klump.sources.datasets import letter_bigrams, three_state_example
from klump.sources.random_chains import block_chain

NAME = "bisimulation"
# Chains of each random kind; more would show nothing new of a theorem.
MOST_CHAINS = 4
POINTS = (("clouds", 15), ("clouds", 100), ("circles", 15), ("circles", 120))
BETAS = (0.0, 0.5)
LETTER_BETAS = (1.0, 0.8, 0.5, 0.0)
N_LETTER_GROUPS = 4
# The law of the group at each of so many steps; the joint law of all groups up to fewer: there are k ** t of them.
STEPS, PATH_STEPS = 20, 5
ROUNDING = 1e-12
FAMILIES = ("three-state", "quasi-lumpable", "bigrams", "clouds", "circles")

Array = NDArray[np.float64]
Mode = Literal["as published", "default"]


@dataclass(frozen=True)
class Certificate:
    """What is guaranteed for one chain and its groups, and what is observed."""

    family: str
    chain: str
    groups: str
    mode: Mode
    kept: float
    """Share of the chain's redundancy that the groups keep."""
    epsilon: float
    """The exact value: the largest error of one step."""
    mean: float
    """The mean error of one step."""
    proposition: float
    """What Proposition 1 says, computed from the cost and the least stationary probability."""
    marginal: tuple[float, ...]
    """Error in the law of the group after 1, 2, ... steps, from the worst start."""
    paths: tuple[float, ...]
    """Error in the joint law of the groups at the first 1, 2, ... steps, from the worst start."""

    def guaranteed(self, t: int) -> float:
        """Bound of the error over t steps."""
        return min(1.0, t * self.epsilon)

    @property
    def proposition_holds(self) -> bool:
        """Whether the exact epsilon is within Proposition 1."""
        return self.epsilon <= self.proposition + ROUNDING

    @property
    def horizon_holds(self) -> bool:
        """Whether every observed error is within what is guaranteed."""
        observed = [*enumerate(self.marginal, 1), *enumerate(self.paths, 1)]
        return all(error <= self.guaranteed(t) + ROUNDING for t, error in observed)

    @property
    def first_step_is_epsilon(self) -> bool:
        """Whether the error of the first step is epsilon and no less."""
        return all(abs(errors[0] - self.epsilon) <= ROUNDING for errors in (self.marginal, self.paths))


def marginal_errors(answer: Aggregation, steps: int) -> list[float]:
    """Largest total variation, over the states x, between g(X_t) from x and the aggregated chain from g(x).

    Examples
    --------
    >>> answer = Aggregation.from_labels(*three_state_example())
    >>> [round(error, 4) for error in marginal_errors(answer, 3)]
    [0.0535, 0.0065, 0.0018]
    """
    transitions, coarse = _matrices(answer)
    law, approximation = answer.mapping, np.eye(answer.n_states)
    errors = []
    for _ in range(steps):
        law, approximation = transitions @ law, coarse @ approximation
        errors.append(_largest_variation(law, approximation[answer.labels]))
    return errors


def path_errors(answer: Aggregation, steps: int) -> list[float]:
    """Largest total variation between the joint laws of g(X_1), ..., g(X_t) and of the aggregated chain.

    Examples
    --------
    >>> answer = Aggregation.from_labels(*three_state_example())
    >>> [round(error, 4) for error in path_errors(answer, 3)]
    [0.0535, 0.0535, 0.0535]
    """
    transitions, coarse = _matrices(answer)
    labels, groups = answer.labels, range(answer.n_states)
    law, approximation = np.ones((len(labels), 1)), np.ones((answer.n_states, 1))
    errors = []
    for _ in range(steps):
        # A path of t steps is a first step into a group, then a path of t - 1 steps from where it led.
        law = np.hstack([transitions[:, labels == y] @ law[labels == y] for y in groups])
        approximation = np.hstack([coarse[:, [y]] * approximation[y] for y in groups])
        errors.append(_largest_variation(law, approximation[labels]))
    return errors


def _matrices(answer: Aggregation) -> tuple[Array, Array]:
    fine: Any = answer.original.transition_matrix
    dense = fine.toarray() if hasattr(fine, "toarray") else fine
    return np.asarray(dense), np.asarray(answer.chain.transition_matrix)


def _largest_variation(law: Array, approximation: Array) -> float:
    return float(0.5 * np.abs(law - approximation).sum(axis=1).max())


def run(settings: Settings) -> Result:
    """Run the experiment; see the text of the result for what it asks."""
    pieces = run_pieces(NAME, run_chain, _calls(settings), settings)
    certificates = [_certificate(record) for piece in pieces for record in piece]
    return Result(
        name=NAME,
        title="How far the aggregated chain strays",
        text=_text(certificates),
        verdicts=tuple(_verdicts(certificates)),
        tables=_tables(certificates),
        pictures=_pictures(certificates),
        data=_data(certificates),
    )


def _calls(settings: Settings) -> list[tuple[Any, ...]]:
    chains = MOST_CHAINS if settings.trials is None else min(MOST_CHAINS, -(-settings.trials // 10))
    seed = settings.seed_of
    calls: list[tuple[Any, ...]] = [("three-state", [], 0, 0)]
    for i, alpha in enumerate(ALPHAS):
        for j, eps in enumerate(EPSILONS):
            calls += [
                ("quasi-lumpable", [alpha, eps], seed(2, i, j, c), seed(3, i, j, c)) for c in range(chains)
            ]
    calls.append(("bigrams", [], 0, seed(4)))
    for name, k in POINTS:
        calls += [(name, [k], points_seed(settings, name, draw), seed(5, k, draw)) for draw in range(chains)]
    return calls


def run_chain(family: str, parameters: list[Any], chain_seed: int, seed: int) -> list[dict[str, Any]]:
    """Certify the groups of one chain: the paper's and those found."""
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
    """The bound as the paper states it; ``answer.bisimulation.bound`` is never below epsilon by construction."""
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
    k = parameters[0]
    points, truth = draw_points(data_set, chain_seed)
    chain = MarkovChain.from_points(points, n_neighbors=k)
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


def _certificate(record: dict[str, Any]) -> Certificate:
    lists = {key: tuple(record[key]) for key in ("marginal", "paths")}
    return Certificate(**{**record, **lists})


def _verdicts(certificates: Sequence[Certificate]) -> Iterator[Verdict]:
    modes: tuple[Mode, Mode] = ("as published", "default")
    parts = [
        (family, mode, [c for c in certificates if c.family == family and c.mode == mode])
        for family in FAMILIES
        for mode in modes
    ]
    for family, mode, part in parts:
        if part:
            holds = Share.true(np.array([c.proposition_holds for c in part]))
            yield _all(f"{family}: Proposition 1 holds (share of chains)", mode, 1.0, holds, _looseness(part))
    for family, mode, part in parts:
        if part:
            holds = Share.true(np.array([c.horizon_holds for c in part]))
            what = f"{family}: no error over up to {STEPS} steps is above t epsilon (share of chains)"
            yield _all(what, mode, None, holds, _slack(part))
    for mode in modes:
        holds = Share.true(np.array([c.first_step_is_epsilon for c in certificates if c.mode == mode]))
        yield _all("all: the error of one step is exactly epsilon (share of chains)", mode, None, holds, "")
    lumpable = [c.epsilon for c in certificates if _is_lumpable(c)]
    largest = max(lumpable)
    outcome: Outcome = "agrees" if largest <= ROUNDING else "differs"
    yield Verdict(
        "lumpable chains (eps = 0) in their planted groups: largest epsilon",
        "as published",
        0.0,
        largest,
        ROUNDING,
        outcome,
        f"the bound is 0 for a lumpable chain; the band is rounding; {len(lumpable)} chains",
    )


def _all(what: str, mode: Mode, paper: float | None, holds: Share, more: str) -> Verdict:
    outcome: Outcome = "agrees" if holds.count == holds.of else "differs"
    reason = f"{holds}, and it has to be all, up to rounding ({ROUNDING:g})"
    return Verdict(what, mode, paper, holds.value, 0.0, outcome, f"{reason}; {more}" if more else reason)


def _is_lumpable(certificate: Certificate) -> bool:
    return certificate.groups == "planted" and certificate.chain.endswith("eps = 0")


def _ratios(certificates: Sequence[Certificate]) -> Array:
    """How many times epsilon Proposition 1 says, where there is an error at all."""
    return np.array([c.proposition / c.epsilon for c in certificates if c.epsilon > ROUNDING])


def _looseness(certificates: Sequence[Certificate]) -> str:
    ratios = _ratios(certificates)
    return f"the bound is {np.median(ratios):.3g} times epsilon (median)" if ratios.size else ""


def _slack(certificates: Sequence[Certificate]) -> str:
    shares = [
        c.paths[-1] / c.guaranteed(PATH_STEPS) for c in certificates if c.guaranteed(PATH_STEPS) > ROUNDING
    ]
    return (
        f"the first {PATH_STEPS} steps together make {np.median(shares):.0%} of it (median)" if shares else ""
    )


def _tables(certificates: Sequence[Certificate]) -> tuple[Table, ...]:
    columns = (
        "chain",
        "groups",
        "mode",
        "chains",
        "kept",
        "mean error",
        "epsilon",
        "Proposition 1",
        "times epsilon",
        f"group after {STEPS} steps",
        f"first {PATH_STEPS} steps",
        f"{PATH_STEPS} epsilon",
    )
    note = (
        "Errors are total variations, from the worst start; medians over the chains. Kept: share of what one step "
        "tells of the next that the groups keep. Epsilon: the largest error of one step; the mean error is weighted by "
        "the stationary distribution. A bound of 1 or more says nothing; one near 1e-8 is the root of rounding."
    )
    random = [c for c in certificates if c.family == "quasi-lumpable"]
    others = [c for c in certificates if c.family != "quasi-lumpable"]
    return (
        Table("Letters, points and three states", columns, _rows(others), note),
        Table("Planted groups under noise", columns, _rows(random), note),
    )


def _rows(certificates: Sequence[Certificate]) -> tuple[tuple[str, ...], ...]:
    alike: dict[tuple[str, str, str], list[Certificate]] = {}
    for c in certificates:
        alike.setdefault((c.chain, c.groups, c.mode), []).append(c)
    return tuple(
        (
            *names,
            str(len(part)),
            _median(c.kept for c in part),
            _median(c.mean for c in part),
            _median(c.epsilon for c in part),
            _median(c.proposition for c in part),
            _median(_ratios(part)),
            _median(c.marginal[-1] for c in part),
            _median(c.paths[-1] for c in part),
            _median(c.guaranteed(PATH_STEPS) for c in part),
        )
        for names, part in alike.items()
    )


def _median(values: Iterable[float]) -> str:
    numbers = list(values)
    if not numbers:
        return "–"
    median = float(np.median(numbers))
    return "0" if median <= ROUNDING else f"{median:.3g}"


def _text(certificates: Sequence[Certificate]) -> tuple[str, ...]:
    every = len(certificates)
    question = (
        "From each state, where does a step lead, by groups, and where does the aggregated chain say it leads? The "
        "largest difference over the states, in total variation, is epsilon; the paper's Proposition 1 bounds it by "
        "the lumpability cost and the least stationary probability. The paper proves the bound and gives no numbers; "
        "klump also computes epsilon exactly. Here both stand side by side for "
        f"{every} pairs of a chain and its groups, from all experiments of the paper."
    )
    lumpable = [c.epsilon for c in certificates if _is_lumpable(c)]
    without = (
        f"The {len(lumpable)} chains without noise are exactly lumpable for their planted groups: there the largest "
        f"epsilon is {max(lumpable):.1g}, which is rounding."
    )
    return question, _text_on_bound(certificates), _text_on_steps(certificates), without


def _text_on_bound(certificates: Sequence[Certificate]) -> str:
    every = len(certificates)
    held = sum(c.proposition_holds for c in certificates)
    ratios = _ratios(certificates)
    silent = [c for c in certificates if c.proposition >= 1.0]
    counts = {family: sum(c.family == family for c in silent) for family in FAMILIES}
    named = ", ".join(f"{family} {count}" for family, count in counts.items() if count)
    return (
        f"Proposition 1 holds for {held} of {every}. It is {np.median(ratios):.3g} times the exact epsilon in the "
        f"median, {ratios.min():.3g} times at least and {ratios.max():,.0f} times at most, and says nothing (1 or "
        f"more) for {len(silent)} of {every}{f' ({named})' if named else ''}: one rare state makes it large, as in the "
        "letters, where epsilon is large too but the mean error is not."
    )


def _text_on_steps(certificates: Sequence[Certificate]) -> str:
    within = sum(c.horizon_holds for c in certificates)
    strays = [c for c in certificates if c.epsilon > ROUNDING]
    joint = np.median([c.paths[-1] / c.epsilon for c in strays])
    forgotten = sum(c.marginal[-1] < 0.1 * c.epsilon for c in strays)
    worst = max(strays, key=lambda c: c.marginal[-1])
    return (
        "Over t steps the errors add up to t epsilon at most, from every start. Observed are the law of the group "
        f"after each of {STEPS} steps and the joint law of the groups of the first {PATH_STEPS} steps, both computed "
        f"without sampling, from the worst start: all stay within t epsilon for {within} of {len(certificates)}. The "
        f"joint law of {PATH_STEPS} steps is off by {joint:.2g} epsilon in the median, where {PATH_STEPS} epsilon are "
        f"guaranteed. After {STEPS} steps the law of the group is off by less than a tenth of epsilon for {forgotten} "
        f"of {len(strays)}, because chains forget where they started. Slow ones take longer: it is off most, by "
        f"{worst.marginal[-1]:.2f}, for {worst.chain} "
        f"({worst.groups if '=' in worst.groups else worst.groups + ' groups'})."
    )


def _examples(certificates: Sequence[Certificate]) -> list[Certificate]:
    """Four chains that differ: the first of each."""
    wanted = (
        ("three states", "the paper's"),
        ("alpha = 0, eps = 0.4", "planted"),
        ("bigrams, k = 4", "beta = 0.5"),
        ("circles, k = 15", "true"),
    )
    return [next(c for c in certificates if (c.chain, c.groups) == key) for key in wanted]


def _pictures(certificates: Sequence[Certificate]) -> tuple[Picture, ...]:
    from klump.experiments import bisimulation_pictures as pictures

    return (
        Picture(
            "errors",
            "What is observed and what is guaranteed, step by step, from the worst start. Above 1 (shaded) a bound "
            "says nothing. The joint law of the first t steps is what t epsilon bounds; the law of the group after t "
            "steps is a part of it.",
            partial(pictures.errors, _examples(certificates)),
        ),
        Picture(
            "bounds",
            "Proposition 1 against the exact epsilon, for every pair of a chain and its groups: no point may lie "
            "below the diagonal. Exactly lumpable ones are left out (both are 0); above 1 (shaded) the bound says "
            "nothing.",
            partial(pictures.bounds, list(certificates)),
        ),
    )


def _data(certificates: Sequence[Certificate]) -> dict[str, Any]:
    return {
        "certificates": [
            {
                "family": c.family,
                "chain": c.chain,
                "groups": c.groups,
                "mode": c.mode,
                "kept": _digits(c.kept),
                "mean": _digits(c.mean),
                "epsilon": _digits(c.epsilon),
                "proposition": _digits(c.proposition),
                f"after_{STEPS}_steps": _digits(c.marginal[-1]),
                f"first_{PATH_STEPS}_steps": _digits(c.paths[-1]),
            }
            for c in certificates
        ],
        "examples": [
            {
                "chain": c.chain,
                "groups": c.groups,
                "after_each_step": [_digits(error) for error in c.marginal],
                "first_steps_together": [_digits(error) for error in c.paths],
            }
            for c in _examples(certificates)
        ],
    }


def _digits(value: float) -> float:
    return round(value, 12)
