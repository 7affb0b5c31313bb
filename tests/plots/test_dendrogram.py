"""A dendrogram shows every merge at its height, and the groups of a cut in colours of their own."""

import itertools

import numpy as np
import pytest

import klump
from klump.plots.figure import FAILED, TEXT
from klump.sources.random_chains import random_chain, sparse_block_chain
from klump.views import PALETTE
from reference import same_partition

pytest.importorskip("matplotlib")


def bars(axes):
    """The horizontal lines, one per merge; the line of the cut is left out."""
    flat = (
        line for line in axes.lines if len(set(line.get_ydata())) == 1 and len(set(line.get_xdata())) == 2
    )
    return [line for line in flat if line.get_color() != FAILED]


def cuts(axes):
    return [line.get_ydata()[0] for line in axes.lines if line.get_color() == FAILED]


def colours(axes):
    """Colour of each leaf, by name: that of its name, and of the line that ends there."""
    ends = {line.get_xdata()[0]: line.get_color() for line in axes.lines if line.get_ydata()[0] == 0.0}
    ends |= {line.get_xdata()[1]: line.get_color() for line in axes.lines if line.get_ydata()[1] == 0.0}
    found = {}
    for label in axes.get_xticklabels():
        assert ends[label.get_position()[0]] == label.get_color()
        found[label.get_text()] = label.get_color()
    return found


def test_every_merge_is_a_branch_at_its_height():
    chain = random_chain(6, kind="dense", random_state=0)
    named = klump.MarkovChain(chain.transition_matrix, [*"abcde", " "])
    tree = klump.aggregation_tree(named, 0.8)
    figure = tree.plot()
    (axes,) = figure.axes
    heights = sorted(line.get_ydata()[0] for line in bars(axes))
    np.testing.assert_allclose(heights, np.cumsum(tree.merge_costs))
    assert {label.get_text() for label in axes.get_xticklabels()} == {*"abcde", "' '"}
    assert "0.8" in axes.get_ylabel()
    assert {line.get_color() for line in axes.lines} == {TEXT}
    assert figure.axes[0].get_title() == r"6 states, $\beta$ = 0.8"


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("k", [1, 2, 3, 6, 10])
def test_colours_are_the_groups_of_the_cut(beta, k):
    """Also where merges lower the cost, so that several of them have the same height."""
    chain = random_chain(20, kind="dense", random_state=0)
    tree = klump.aggregation_tree(klump.MarkovChain(chain.transition_matrix, "abcdefghijklmnopqrst"), beta)
    (axes,) = tree.plot(n_states=k).axes
    found = colours(axes)
    shown = [found[name] for name in tree.original.states]
    assert TEXT not in shown
    assert same_partition(np.unique(shown, return_inverse=True)[1], tree.cut(k).labels)
    assert sum(line.get_color() == TEXT for line in bars(axes)) == k - 1


@pytest.mark.parametrize("k", [2, 3, 6, 19])
def test_the_line_of_the_cut_is_drawn_where_there_is_room(k):
    chain = random_chain(20, kind="dense", random_state=0)
    for beta in (0.0, 0.5):
        tree = klump.aggregation_tree(chain, beta)
        below, above = tree.linkage[20 - k - 1 : 20 - k + 1, 2]
        (axes,) = tree.plot(n_states=k).axes
        assert cuts(axes) == ([(below + above) / 2] if below < above else [])
    assert cuts(tree.plot(n_states=1).axes[0]) == []


def test_merges_that_lower_the_cost_are_mentioned():
    chain = random_chain(20, kind="dense", random_state=0)
    assert "merges that lower the cost" in klump.aggregation_tree(chain, 0.0).plot().axes[0].get_title()
    assert "merges that lower the cost" not in klump.aggregation_tree(chain, 0.5).plot().axes[0].get_title()


def test_neighbours_have_different_colours():
    assert len(set(PALETTE)) == len(PALETTE) >= 12
    chain = random_chain(40, kind="dense", random_state=1)
    (axes,) = klump.aggregation_tree(chain).plot(n_states=40).axes
    shown = [label.get_color() for label in axes.get_xticklabels()]
    assert all(one != other for one, other in itertools.pairwise(shown))


def test_a_tree_without_any_cost():
    """All heights are zero, and nothing warns of it."""
    figure = klump.aggregation_tree(np.full((4, 4), 0.25), 0.0).plot(n_states=2)
    assert figure.axes[0].get_ylim() == (0.0, 1.0)


def test_of_a_large_tree_only_the_last_merges_are_drawn(tmp_path):
    chain, _ = sparse_block_chain(400, 4, random_state=2)
    tree = klump.aggregation_tree(chain, relaxed=True)
    figure = tree.plot(tmp_path / "tree.svg", n_states=4)
    (axes,) = figure.axes
    assert len(bars(axes)) == 99
    members = [label.get_text() for label in axes.get_xticklabels()]
    assert len(members) == 100
    assert sum(int(text[1:-1]) if text.startswith("(") else 1 for text in members) == 400
    assert "I(X2;Y1)" in axes.get_ylabel()
    assert figure.axes[0].get_title() == (
        "400 states, 4 groups in colour, relaxed merging\nonly the last 99 of 399 merges are drawn"
    )
    shown = [label.get_color() for label in axes.get_xticklabels()]
    counts = [int(text[1:-1]) if text.startswith("(") else 1 for text in members]
    sizes = [
        sum(count for count, other in zip(counts, shown, strict=True) if other == colour)
        for colour in {*shown}
    ]
    assert sorted(sizes) == sorted(np.bincount(tree.cut(4).labels))
    with pytest.raises(
        klump.errors.InvalidArgumentError,
        match=r"n_states=101 is too large: .* 400 leaves only the last 100 groups",
    ):
        tree.plot(n_states=101)
    assert (tmp_path / "tree.svg").read_text().startswith("<?xml")


def test_two_states_and_one():
    assert len(klump.aggregation_tree([[0.5, 0.5], [0.3, 0.7]]).plot().axes) == 1
    with pytest.raises(klump.errors.InvalidArgumentError, match="one leaf"):
        klump.aggregation_tree([[1.0]]).plot()


def test_initial_groups():
    chain = random_chain(12, kind="dense", random_state=0)
    tree = klump.aggregation_tree(chain, initial=np.arange(12) % 4)
    figure = tree.plot(n_states=2)
    assert figure.axes[0].get_title().startswith("12 states, 4 initial groups, 2 groups in colour")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["(3)"] * 4


def test_short_repr():
    chain = random_chain(12, kind="dense", random_state=0)
    assert repr(klump.aggregation_tree(chain, 0.3)) == "AggregationTree(12 states, 12 leaves, beta=0.3)"
    assert (
        repr(klump.aggregation_tree(chain, relaxed=True)) == "AggregationTree(12 states, 12 leaves, relaxed)"
    )
