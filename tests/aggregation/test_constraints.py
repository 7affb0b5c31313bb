"""Constraints as a user states them: by name or index, refused with the reason, kept with the answer."""

import numpy as np
import pytest

import klump
from klump.errors import InvalidArgumentError
from klump.sources.random_chains import block_chain
from reference import coarsest_lumping, same_partition

NAMES = [f"s{i}" for i in range(12)]


def chain(**options):
    found, _ = block_chain((3, 4, 5), alpha=0.4, eps=0.3, random_state=0)
    return klump.MarkovChain(found.transition_matrix, NAMES, **options)


def test_states_by_name_and_by_index():
    by_name = klump.aggregate(chain(), 3, must_link=[("s0", "s11")], cannot_link=[("s1", "s2")])
    by_index = klump.aggregate(chain(), 3, must_link=[(0, 11)], cannot_link=np.array([[1, 2]]))
    assert np.array_equal(by_name.labels, by_index.labels)
    assert by_name.labels[0] == by_name.labels[11]
    assert by_name.labels[1] != by_name.labels[2]


def test_a_number_that_is_a_name_is_a_name():
    numbered = klump.MarkovChain(chain().transition_matrix, list(range(11, -1, -1)))
    answer = klump.aggregate(numbered, 3, fixed={0: 2, 11: 1})
    assert answer.labels[11] == 2  # the state named 0 is the last
    assert answer.labels[0] == 1


def test_fixed_groups_have_their_numbers_and_the_others_are_in_order_of_mass():
    free = klump.aggregate(chain(), 3)
    answer = klump.aggregate(chain(), 3, fixed={free.groups[0][0]: 2})
    assert answer.groups[2] == free.groups[0]
    assert answer.masses[0] >= answer.masses[1]


def test_fixed_groups_by_name_hold_exactly_the_states_of_their_name():
    answer = klump.aggregate(chain(), 4, fixed={"s0": "left", "s11": "left", "s5": "right", "s6": 0})
    assert answer.labels[0] == answer.labels[11]
    assert len({answer.labels[i] for i in (0, 5, 6)}) == 3
    assert answer.labels[6] == 0
    assert answer.names[answer.labels[0]] == "left"
    assert answer.names[answer.labels[5]] == "right"
    assert answer.quotient.states == answer.names


def test_some_labels_are_respected():
    labels = {"odd": NAMES[1::2], "first": ["s0"]}
    answer = klump.aggregate(chain(labels=labels), 4, respect_labels=["odd"])
    odd = np.arange(12) % 2 == 1
    assert all(len(set(odd[answer.labels == y])) == 1 for y in range(4))
    everything = klump.aggregate(chain(labels=labels), 4, respect_labels=True)
    assert ("s0",) in everything.groups


def test_a_label_of_the_initial_states_is_respected_only_by_name():
    """Models of Storm have it, and their quotients have the initial distribution instead."""
    labels = {"init": ["s0"], "odd": NAMES[1::2]}
    model = chain(labels=labels, initial="s0")
    assert klump.aggregate(model, 2, respect_labels=True).constraints.labels == ("odd",)
    assert ("s0",) in klump.aggregate(model, 3, respect_labels=["init"]).groups
    assert klump.aggregate(chain(labels=labels), 3, respect_labels=True).constraints.labels == ("init", "odd")


def test_the_coarsest_lumping_that_respects_labels():
    """With labels for the initial partition; also where there is no stationary distribution."""
    P = np.array(
        [[1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
    )
    absorbing = klump.MarkovChain(P, labels={"end": [0, 4], "left": [0]})
    one = klump.aggregate(absorbing, method="exact", respect_labels=["end"])
    assert one.groups == [(0, 4), (1, 3), (2,)]
    both = klump.aggregate(absorbing, method="exact", respect_labels=True)
    assert same_partition(both.labels, coarsest_lumping(P, np.array([0, 1, 1, 1, 2])))
    mixed = klump.aggregate(absorbing, method="exact", respect_labels=["end"], initial=[0, 0, 1, 0, 0])
    assert same_partition(mixed.labels, coarsest_lumping(P, np.array([0, 1, 2, 1, 0])))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"must_link": [("s0", "s1"), ("s1", "s2")], "cannot_link": [("s0", "s2")]}, "'s0' and 's2' apart"),
        ({"fixed": {"s0": 0, "s1": 1}, "must_link": [("s0", "s1")]}, "'s0' and 's1' apart"),
        ({"cannot_link": [("s0", "s1"), ("s0", "s2"), ("s1", "s2"), ("s3", "s0"), ("s3", "s1"), ("s3", "s2")]},
         "need at least 4 groups"),
        ({"min_mass": 0.5}, "at most 2 groups"),
        ({"fixed": {"s0": 3}}, "has the group 3"),
        ({"fixed": {"s0": -1}}, "has the group -1"),
        ({"fixed": ["s0"]}, "must be a dict"),
        ({"fixed": {"nobody": 0}}, "has 'nobody'"),
        ({"fixed": {"s0": 0, 0: 1}}, "two groups"),
        ({"must_link": ["s0", "s1"]}, "pairs of states"),
        ({"must_link": "s0"}, "pairs of states"),
        ({"must_link": [("s0", "s1", "s2")]}, "pairs of states"),
        ({"cannot_link": [("s0", "s0")]}, "twice"),
        ({"min_mass": -0.1}, "min_mass=-0.1"),
        ({"respect_labels": True}, "the chain has none"),
        ({"respect_labels": ["goal"]}, "'goal', which is no label"),
        ({"must_link": [(f"s{i}", f"s{i + 1}") for i in range(10)]}, "leave 2 units"),
        ({"method": "annealing", "min_mass": 0.1}, "is not for method='annealing'"),
        ({"method": "spectral", "must_link": [("s0", "s1")]}, "is not for method='spectral'"),
    ],
)  # fmt: skip
def test_contradictions_and_mistakes_are_refused(given, message):
    with pytest.raises(InvalidArgumentError) as caught:
        klump.aggregate(chain(), 3, **given)
    assert message in str(caught.value)
    assert caught.value.argument is not None


def test_a_link_between_different_labels_is_refused():
    with pytest.raises(InvalidArgumentError, match="whose labels differ"):
        klump.aggregate(chain(labels={"a": ["s0"]}), 3, respect_labels=True, must_link=[("s0", "s1")])


def test_exact_takes_labels_and_no_other_constraint():
    with pytest.raises(InvalidArgumentError, match="is not for method='exact'"):
        klump.aggregate(chain(), method="exact", cannot_link=[("s0", "s1")])


def test_constraints_stay_with_the_answer(tmp_path):
    given = {"fixed": {"s0": 1, "s3": "x"}, "must_link": [("s4", "s5")], "cannot_link": [("s6", "s7")]}
    answer = klump.aggregate(chain(labels={"a": ["s0"]}), 5, respect_labels=True, min_mass=0.01, **given)
    note = next(note for note in answer.notes if note.startswith("constraints"))
    assert note == (
        "constraints: 1 label respected, 2 states fixed, 1 pair linked, 1 pair kept apart, groups of mass 0.01 or more"
    )
    answer.save(tmp_path / "answer.npz")
    loaded = klump.load(tmp_path / "answer.npz")
    assert loaded.constraints == answer.constraints
    assert loaded.to_dict() == answer.to_dict()
    assert answer.to_dict()["constraints"]["fixed"] == [["s0", 1], ["s3", "x"]]


def test_without_constraints_nothing_is_said():
    answer = klump.aggregate(chain(), 3)
    assert not answer.constraints
    assert answer.to_dict()["constraints"] is None
    assert not any(note.startswith("constraints") for note in answer.notes)


def test_an_initial_map_that_violates_the_constraints_is_a_start_all_the_same():
    answer = klump.aggregate(chain(), 3, initial=[0] * 3 + [1] * 4 + [2] * 5, cannot_link=[("s0", "s1")])
    assert answer.labels[0] != answer.labels[1]
