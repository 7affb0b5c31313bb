"""The characters of a novel in 2 to 7 groups: Tables I and II of the paper.

As published: the best of 20 restarts at beta = 1, annealed down to beta = 0. By default: ``aggregate`` at each beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.agreement import adjusted_rand_index
from klump.aggregation.costs import Costs, score
from klump.aggregation.question import aggregate, beta_path
from klump.experiments.partitions import Labels, mismatches, parse_groups
from klump.experiments.result import EQUAL, MIN_DRAWS, MODES, Mode
from klump.experiments.trials import Settings, run_pieces
from klump.sources.datasets import letter_bigrams

if TYPE_CHECKING:
    from klump.chain import MarkovChain

NAME = "bigrams"
# The paper's grid of beta, in the order of annealing.
BETAS = tuple(round(1 - 0.1 * step, 1) for step in range(11))
# Numbers of groups of a full-size run.
GROUPS = (2, 3, 4, 5, 6, 7)
# Restarts at beta = 1, as in the paper.
RESTARTS = 20
# Seeds of a full-size run. Chosen.
SEEDS = 20
# Trials from which a run is full-size. Chosen.
FULL_TRIALS = 50
# Numbers of groups of a quick run: those of the paper's Tables I and II.
QUICK_GROUPS = (2, 4, 7)
# Seeds of a quick run: as many as a share needs to be shown.
QUICK_SEEDS = MIN_DRAWS

# The paper's reference partition; ␣ is the blank.
REFERENCE = """␣ !"$'(),-.:;?[] aeiou 0123456789 AEIOU BCDFGHJKLMNPQRSTVWYZ bcdfghjklmnpqrstvwxyz"""
# The paper's Tables I and II: number of groups, beta, adjusted Rand index with the reference, groups. The last row
# lacks the character q in the paper.
PRINTED = """
4 1.0 0.43 ␣!'),-.0:;?] aeioy "$(123456789ABCDEFGHIJKLMNOPQRSTUVWY[h Zbcdfgjklmnpqrstuvwxz
4 0.8 0.46 ␣!'),-.:;?Z] aeiouy "$(0123456789ABCDEFGHIJKLMNOPQRSTUVWY[h bcdfgjklmnpqrstvwxz
4 0.5 0.35 ␣!3?Z '2456789AOUaeiou "$(-01BCDEFGHIJKLMNPQRSTVWY[bhjqw ),.:;]cdfgklmnprstvxyz
4 0.0 0.12 ␣-2CEFMPSTcfgopst "'456789AOUZaeiu !$1?BDGHJLNQRVW[bhjklmqrvwz (),.03:;IKY]dnxy
2 1.0 0.20 ␣!"'),-.01235689:;?KU]aehioy $(47ABCDEFGHIJLMNOPQRSTVWYZ[bcdfgjklmnpqrstuvwxz
7 1.0 0.34 ␣!'),-.:;?] aeioy "$(0123456789ABCDEFGHIJLMNOPQRSTVWY[ bcfjmpqstw dgx KUh Zklnruvz
2 0.8 0.24 ␣!"'),-.01235689:;?EU]aehiouy $(47ABCDFGHIJKLMNOPQRSTVWYZ[bcdfgjklmnpqrstvwxz
7 0.8 0.35 ␣!'),-.:;?] aeioy $"(0123456789ABCDEFGHIJLMNOPQRSTUVWYZ[ Kh bcfjkmpqstw dg lnruvxz
2 0.5 0.15 ␣!'-12368?EOUZaeiou "$(),.04579:;ABCDFGHIJKLMNPQRSTVWY[]bcdfghjklmnpqrstvwxyz
7 0.5 0.31 ␣' !),.:;?]dy aeiou "$(-0123589ACEIMOPRSTUWZ BDFGHJKLNQVYhj 7[bcfgkmpqstw 46lnrvxz
2 0.0 0.01 ␣!$(-0124578?ABCFHLMNOPRSTUVWaceglnostuwxz "'),.369:;DEGIJKQYZ[]bdfhijkmpqrvy
7 0.0 0.02 ␣4689ao $'AKOiux !?HVZhjkmvz "(-25CEFLMNRUWY[egnprs 37BPQbl 1:;STctw ),.0DGIJ]dfy
"""
# The betas of Tables I and II.
PRINTED_BETAS = (1.0, 0.8, 0.5, 0.0)
# Rounding error of the printed indices: half a unit of the last digit.
ROUNDING = 0.005
# Characters that may be in another group than in the paper, whose edition of the book may differ from ours. Chosen.
TOLERATED = 4
# Groups that keep a smaller share of the information, I(Y1;Y2) / I(X1;X2), count as nearly independent. Chosen.
NEARLY_INDEPENDENT = 0.05

# The search of a piece: in one of the modes, or by Algorithm 1 from the paper's partition.
Work = Literal["as published", "default", "from the paper's groups"]


@dataclass(frozen=True)
class Partition:
    """A partition of the characters with its costs on our text and its adjusted Rand index with the reference."""

    beta: float
    labels: Labels
    costs: Costs
    ari: float

    @property
    def cost(self) -> float:
        """Cost at the partition's own beta."""
        return self.costs.at(self.beta)

    @property
    def kept(self) -> str:
        """Share of the information that is kept, as a percentage."""
        return f"{100 * self.costs.kept:.1f} %"


@dataclass(frozen=True)
class Comparison:
    """A partition of the paper beside those found for the same number of groups and beta."""

    n_groups: int
    beta: float
    printed_ari: float
    paper: Partition
    published: Partition
    default: Partition
    adapted: Labels
    """Partition that Algorithm 1 reaches on our text from the paper's partition."""
    other_seeds: tuple[Labels, ...]
    """Partitions that the published algorithm finds with the other seeds."""

    @property
    def name(self) -> str:
        """Number of groups and beta, as text."""
        return f"k = {self.n_groups}, beta = {self.beta:g}"

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Mask of the characters that the published algorithm puts into another group than the paper."""
        return mismatches(self.published.labels, self.paper.labels)

    @property
    def n_left(self) -> int:
        """Number of characters that differ between the published algorithm's partition and ``adapted``."""
        return int(mismatches(self.published.labels, self.adapted).sum())

    def share_of_seeds(self, target: Labels, tolerated: int) -> float:
        """Share of all seeds whose partition differs from the target in at most ``tolerated`` characters."""
        every = (self.published.labels, *self.other_seeds)
        return sum(bool(mismatches(labels, target).sum() <= tolerated) for labels in every) / len(every)

    def placements(self) -> list[Labels]:
        """List the paper's partition with the differing characters in any group; unchanged if over TOLERATED differ."""
        moved = np.flatnonzero(self.moved)
        moved = moved if moved.size <= TOLERATED else moved[:0]
        placed = []
        for groups in product(range(self.n_groups), repeat=moved.size):
            placed.append(self.paper.labels.copy())
            placed[-1][moved] = groups
        return placed


@dataclass(frozen=True)
class Findings:
    """All computed partitions."""

    chain: MarkovChain
    sizes: tuple[int, ...]
    found: dict[tuple[Mode, int, float], Partition]
    comparisons: tuple[Comparison, ...]
    share_of_best: dict[int, float]
    """By number of groups: share of the seeds that reach the lowest C_1 of all seeds."""

    @property
    def symbols(self) -> list[str]:
        """The characters, with ␣ for the blank."""
        return symbols_of(self.chain)

    @property
    def seeds(self) -> int:
        """Number of seeds of the published algorithm."""
        return len(self.comparisons[0].other_seeds) + 1

    def at(self, n_groups: int) -> tuple[Comparison, ...]:
        """Return the comparisons for a number of groups."""
        return tuple(each for each in self.comparisons if each.n_groups == n_groups)

    def pairs(self, n_groups: int) -> list[tuple[Partition, Partition]]:
        """Return the published algorithm's and the default's partition at each beta."""
        published, default = ([self.found[mode, n_groups, beta] for beta in BETAS] for mode in MODES)
        return list(zip(published, default, strict=True))

    def join_symbols(self, which: NDArray[np.bool_]) -> str:
        """Return the characters of a mask as a string."""
        return "".join(symbol for symbol, wanted in zip(self.symbols, which, strict=True) if wanted)


def compute(settings: Settings) -> Findings:
    """Run all searches, and compare the partitions with the paper's."""
    chain = letter_bigrams()
    seed, trials = settings.seed, settings.trials_or(FULL_TRIALS)
    is_full = trials >= FULL_TRIALS
    sizes, n_seeds = (GROUPS, SEEDS) if is_full else (QUICK_GROUPS, min(trials, QUICK_SEEDS))
    seeds = [seed, *(settings.seed_of(number) for number in range(1, n_seeds))]
    calls: list[tuple[Work, int, float, int]] = [
        *(("default", k, beta, seed) for k in sizes for beta in BETAS),
        *(("as published", k, 0.0, each) for k in sizes for each in seeds),
        *(("from the paper's groups", k, beta, seed) for k, beta in printed_partitions()),
    ]
    labels = {
        (work, k, beta, each): np.array(answer, dtype=np.int64)
        for (work, k, _, each), piece in zip(calls, run_pieces(NAME, search, calls, settings), strict=True)
        for beta, answer in piece
    }
    found = {
        (mode, k, beta): evaluate(chain, labels[mode, k, beta, seed], beta)
        for mode, k, beta in product(MODES, sizes, BETAS)
    }
    comparisons = tuple(
        Comparison(
            k,
            beta,
            ari,
            evaluate(chain, paper_labels(chain, k, beta), beta),
            found["as published", k, beta],
            found["default", k, beta],
            labels["from the paper's groups", k, beta, seed],
            tuple(labels["as published", k, beta, other] for other in seeds[1:]),
        )
        for (k, beta), (ari, _) in printed_partitions().items()
    )
    first = {
        k: [score(chain, labels["as published", k, 1.0, each]).bottleneck for each in seeds] for k in sizes
    }
    best = {k: float(np.mean(np.array(costs) <= min(costs) + EQUAL)) for k, costs in first.items()}
    return Findings(chain, sizes, found, comparisons, best)


def search(work: Work, n_groups: int, beta: float, seed: int) -> list[tuple[float, list[int]]]:
    """Return pairs of beta and labels: the whole annealing path as published, a single beta otherwise."""
    chain = letter_bigrams()
    if work == "as published":
        path = beta_path(chain, n_groups, BETAS, n_init=RESTARTS, random_state=seed, allow_empty=True)
        return [(answer.beta, answer.labels.tolist()) for answer in path]
    if work == "default":
        answer = aggregate(chain, n_groups, beta=beta, random_state=seed)
    else:
        paper = paper_labels(chain, n_groups, beta)
        answer = aggregate(chain, n_groups, beta, "sequential", initial=paper, allow_empty=True)
    return [(beta, answer.labels.tolist())]


def printed_partitions() -> dict[tuple[int, float], tuple[float, str]]:
    """Parse :data:`PRINTED`: index and groups by number of groups and beta."""
    rows = (line.split(maxsplit=3) for line in PRINTED.strip().splitlines())
    return {(int(k), float(beta)): (float(ari), groups) for k, beta, ari, groups in rows}


def symbols_of(chain: MarkovChain) -> list[str]:
    """List the characters, with ␣ for the blank."""
    return ["␣" if state == " " else str(state) for state in chain.states]


def paper_labels(chain: MarkovChain, n_groups: int, beta: float) -> Labels:
    """Return the labels of a printed partition; a missing character is put into its cheapest group."""
    labels = parse_groups(printed_partitions()[n_groups, beta][1], symbols_of(chain))
    for missing in np.flatnonzero(labels < 0):
        candidates = [np.where(np.arange(labels.size) == missing, group, labels) for group in range(n_groups)]
        labels = min(candidates, key=lambda candidate: score(chain, candidate).at(beta))
    return labels


def evaluate(chain: MarkovChain, labels: Labels, beta: float) -> Partition:
    """Compute the costs of a partition on our text, and its adjusted Rand index with the reference."""
    reference = parse_groups(REFERENCE, symbols_of(chain))
    return Partition(beta, labels, score(chain, labels), adjusted_rand_index(reference, labels))
