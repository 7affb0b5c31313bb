"""At beta = 1 the sequential method is the sequential information bottleneck, as another package has it."""

import numpy as np
import pytest

import klump
from klump.sources.random_chains import block_chain, random_chain

sib = pytest.importorskip("sib", reason="pip install sib-clustering")


def chains():
    yield "letters", klump.datasets.letter_bigrams(), 4
    yield "blocks", block_chain((10, 15, 20), alpha=0.3, eps=0.4, random_state=0)[0], 3
    yield "sparse", random_chain(30, "sparse", degree=4, random_state=1), 3
    yield "skewed", random_chain(25, concentration=0.2, random_state=2), 4


CHAINS = {name: (chain, k) for name, chain, k in chains()}


def kept_by_sib(chain, k):
    """I(X1;Y2) of the best partition of the columns of J: sib partitions rows, and gets the transpose."""
    joint = chain.joint if not chain.is_sparse else chain.joint.toarray()
    found = sib.SIB(k, random_state=0, n_jobs=1, n_init=100, max_iter=100, tol=0.0, uniform_prior=False)
    labels = found.fit(np.ascontiguousarray(joint.T)).labels_
    return chain.redundancy_rate - klump.score(chain, labels).bottleneck


@pytest.mark.parametrize("name", CHAINS)
def test_the_best_of_many_descents_keeps_as_much_as_sib(name):
    chain, k = CHAINS[name]
    answer = klump.aggregate(chain, k, beta=1.0, method="sequential", n_init=100)
    kept = chain.redundancy_rate - answer.cost
    assert kept == pytest.approx(kept_by_sib(chain, k), abs=1e-9)
    assert answer.costs.bottleneck == pytest.approx(answer.cost, abs=1e-12)


def test_the_roles_matter():
    """Groups of X1 that tell most about X2 are not the groups of X2 that tell most about X1."""
    chain, k = CHAINS["skewed"]
    rows = (
        sib.SIB(k, random_state=0, n_jobs=1, n_init=20, uniform_prior=False)
        .fit(np.array(chain.joint))
        .labels_
    )
    best = klump.aggregate(chain, k, beta=1.0, method="sequential", n_init=100)
    assert klump.score(chain, rows).bottleneck > best.cost + 1e-2
