"""Storm's models: matrix, labels, initial state, rewards and names of a DTMC; rates of a CTMC; no MDP."""

import numpy as np
import pytest

import klump
from klump.errors import InvalidChainError

stormpy = pytest.importorskip("stormpy", reason="pip install 'klump[interop]'")

DTMC = """dtmc
module walk
  s : [0..3] init 0;
  [] s = 0 -> 0.5 : (s' = 1) + 0.5 : (s' = 2);
  [] s = 1 -> 0.5 : (s' = 0) + 0.5 : (s' = 3);
  [] s = 2 -> 1 : (s' = 0);
  [] s = 3 -> 1 : (s' = 0);
endmodule
label "goal" = s = 3;
rewards "steps" s < 3 : 1; endrewards
"""
CTMC = """ctmc
module queue
  s : [0..2] init 0;
  <> s < 2 -> 2 : (s' = s + 1);
  <> s > 0 -> 3 : (s' = s - 1);
endmodule
"""
MDP = (
    "mdp\nmodule m\n s : [0..1] init 0;\n [a] s = 0 -> 1 : (s' = 1);\n [b] true -> 1 : (s' = 0);\nendmodule\n"
)


@pytest.fixture
def build(tmp_path):
    def build(text):
        path = tmp_path / "model.prism"
        path.write_text(text)
        return stormpy.build_model(stormpy.parse_prism_program(str(path)))

    return build


def test_a_dtmc_keeps_what_storm_knows(build):
    chain = klump.MarkovChain(build(DTMC))
    expected = [[0, 0.5, 0.5, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0], [1, 0, 0, 0]]
    np.testing.assert_array_equal(chain.transition_matrix.toarray(), expected)
    assert chain.labels["goal"].tolist() == [3]
    assert chain.labels["init"].tolist() == [0]
    np.testing.assert_array_equal(chain.initial, [1, 0, 0, 0])


def test_the_one_liner(build):
    assert klump.aggregate(build(DTMC), 2).n_states == 2


def test_rates_are_uniformised(build):
    chain = klump.MarkovChain(build(CTMC))
    expected = klump.MarkovChain.from_generator([[0, 2, 0], [3, 0, 2], [0, 3, 0]])
    np.testing.assert_allclose(chain.transition_matrix.toarray(), expected.transition_matrix)


def test_an_mdp_is_refused_by_name(build):
    with pytest.raises(
        InvalidChainError, match=r"\(MDP\) is not a Markov chain: its actions are not chosen; apply"
    ):
        klump.aggregate(build(MDP), 2)
