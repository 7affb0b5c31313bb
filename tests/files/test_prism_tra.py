"""``.tra`` of PRISM and Storm: all variants, siblings, and errors that name file and line."""

import gzip

import numpy as np
import pytest
from scipy import sparse

import klump
import models
from klump.errors import FileFormatError, InvalidChainError
from klump.files import losses

P = [[0.9, 0.1, 0], [0, 0.5, 0.5], [1, 0, 0]]


def chain_from(tmp_path, text, name="model.tra", **options):
    (tmp_path / name).write_text(text)
    return klump.read_chain(tmp_path / name, **options)


def build(model, **options):
    """The chain of a model of ``models.py``."""
    return klump.MarkovChain(
        model.matrix,
        model.names,
        labels={label: [model.names[i] for i in states] for label, states in model.labels.items()},
        initial=model.names[model.initial],
        rewards=model.rewards,
        **options,
    )


@pytest.mark.parametrize(
    "text",
    [
        "3 5\n0 0 0.9\n0 1 0.1\n1 1 0.5\n1 2 0.5\n2 0 1\n",
        "# Transitions (DTMC)\n3 5\n0 0 9/10\n0 1 1/10\n1 1 1/2\n1 2 0.5\n2 0 1/1",
        "3 5\r\n2 0 1\r\n0 0 .9\r\n0 1 1e-1\r\n\r\n1 1 5E-1\r\n1 2 0.5\r\n",
        "3 5\n0 0 0.9 a\n0 1 0.1 b\n# half of it\n1 1 0.5\n1 2 0.5 long_name\n2 0 1\n",
        "3 5\n0 0.9:0 0.1:1\n1 1/2:1 0.5:2\n2 1:0 go\n",
        "3 6\n0 0 0.4\n0 0 0.5\n0 1 0.1\n1 1 0.5\n1 2 0.5\n2 0 1\n",
        "dtmc\n0 0 0.9\n0 1 0.1\n1 1 0.5\n1 2 0.5\n2 0 1\n",
        "DtMc\n\n\n 0\t0   0.9\n0 1 0.1 \n1 1 0.5\n1 2 0.5\n2 2 0.0\n2 0 1\n",
    ],
)
def test_variants(tmp_path, text):
    chain = chain_from(tmp_path, text)
    assert chain.is_sparse
    np.testing.assert_allclose(chain.transition_matrix.toarray(), P, atol=1e-16)
    assert (chain.states, dict(chain.labels), chain.initial) == ((0, 1, 2), {}, None)
    (tmp_path / "packed.tra.gz").write_bytes(gzip.compress(text.encode()))
    assert klump.read_chain(tmp_path / "packed.tra.gz").n_states == 3


def test_deadlocks_stay_where_they_are(tmp_path):
    chain = chain_from(tmp_path, "4 2\n0 1 1\n1 2 1\n")
    assert np.array_equal(
        chain.transition_matrix.toarray(), [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no header"),
        ("# only\n", "the file has no header"),
        ("x y\n", "line 1: 'x y' is not the number of states and of transitions, nor a type such as dtmc"),
        ("3 3 5\n0 0 1 1\n", "line 1: 3 numbers are the header of an MDP"),
        ("mdp\n0 0 1 1\n", "line 1: the model is of type MDP, not a Markov chain"),
        ("# Transitions (MDP)\n1 1 1\n", "line 1: the model is of type MDP"),
        ("ma\n0 0 1 1\n", "line 1: the model is of type MA"),
        (
            "1 2\n0 0 1\n",
            "line 1: 1 states and 2 transitions do not fit|announces 2 transitions, but 1 follow",
        ),
        ("2 1\n0 1 1\n1 0 1\n", "the header announces 1 transitions, but 2 follow"),
        ("2 2\n0 1 1\n1 2 1\n", "line 3: there is no state 2, as there are 2 and they count from 0"),
        ("2 2\n0 1 1\n1 -1 1\n", "line 3: '-1' is not the number of a state"),
        ("2 2\n0 1 1\n1 0 x\n", "line 3: 'x' is not a finite number"),
        ("2 2\n0 1 1\n1 0 1/0\n", "line 3: '1/0' is not a finite number"),
        ("2 2\n0 1 1\n1 0 nan\n", "line 3: 'nan' is not a finite number"),
        ("2 2\n0 1 1\n1 0 1e999\n", "line 3: '1e999' is not a finite number"),
        ("2 2\n0 1 1\n1 0\n", "line 3: '1 0' has 2 fields instead of 3"),
        ("2 2\n0 1:1\n1 1:x\n", "line 3: 'x' is not the number of a state"),
        ("900000000 1\n0 0 1\n", "900,000,000 states, but "),
        ("200000 1\n0 0 1\n", "200,000 states, but 1 transitions, so that most states cannot be reached"),
        ("dtmc\n0 800000000 1\n", "800,000,001 states, but"),
        ("0 0\n", "0 states and 0 transitions do not fit"),
        ("dtmc\n", "there is no transition"),
        ("ctmc\n0 0 1\n", "the file holds rates of a CTMC; pass ctmc=True to uniformise it"),
    ],
)
def test_errors(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=f"model.tra: .*(?:{message})") as error:
        chain_from(tmp_path, text)
    assert "\n" not in str(error.value)


def test_rows_that_do_not_sum_to_one_name_the_state(tmp_path):
    (tmp_path / "model.sta").write_text("(s)\n0:(0)\n1:(5)\n")
    with pytest.raises(InvalidChainError, match=r"model.tra: row 1 \(state 's=5'\) .* sums to 0.5"):
        chain_from(tmp_path, "2 2\n0 1 1\n1 0 0.5\n")


@pytest.fixture
def siblings(tmp_path):
    """The files that PRISM would write for a model of three states."""
    (tmp_path / "m.tra").write_text("3 5\n0 0 0.9\n0 1 0.1\n1 1 0.5\n1 2 0.5\n2 0 1\n")
    (tmp_path / "m.sta").write_text("(s,b)\n0:(0,true)\n1:(0,false)\n2:(-3,true)\n")
    (tmp_path / "m.lab").write_text('0="init" 1="deadlock" 2="goal" 3="a b" 4="none"\n0: 0 3\n2: 2 3\n')
    (tmp_path / "m.srew").write_text('# Reward structure "cost"\n# State rewards\n3 2\n0 1\n2 5/2\n')
    (tmp_path / "m.trew").write_text("3 1\n1 2 -0.5\n")
    return tmp_path / "m.tra"


def test_siblings(siblings):
    chain = klump.read_chain(siblings)
    assert chain.states == ("s=0,b=true", "s=0,b=false", "s=-3,b=true")
    assert {label: states.tolist() for label, states in chain.labels.items()} == {
        "goal": [2],
        "a b": [0, 2],
        "none": [],
    }
    assert chain.initial.tolist() == [1, 0, 0]
    assert chain.rewards["cost"].tolist() == [1, 0, 2.5]
    assert chain.rewards["reward"].toarray().tolist() == [[0, 0, 0], [0, 0, -0.5], [0, 0, 0]]


def test_compressed_and_numbered_siblings(siblings):
    folder = siblings.parent
    (folder / "m.lab.gz").write_bytes(gzip.compress((folder / "m.lab").read_bytes()))
    (folder / "m.lab").unlink()
    (folder / "m1.srew").write_text('# Reward structure "first"\n3 1\n0 7\n')
    (folder / "m2.srew").write_text("3 1\n1 8\n")
    chain = klump.read_chain(siblings)
    assert chain.labels["goal"].tolist() == [2]
    assert set(chain.rewards) == {"cost", "reward", "first", "reward 2"}
    (folder / "m1.tra").write_text("1 1\n0 0 1\n")  # now m1.srew is another model's
    assert set(klump.read_chain(siblings).rewards) == {"cost", "reward"}


def test_zeros_of_the_other_reward_file_are_ignored(siblings):
    (siblings.parent / "m.trew").write_text('# Reward structure "cost"\n# Transition rewards\n3 0\n')
    assert {name: reward.shape for name, reward in klump.read_chain(siblings).rewards.items()} == {
        "cost": (3,)
    }


def test_labels_of_storm(siblings):
    (siblings.parent / "m.lab").write_text(
        "#DECLARATION\ninit goal\nother\n#END\n0 init\n1 init\n2 goal other\n"
    )
    chain = klump.read_chain(siblings)
    assert chain.initial.tolist() == [0.5, 0.5, 0]
    assert {label: states.tolist() for label, states in chain.labels.items()} == {"goal": [2], "other": [2]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.lab", "", "line 0: '' is neither a list of labels, nor #DECLARATION"),
        ("m.lab", "init goal\n", "line 1: 'init goal' is neither a list of labels"),
        ("m.lab", '0="init" x\n', "line 1: .* is not a list of labels"),
        ("m.lab", '0="init"\n3: 0\n', "line 2: there is no state 3, as there are 3"),
        ("m.lab", '0="init"\n1: 7\n', "line 2: the label '7' is not declared"),
        ("m.lab", '0="init" 1="a" 2="a"\n1: 2\n', "line 1: the label 'a' is declared twice"),
        ("m.lab", '0="init" 0="a"\n1: 0\n', "line 1: the number '0' is declared twice"),
        ("m.lab", "#DECLARATION\ninit a a\n#END\n1 a\n", "line 3: the label 'a' is declared twice"),
        ("m.lab", '0="init"\nx: 0\n', "line 2: 'x: 0' does not begin with the number of a state"),
        ("m.lab", "#DECLARATION\ninit\n0 init\n", "line 3: #END is missing"),
        ("m.sta", "s,b\n", r"line 1: 's,b' is not a list of variables such as \(s,d\)"),
        ("m.sta", "(s)\n0:(1)\n", "it has 1 states, but the .tra file has 3"),
        ("m.sta", "(s)\n0:(1)\n0:(2)\n", "line 3: .* is not the valuation of a further one of 3 states"),
        ("m.sta", "(s)\n0:(1,2)\n", "line 2: 2 values, but there are 1 variables"),
        ("m.sta", "(name)\n0:({})\n", "line 2 is damaged"),
        ("m.srew", "4 1\n0 1\n", "line 1: 4 states, but the .tra file has 3"),
        ("m.srew", "3 2\n0 1\n", "the header announces 2 rewards, but 1 follow"),
        ("m.srew", "3\n", "line 1: '3' is not the number of states and of rewards"),
        ("m.trew", "3 1\n0 1 x\n", "line 2: 'x' is not a finite number"),
        ("m.srew", "\xff", "is not the number"),
    ],
)
def test_errors_in_siblings_name_them(siblings, name, text, message):
    (siblings.parent / name).write_text(text, encoding="latin-1")
    with pytest.raises(FileFormatError, match=f"{name}: .*{message}"):
        klump.read_chain(siblings)


@pytest.mark.parametrize("make", [models.knuth_yao_die, models.retransmission, models.crowds])
@pytest.mark.parametrize("suffix", [".tra", ".tra.gz", ".storm.tra", ".drn", ".umb", ".graphml", ".npz"])
def test_models_survive(tmp_path, make, suffix):
    chain = build(make())
    assert losses(chain, f"m{suffix}") == []
    klump.write_chain(chain, tmp_path / f"m{suffix}")
    back = klump.read_chain(tmp_path / f"m{suffix}")
    assert np.array_equal(back.transition_matrix.toarray(), chain.transition_matrix.toarray())
    assert back.states == chain.states
    assert {label: states.tolist() for label, states in back.labels.items()} == {
        label: states.tolist() for label, states in chain.labels.items()
    }
    assert np.array_equal(back.initial, chain.initial)
    assert {name: reward.tolist() for name, reward in back.rewards.items()} == {
        name: reward.tolist() for name, reward in chain.rewards.items()
    }


def test_die_is_fair(tmp_path):
    """The probability of each face, by restarting at the initial state that the file names."""
    klump.write_chain(build(models.knuth_yao_die()), tmp_path / "die.tra")
    chain = klump.read_chain(tmp_path / "die.tra", restart=0.5)
    assert (
        chain.applied == ("restarted at state s=0,d=0 with probability 0.5",) or "s=0,d=0" in chain.applied[0]
    )
    faces = chain.stationary_distribution[[int(chain.labels[word][0]) for word in ("one", "three", "six")]]
    np.testing.assert_allclose(faces, faces[0])
    limit = np.linalg.matrix_power(klump.read_chain(tmp_path / "die.tra").transition_matrix.toarray(), 200)[0]
    np.testing.assert_allclose(limit[7:], 1 / 6)


def test_files_of_an_older_model_are_removed(tmp_path):
    klump.write_chain(build(models.knuth_yao_die()), tmp_path / "m.tra")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.lab", "m.srew", "m.sta", "m.tra"]
    klump.write_chain(np.array(P), tmp_path / "m.tra")
    assert [file.name for file in tmp_path.iterdir()] == ["m.tra"]


def test_no_file_changes_if_one_cannot_be_written(tmp_path):
    klump.write_chain(np.array(P), tmp_path / "m.tra")
    before = (tmp_path / "m.tra").read_bytes()
    chain = klump.MarkovChain(P, labels={'"': [0]})
    with pytest.raises(FileFormatError, match="has quotation marks or control characters"):
        klump.write_chain(chain, tmp_path / "m.tra")
    (tmp_path / "m.lab").mkdir()
    with pytest.raises(FileFormatError, match="this is a folder, not a regular file"):
        klump.write_chain(klump.MarkovChain(P, labels={"a": [0]}), tmp_path / "m.tra")
    assert (tmp_path / "m.tra").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.lab", "m.tra"]


def test_blanks_in_labels_of_storm_are_refused(tmp_path):
    chain = klump.MarkovChain(P, labels={"a b": [0]})
    with pytest.raises(FileFormatError, match="the label 'a b' has blanks or quotation marks"):
        klump.write_chain(chain, tmp_path / "m.storm.tra")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["ctmc\n0 1 2\n0 0 1\n1 0 3\n1 2 1\n", "# Transitions (CTMC)\n3 4\n0 1 2\n0 0 1\n1 0 3\n1 2 1\n"]
)
def test_rates_are_uniformised_when_asked_for(tmp_path, text):
    with pytest.raises(FileFormatError, match="the file holds rates of a CTMC; pass ctmc=True"):
        chain_from(tmp_path, text)
    chain = chain_from(tmp_path, text, ctmc=True)
    rates = np.array([[0, 2.0, 0], [3, 0, 1], [0, 0, 0]])
    expected = klump.MarkovChain.from_generator(rates).transition_matrix
    np.testing.assert_allclose(chain.transition_matrix.toarray(), expected)


def test_rates_in_a_file_without_type(tmp_path):
    model = models.queue()
    entries = sparse.coo_array(model.matrix)
    lines = [f"{i} {j} {rate}" for i, j, rate in zip(entries.row, entries.col, entries.data, strict=True)]
    text = "\n".join([f"{model.matrix.shape[0]} {entries.nnz}", *lines])
    chain = chain_from(tmp_path, text, ctmc=True)
    mu = chain.stationary_distribution
    np.testing.assert_allclose(mu[1:] / mu[:-1], 2 / 3)  # detailed balance of a queue
    with pytest.raises(
        FileFormatError, match="the file holds probabilities of a DTMC, not rates; leave out ctmc"
    ):
        chain_from(tmp_path, "dtmc\n0 0 1\n", ctmc=True)


def test_large_files_take_the_fast_path(tmp_path, rng):
    """A hundred thousand transitions, in chunks that a comment in the middle makes slow."""
    n = 20_000
    target = rng.integers(n, size=(n, 5))
    lines = [f"{i} {j} 0.2\n" for i in range(n) for j in target[i].tolist()]
    plain = chain_from(tmp_path, "".join([f"{n} {5 * n}\n", *lines]))
    slow = chain_from(tmp_path, "".join([f"{n} {5 * n}\n", *lines[:40_000], "# half\n", *lines[40_000:]]))
    expected = sparse.csr_array(
        (np.full(5 * n, 0.2), (np.repeat(np.arange(n), 5), target.ravel())), shape=(n, n)
    )
    for chain in (plain, slow):
        assert abs(chain.transition_matrix - expected).max() < 1e-15
