"""Errors are data that every surface renders."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import klump
from klump import MarkovChain, errors
from klump.errors import UNSET, FileFormatError, InvalidArgumentError, KlumpError, Setting, Symbol

SOURCE = Path(klump.__file__).parent
P = np.array([[0.9, 0.1], [0.3, 0.7]])
# Modules whose errors still have their remedy in the problem.
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


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        (
            lambda: MarkovChain.from_generator([[0, 1], [1, 0]], lag=-1),
            {
                "argument": "lag",
                "value": "-1",
                "problem": "must be a positive, finite number, in the unit of time of",
            },
        ),
        (
            lambda: MarkovChain.from_generator([[0, 1], [-2, 0]]),
            {"argument": "rates", "row": 1, "problem": "has -2.0 at row 1, column 0: rates off"},
        ),
        (
            lambda: MarkovChain.from_sequences([["a", "b"]], lag=5),
            {
                "argument": "sequences",
                "problem": "hold no transition at lag=5",
                "remedy": "lower lag or pass longer",
            },
        ),
        (
            lambda: MarkovChain.from_sequences([["a", float("nan"), "a"]]),
            {"argument": "sequences", "problem": "hold the missing value nan", "remedy": "drop it, split"},
        ),
        (
            lambda: MarkovChain.from_graph(3),
            {"argument": "G", "problem": "must be a graph", "remedy": "pass an adjacency matrix to"},
        ),
        (
            lambda: MarkovChain(P, states=["a", "a"]),
            {
                "state": "a",
                "problem": "state name 'a' is given twice",
                "remedy": "give each state a name of its own",
            },
        ),
        (
            lambda: MarkovChain(P, stationary_distribution=[0.5, 0.5]),
            {"argument": "stationary_distribution", "row": 1, "remedy": "leave it out to have it computed"},
        ),
        (
            lambda: MarkovChain.from_points([[0.0], [1.0]], 1, walk="drunk"),
            {"argument": "walk", "value": "'drunk'", "remedy": "choose 'similarity' or 'neighbors'"},
        ),
        (
            lambda: klump.write_chain(P, "chain.xyz"),
            {
                "file": "chain.xyz",
                "problem": "the suffix '.xyz' is not known",
                "remedy": "choose one of .npz, ",
            },
        ),
        (
            lambda: klump.divergence_rate(P, np.eye(3)),
            {
                "argument": "b",
                "problem": "has 3 states, but a has 2",
                "remedy": "pass chains on the same states",
            },
        ),
    ],
)
def test_errors_have_their_parts_as_fields(call, fields):
    with pytest.raises(KlumpError) as caught:
        call()
    found = caught.value.to_dict()
    for key, value in fields.items():
        assert found[key] == value or (isinstance(value, str) and found[key].startswith(value)), (key, found)
    assert "\n" not in str(caught.value)
    for part in (found["argument"], found["remedy"]):
        assert part is None or part in str(caught.value)


def test_no_problem_contains_its_remedy():
    """Remedies are fields: no literal text of a problem has a semicolon, which is what separates the two."""
    names = {kind.__name__ for kind in KINDS}
    hidden = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", None) not in names or not node.args:
                continue
            texts = [part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
            if any(isinstance(text, str) and ";" in text for text in texts):
                hidden.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert hidden == []
