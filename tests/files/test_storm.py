"""Round trips through Storm: it reads what klump writes, and klump reads what it writes."""

import gzip

import numpy as np
import pytest
from scipy import sparse

import klump
import models

stormpy = pytest.importorskip("stormpy", reason="Storm is not installed: pip install 'klump[oracle]'")

pytest.importorskip("stormpy.io")

MODELS = [models.knuth_yao_die, models.retransmission, models.crowds]
SUFFIXES = [".storm.tra", ".drn", ".umb"]


def build(model):
    return klump.MarkovChain(
        model.matrix,
        model.names,
        labels={label: [model.names[i] for i in states] for label, states in model.labels.items()},
        initial=model.names[model.initial],
        rewards=model.rewards,
    )


def storm_reads(path):
    if path.name.endswith(".tra"):
        return stormpy.build_model_from_explicit(path, path.with_suffix(".lab"))
    if path.suffix == ".umb":
        return stormpy.build_model_from_umb(str(path))
    return stormpy.build_model_from_drn(str(path))


def storm_writes(model, path):
    write = stormpy.io.export_to_umb if path.suffix == ".umb" else stormpy.io.export_to_drn
    write(model, str(path))


def labels_of(model):
    """Labels of a model of Storm without those that it always declares."""
    labeling = model.labeling
    found = {label: sorted(labeling.get_states(label)) for label in labeling.get_labels()}
    return {label: states for label, states in found.items() if label not in ("init", "deadlock")}


def matrix_of(model):
    triples = [
        (row, entry.column, entry.value)
        for row in range(model.nr_states)
        for entry in model.transition_matrix.get_row(row)
    ]
    rows, columns, values = zip(*triples, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=(model.nr_states,) * 2).toarray()


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_storm_reads_what_klump_writes(tmp_path, make, suffix):
    chain = build(make())
    path = tmp_path / f"m{suffix}"
    klump.write_chain(chain, path)
    model = storm_reads(path)
    assert model.model_type.name == "DTMC"
    assert (model.nr_states, model.nr_transitions) == (chain.n_states, chain.n_transitions)
    assert labels_of(model) == {label: states.tolist() for label, states in chain.labels.items()}
    assert list(model.initial_states) == np.flatnonzero(chain.initial).tolist()
    np.testing.assert_allclose(matrix_of(model), chain.transition_matrix.toarray(), rtol=1e-15)
    if suffix != ".storm.tra":  # Storm takes rewards of a .tra from files of its own
        for name, reward in chain.rewards.items():
            assert list(model.reward_models[name].state_rewards) == reward.tolist()


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("suffix", [".drn", ".umb"])
def test_klump_reads_what_storm_writes(tmp_path, make, suffix):
    chain = build(make())
    klump.write_chain(chain, tmp_path / "own.umb")
    storm_writes(storm_reads(tmp_path / "own.umb"), tmp_path / f"theirs{suffix}")
    back = klump.read_chain(tmp_path / f"theirs{suffix}")
    assert (back.n_states, back.n_transitions) == (chain.n_states, chain.n_transitions)
    np.testing.assert_allclose(back.transition_matrix.toarray(), chain.transition_matrix.toarray(), rtol=1e-9)
    used = {label: states.tolist() for label, states in chain.labels.items() if len(states)}
    assert {label: states.tolist() for label, states in back.labels.items() if len(states)} == used
    assert np.array_equal(back.initial, chain.initial)
    assert back.rewards.keys() == chain.rewards.keys()
    for name, reward in chain.rewards.items():
        assert back.rewards[name].tolist() == reward.tolist()
    if suffix == ".umb":
        assert back.states == chain.states


@pytest.mark.parametrize("mode", ["NO_COMPRESSION", "GZIP", "XZ"])
def test_compressions_of_umb(tmp_path, mode):
    klump.write_chain(build(models.crowds()), tmp_path / "own.umb")
    options = stormpy.io.UmbExportOptions()
    options.compression = getattr(stormpy.io.CompressionMode, mode)
    stormpy.io.export_to_umb(storm_reads(tmp_path / "own.umb"), str(tmp_path / "theirs.umb"), options=options)
    assert klump.read_chain(tmp_path / "theirs.umb").labels["observed"].size


def test_rewards_of_transitions(tmp_path):
    model = models.knuth_yao_die()
    jumps = model.matrix.copy()
    jumps.data = np.arange(1.0, jumps.nnz + 1)
    klump.write_chain(
        klump.MarkovChain(model.matrix, initial=0, rewards={"jumps": jumps}), tmp_path / "m.umb"
    )
    theirs = storm_reads(tmp_path / "m.umb")
    assert theirs.reward_models["jumps"].has_transition_rewards
    storm_writes(theirs, tmp_path / "theirs.umb")
    back = klump.read_chain(tmp_path / "theirs.umb").rewards["jumps"]
    assert abs(back - jumps).max() == 0


@pytest.mark.parametrize("suffix", [".drn", ".umb"])
def test_rates(tmp_path, suffix):
    """A queue in continuous time, which Storm reads from a .tra of its own."""
    model = models.queue()
    entries = sparse.coo_array(model.matrix)
    lines = [f"{i} {j} {rate}\n" for i, j, rate in zip(entries.row, entries.col, entries.data, strict=True)]
    (tmp_path / "q.tra").write_text("".join(["ctmc\n", *lines]))
    (tmp_path / "q.lab").write_text("#DECLARATION\ninit full\n#END\n0 init\n5 full\n")
    theirs = stormpy.build_model_from_explicit(tmp_path / "q.tra", tmp_path / "q.lab")
    storm_writes(theirs, tmp_path / f"theirs{suffix}")
    expected = klump.MarkovChain.from_generator(model.matrix).transition_matrix.toarray()
    for path in (tmp_path / "q.tra", tmp_path / f"theirs{suffix}"):
        chain = klump.read_chain(path, ctmc=True)
        np.testing.assert_allclose(chain.transition_matrix.toarray(), expected, rtol=1e-9)
        assert chain.labels["full"].tolist() == [5]


def test_storm_reads_drn_in_gzip_only_after_decompression(tmp_path):
    """Compressed files are klump's: what is inside is what Storm reads."""
    klump.write_chain(build(models.knuth_yao_die()), tmp_path / "m.drn.gz")
    (tmp_path / "m.drn").write_bytes(gzip.decompress((tmp_path / "m.drn.gz").read_bytes()))
    assert storm_reads(tmp_path / "m.drn").nr_states == 13
