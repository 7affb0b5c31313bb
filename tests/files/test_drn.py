"""``.drn``: headers, placeholders, labels, rewards, exit rates, and errors that name the line."""

import lzma

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError
from klump.files import losses

HEADER = """// Exported by storm
@type: DTMC
@parameters

@reward_models
{rewards}
@nr_states
{n}
@model
"""


def chain_from(tmp_path, text, name="model.drn", **options):
    (tmp_path / name).write_text(text)
    return klump.read_chain(tmp_path / name, **options)


FULL = """// Exported by storm
// Original model type: DTMC
@type: DTMC
@value_type: double
@parameters

@placeholders
$a : 0.25
@reward_models
coins "two words"
@nr_states
3
@nr_choices
3
@model
state 0 [1, 0] init "a b"
//[s=0\t& !up]
\taction 0 [0.5, 2]
\t\t1 : $a
\t\t2 : 3/4
state 1 {0} [0, 0] goal
//[s=1\t& up]
\taction __NOLABEL__
\t\t0 : 1
state 2 goal init
//[s=-2\t& up]
"""


def test_everything(tmp_path):
    chain = chain_from(tmp_path, FULL)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 0.25, 0.75], [1, 0, 0], [0, 0, 1]])
    assert chain.states == ("s=0,up=false", "s=1,up=true", "s=-2,up=true")
    assert {label: states.tolist() for label, states in chain.labels.items()} == {"a b": [0], "goal": [1, 2]}
    assert chain.initial.tolist() == [0.5, 0, 0.5]
    assert {name: reward.tolist() for name, reward in chain.rewards.items()} == {
        "coins": [1.5, 0, 0],
        "two words": [2, 0, 0],
    }
    (tmp_path / "model.drn.xz").write_bytes(lzma.compress(FULL.encode()))
    assert klump.read_chain(tmp_path / "model.drn.xz").states == chain.states


def test_names_need_all_states(tmp_path):
    chain = chain_from(tmp_path, FULL.replace("//[s=1\t& up]\n", "// a remark\n"))
    assert chain.states == (0, 1, 2)
    chain = chain_from(tmp_path, FULL.replace("s=1", "s=-2"))
    assert chain.states == (0, 1, 2)


def test_one_reward_model_without_a_name(tmp_path):
    text = HEADER.format(rewards=" ", n=1) + "state 0 [4] init\n\taction 0 [0]\n\t\t0 : 1\n"
    assert chain_from(tmp_path, text).rewards["reward"].tolist() == [4]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: DTMC", "@type: MDP", "line 3: the model is of type 'MDP', not a Markov chain"),
        ("@type: DTMC", "@type: Markov Automaton", "line 3: the model is of type 'Markov Automaton'"),
        ("@type: DTMC", "@type: POMDP", "line 3: the model is of type 'POMDP'"),
        ("@type: DTMC\n", "", "the header has no @type"),
        ("double", "double-interval", "line 4: the value type 'double-interval' is not read"),
        ("@parameters\n", "@parameters\np q", "line 6: the model has parameters"),
        ("$a : 0.25", "a 0.25", "line 8: 'a 0.25' is not a placeholder"),
        ("@nr_states\n3", "@nr_states\nthree", "line 12: 'three' is not a number of states"),
        ("@nr_states\n3", "@nr_states\n4", "the header announces 4 states, but 3 follow"),
        ("@nr_states\n3", "@nr_states\n2", "line 20: there is no state 2, as there are 2"),
        ("@nr_states\n3\n", "", "the header has no @nr_states"),
        ("@model", "@mode", "the line @model is missing"),
        ("state 1", "state 2", "line 21: state 2 where state 1 of 3 is due"),
        ("1 : $a", "1 : $b", r"line 19: '\$b' is not a finite number"),
        ("1 : $a", "1 : [0.1, 0.3]", r"line 19: '\[0.1, 0.3\]' is an interval"),
        ("1 : $a", "7 : $a", "line 19: there is no state 7"),
        ("1 : $a", "1 ; $a", "line 19: .* is neither a state, an action nor a transition"),
        ("[1, 0]", "[1]", "line 16: 1 rewards, but the header names 2 reward models"),
        ('"a b"', '"a b', "line 16: .* is not a list of labels"),
        ("\t\t0 : 1", "\taction 1\n\t\t0 : 1", "line 24: state 1 has a second action"),
        ('coins "two words"', "coins coins", "two reward models have the same name"),
    ],
)
def test_errors(tmp_path, old, new, message):
    assert old in FULL
    with pytest.raises(FileFormatError, match=f"model.drn: {message}") as error:
        chain_from(tmp_path, FULL.replace(old, new, 1))
    assert "\n" not in str(error.value)


RATES = """@type: CTMC
@parameters

@reward_models

@nr_states
3
@model
state 0 !{first} init
	action 0
		1 : {up}
		0 : {loop}
state 1 !4
	action 0
		0 : 3
		2 : 1
state 2
"""


@pytest.mark.parametrize(("first", "up", "loop"), [(3, 2, 1), (4, 0.5, 0.5), (2, 2, 0), (2.0, 1, 0)])
def test_rates_and_exit_rates(tmp_path, first, up, loop):
    """Rates that sum to the exit rate, or probabilities that sum to 1; rates to the state itself do not matter."""
    text = RATES.format(first=first, up=up, loop=loop)
    with pytest.raises(FileFormatError, match="the file holds rates of a CTMC; pass ctmc=True"):
        chain_from(tmp_path, text)
    chain = chain_from(tmp_path, text, ctmc=True)
    expected = klump.MarkovChain.from_generator([[0, 2.0, 0], [3, 0, 1], [0, 0, 0]]).transition_matrix
    np.testing.assert_allclose(chain.transition_matrix.toarray(), expected)


def test_exit_rate_that_does_not_fit(tmp_path):
    with pytest.raises(FileFormatError, match="state 0 has the exit rate 7, but its rates sum to 3"):
        chain_from(tmp_path, RATES.format(first=7, up=2, loop=1), ctmc=True)


def test_what_is_lost(tmp_path):
    matrix = np.array([[0.5, 0.5], [0.5, 0.5]])
    chain = klump.MarkovChain(
        matrix, labels={"no": [], "yes": [1]}, initial=[0.25, 0.75], rewards={"r": matrix, "s": [1, 2]}
    )
    assert losses(chain, "m.drn") == ["labels ('no')", "probabilities of the initial states", "rewards ('r')"]
    klump.write_chain(chain, tmp_path / "m.drn")
    back = klump.read_chain(tmp_path / "m.drn")
    assert (list(back.labels), back.initial.tolist(), list(back.rewards)) == (["yes"], [0.5, 0.5], ["s"])
    with pytest.raises(FileFormatError, match="the reward 'a b' has blanks or quotation marks"):
        klump.write_chain(klump.MarkovChain(matrix, rewards={"a b": [1, 2]}), tmp_path / "m.drn")
