"""The skeletons that newcomers copy work: registered, they do what every method and every format must."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.registry import MODULES
from klump.search.registry import METHODS, Method
from klump.sources.random_chains import block_chain

SKELETONS = Path(__file__).parents[2] / "docs" / "skeletons"


@pytest.fixture
def skeleton(monkeypatch):
    """Import a skeleton under a name of its own, for as long as a test runs."""

    def load(stem):
        spec = importlib.util.spec_from_file_location(f"skeleton_{stem}", SKELETONS / f"{stem}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def method(skeleton, monkeypatch):
    entry = Method("heaviest", skeleton("new_method").heaviest, "heaviest states alone, then random moves")
    monkeypatch.setitem(METHODS, entry.name, entry)
    return entry.name


@pytest.fixture
def chain():
    return block_chain((3, 4, 5), alpha=0.8, eps=0.2, random_state=0)[0]


@pytest.mark.parametrize("k", [1, 2, 4, 12])
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_method_keeps_the_promises_of_all_methods(method, chain, k, beta):
    answer = klump.aggregate(chain, k, beta=beta, method=method, n_init=3)
    assert answer.n_states == k
    assert np.bincount(answer.labels, minlength=k).min() > 0
    assert answer.cost == pytest.approx(klump.score(chain, answer.labels).at(beta), abs=1e-10)
    assert (np.diff(answer.trace) <= 0).all()
    again = klump.aggregate(chain, k, beta=beta, method=method, n_init=3, n_jobs=2)
    np.testing.assert_array_equal(again.labels, answer.labels)


def test_the_method_starts_from_a_given_map_and_weighs_gamma(method, chain):
    initial = np.arange(12) % 3
    answer = klump.aggregate(chain, 3, method=method, initial=initial, gamma=0.1)
    assert answer.trace[0] == pytest.approx(klump.score(chain, initial).at(0.5, 0.1), abs=1e-10)
    assert answer.cost < answer.trace[0]


def test_the_method_can_be_compared_with_others(method, chain):
    compared = klump.compare(chain, 3, methods=["sequential", method], outside=False, n_init=2)
    found = {row.name: row.aggregation for row in compared.rows}
    assert found.keys() == {"sequential", method}
    alone = klump.aggregate(chain, 3, method=method, n_init=2)
    np.testing.assert_array_equal(found[method].labels, alone.labels)


@pytest.fixture
def suffix(skeleton, monkeypatch):
    monkeypatch.setitem(MODULES, ".arrows", skeleton("new_format").__name__)
    return ".arrows"


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_the_format_gives_back_what_was_written(suffix, kind, tmp_path):
    P = np.array([[0.1, 0.2, 0.7], [1 / 3, 2 / 3, 0.0], [1e-300, 0.5, 0.5]])
    klump.write_chain(klump.MarkovChain(kind(P), ["a", "ü", "-1"]), tmp_path / f"chain{suffix}")
    back = klump.read_chain(tmp_path / f"chain{suffix}")
    assert back.states == ("a", "ü", "-1")
    np.testing.assert_array_equal(back.transition_matrix.toarray(), P)


def test_the_format_adds_up_counts(suffix, tmp_path):
    file = tmp_path / f"counts{suffix}"
    file.write_text("sun -> sun 8\nsun -> sun 1\nsun -> rain 1\nrain -> sun 3\nrain -> rain 7\n")
    chain = klump.read_chain(file, normalize=True)
    np.testing.assert_allclose(chain.transition_matrix.toarray(), [[0.9, 0.1], [0.3, 0.7]])
    with pytest.raises(FileFormatError, match=r"counts.arrows: line 2: sun -> sun is given twice"):
        klump.read_chain(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a -> a 1\na, b, 1\n", r"line 2: 'a, b, 1' is not a transition"),
        ("a -> a one\n", r"line 1: 'one' is not a number"),
    ],
)
def test_the_format_names_the_place_of_an_error(suffix, tmp_path, text, message):
    (tmp_path / f"bad{suffix}").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        klump.read_chain(tmp_path / f"bad{suffix}")


def test_the_format_refuses_what_it_cannot_hold(suffix, tmp_path):
    chain = klump.MarkovChain(np.full((2, 2), 0.5), ["a b", "c"])
    with pytest.raises(InvalidArgumentError, match="cannot hold names with blanks"):
        klump.write_chain(chain, tmp_path / f"chain{suffix}")
