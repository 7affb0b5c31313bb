"""Local search with simultaneous moves of many states, on one machine or on many, at beta = 1/2."""

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
from klump.arguments import DEFAULT_SEED, Progress, check_beta, check_count, check_progress, check_seed
from klump.chain import as_chain
from klump.distributed import blocks, steps
from klump.distributed.engine import DaskEngine, Engine, SerialEngine
from klump.distributed.kernels.tables import Groups, Ints, Shorts
from klump.distributed.steps import Moves, Proposals
from klump.errors import UNSET, InvalidArgumentError, Setting
from klump.files import read_chain
from klump.search.descent import TOLERANCE

# Nested candidate sets per step: all proposed moves, a random half, a quarter, ..., 1/32. Random halves need half as
# many steps as halves of the largest gains, and reach a lower cost.
_N_LEVELS = 6
# Steps after which all labels are sent again, at the latest: bounds the chain of tasks that a lost worker's labels
# depend on.
_MAX_UPDATES = 50
# Key of the random generator.
_KEY = 11


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined partition and the trace of its cost.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> found = refine(P, [0, 1, 1, 1])
    >>> found.settled, found.moves
    (True, (1,))
    >>> found.trace[-1] < found.trace[0]
    True
    """

    labels: NDArray[np.int32]
    """The group of each state; group numbers are those of the initial labels."""
    trace: tuple[float, ...]
    """The cost at beta = 1/2, in bits, before the first step and after each."""
    moves: tuple[int, ...]
    """Number of states that moved per step."""
    settled: bool
    """Whether the labels are a local optimum: no move of a single state lowers the cost."""
    interrupted: bool = False
    """Whether Ctrl-C ended the search."""

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
    random_state: Any = DEFAULT_SEED,
    seed: Any = UNSET,
    client: Any = None,
    n_blocks: int = 8,
    max_steps: int = 1000,
    progress: Progress | None = None,
) -> Refinement:
    """Move states between groups, many per step, until no move of a single state lowers the cost.

    Parameters
    ----------
    chain
        A chain, or any object that converts to one; or the path of a folder that ``klump.write_chain`` has written
        (``"name.mapped"``) and that every worker can read: then each worker reads its own blocks.
    labels
        The group of each state; no group is ever emptied.
    beta
        Only 1/2 is supported: at any other beta the cost depends on all transitions of a state's predecessors, which
        may be on other machines.
    random_state
        Seed of the random candidate sets of moves.
    seed
        Another name of ``random_state``, as on the command line; pass one of them.
    client
        A ``dask.distributed.Client``; without one, the same steps run in this process.
    n_blocks
        Number of blocks of states: at least the number of threads of the cluster. The labels do not depend on it.
    max_steps
        Largest number of steps.
    progress
        Called with ``(done, total, best_cost)``: the number of steps done, ``max_steps``, and the cost in bits; the
        last call has done < total if the search ends at a local optimum.

    Returns
    -------
    Refinement
        The same labels for the same seed, whatever ``client`` and ``n_blocks`` are; only the last digits of the trace
        may depend on ``n_blocks``. On Ctrl-C the labels after the last step, marked ``interrupted``.

    Notes
    -----
    In a step each block proposes the best move of each of its states. Moves that lower the cost one by one may raise it
    together, so nested candidate sets are evaluated: all moves, a random half, a half of that, and so on. The set
    that lowers the cost most is applied. A set of one move always lowers the cost, so the cost never increases.

    Examples
    --------
    >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
    >>> found = refine(P, [0, 1, 1, 1])
    >>> found.labels, found.settled
    (array([0, 0, 1, 1], dtype=int32), True)
    """
    if check_beta(beta) != 0.5:
        raise InvalidArgumentError(
            "is not supported: in blocks of states only C_0.5 can be evaluated",
            argument="beta",
            value=beta,
            remedy=("leave ", Setting("beta", 0.5), ", or use klump.aggregate"),
        )
    if client is not None and not hasattr(client, "submit"):
        raise InvalidArgumentError(
            "is not a Dask client", argument="client", value=client, remedy="pass a dask.distributed.Client"
        )
    report = check_progress(progress)
    engine: Engine = SerialEngine() if client is None else DaskEngine(client)
    folder = Path(chain) if isinstance(chain, str | PathLike) else None
    transitions = blocks.from_chain(as_chain(chain)) if folder is None else blocks.from_folder(folder)
    if folder is not None:
        read_chain(folder)  # validates the files, which workers read without checks
    mapping = as_mapping(labels, transitions.n_states)
    if mapping.labels is None:
        raise InvalidArgumentError(
            "must be a deterministic map", argument="labels", remedy="pass one group per state"
        )
    bounds = transitions.bounds(check_count("n_blocks", n_blocks, most=None))
    handles = _distribute_blocks(engine, transitions, folder, bounds)
    search = _BlockSearch(engine, handles, mapping.labels, mapping.n_groups, check_seed(random_state, seed))
    return search.run(check_count("max_steps", max_steps, most=None), report)


def _distribute_blocks(
    engine: Engine, transitions: blocks.Transitions, folder: Path | None, bounds: list[int]
) -> list[Any]:
    """Handles of the blocks; those of a folder are read by the workers."""
    pairs = pairwise(bounds)
    if folder is None:
        return [engine.keep(transitions.block(first, last)) for first, last in pairs]
    path = str(folder.resolve())
    return [engine.call(blocks.read_block, path, first, last) for first, last in pairs]


class _BlockSearch:
    """State of the search: all labels in this process, and handles of the blocks and their local labels."""

    def __init__(self, engine: Engine, handles: list[Any], labels: Shorts, n_groups: int, seed: int) -> None:
        self.engine, self.blocks, self.labels, self.n_groups = engine, handles, labels.copy(), n_groups
        self.rng = np.random.default_rng([seed, _KEY])
        self._broadcast_labels()
        sums = engine.results(self._call_per_block(steps.sum_masses, n_groups))
        size = np.bincount(labels, minlength=n_groups)
        self.groups = Groups(sum(each.flow for each in sums), sum(each.nu for each in sums), size)
        self.constant = 0.5 * sum(each.joint for each in sums) - sum(each.mu for each in sums)
        self.cost = _cost(self.groups)

    def _broadcast_labels(self) -> None:
        """Send all labels; earlier updates are then no longer needed to recompute local labels."""
        labels = self.engine.keep(self.labels.copy())
        self.local_labels = [self.engine.call(steps.local_labels, block, labels) for block in self.blocks]
        self.sent_moves, self.n_updates = 0, 0

    def run(self, max_steps: int, report: Progress | None) -> Refinement:
        """Run steps until none lowers the cost."""
        trace, moves, settled, interrupted = [self.cost], list[int](), False, False
        try:
            while len(moves) < max_steps:
                count = self._step()
                if count == 0:
                    settled = True
                    break
                moves.append(count)
                trace.append(self.cost)
                if report is not None:
                    report(len(moves), max_steps, self.cost + self.constant)
        except KeyboardInterrupt:
            interrupted = True
        costs = tuple(float(cost + self.constant) for cost in trace)
        return Refinement(self.labels, costs, tuple(moves), settled, interrupted)

    def _call_per_block(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function with each block, its local labels and the given arguments; handles of the results."""
        return [
            self.engine.call(function, block, labels, *arguments)
            for block, labels in zip(self.blocks, self.local_labels, strict=True)
        ]

    def _step(self) -> int:
        """Apply the best candidate set of moves; the number of states that moved."""
        groups = self.engine.keep(self.groups)
        found = self.engine.results(self._call_per_block(steps.propose_moves, groups, TOLERANCE))
        proposals = self._shuffle(found)
        while proposals.states.size:
            moves, count = _nest(proposals)
            handle = self.engine.keep(moves)
            changes = self.engine.results(self._call_per_block(steps.sum_changes, handle, self.n_groups))
            flow, nu = (sum(part) for part in zip(*changes, strict=True))
            after = [
                self.groups._replace(flow=self.groups.flow + flow[level], nu=self.groups.nu + nu[level])
                for level in range(moves.n_levels)
            ]
            costs = [_cost(groups) for groups in after]
            level = int(np.argmin(costs))
            if costs[level] < self.cost:
                self._apply(moves, handle, level, after[level], costs[level])
                return int(count[level])
            # A set of one move can fail only by rounding.
            fewer = int(count[-1]) // 2
            proposals = Proposals(proposals.states[:fewer], proposals.targets[:fewer])
        return 0

    def _shuffle(self, found: list[Proposals]) -> Proposals:
        """All proposals in random order, less one of each group that they would empty."""
        # Blocks are in the order of their states, so the concatenation does not depend on the block bounds.
        states, targets = (np.concatenate(part) for part in zip(*found, strict=True))
        order = self.rng.permutation(states.size)
        states, targets = states[order], targets[order]
        home = self.labels[states]
        leaving = np.bincount(home, minlength=self.n_groups)
        dropped = [np.flatnonzero(home == y)[-1] for y in np.flatnonzero(leaving == self.groups.size)]
        kept = np.delete(np.arange(states.size), np.array(dropped, dtype=np.int64))
        return Proposals(states[kept], targets[kept])

    def _apply(self, moves: Moves, handle: Any, level: int, groups: Groups, cost: float) -> None:
        """Apply set ``level`` to the groups, the labels and the local labels."""
        chosen = moves.levels >= level
        states, targets = moves.states[chosen], moves.targets[chosen]
        left = np.bincount(self.labels[states], minlength=self.n_groups)
        size = groups.size - left + np.bincount(targets, minlength=self.n_groups)
        self.groups, self.cost = groups._replace(size=size), cost
        self.labels[states] = targets
        self.sent_moves += moves.states.size
        self.n_updates += 1
        # Resend all labels when the updates since the last broadcast hold more moves than there are states.
        if self.sent_moves > self.labels.size or self.n_updates == _MAX_UPDATES:
            self._broadcast_labels()
        else:
            self.local_labels = self._call_per_block(steps.apply_moves, handle, level)


def _nest(proposals: Proposals) -> tuple[Moves, Ints]:
    """Nested sets of moves, all, the first half, the first quarter, ...; and the size of each set."""
    number = proposals.states.size
    sizes = [number]
    while sizes[-1] > 1 and len(sizes) < _N_LEVELS:
        sizes.append(-(-sizes[-1] // 2))
    count = np.array(sizes)
    levels = np.searchsorted(-count, -np.arange(number), side="left") - 1
    moves = Moves(proposals.states, proposals.targets, levels.astype(np.int8), len(sizes))
    return moves, count


def _cost(groups: Groups) -> float:
    """Cost up to a constant."""
    from klump.distributed.kernels import steps as kernels

    return float(kernels.cost(groups))
