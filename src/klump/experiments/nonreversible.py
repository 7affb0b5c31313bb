"""The paper's three-state chain that is not reversible: its cost C_beta falls as beta grows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from klump.aggregation.costs import Costs, score
from klump.aggregation.question import aggregate
from klump.chain import MarkovChain
from klump.experiments.trials import Settings
from klump.sources.datasets import three_state_example

NAME = "nonreversible"
# Spacing of the grid of beta.
BETA_STEP = 0.1
BETAS = tuple(round(BETA_STEP * step, 1) for step in range(11))
# All partitions of three states into two groups; the first is the paper's.
MAPS = ((0, 1, 1), (0, 1, 0), (0, 0, 1))

# C_L in bits, as the paper prints it.
PAPER_LUMPABILITY = 0.0086
# C_P in bits, as the paper prints it.
PAPER_PREDICTABILITY = 0.0135
# Rounding error of a cost printed with four decimals, in bits: half a unit of the last digit.
ROUNDING = 0.00005
# Rounding error of a computed cost, in bits: smaller differences count as none.
EQUAL = 1e-10


@dataclass(frozen=True)
class Choice:
    """The default's map at one beta, and the cost of every map there."""

    beta: float
    labels: tuple[int, ...]
    cost: float
    """Cost that ``aggregate`` reports."""
    every: tuple[float, ...]
    """Cost of each of :data:`MAPS`, computed by ``score``."""

    @property
    def excess(self) -> float:
        """Distance of the reported cost from the optimum."""
        return abs(self.cost - min(self.every))


@dataclass(frozen=True)
class Findings:
    """Both chains, the costs of the paper's groups on each, and the default's choice at each beta."""

    chain: MarkovChain
    reversible: MarkovChain
    costs: Costs
    """Costs on the paper's chain."""
    control: Costs
    """Costs on the reversible chain."""
    choices: tuple[Choice, ...]


def compute(settings: Settings) -> Findings:
    """Score the paper's groups on its chain and on a reversible one, and run the default at each beta."""
    chain, labels = three_state_example()
    reversible = reversibilize(chain)
    choices = tuple(choose(chain, beta, settings.seed) for beta in BETAS)
    return Findings(chain, reversible, score(chain, labels), score(reversible, labels), choices)


def reversibilize(chain: MarkovChain) -> MarkovChain:
    """Return the additive reversibilization (P + P*) / 2, with P* the time reversal of P.

    It has the same stationary distribution and is reversible.

    Examples
    --------
    >>> chain, _ = three_state_example()
    >>> chain.is_reversible, reversibilize(chain).is_reversible
    (False, True)
    """
    joint = np.asarray(chain.joint)
    symmetric = (joint + joint.T) / 2
    return MarkovChain(symmetric / symmetric.sum(axis=1, keepdims=True), states=chain.states)


def choose(chain: MarkovChain, beta: float, seed: int) -> Choice:
    """Run the default for two groups, and score all three maps."""
    answer = aggregate(chain, 2, beta=beta, random_state=seed)
    labels = tuple(int(group != answer.labels[0]) for group in answer.labels)
    return Choice(beta, labels, answer.cost, tuple(score(chain, each).at(beta) for each in MAPS))


def cost_curve(costs: Costs) -> list[float]:
    """C_beta at each of :data:`BETAS`."""
    return [costs.at(beta) for beta in BETAS]


def cost_differences(costs: Costs) -> list[float]:
    """Differences of C_beta between consecutive :data:`BETAS`."""
    return [after - before for before, after in pairwise(cost_curve(costs))]


def format_map(labels: tuple[int, ...]) -> str:
    """Write a map as its groups.

    >>> format_map((0, 1, 0))
    '{1,3} {2}'
    """
    groups = ([str(state + 1) for state in range(3) if labels[state] == group] for group in (0, 1))
    return " ".join("{" + ",".join(group) + "}" for group in groups)
