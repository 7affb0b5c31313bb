"""The size and the expected time of a search are said before it starts, if it is long."""

import logging
import re

import numpy as np
import pytest
from click.testing import CliRunner

import klump
from klump.aggregation import expectation
from klump.cli import main
from klump.search import duration
from klump.search.duration import expected_seconds
from klump.search.method import Task
from klump.search.registry import METHODS
from klump.sources.random_chains import random_chain

CHAIN = random_chain(20, seed=1)


@pytest.fixture
def slow(monkeypatch):
    """Every search is expected to take 40 s."""
    monkeypatch.setattr(expectation, "expected_seconds", lambda task, method: 40.0)


def said(caplog, run, **options):
    caplog.clear()
    with caplog.at_level(logging.INFO, "klump"):
        run(**options)
    return [message for message in caplog.messages if "about" in message and "states" in message]


def aggregate(**options):
    klump.aggregate(CHAIN, 3, method="sequential", n_init=1, **options)


def test_messages(slow, caplog):
    size = "20 states, 400 transitions"
    assert said(caplog, aggregate) == [f"{size}, k = 3: about 40 s"]
    assert said(caplog, lambda: klump.beta_path(CHAIN, 4, n_init=1)) == [f"{size}, k = 4: about 40 s"]
    grid = {"n_states": [2, 3], "betas": [0.5, 1.0], "method": "sequential", "n_init": 1}
    assert said(caplog, lambda: klump.grid(CHAIN, **grid)) == [f"{size}, 4 cells: about 3 min"]
    assert said(caplog, lambda: klump.grid(CHAIN, **grid, n_jobs=2)) == [f"{size}, 4 cells: about 80 s"]
    bootstrap = {"n_samples": 5, "method": "sequential", "n_init": 1}
    counts = np.ceil(1000 * CHAIN.joint)
    message = "20 states, 400 transitions, k = 2, 5 samples: about 4 min"
    assert said(caplog, lambda: klump.bootstrap(counts, 2, **bootstrap)) == [message]


def test_a_short_search_a_time_limit_and_a_resumed_run_have_none(slow, caplog, tmp_path, monkeypatch):
    assert said(caplog, aggregate, time_limit=39.0) == []
    assert said(caplog, aggregate, time_limit=41.0)
    assert said(caplog, aggregate, checkpoint=tmp_path / "a.ckpt")
    assert said(caplog, aggregate, checkpoint=tmp_path / "a.ckpt", resume=True) == []
    monkeypatch.setattr(expectation, "expected_seconds", lambda task, method: 9.9)
    assert said(caplog, aggregate) == []


def test_without_logging_python_prints_nothing(slow, capsys):
    aggregate()
    assert capsys.readouterr() == ("", "")


def test_command_line(slow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    klump.write_chain(CHAIN, "chain.npz")
    words = "aggregate chain.npz -k 3 --method sequential --n-init 1"
    result = CliRunner().invoke(main, words.split())
    assert result.stderr.startswith("klump: 20 states, 400 transitions, k = 3: about 40 s\n")
    assert "about" not in result.stdout
    assert CliRunner().invoke(main, [*words.split(), "--quiet"]).stderr == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_every_method_has_an_estimate(method, kind):
    """Larger chains, more groups and more restarts never take less time."""
    small, large = random_chain(350, kind, seed=1), random_chain(700, kind, seed=1)
    for beta in (0.2, 0.5, 1.0):
        times = [
            expected_seconds(Task(small, 5, beta), method),
            expected_seconds(Task(large, 5, beta), method),
            expected_seconds(Task(large, 20, beta, n_init=40), method),
        ]
        assert np.all(np.isfinite(times))
        assert min(times) >= 0.0
        # At a size the default leaves a component out.
        assert method in ("auto", "stochastic") or times == sorted(times)
        assert (times[0] > 0.0) == (method != "exact")


@pytest.mark.parametrize("effort", ["quick", "balanced", "thorough"])
def test_efforts(effort):
    order = ["quick", "balanced", "thorough"]
    for n in (50, 250, 600):
        times = [expected_seconds(Task(random_chain(n), 5, 0.5, effort=name), "auto") for name in order]
        assert times == sorted(times)


def test_known_sizes():
    """CPU times of one machine, within a factor of 3; counts alone decide, so that this holds on any other."""

    class Size:
        """A chain of which only the size is known."""

        is_sparse, is_irreducible = True, True

        def __init__(self, n_states, n_transitions):
            self.n_states, self.n_transitions = n_states, n_transitions

    for n, transitions, k, beta, method, seconds in (
        (1_000_000, 9_998_210, 50, 0.5, "auto", 12.1),
        (300_000, 2_999_474, 50, 0.8, "auto", 6.5),
        (30_000, 297_954, 200, 0.5, "auto", 6.4),
        (100_000, 999_750, 20, 0.5, "sequential", 30.5),
        (30_000, 299_735, 20, 0.5, "annealing", 11.3),
        (4_000, 39_223, 20, 0.5, "agglomerative", 4.2),
    ):
        expected = expected_seconds(Task(Size(n, transitions), k, beta), method)
        assert seconds / 3 < expected < 3 * seconds


def test_durations_are_rounded():
    for seconds, text in (
        (10.2, "10 s"),
        (89.0, "89 s"),
        (95.0, "2 min"),
        (3000.0, "50 min"),
        (7000.0, "1.9 h"),
    ):
        assert duration.format_duration(seconds) == text
        assert re.fullmatch(r"[\d.]+ (s|min|h)", text)
