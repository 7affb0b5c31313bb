"""Shell completion: names of methods, efforts, formats and experiments, and of files; fast."""

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from klump.cli import completion, main
from klump.search.registry import EFFORT_NAMES, METHODS

HEAVY = {"numpy", "scipy", "numba", "joblib", "rich"}


def complete(words, incomplete=""):
    found = ShellComplete(main, {}, "klump", "_KLUMP_COMPLETE").get_completions(words.split(), incomplete)
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


def test_commands_and_options():
    assert complete("", "a") == ["aggregate"]
    assert complete("aggregate", "--meth") == ["--method"]
    assert complete("aggregate chain.npz", "--ch") == ["--checkpoint"]
    assert complete("grid chain.npz", "--res") == ["--restrict", "--restart", "--resume"]


def test_methods():
    assert complete("aggregate --method") == list(METHODS)
    assert complete("aggregate chain.npz -k 3 --method", "a") == [
        name for name in METHODS if name.startswith("a")
    ]
    assert complete("grid --method") == [name for name in METHODS if name != "exact"]
    assert complete("compare --methods", "sequential,an") == ["sequential,annealing"]
    assert "sequential,sequential" not in complete("compare --methods", "sequential,")


def test_efforts_and_other_choices():
    assert complete("aggregate --effort") == list(EFFORT_NAMES)
    assert complete("compare --effort", "quick,t") == ["quick,thorough"]
    assert complete("info --restrict", "c") == ["connected", "closed"]
    assert complete("info --format", "t") == ["tsv", "tra"]
    assert complete("reproduce", "b") == ["bigrams", "bisimulation"]
    assert complete("compare --outside", "p") == ["pygpcca"]


@pytest.mark.parametrize(
    "words",
    [
        "info",
        "aggregate",
        "aggregate a.npz",
        "aggregate a.npz -k 3 -o",
        "aggregate --checkpoint",
        "aggregate --initial-labels",
        "path",
        "grid a.npz -o",
        "score a.npz",
        "convert a.npz",
        "compare a.npz -o",
    ],
)
def test_files_are_completed_by_the_shell(words):
    assert complete(words) == ["<file>"]
    assert complete("reproduce -o") == ["<dir>"]


def test_names_are_those_of_the_registries():
    from klump.comparison.outside import OUTSIDE
    from klump.experiments import EXPERIMENTS
    from klump.files.registry import FORMAT_NAMES

    assert tuple(EXPERIMENTS) == completion.EXPERIMENTS
    assert tuple(FORMAT_NAMES) == completion.FORMATS
    assert set(OUTSIDE) == set(completion.OUTSIDE)  # tests that replace tools change their order


@pytest.mark.parametrize(
    "words",
    ["aggregate --method", "aggregate a.npz -o x.npz --format", "reproduce", "compare --outside", "convert"],
)
def test_numpy_is_not_imported(words):
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom klump.cli import main\n"
        f"ShellComplete(main, {{}}, 'klump', 'X').get_completions({words.split()}, '')\n"
        f"print(*{HEAVY} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_program_completes(shell):
    """The script that is sourced, and what it asks the program."""
    environment = os.environ | {"_KLUMP_COMPLETE": f"{shell}_source"}
    command = [sys.executable, "-m", "klump"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"_KLUMP_COMPLETE={shell}_complete" in done.stdout
    words = {"COMP_WORDS": "klump aggregate --method s", "COMP_CWORD": "s" if shell == "fish" else "3"}
    environment = os.environ | words | {"_KLUMP_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for name in METHODS:
        assert (name in done.stdout) == name.startswith("s")
