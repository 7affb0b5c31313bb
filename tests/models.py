"""Classic models of verification, built by hand: transitions, labels, initial states and rewards in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

State = tuple[tuple[str, int], ...]


class Model(NamedTuple):
    """A DTMC, or a CTMC with rates instead of probabilities."""

    matrix: sparse.csr_array
    names: list[str]
    labels: dict[str, list[int]]
    initial: int
    rewards: dict[str, list[float]]


def explore(
    start: Hashable,
    steps: Callable[[Hashable], Iterable[tuple[Hashable, float]]],
    name: Callable[[Hashable], str],
    labels: dict[str, Callable[[Hashable], bool]],
    rewards: dict[str, Callable[[Hashable], float]] | None = None,
) -> Model:
    """States that can be reached from ``start``, numbered in order of discovery."""
    number, queue = {start: 0}, [start]
    rows, columns, weights = [], [], []
    for state in queue:  # grows while it is walked
        for target, weight in steps(state):
            if target not in number:
                number[target] = len(number)
                queue.append(target)
            rows.append(number[state])
            columns.append(number[target])
            weights.append(weight)
    n = len(queue)
    return Model(
        sparse.csr_array((weights, (rows, columns)), shape=(n, n)),
        [name(state) for state in queue],
        {label: [i for i, state in enumerate(queue) if holds(state)] for label, holds in labels.items()},
        0,
        {key: [reward(state) for state in queue] for key, reward in (rewards or {}).items()},
    )


def knuth_yao_die() -> Model:
    """A die from a fair coin (Knuth and Yao, 1976): 7 inner states, 6 outcomes, 20 transitions."""
    after = {0: (1, 2), 1: (3, 4), 2: (5, 6), 3: (1, 7), 4: (8, 9), 5: (10, 11), 6: (12, 2)}

    def steps(state):
        return [(state, 1.0)] if state > 6 else [(target, 0.5) for target in after[state]]

    words = ("one", "two", "three", "four", "five", "six")
    labels = {word: lambda state, face=face: state == face for face, word in enumerate(words, start=7)}
    return explore(
        0,
        steps,
        lambda state: f"s={min(state, 7)},d={max(0, state - 6)}",
        {**labels, "done": lambda state: state > 6},
        {"coin_flips": lambda state: float(state <= 6)},
    )


def retransmission(packets: int = 4, tries: int = 2, loss: float = 0.1) -> Model:
    """A sender that transmits packets over a lossy channel, each up to ``tries`` times, and gives up after that."""

    def steps(state):
        sent, failures, phase = state
        if phase != 0:
            return [(state, 1.0)]
        done = (sent + 1, 0, 1 if sent + 1 == packets else 0)
        lost = (sent, failures + 1, 2 if failures + 1 == tries else 0)
        return [(done, 1.0 - loss), (lost, loss)]

    return explore(
        (0, 0, 0),
        steps,
        lambda state: "i={},n={},phase={}".format(*state),
        {"success": lambda state: state[2] == 1, "failure": lambda state: state[2] == 2},
        {"attempts": lambda state: float(state[2] == 0)},
    )


def crowds(members: int = 4, spies: int = 1, forward: float = 0.8, runs: int = 2) -> Model:
    """Anonymous routing: a message is forwarded to random members, and spies note from whom they got it."""
    honest = members - spies

    def steps(state):
        left, holder, seen = state
        if left == 0:
            return [(state, 1.0)]
        if holder < 0:  # a new message of the first member
            return [((left, 0, seen), 1.0)]
        caught = (left - 1, -1, min(2, seen + (holder == 0)))
        onwards = [((left, member, seen), forward / members) for member in range(honest)]
        return [(caught, forward * spies / members), *onwards, ((left - 1, -1, seen), 1.0 - forward)]

    return explore(
        (runs, -1, 0),
        steps,
        lambda state: "left={},holder={},seen={}".format(*state),
        {"observed": lambda state: state[2] >= 1, "over": lambda state: state[0] == 0},
    )


def queue(capacity: int = 5, arrival: float = 2.0, service: float = 3.0) -> Model:
    """A queue of limited capacity in continuous time: the matrix holds rates."""

    def steps(state):
        up = [(state + 1, arrival)] if state < capacity else []
        return up + ([(state - 1, service)] if state else [])

    return explore(0, steps, lambda state: f"q={state}", {"full": lambda state: state == capacity})


def dense(model: Model) -> np.ndarray:
    return model.matrix.toarray()
