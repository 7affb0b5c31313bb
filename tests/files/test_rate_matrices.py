"""Uniformised chains are written as the rates that they were made of."""

import copy

import numpy as np
import pytest
from scipy import sparse

import klump
import models
from klump import MarkovChain
from klump.errors import FileFormatError, InvalidArgumentError

RATES = np.array([[0.0, 3.0, 0.1], [1e-3, 0.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("suffix", [".tra", ".storm.tra", ".drn", ".umb"])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_rates_come_back(suffix, form, tmp_path):
    chain = MarkovChain.from_generator(form(RATES), labels={"end": [2]}, initial=0)
    klump.write_chain(chain, tmp_path / f"m{suffix}", ctmc=True)
    back = klump.read_chain(tmp_path / f"m{suffix}", ctmc=True)
    assert back.uniformization_rate == pytest.approx(1.02 * 3.1, rel=1e-15)
    np.testing.assert_allclose(
        back.transition_matrix.toarray(), sparse.csr_array(chain.transition_matrix).toarray(), rtol=1e-14
    )
    assert back.labels["end"].tolist() == [2]
    assert back.initial.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("suffix", [".storm.tra", ".drn", ".umb"])
def test_files_say_that_they_hold_rates(suffix, tmp_path):
    klump.write_chain(MarkovChain.from_generator(RATES), tmp_path / f"m{suffix}", ctmc=True)
    with pytest.raises(FileFormatError, match="rates of a CTMC"):
        klump.read_chain(tmp_path / f"m{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".mtx", ".npz", ".graphml", ".mapped"])
def test_formats_without_rates(suffix, tmp_path):
    with pytest.raises(FileFormatError, match="the format holds no rates; choose"):
        klump.write_chain(MarkovChain.from_generator(RATES), tmp_path / f"m{suffix}", ctmc=True)
    assert not list(tmp_path.iterdir())


def test_chains_that_were_not_made_of_rates(tmp_path):
    for chain in (MarkovChain([[0.5, 0.5], [0.5, 0.5]]), MarkovChain.from_generator(RATES[:2, :2], lag=1.0)):
        assert chain.uniformization_rate is None
        with pytest.raises(InvalidArgumentError, match="ctmc=True needs a chain that was made of rates"):
            klump.write_chain(chain, tmp_path / "m.drn", ctmc=True)


def test_copies_and_files_keep_the_uniformisation_rate(tmp_path):
    chain = MarkovChain.from_generator(models.queue().matrix)
    klump.write_chain(chain, tmp_path / "c.npz")
    klump.write_chain(chain, tmp_path / "c.mapped")
    klump.Aggregation.from_labels(chain, [0, 0, 1, 1, 2, 2]).save(tmp_path / "a.npz")
    kept = [
        copy.deepcopy(chain),
        MarkovChain(chain, restart=0.1),
        MarkovChain(chain, restart=0.1).without_restart(),
        klump.read_chain(tmp_path / "c.npz"),
        klump.read_chain(tmp_path / "c.mapped"),
        klump.load(tmp_path / "a.npz").original,
        klump.load(tmp_path / "a.npz").quotient,
    ]
    assert {each.uniformization_rate for each in kept} == {chain.uniformization_rate}
    assert chain.uniformization_rate == pytest.approx(1.02 * 5.0)
    assert chain.power(2).uniformization_rate is None
