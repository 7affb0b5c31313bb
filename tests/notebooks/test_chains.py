"""Chains in notebooks: properties, pictures of matrices, and nothing that takes long."""

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.chain import stationary
from klump.errors import ConvergenceError
from klump.notebooks.matrices import bin_matrix
from klump.sources.random_chains import block_chain
from notebook_pages import NASTY, Page, show, squares, walk


def test_properties_of_a_chain():
    facts = show(klump.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["sun", "rain"])).facts
    assert facts["states"] == "2"
    assert facts["names"] == "sun rain"
    assert (facts["irreducible"], facts["reversible"]) == ("yes", "yes")
    assert facts["entropy rate"].startswith("0.5721 bits")
    assert facts["redundancy"].startswith("0.2392 bits")


def test_squares_are_the_transitions_of_a_small_chain():
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.25, 0.0, 0.75]])
    page = show(klump.MarkovChain(matrix))
    found = squares(page.picture("Transition matrix"))
    assert set(found) == set(zip(*map(np.ndarray.tolist, np.nonzero(matrix)), strict=True))
    assert found[1, 2] == 1.0 > found[2, 2] > found[0, 0] > found[2, 0] > 0.0


def test_changes_of_the_chain_are_named():
    chain = klump.MarkovChain([[0.5, 0.5], [0.0, 1.0]], restart=0.1, initial=0)
    assert chain.applied[0] in show(chain).facts["applied"]


def test_reducible_chain():
    page = show(klump.MarkovChain([[0.5, 0.5], [0.0, 1.0]]))
    assert page.facts["irreducible"] == "no: 1 closed class, 1 transient state"
    assert "entropy rate" not in page.facts


def test_stationary_distribution_that_does_not_converge(monkeypatch):
    def fail(matrix):
        raise ConvergenceError("no convergence")

    monkeypatch.setattr(stationary, "stationary_distribution", fail)
    chain = klump.MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    page = show(chain)
    assert "does not converge: is_reversible, entropy_rate, redundancy_rate" in page.text
    assert "does not converge" in show(klump.Aggregation.from_labels(chain, [0, 1])).text


@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_no_stationary_distribution_is_computed_for_a_look(n):
    chain = klump.MarkovChain(walk(n))
    page = show(chain)
    assert "stationary_distribution" not in chain.__dict__
    assert ("classes" in chain.__dict__) == (n < 1_000_000)
    assert "not computed for a chain of this size" in page.text
    assert ("is_irreducible" in page.text) == (n == 1_000_000)
    assert len(page.html) < 10_000


def test_what_was_computed_before_is_shown(monkeypatch):
    monkeypatch.setattr("klump.notebooks.budget.MAX_ENTRIES", 10)
    chain = klump.MarkovChain(
        [[0.9, 0.1, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0], [0, 0.5, 0, 0.5], [0.1, 0, 0, 0.9]]
    )
    assert "entropy rate" not in show(chain).facts
    value = chain.entropy_rate
    page = show(chain)
    assert page.facts["entropy rate"].startswith(f"{value:.4f}")
    assert "is_reversible, redundancy_rate" in page.text


@pytest.mark.parametrize("make", [sparse.csr_array, np.asarray])
def test_bins_average_the_matrix(make):
    dense = walk(70).toarray()
    found = bin_matrix(klump.MarkovChain(make(dense)), 7)
    assert found.n_rows == 70
    expected = dense.reshape(7, 10, 7, 10).mean(axis=(1, 3))
    assert np.allclose(found.density, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("make", [sparse.csr_array, np.asarray])
def test_bins_of_a_large_matrix_are_those_of_equally_spaced_rows(make, monkeypatch):
    monkeypatch.setattr("klump.notebooks.matrices._SAMPLED", 400 if make is sparse.csr_array else 133 * 400)
    dense = walk(400).toarray()
    found = bin_matrix(klump.MarkovChain(make(dense)), 10, max_entries=0)
    assert found.n_rows == 133
    rows = np.unique(np.linspace(0, 399, 133).astype(int))
    parts = [dense[rows[rows // 40 == part]].mean(axis=0).reshape(10, 40).mean(axis=1) for part in range(10)]
    assert np.allclose(found.density, parts, rtol=1e-12, atol=0)


def test_names_are_escaped_and_cut():
    matrix, _ = block_chain((4, 4), alpha=0.6, eps=0.2, random_state=1)
    page = show(klump.MarkovChain(matrix, states=NASTY))
    assert page.facts["names"].startswith("<script>alert(1)</script>")
    assert len(page.html) < 10_000


def test_text_replaces_a_cell_that_cannot_be_built(monkeypatch):
    def fail(chain):
        raise ValueError("<b>")

    monkeypatch.setattr("klump.notebooks.chains.chain_picture", fail)
    page = Page(klump.MarkovChain([[1.0]])._repr_html_())
    assert page.root.find("pre").text == "MarkovChain(1 state, 1 transition)"
    assert "ValueError: <b>" in page.text
