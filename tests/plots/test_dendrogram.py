"""A dendrogram shows every merger at its height, and the groups of a cut in colours of their own."""

import numpy as np
import pytest

import klump
from klump.plots.figure import FAILED, TEXT
from klump.sources.random_chains import block_chain, random_chain, sparse_block_chain

pytest.importorskip("matplotlib")


def branches(axes):
    return [line for line in axes.lines if line.get_color() != FAILED]


def test_every_merger_is_a_branch_at_its_height():
    chain = random_chain(6, kind="dense", random_state=0)
    named = klump.MarkovChain(chain.transition_matrix, [*"abcde", " "])
    tree = klump.aggregation_tree(named, 0.8)
    (axes,) = tree.plot().axes
    heights = sorted(max(line.get_ydata()) for line in branches(axes))
    np.testing.assert_allclose(heights, np.cumsum(tree.merge_costs))
    assert {label.get_text() for label in axes.get_xticklabels()} == {*"abcde", "' '"}
    assert "0.8" in axes.get_ylabel()
    assert {line.get_color() for line in branches(axes)} == {TEXT}


def test_the_groups_of_a_cut_have_colours():
    chain, _ = block_chain((5, 6, 7), alpha=1.0, eps=0.05, random_state=1)
    (axes,) = klump.aggregation_tree(chain).plot(n_states=3).axes
    colours = [line.get_color() for line in branches(axes)]
    assert colours.count(TEXT) == 2
    assert len(set(colours)) == 4
    assert sum(line.get_color() == FAILED for line in axes.lines) == 1


def test_of_a_large_tree_only_the_last_mergers_are_drawn(tmp_path):
    chain, _ = sparse_block_chain(400, 4, random_state=2)
    tree = klump.aggregation_tree(chain, relaxed=True)
    figure = tree.plot(tmp_path / "tree.svg", n_states=4)
    (axes,) = figure.axes
    assert len(branches(axes)) == 99
    members = [label.get_text() for label in axes.get_xticklabels()]
    assert len(members) == 100
    assert sum(int(text[1:-1]) if text.startswith("(") else 1 for text in members) == 400
    assert "I(X2;Y1)" in axes.get_ylabel()
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")


def test_two_states_and_one():
    assert len(klump.aggregation_tree([[0.5, 0.5], [0.3, 0.7]]).plot().axes) == 1
    with pytest.raises(klump.errors.InvalidArgumentError, match="one leaf"):
        klump.aggregation_tree([[1.0]]).plot()
