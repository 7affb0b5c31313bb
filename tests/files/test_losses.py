"""What a file of a format cannot hold of a chain."""

import numpy as np
import pytest

from klump import MarkovChain, read_chain, write_chain
from klump.files import losses


@pytest.mark.parametrize("suffix", [".tra", ".storm.tra", ".drn"])
def test_the_label_of_the_initial_states_has_no_other_meaning(suffix):
    matrix = np.full((2, 2), 0.5)
    for initial in (None, 0):
        chain = MarkovChain(matrix, labels={"init": [1]}, initial=initial)
        assert losses(chain, f"model{suffix}") == ["labels ('init')"]
    assert losses(MarkovChain(matrix, labels={"init": [1]}, initial=1), f"model{suffix}") == []
    assert losses(chain, "model.umb") == []


def test_a_state_named_none_keeps_its_name_in_drn(tmp_path):
    chain = MarkovChain(np.full((2, 2), 0.5), states=[None, "x"])
    write_chain(chain, tmp_path / "model.drn")
    assert read_chain(tmp_path / "model.drn").states == (None, "x")
