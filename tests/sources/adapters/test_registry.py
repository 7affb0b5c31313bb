"""Objects of other packages are recognised without importing a package, and others are refused by name."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import InvalidChainError
from klump.sources.adapters import adapt
from klump.sources.adapters.registry import ADAPTERS

P = [[0.9, 0.1], [0.3, 0.7]]


@pytest.mark.parametrize(
    "given", [P, tuple(map(tuple, P)), np.array(P), sparse.csr_array(P), memoryview(b"1")]
)
def test_arrays_are_left_to_numpy(given):
    assert adapt(given) is None


class Rows:
    """Has a length and items, like an AnnData, and counts how often it is asked for one."""

    asked = 0

    def __len__(self):
        return 1_000

    def __getitem__(self, place):
        Rows.asked += 1
        return Rows()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (Rows(), "a test_registry.Rows"),
        ({"a": 1}, "a dict"),
        ({1}, "a set"),
        ("chain.csv", "a str"),
        (object(), "an object"),
        (None, "None"),
        ((row for row in P), "a generator"),
    ],
)
def test_unknown_types_are_refused_before_any_conversion(given, name):
    Rows.asked = 0
    with pytest.raises(InvalidChainError) as found:
        klump.aggregate(given, 2)
    problem, _, remedy = str(found.value).partition("; ")
    assert problem.endswith(f"{name.split()[-1].rpartition('.')[2]} is not a Markov chain")
    assert problem.split()[0] == name.split()[0]
    assert remedy.startswith("pass a transition matrix (an array, or a SciPy sparse matrix)")
    assert all(package in remedy for package in ADAPTERS)
    assert Rows.asked == 0


class Array:
    def __array__(self, dtype=None, copy=None):
        return np.array(P, dtype=dtype)


def test_objects_with_the_array_protocol_are_arrays():
    np.testing.assert_array_equal(klump.MarkovChain(Array()).transition_matrix, P)


class Holder:
    transition_matrix = P


def test_any_object_with_a_transition_matrix():
    np.testing.assert_array_equal(klump.MarkovChain(Holder()).transition_matrix, P)
    with pytest.raises(InvalidChainError, match="Holder is a class, not a chain; pass an instance of it"):
        klump.MarkovChain(Holder)


def test_no_package_is_imported_to_recognise_an_object():
    code = (
        "import sys, json, klump\n"
        "class Holder:\n    transition_matrix = [[0.9, 0.1], [0.3, 0.7]]\n"
        "klump.MarkovChain(Holder())\n"
        "try:\n    klump.MarkovChain(object())\nexcept klump.KlumpError:\n    pass\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not set(json.loads(done.stdout)) & {*ADAPTERS, "cellrank", "duckdb"}


def test_every_adapter_has_the_interface():
    from importlib import import_module

    for module in set(ADAPTERS.values()):
        assert callable(import_module(module).adapt)
        assert import_module(module).adapt(object()) is None
