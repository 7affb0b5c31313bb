"""States without a transition in the data: an error that names one, unless a remedy is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources.dead_ends import require_successors

WORDS = {"problem": "symbol {} has no successor", "remedy": "drop it, or pass "}
DEAD = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
FORMS = pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])


@FORMS
def test_no_dead_ends(form):
    require_successors(form([[1, 2], [3, 0]]), "ab", {}, **WORDS)


@FORMS
@pytest.mark.parametrize("options", [{"restart": 0.1}, {"restrict": "connected"}, {"restrict": "closed"}])
def test_a_remedy_is_asked_for(form, options):
    require_successors(form(DEAD), "abc", options, **WORDS)


def test_weights_that_cancel_are_not_a_dead_end():
    # Negative weights are an error that validation reports.
    require_successors(np.array([[1.0, -1.0], [1.0, 0.0]]), "ab", {}, **WORDS)


@FORMS
def test_error_names_the_first_state_and_the_remedies(form):
    with pytest.raises(
        InvalidArgumentError,
        match=r"symbol 'b' has no successor \(2 such states\).*drop it, or pass restrict='connected' .* or restart=p",
    ):
        require_successors(form(DEAD), "abc", {"restart": None}, **WORDS)
