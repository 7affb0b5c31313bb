from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources import dead_ends
from klump.sources.dead_ends import fill_dead_ends

WORDS = {"problem": "symbol {} has no successor", "remedy": "drop it"}


def test_rows_with_transitions_are_unchanged():
    weights = np.array([[1, 2], [3, 0]])
    assert fill_dead_ends(weights, "ab", None, **WORDS) is weights


def test_dense_and_sparse_are_filled_alike():
    weights = np.array([[1.0, 0, 2], [0, 0, 0], [0, 0, 0]])
    law = np.array([0.25, 0, 0.75])
    expected = np.array([[1.0, 0, 2], law, law])
    np.testing.assert_array_equal(fill_dead_ends(weights, "abc", law, **WORDS), expected)
    filled = fill_dead_ends(sparse.csr_array(weights), "abc", law, **WORDS)
    assert filled.format == "csr"
    assert filled.nnz == 6
    np.testing.assert_array_equal(filled.toarray(), expected)


def test_weights_that_cancel_are_not_a_dead_end():
    # Negative weights are an error that validation reports.
    weights = np.array([[1.0, -1.0], [1.0, 0.0]])
    assert fill_dead_ends(weights, "ab", None, **WORDS) is weights


def test_error_names_the_first_state_and_the_remedy():
    with pytest.raises(
        InvalidArgumentError, match=r"symbol 'b' has no successor \(2 such states\).*drop it, or pass restart"
    ):
        fill_dead_ends(np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]]), "abc", None, **WORDS)


def test_too_many_restarts_are_refused(monkeypatch):
    monkeypatch.setattr(dead_ends, "_MAX_RESTART_TRANSITIONS", 3)
    weights = sparse.csr_array(np.array([[1.0, 0], [0, 0]]))
    assert fill_dead_ends(weights, "ab", np.array([0.5, 0.5]), **WORDS).nnz == 3
    empty = sparse.csr_array((2, 2))
    with pytest.raises(InvalidArgumentError, match="4 transitions; pass initial with"):
        fill_dead_ends(empty, "ab", np.array([0.5, 0.5]), **WORDS)
