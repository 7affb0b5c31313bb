"""Errors are data that every surface renders."""

import pickle

import pytest

from klump import errors
from klump.errors import UNSET, FileFormatError, InvalidArgumentError, KlumpError, Setting, Symbol

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, KlumpError)]


def test_a_text_spells_the_arguments_that_it_mentions():
    error = InvalidArgumentError(
        ("does not go with ", Setting("method", "auto")),
        argument="restart",
        value=0.5,
        remedy=("pass ", Setting("restrict", "largest"), " or ", Setting("restart", Symbol("p"))),
    )
    text = "restart=0.5 does not go with method='auto'; pass restrict='largest' or restart=p"
    assert str(error) == error.render() == text
    assert error.render(lambda argument, value: f"<{argument}>") == (
        "<restart> does not go with <method>; pass <restrict> or <restart>"
    )
    assert error.render(with_remedy=False) == "restart=0.5 does not go with method='auto'"


def test_an_argument_can_be_renamed_wherever_it_is_mentioned():
    error = InvalidArgumentError("is odd", argument="X", remedy=("rescale ", Setting("X"), " or leave it"))
    error.rename("X", "points")
    assert str(error) == "points is odd; rescale points or leave it"


@pytest.mark.parametrize("kind", KINDS)
def test_errors_survive_pickling(kind):
    error = kind("is odd", argument="beta", value=2, remedy="leave it", file="a.csv", row=3, state="x")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (str(copy), copy.to_dict()) == (str(error), error.to_dict())
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET


def test_json_has_every_part():
    error = FileFormatError("sums to 3 instead of 1", row=0, state="a", file="counts.csv", remedy="normalize")
    assert str(error) == "counts.csv: row 0 (state 'a') sums to 3 instead of 1; normalize"
    assert error.to_dict() == {
        "error": "FileFormatError",
        "file": "counts.csv",
        "argument": None,
        "value": None,
        "row": 0,
        "state": "a",
        "problem": "sums to 3 instead of 1",
        "remedy": "normalize",
    }
