"""Refine a partition in steps in which many states move at once, on one machine or on many, at beta = 1/2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klump.aggregation.mapping import as_mapping
from klump.arguments import check_beta, check_count, check_seed
from klump.chain import as_chain
from klump.distributed import blocks, steps
from klump.distributed.engine import Cluster, Engine, Here
from klump.distributed.kernels.tables import Groups, Ints, Shorts
from klump.distributed.steps import Moves, Proposals
from klump.errors import InvalidArgumentError
from klump.files import read_chain
from klump.search.descent import TOLERANCE

Progress = Callable[[int, int, float], None]

# Sets of moves that are tried at once: all, a half, a quarter, ... Halves drawn by chance need half as many steps as
# those that gain most, and end lower.
_LEVELS = 6
# All labels are sent again after so many steps, or when as many moves have been sent as there are states.
_TOLD = 50
_KEY = 11


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined partition, and the way to it."""

    labels: NDArray[np.int32]
    """The group of each state, by the numbers of the groups given."""
    trace: tuple[float, ...]
    """The cost at beta = 1/2, in bits, before the first step and after each."""
    moves: tuple[int, ...]
    """How many states moved in each step."""
    settled: bool
    """Whether no move of a single state lowers the cost any more."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""

    def __post_init__(self) -> None:
        self.labels.flags.writeable = False

    @property
    def cost(self) -> float:
        """The cost at beta = 1/2, in bits."""
        return self.trace[-1]


def refine(
    chain: Any,
    labels: Any,
    *,
    beta: float = 0.5,
    random_state: Any = 0,
    client: Any = None,
    n_blocks: int = 8,
    max_steps: int = 1000,
    progress: Progress | None = None,
) -> Refinement:
    """Move states between groups, many at once, until no move of a single state lowers the cost.

    Parameters
    ----------
    chain
        A chain, or anything that one can be made of; or the path of a folder that ``klump.write_chain`` has written
        (``"name.mapped"``) and that every worker can read: then each worker reads what it needs.
    labels
        The group of each state; every group keeps at least one.
    beta
        Only 1/2 is possible: at any other beta the cost depends on what the predecessors of a state, which may
        be on other machines, do besides.
    random_state
        Seed of the order in which moves are tried.
    client
        A ``dask.distributed.Client``; without one, the same steps are done in this process.
    n_blocks
        Blocks that the states are divided into: at least as many as there are threads on the cluster. The answer
        does not depend on it.
    max_steps
        Limit of steps.
    progress
        Called with the number of steps done, their limit and the cost.

    Returns
    -------
    Refinement
        The same labels for the same seed, whatever ``client`` and ``n_blocks`` are; only the last digits of the trace
        may depend on ``n_blocks``. On Ctrl-C what was reached until then, marked ``interrupted``.

    Notes
    -----
    In a step each block finds the best move of each of its states. Moves that are good one by one may be bad together:
    all of them are tried, a half drawn by chance, a half of that, and so on, and the set that lowers the cost most
    is taken. A single move always lowers it, so it never increases.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> found = refine(P, [0, 1, 1, 1])
    >>> found.labels, found.settled
    (array([0, 0, 1, 1], dtype=int32), True)
    """
    if check_beta(beta) != 0.5:
        raise InvalidArgumentError(
            f"beta={beta:g} is not possible in blocks, because the cost then depends on what is on other machines; "
            "leave beta=0.5, or use klump.aggregate"
        )
    if client is not None and not hasattr(client, "submit"):
        raise InvalidArgumentError(
            f"client={client!r} is not a client of a cluster; pass a dask.distributed.Client"
        )
    engine: Engine = Here() if client is None else Cluster(client)
    folder = Path(chain) if isinstance(chain, str | PathLike) else None
    transitions = blocks.of_chain(as_chain(chain)) if folder is None else blocks.of_folder(folder)
    if folder is not None:
        read_chain(folder)  # which checks what workers then only read
    mapping = as_mapping(labels, transitions.n_states)
    if mapping.labels is None:
        raise InvalidArgumentError("labels must be a deterministic map: pass one group for each state")
    bounds = transitions.bounds(check_count("n_blocks", n_blocks, most=None))
    kept = _kept(engine, transitions, folder, bounds)
    search = _Search(engine, kept, mapping.labels, mapping.n_groups, check_seed(random_state))
    return search.run(check_count("max_steps", max_steps, most=None), progress)


def _kept(
    engine: Engine, transitions: blocks.Transitions, folder: Path | None, bounds: list[int]
) -> list[Any]:
    """The blocks, where the engine keeps them; those of a folder are read there."""
    pairs = pairwise(bounds)
    if folder is None:
        return [engine.keep(transitions.block(first, last)) for first, last in pairs]
    place = str(folder.resolve())
    return [engine.call(blocks.block_of_folder, place, first, last) for first, last in pairs]


class _Search:
    """Where the search stands: all labels here, and with each block those that it has to do with."""

    def __init__(self, engine: Engine, kept: list[Any], labels: Shorts, n_groups: int, seed: int) -> None:
        self.engine, self.blocks, self.labels, self.n_groups = engine, kept, labels.copy(), n_groups
        self.rng = np.random.default_rng([seed, _KEY])
        self._hand_out()
        sums = engine.results(self._in_each(steps.summed, n_groups))
        size = np.bincount(labels, minlength=n_groups)
        self.groups = Groups(sum(each.flow for each in sums), sum(each.nu for each in sums), size)
        self.constant = 0.5 * sum(each.joint for each in sums) - sum(each.mu for each in sums)
        self.cost = _cost(self.groups)

    def _hand_out(self) -> None:
        """Tell every block its labels: what it was told before is then not needed to compute them again."""
        everyone = self.engine.keep(self.labels.copy())
        self.labels_in = [self.engine.call(steps.labels_in, block, everyone) for block in self.blocks]
        self.told_moves, self.told_times = 0, 0

    def run(self, max_steps: int, progress: Progress | None) -> Refinement:
        """Step until nothing gains."""
        trace, moves, settled, interrupted = [self.cost], list[int](), False, False
        try:
            while len(moves) < max_steps:
                count = self._step()
                if count == 0:
                    settled = True
                    break
                moves.append(count)
                trace.append(self.cost)
                if progress is not None:
                    progress(len(moves), max_steps, self.cost + self.constant)
        except KeyboardInterrupt:
            interrupted = True
        costs = tuple(float(cost + self.constant) for cost in trace)
        return Refinement(self.labels, costs, tuple(moves), settled, interrupted)

    def _in_each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function with each block, its labels, and the same arguments."""
        return [
            self.engine.call(function, block, labels, *arguments)
            for block, labels in zip(self.blocks, self.labels_in, strict=True)
        ]

    def _step(self) -> int:
        """Take the best set of moves; returns how many states moved."""
        groups = self.engine.keep(self.groups)
        found = self.engine.results(self._in_each(steps.proposed, groups, TOLERANCE))
        proposals = self._shuffled(found)
        while proposals.states.size:
            moves, count = _in_sets(proposals)
            kept = self.engine.keep(moves)
            changes = self.engine.results(self._in_each(steps.changed, kept, self.n_groups))
            flow, nu = (sum(part) for part in zip(*changes, strict=True))
            after = [
                self.groups._replace(flow=self.groups.flow + flow[level], nu=self.groups.nu + nu[level])
                for level in range(moves.n_levels)
            ]
            costs = [_cost(groups) for groups in after]
            level = int(np.argmin(costs))
            if costs[level] < self.cost:
                self._take(moves, kept, level, after[level], costs[level])
                return int(count[level])
            # Only rounding can make a single move fail.
            few = int(count[-1]) // 2
            proposals = Proposals(proposals.states[:few], proposals.targets[:few])
        return 0

    def _shuffled(self, found: list[Proposals]) -> Proposals:
        """All proposals in random order, without those that take the last member of a group."""
        # Blocks come in the order of their states, so what is shuffled does not depend on where they end.
        states, targets = (np.concatenate(part) for part in zip(*found, strict=True))
        order = self.rng.permutation(states.size)
        states, targets = states[order], targets[order]
        home = self.labels[states]
        leaving = np.bincount(home, minlength=self.n_groups)
        stay = [np.flatnonzero(home == y)[-1] for y in np.flatnonzero(leaving == self.groups.size)]
        go = np.delete(np.arange(states.size), np.array(stay, dtype=np.int64))
        return Proposals(states[go], targets[go])

    def _take(self, moves: Moves, kept: Any, level: int, groups: Groups, cost: float) -> None:
        chosen = moves.levels >= level
        states, targets = moves.states[chosen], moves.targets[chosen]
        left = np.bincount(self.labels[states], minlength=self.n_groups)
        size = groups.size - left + np.bincount(targets, minlength=self.n_groups)
        self.groups, self.cost = groups._replace(size=size), cost
        self.labels[states] = targets
        self.told_moves += moves.states.size
        self.told_times += 1
        if self.told_moves > self.labels.size or self.told_times == _TOLD:
            self._hand_out()
        else:
            self.labels_in = self._in_each(steps.moved, kept, level)


def _in_sets(proposals: Proposals) -> tuple[Moves, Ints]:
    """All moves, the first half, the first quarter, ...; and how many each set has."""
    number = proposals.states.size
    halves = [number]
    while halves[-1] > 1 and len(halves) < _LEVELS:
        halves.append(-(-halves[-1] // 2))
    count = np.array(halves)
    levels = np.searchsorted(-count, -np.arange(number), side="left") - 1
    moves = Moves(proposals.states, proposals.targets, levels.astype(np.int8), len(halves))
    return moves, count


def _cost(groups: Groups) -> float:
    """Cost up to a constant."""
    from klump.distributed.kernels import steps as kernels

    return float(kernels.cost(groups))
