"""deeptime: models, counts, estimators, hidden Markov models and posteriors."""

import warnings

import numpy as np
import pytest

import klump
from klump.errors import InvalidArgumentError, InvalidChainError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("deeptime")
    from deeptime.markov import TransitionCountEstimator
    from deeptime.markov.hmm import HiddenMarkovModel
    from deeptime.markov.msm import BayesianMSM, MarkovStateModel, MaximumLikelihoodMSM

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def walk(rng):
    """Two halves that are seldom left; state 2 does not occur."""
    half = np.repeat(rng.integers(2, size=200), 20)
    return 3 * half + rng.integers(2, size=half.size)


@pytest.fixture
def counts(walk):
    return TransitionCountEstimator(1, "sliding").fit(walk).fetch_model().submodel([0, 1, 3, 4])


def test_the_one_liner(walk):
    answer = klump.aggregate(MaximumLikelihoodMSM().fit(walk, lagtime=1), 2)
    assert sorted(map(sorted, answer.groups)) == [[0, 1], [3, 4]]


def test_models_have_the_symbols_of_their_counts(counts):
    model = MaximumLikelihoodMSM().fit_fetch(counts)
    chain = klump.MarkovChain(model)
    assert chain.states == (0, 1, 3, 4)
    np.testing.assert_array_equal(chain.transition_matrix, model.transition_matrix)


def test_models_without_counts():
    assert not klump.MarkovChain(MarkovStateModel([[0.9, 0.1], [0.3, 0.7]])).has_names


def test_counts_are_normalised(counts):
    chain = klump.MarkovChain(counts)
    assert chain.states == (0, 1, 3, 4)
    expected = counts.count_matrix / counts.count_matrix.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chain.transition_matrix, expected)


def test_states_that_were_not_counted(walk):
    full = TransitionCountEstimator(1, "sliding").fit(walk)
    with pytest.raises(InvalidArgumentError, match=r"state 2 has no counted transition.*submodel_largest"):
        klump.MarkovChain(full)
    assert klump.MarkovChain(full, restart=0.1).n_states == 5


def test_estimators(counts):
    estimator = MaximumLikelihoodMSM()
    with pytest.raises(
        InvalidChainError, match=r"deeptime.MaximumLikelihoodMSM is not fitted; call its fit\(\)"
    ):
        klump.aggregate(estimator, 2)
    assert klump.MarkovChain(estimator.fit(counts)).n_states == 4


def test_the_hidden_chain_of_a_hidden_markov_model():
    model = HiddenMarkovModel(
        np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    )
    np.testing.assert_array_equal(klump.MarkovChain(model).transition_matrix, [[0.9, 0.1], [0.3, 0.7]])


@pytest.fixture
def posterior(walk):
    counts = TransitionCountEstimator(1, "effective").fit(walk).fetch_model().submodel([0, 1, 3, 4])
    return BayesianMSM(n_samples=12).fit(counts)


def test_a_posterior_is_refused_by_name_where_one_chain_is_expected(posterior):
    with pytest.raises(
        InvalidChainError, match=r"BayesianMSMPosterior holds 12 chains; pass it to klump.posterior"
    ):
        klump.aggregate(posterior, 2)


def test_posterior_takes_the_samples_of_a_posterior(posterior):
    labels = [0, 0, 1, 1]
    found = klump.posterior(posterior, labels)
    model = posterior.fetch_model()
    assert found.estimate.original.states == (0, 1, 3, 4)
    np.testing.assert_array_equal(found.estimate.original.transition_matrix, model.prior.transition_matrix)
    assert len(found.costs) == 12
    for sample, costs in zip(model.samples, found.sampled_costs, strict=True):
        assert costs.lumpability == pytest.approx(klump.score(sample.transition_matrix, labels).lumpability)
    assert len(klump.posterior(model, labels, n_samples=5).costs) == 5
    assert klump.bootstrap(posterior, 2, method="sequential").agreement.shape == (12,)
    with pytest.raises(
        InvalidArgumentError, match=r"prior=1\.0 is not for a posterior that was sampled already"
    ):
        klump.posterior(posterior, labels, prior=1.0)


def test_posterior_of_counts_has_their_symbols(counts):
    assert klump.posterior(counts, [0, 0, 1, 1], n_samples=3).estimate.original.states == (0, 1, 3, 4)
