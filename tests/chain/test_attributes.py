"""Labels, initial distribution and rewards: what a chain carries besides its transitions."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import klump
from klump import MarkovChain
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.conversion import convert_chain

P = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]])
NAMES = ("a", "b", "c", "end")
GIVEN = {
    "labels": {"goal": ["end"], "even": [True, False, True, False], "none": []},
    "initial": {"a": 1, "end": 3},
    "rewards": {"cost": [1.0, 2.0, 3.0, 4.0], "toll": np.diag([1.0, 0.0, 5.0, 0.0])},
}
FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])


def build(form=np.array, **options):
    return MarkovChain(form(P), NAMES, **(GIVEN | options))


def labels_of(chain):
    return {label: members.tolist() for label, members in chain.labels.items()}


def assert_given(chain):
    assert labels_of(chain) == {"goal": [3], "even": [0, 2], "none": []}
    assert chain.initial.tolist() == [0.25, 0.0, 0.0, 0.75]
    assert list(chain.rewards) == ["cost", "toll"]
    assert chain.rewards["cost"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert type(chain.rewards["toll"]) is sparse.csr_array
    assert (chain.rewards["toll"].toarray() == np.diag([1.0, 0.0, 5.0, 0.0])).all()


@FORMS
def test_they_are_kept_as_given(form):
    assert_given(build(form))


def test_a_chain_without_them():
    chain = MarkovChain(P)
    assert (dict(chain.labels), chain.initial, dict(chain.rewards)) == ({}, None, {})


def test_copies_keep_them_read_only():
    chain = build()
    for same in (chain, pickle.loads(pickle.dumps(chain)), copy.deepcopy(chain), MarkovChain(chain)):
        assert_given(same)
        toll = same.rewards["toll"]
        for array in (same.labels["goal"], same.initial, same.rewards["cost"], toll.data, toll.indices):
            assert not array.flags.writeable
        with pytest.raises(TypeError):
            same.labels["goal"] = np.array([0])
        with pytest.raises(TypeError):
            same.rewards["cost"] = np.zeros(4)


def test_a_new_chain_may_replace_them():
    chain = MarkovChain(build(), labels={"start": ["a"]}, initial="b")
    assert labels_of(chain) == {"start": [0]}
    assert chain.initial.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert list(chain.rewards) == ["cost", "toll"]


def test_names_of_integers_are_names():
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=[1, 0], labels={"x": [0], "y": 1})
    assert labels_of(chain) == {"x": [1], "y": [0]}


@FORMS
def test_restriction_keeps_their_part(form):
    matrix = P.copy()
    matrix[1], matrix[3] = [0.5, 0.25, 0.25, 0.0], [0.5, 0.0, 0.0, 0.5]
    chain = MarkovChain(form(matrix[::-1, ::-1]), NAMES[::-1], **(GIVEN | {"labels": {"goal": ["end", "c"]}}))
    part = MarkovChain(chain, restrict="largest")
    assert part.states == ("c", "b", "a")
    assert labels_of(part) == {"goal": [0]}
    assert part.initial is not None and part.initial.sum() == 1.0
    assert part.rewards["cost"].tolist() == [2.0, 3.0, 4.0]
    assert (part.rewards["toll"].toarray() == np.diag([0.0, 5.0, 0.0])).all()


def test_no_initial_mass_in_the_part():
    assert MarkovChain(build(), initial="a", restrict="largest").initial is None


def test_powers_keep_them():
    chain = build(restart=0.1)
    assert_given(chain)
    assert_given(chain.power(3))


def test_a_restart_leads_to_the_initial_distribution_that_is_known():
    later = MarkovChain(build(), restart=0.5)
    assert (later.transition_matrix == build(restart=0.5).transition_matrix).all()
    np.testing.assert_allclose(later.transition_matrix[3], [0.125, 0.0, 0.0, 0.875])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["goal"]}, "labels=.*must be a dict"),
        ({"labels": {1: ["a"]}}, "labels has the label 1, which is not text"),
        ({"labels": {"goal": "z"}}, "labels has 'z' for 'goal', which is not the name of a state"),
        ({"labels": {"goal": [[]]}}, r"labels has \[\] for 'goal'"),
        ({"labels": {"goal": 7}}, "labels has 7 for 'goal'"),
        ({"labels": {"goal": [True, False]}}, r"labels has a mask of shape \(2,\) for 'goal'"),
        ({"rewards": [1, 2]}, "rewards must be a dict"),
        ({"rewards": {"r": [1, 2]}}, r"rewards has rewards 'r' of shape \(2,\)"),
        ({"rewards": {"r": ["x"] * 4}}, "rewards has rewards 'r' that are not numbers"),
        ({"rewards": {"r": [1, 2, 3, np.inf]}}, "rewards has rewards 'r' that are not finite"),
        ({"initial": {"z": 1}}, "initial has mass at 'z', which is not the name of a state"),
        ({"initial": {"a": "x"}}, "initial has 'x' at state 'a', which is not a number"),
        ({"initial": {}}, "initial={} must have masses"),
        ({"initial": {"a": -1, "b": 2}}, "initial=.* must have masses"),
        ({"initial": {"a": np.nan}}, "initial=.* must have masses"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        build(**options)


@FORMS
@pytest.mark.parametrize("suffix", [".npz", ".mapped"])
def test_files_keep_them(tmp_path, suffix, form):
    path = tmp_path / f"model{suffix}"
    for _ in range(2):  # the second time the file is replaced
        klump.write_chain(build(form), path)
        assert_given(klump.read_chain(path))
    klump.write_chain(MarkovChain(P), path)
    assert klump.read_chain(path).initial is None
    back = klump.read_chain(path, initial=2)
    assert back.initial.tolist() == [0.0, 0.0, 1.0, 0.0]


@FORMS
def test_conversion_keeps_them(tmp_path, form):
    klump.write_chain(build(form), tmp_path / "a.npz")
    convert_chain(tmp_path / "a.npz", tmp_path / "b.mapped")
    convert_chain(tmp_path / "b.mapped", tmp_path / "c.npz")
    assert_given(klump.read_chain(tmp_path / "c.npz"))


def test_the_initial_distribution_of_a_file_is_where_a_restart_leads(tmp_path):
    klump.write_chain(build(), tmp_path / "a.npz")
    assert_given(klump.read_chain(tmp_path / "a.npz", restart=0.5))
    given = klump.read_chain(tmp_path / "a.npz", restart=0.5, initial="b")
    assert given.initial.tolist() == [0.0, 1.0, 0.0, 0.0]


@FORMS
def test_saved_answers_keep_them(tmp_path, form):
    answer = klump.aggregate(build(form, restart=0.25), 2, method="sequential")
    answer.save(tmp_path / "answer.npz")
    assert_given(klump.load(tmp_path / "answer.npz").original)


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": np.array(b"{}")},
        {"attributes": np.array(b"[" * 100_000)},
        {"attributes": np.arange(3)},
        {"attribute_label_states": np.array([3, 0, 9])},
        {"attribute_label_ends": np.array([5, 2, 3])},
        {"attribute_label_ends": np.array([1, 3, 4])},
        {"attribute_initial": np.array([2.0, 0, 0, 0])},
        {"attribute_initial": np.array([[1.0]])},
        {"attribute_state_rewards": np.zeros(3)},
        {"attribute_state_rewards": np.full(4, np.nan)},
        {"attribute_transition_indices": np.array([0, 99])},
        {"attribute_transition_indptr": np.array([0, 1])},
        {"attribute_transition_data": None},
    ],
)
def test_damaged_files_are_refused(tmp_path, change):
    chain = build(restart=0.25)
    klump.write_chain(chain, tmp_path / "a.npz")
    klump.write_chain(chain, tmp_path / "a.mapped")
    klump.aggregate(chain, 2, method="sequential").save(tmp_path / "b.npz")
    for name in ("a.npz", "b.npz"):
        content = {
            key: value
            for key, value in (dict(np.load(tmp_path / name)) | change).items()
            if value is not None
        }
        np.savez(tmp_path / name, **content)
    for key, value in change.items():
        (tmp_path / "a.mapped" / f"{key}.npy").unlink()
        if value is not None:
            np.save(tmp_path / "a.mapped" / f"{key}.npy", value)
    for name, read in (("a.npz", klump.read_chain), ("a.mapped", klump.read_chain), ("b.npz", klump.load)):
        with pytest.raises((FileFormatError, InvalidArgumentError), match=f"{name}: "):
            read(tmp_path / name)


def test_masks_of_any_kind():
    pandas = pytest.importorskip("pandas")
    mask = [True, False, False]
    for given in (mask, tuple(mask), np.array(mask), pandas.Series(mask)):
        chain = MarkovChain(np.full((3, 3), 1 / 3), labels={"a": given})
        assert chain.labels["a"].tolist() == [0]
    # A tuple that is the name of a state is that state.
    named = MarkovChain(np.full((2, 2), 0.5), states=[(True, False), "b"], labels={"a": (True, False)})
    assert named.labels["a"].tolist() == [0]
