"""Every Python block and every ``klump`` command of README.md and docs/ works as printed.

The Python blocks of a page run in one namespace, from top to bottom, in an empty folder. What a page takes for given
(``chain``, ``labels``, ...) is in ``GIVEN``; what is too large for a test is made smaller in ``SMALLER``.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir, suppress
from pathlib import Path
from unittest.mock import patch

import click
import numba
import numpy as np
import pytest
from click.testing import CliRunner

import klump
from klump.cli import main
from klump.search.registry import METHODS
from klump.sources.random_chains import block_chain

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# `make docs` writes the folders _build and generated.
PAGES = {"README.md": ROOT / "README.md"} | {
    page.relative_to(DOCS).as_posix(): page
    for page in sorted(DOCS.rglob("*.md"))
    if {"_build", "generated"}.isdisjoint(page.relative_to(DOCS).parts)
}

_SMALL_CHAIN = """
import klump
from klump.sources.random_chains import block_chain
chain, labels = block_chain((3, 3, 4, 4), alpha=0.7, eps=0.2, random_state=0)
"""
GIVEN = {
    "quick_reference.md": """
import numpy as np
labels = np.arange(76) % 4
""",
    "README.md": """
import numpy as np
X = np.random.default_rng(0).normal(size=(90, 2)) + 6 * np.repeat(np.arange(3), 30)[:, None]
""",
    "methods.md": _SMALL_CHAIN + "answer = klump.aggregate(chain, 4)\nt = 10\n",
    "choosing.md": _SMALL_CHAIN,
    "compare.md": _SMALL_CHAIN,
    "long_runs.md": _SMALL_CHAIN,
    "pictures.md": _SMALL_CHAIN,
    "scale.md": _SMALL_CHAIN + "klump.write_chain(chain, 'chain.mapped')\n",
    "uncertainty.md": """
import klump
import numpy as np
import pandas
from klump.sources.random_chains import block_chain
chain, labels = block_chain((2, 2, 3, 3), alpha=0.7, eps=0.2, random_state=0)
counts = pandas.DataFrame(np.ceil(1000 * chain.joint), index=[*"abcdefghij"], columns=[*"abcdefghij"])
rng = np.random.default_rng(0)
walk = rng.integers(10, size=20_000)
walks = list(walk.reshape(40, 500))
""",
}
SMALLER = {
    # Each of these searches takes seconds on the 76 letters; tests/search/ has what they find.
    "README.md": {
        "klump.select(chain)": "klump.select(answer.chain, [2], [0.5])",
        "klump.grid(chain, range(2, 8), [0.2, 0.5, 0.8, 1])": "klump.grid(answer.chain, [2], [0.5])",
    },
    "quick_reference.md": {
        "klump.compare(chain, n_states=4, beta=0.5)": "klump.compare(answer.chain, n_states=2, beta=0.5)",
        "klump.select(chain)": "klump.select(answer.chain, [2], [0.5])",
    },
    "generated_information.md": {"gamma=0.05)   ": "gamma=0.05, method='sequential')"},
    # A million states, whose folder takes 120 MB.
    "scale.md": {
        "blocks(1_000_000, 20_000, 10": "blocks(10_000, 2_000, 10",
        "(chain, 50)": "(chain, 4)",
        "-k 50": "-k 4",
    },
    "uncertainty.md": {
        "n_samples=100, n_jobs=-1)": "n_samples=10, n_jobs=-1)",
        "n_samples=1000": "n_samples=100",
    },
}
# Each block is a program of its own: the processes of a local cluster import its file.
PROGRAMS = {"many_machines.md"}
# Each block stands on its own, and is skipped where a package that it imports is not installed.
SECTIONS = {"bring_your_data.md"}
# Pages that show what they print, beside the line or in a block ```text below.
PRINTED = {
    "adding_a_method.md",
    "communities/behaviour.md",
    "communities/data_science.md",
    "communities/molecular_dynamics.md",
    "communities/networks.md",
    "communities/single_cell.md",
    "communities/verification.md",
    "continuous_time.md",
    "dynamics.md",
    "guarantees.md",
    "index.md",
    "many_machines.md",
    "other_tools.md",
    "roles_and_communities.md",
    "tutorial.md",
    "verification.md",
    "what_is_markov_aggregation.md",
}

# Commands that are parsed but not run, and why.
NOT_RUN = {
    "klump reproduce": "takes minutes; tests/cli/test_reproduce.py runs it",
    "klump warm-up": "takes minutes; tests/cli/test_warm_up.py runs it",
    "klump compare model.csv -k 4 --methods auto,annealing --outside sib,infomap": "needs tools that may be missing",
}


compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without the compiler")


def blocks(name, *languages):
    """Pairs of a language and the text of a fenced block, in order, made smaller."""
    page = PAGES[name].read_text(encoding="utf-8")
    for old, new in SMALLER.get(name, {}).items():
        page = page.replace(old, new)
    found = re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return [(language, text) for language, text in found if language in languages]


def printed(pairs):
    """What a page says that its programs print."""
    expected = []
    for language, text in pairs:
        expected += re.findall(r"print\(.*\)  # (.*)", text) if language == "python" else text.splitlines()
    return expected


def pages_with(language):
    return [name for name in PAGES if blocks(name, language)]


def test_the_lists_name_existing_pages():
    """A page or a block that is gone leaves no exception behind."""
    assert PAGES.keys() >= GIVEN.keys() | SMALLER.keys() | PROGRAMS | PRINTED | SECTIONS
    for name, replaced in SMALLER.items():
        assert all(old in PAGES[name].read_text(encoding="utf-8") for old in replaced)
    commands = [command for name in pages_with("sh") for command in klump_commands(name)]
    assert all(any(command.startswith(listed) for command in commands) for listed in NOT_RUN)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_have_a_language_that_is_checked(name):
    """Python and commands run; text is what they print, or a format; nothing else could be an example."""
    fences = re.findall(r"^ *```.*", PAGES[name].read_text(encoding="utf-8"), re.MULTILINE)
    known = {"```", "```python", "```sh", "```text", "```console", "```dockerfile", "```{eval-rst}"}
    assert set(fences) <= known, f"{name}: indented, or another language"
    assert len(fences) % 2 == 0


@compiled
@pytest.mark.parametrize("name", [name for name in pages_with("python") if name not in PROGRAMS | SECTIONS])
@patch.dict(METHODS)  # a page registers a method
def test_python_blocks_run_and_print_what_they_say(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(compile(GIVEN.get(name, ""), f"{name}: given", "exec"), namespace)
    for number, (_, text) in enumerate(blocks(name, "python"), start=1):
        exec(compile(text, f"{name}: block {number}", "exec"), namespace)
    if name in PRINTED:
        expected = printed(blocks(name, "python", "text"))
        assert expected
        assert capsys.readouterr().out.splitlines() == expected


@compiled
@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in PROGRAMS for number in range(len(blocks(name, "python")))]
)
def test_programs_print_what_they_say(name, number, tmp_path):
    pytest.importorskip("distributed")
    block = blocks(name, "python")[number]
    (tmp_path / "program.py").write_text(block[1], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
        check=True,
    )
    assert printed([block])
    assert done.stdout.splitlines() == printed([block])


def imported(text):
    """Packages that a block imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@compiled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in SECTIONS for number in range(len(blocks(name, "python")))]
)
def test_sections_run_on_their_own(name, number, small_files, tmp_path, monkeypatch):
    text = blocks(name, "python")[number][1]
    for package in imported(text):
        pytest.importorskip(package)
    for file in ("events.csv", "events.parquet"):
        shutil.copy(small_files / file, tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(text, f"{name}: block {number + 1}", "exec"), {})


def shell_commands(name):
    """Commands of a page's ``sh`` blocks, without their comments."""
    for _, text in blocks(name, "sh"):
        for line in text.splitlines():
            yield from (part.strip() for part in re.sub(r"\s#.*", "", line).split("&&"))


def klump_commands(name):
    return [command for command in shell_commands(name) if command.startswith("klump ")]


def write_events(folder):
    """40 visits to 6 pages, of which 3 belong together."""
    rng = np.random.default_rng(0)
    half = np.repeat(rng.integers(2, size=200), 5)
    pages = [
        f"{'shop' if side else 'help'}-{page}"
        for side, page in zip(half, rng.integers(3, size=1000), strict=True)
    ]
    rows = [(number // 25, 60 * number, page) for number, page in enumerate(pages)]
    (folder / "events.csv").write_text("visit,time,page\n" + "".join(f"{v},{t},{p}\n" for v, t, p in rows))
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = dict(zip(("visit", "time", "page"), zip(*rows, strict=True), strict=True))
    parquet.write_table(pyarrow.table(columns), folder / "events.parquet")


@pytest.fixture(scope="module")
def small_files(tmp_path_factory):
    """A folder with a chain of 14 states under each name that the pages use, as probabilities and as counts."""
    folder = tmp_path_factory.mktemp("files")
    chain, labels = block_chain((3, 3, 4, 4), alpha=0.7, eps=0.2, random_state=0)
    for file in ("chain.csv", "chain.mtx", "model.csv", "shop.csv"):
        klump.write_chain(chain, folder / file)
    klump.write_chain(klump.MarkovChain(chain, labels={"goal": labels == 0}), folder / "chain.npz")
    (folder / "labels.csv").write_text("state,group\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels)))
    write_events(folder)
    counts = np.ceil(1e4 * chain.joint).astype(int)
    rows = "".join(f"{i},{j},{count}\n" for (i, j), count in np.ndenumerate(counts))
    for file in ("letters.csv", "src/klump/data/letter_bigrams.csv"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("from,to,count\n" + rows)
    with chdir(folder):  # writes voters.tra, uneven.tra, disks.tra and worn.tra
        exec(blocks("verification.md", "python")[0][1], {})
        exec(blocks("communities/verification.md", "python")[0][1], {})
    return folder


@compiled
@pytest.mark.parametrize("name", pages_with("sh"))
def test_commands_run(name, small_files, monkeypatch):
    monkeypatch.chdir(small_files)
    for command in klump_commands(name):
        _, subcommand, *arguments = shlex.split(command)
        parser = main.get_command(click.Context(main), subcommand)
        assert parser is not None, f"{name}: no command {subcommand!r}"
        with suppress(click.exceptions.Exit):  # of options like --list; what cannot be parsed is a UsageError
            parser.make_context(subcommand, list(arguments)).close()
        if not any(command.startswith(listed) for listed in NOT_RUN):
            result = CliRunner().invoke(main, [subcommand, *arguments])
            assert result.exit_code == 0, f"{name}: {command}\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("name", pages_with("sh"))
def test_make_targets_exist(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for command in shell_commands(name):
        if command.startswith("make "):
            assert command.split()[1] in targets, f"{name}: {command}"


def test_the_tutorial_finds_the_same_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(blocks("tutorial.md", "python")[0][1], namespace)
    klump.write_chain(namespace["chain"], "shop.csv")
    answer = klump.aggregate(namespace["chain"], 3)
    command = next(c for c in klump_commands("tutorial.md") if "aggregate" in c)
    result = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])
    found = json.loads(result.stdout)
    assert found["cost"] == pytest.approx(answer.cost, abs=1e-12)
    assert found["labels"] == answer.labels.tolist()


def test_the_page_on_verification_shows_what_is_printed(small_files, monkeypatch):
    monkeypatch.chdir(small_files)
    command = next(c for c in klump_commands("verification.md") if "--reach" in c)
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    shown = [line for line in PAGES["verification.md"].read_text().splitlines() if line.startswith("reach ")]
    assert shown == [line for line in result.stdout.splitlines() if line.startswith("reach ")]
