"""What is run on a mutant: a command of the command line, or ``klump.load``; then the answer is checked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import klump
from fuzzing.seeds import POWERS
from klump.cli import main
from klump.errors import KlumpError
from klump.experiments import trials

# Runs in the folder of the mutant; returns the exit status, and raises if an accepted answer is wrong.
Target = Callable[[Path], int]


def run_command(*arguments: str) -> int:
    try:
        main(args=list(arguments), prog_name="klump")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def check_chain(chain: klump.MarkovChain) -> None:
    """Rows sum to 1, entries are finite and non-negative, one name per state."""
    matrix = chain.transition_matrix
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert dense.shape == (chain.n_states, chain.n_states), "not square"
    assert len(set(chain.states)) == chain.n_states, "names are not unique"
    assert np.isfinite(dense).all(), "an entry is not finite"
    assert (dense >= 0).all(), "an entry is negative"
    assert np.abs(dense.sum(axis=1) - 1).max() < 1e-9, "rows do not sum to 1"


def check_attributes(chain: klump.MarkovChain) -> None:
    """Labels are of states, the initial distribution is one, rewards are finite."""
    for members in chain.labels.values():
        assert ((members >= 0) & (members < chain.n_states)).all(), "a label is of no state"
    if chain.initial is not None:
        assert abs(chain.initial.sum() - 1) < 1e-9, "initial is no distribution"
    for reward in chain.rewards.values():
        assert reward.shape[0] == chain.n_states, "a reward is of another shape"
        assert np.isfinite(reward.data if sparse.issparse(reward) else reward).all(), "a reward is not finite"


def info(name: str, *options: str) -> Target:
    """``klump info``, with --json on files of even length."""

    def run(folder: Path) -> int:
        path = folder / name
        json_too = ["--json"] if path.is_file() and path.stat().st_size % 2 == 0 else []
        status = run_command("info", str(path), *options, *json_too)
        if status == 0:
            chain = klump.read_chain(path, normalize="--normalize" in options, ctmc="--ctmc" in options)
            check_chain(chain)
            check_attributes(chain)
        return status

    return run


def convert(name: str, output: str) -> Target:
    def run(folder: Path) -> int:
        status = run_command("convert", str(folder / name), str(folder / output))
        if status == 0:
            written, source = klump.read_chain(folder / output), klump.read_chain(folder / name)
            check_chain(written)
            assert {name: states.tolist() for name, states in written.labels.items()} == {
                name: states.tolist() for name, states in source.labels.items()
            }, "labels differ"
            assert np.array_equal(
                *(sparse.csr_array(c.transition_matrix).toarray() for c in (written, source))
            )
        return status

    return run


def load(name: str) -> Target:
    def run(folder: Path) -> int:
        try:
            answer = klump.load(folder / name)
        except KlumpError as error:
            print(f"klump: error: {error}", file=sys.stderr)
            return 1
        each_one = [answer] if isinstance(answer, klump.Aggregation) else list(answer.aggregations)
        for each in each_one:
            check_chain(each.original)
            check_chain(each.chain)
            if each.original.is_irreducible:
                assert math.isfinite(each.cost), "the cost is not finite"
            print(each.groups, each.method, each.trace, each.splits)
            if each.tree is not None:
                print(each.tree, each.tree.linkage, each.tree.sizes)
                for k in range(1, each.tree.n_leaves + 1):
                    assert each.tree.cut(k).n_states == k, "a cut of the tree has another number of groups"
        print(answer)
        return 0

    return run


def score(name: str) -> Target:
    return lambda folder: run_command("score", str(folder / "chain.npz"), str(folder / name))


def initial_labels(name: str) -> Target:
    return lambda folder: run_command(
        *("aggregate", str(folder / "chain.npz"), "-k", "3", "--method", "sequential", "--quiet"),
        *("--initial-labels", str(folder / name)),
    )


def resume(folder: Path) -> int:
    """Run the pieces of an experiment again: damaged ones are not trusted, and the results are the same."""
    results = trials.run_pieces("power", math.pow, POWERS, trials.Settings(n_jobs=1, directory=folder))
    assert results == [base**exponent for base, exponent in POWERS], "a damaged result was trusted"
    return 0
