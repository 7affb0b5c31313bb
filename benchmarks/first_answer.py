"""CPU seconds to a first answer: a fresh process with an empty cache of compiled kernels, and again with a full one."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import cliff_report
from benchmarks.measure import Verdict
from benchmarks.process import ROOT
from klump.files import write_chain
from klump.sources.random_chains import random_chain, sparse_block_chain

README = "README's example"
# A quarter of the CPU seconds that it took before the kernels were split.
PROMISE = 19.0
# The announcement of compilation, in Python and on the command line.
ESTIMATE = re.compile(r"compiling kernels for this machine: about (\d+) s")
TRANSITIONS = "sun,rain,snow\n0.7,0.2,0.1\n0.3,0.5,0.2\n0.2,0.4,0.4\n"
STATES = 100_000
# Appended to the code of a question: compiled kernels and their CPU seconds.
_EPILOGUE = """
import json, sys
from klump.compilation import compilations
compiled = [(used.key, used.seconds) for used in compilations() if used.seconds is not None]
with open(sys.argv[1], "w") as file:
    json.dump(compiled, file)
"""


@dataclass(frozen=True)
class Question:
    """What a user asks first: Python code, or words of the command line."""

    name: str
    code: str = ""
    words: tuple[str, ...] = ()
    before: str = ""
    """CPU seconds with an empty cache before the kernels were split, where known."""

    def program(self) -> str:
        """Python code that asks, and writes what was compiled to the file that is its argument."""
        if not self.words:
            return self.code + _EPILOGUE
        asks = f"klump.cli.main({list(self.words)!r}, prog_name='klump', standalone_mode=False)"
        return f"import klump.cli\n{asks}\n{_EPILOGUE}"


QUESTIONS = (
    Question("import klump", "import klump"),
    Question("klump info, 3 states", words=("info", "weather.csv")),
    Question("klump info, 2,500 sparse states", words=("info", "sparse.npz")),
    Question(
        "aggregate, 3 states", "import klump\nklump.aggregate(klump.read_chain('weather.csv'), n_states=2)"
    ),
    Question(
        README,
        "import klump\nklump.aggregate(klump.datasets.letter_bigrams(), n_states=4, beta=0.8)",
        before="76",
    ),
    Question(
        'method="exact", 20 states',
        "import klump\nklump.aggregate(klump.read_chain('lumpable.csv'), method='exact', initial=[0] * 5 + [1] * 15)",
    ),
    Question(
        "100,000 sparse states, k = 50, beta = 0.5",
        "import klump\nklump.aggregate(klump.read_chain('large.npz'), n_states=50, beta=0.5)",
    ),
)


@dataclass(frozen=True)
class Figure:
    """One question, with an empty or a full cache."""

    question: str
    warm: bool
    seconds: float
    """CPU time of the process."""
    kernels: tuple[tuple[str, float], ...]
    """Kernels and signatures that were compiled, and the CPU seconds of each."""
    estimates: tuple[int, ...]
    """Announced seconds of compilation, one per announcement."""

    @property
    def compilation(self) -> float:
        """CPU seconds of compilation."""
        return sum(seconds for _, seconds in self.kernels)


def run(questions: tuple[Question, ...] = QUESTIONS) -> list[Verdict]:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        write_chains(Path(folder), questions)
        for question in questions:
            cliff_report.progress(question.name)
            figures += measure(question, Path(folder))
            found = verdicts(figures)
            cliff_report.write("first-answer", record_of(figures, found))
    show(figures, questions)
    print("\n".join(map(str, found)) or f"not measured: {README}")
    return found


def write_chains(folder: Path, questions: tuple[Question, ...]) -> None:
    """The files that the questions are about."""
    from klump.sources.random_chains import block_chain

    asked = " ".join(question.program() for question in questions)
    chains = {
        "sparse.npz": lambda: random_chain(2_500, "sparse"),
        "lumpable.csv": lambda: block_chain((5, 5, 10))[0],
        "large.npz": lambda: sparse_block_chain(STATES, 50)[0],
    }
    (folder / "weather.csv").write_text(TRANSITIONS)
    for name, make in chains.items():
        if name in asked:
            write_chain(make(), folder / name)


def measure(question: Question, folder: Path) -> list[Figure]:
    """With an empty cache, and again with what the first process left there."""
    with tempfile.TemporaryDirectory() as empty:
        # Compiled kernels are looked for in the temporary folder too.
        new = {"NUMBA_CACHE_DIR": f"{empty}/cache", "TMPDIR": empty}
        return [_ask(question, folder, new, warm=warm) for warm in (False, True)]


def _ask(question: Question, folder: Path, new: dict[str, str], *, warm: bool) -> Figure:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    answer = folder / "answer.json"
    before = _children_seconds()
    ended = subprocess.run(
        [sys.executable, "-c", question.program(), str(answer)],
        cwd=folder,
        env=environment | {"PYTHONPATH": _python_path()} | new,
        capture_output=True,
        text=True,
    )
    seconds = _children_seconds() - before
    if ended.returncode != 0:
        reason = (ended.stderr.strip().splitlines() or [f"left with code {ended.returncode}"])[-1]
        raise RuntimeError(f"{question.name} failed: {reason}")
    estimates = tuple(int(text) for text in ESTIMATE.findall(ended.stderr))
    kernels = tuple((key, spent) for key, spent in json.loads(answer.read_text()))
    return Figure(question.name, warm, seconds, kernels, estimates)


def _children_seconds() -> float:
    """User and system time of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _python_path() -> str:
    """Where klump is, also from another folder."""
    return os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


def verdicts(figures: list[Figure]) -> list[Verdict]:
    return [
        Verdict(
            f"{README} with an empty cache, CPU seconds",
            figure.seconds,
            PROMISE,
            True,
            f"{figure.compilation:.1f} s of them compilation, announced as {_sum(figure.estimates)} s",
        )
        for figure in figures
        if figure.question == README and not figure.warm
    ]


def record_of(figures: list[Figure], found: list[Verdict]) -> dict:
    return {
        "figures": [asdict(figure) | {"compilation": figure.compilation} for figure in figures],
        "verdicts": [{**asdict(verdict), "kept": verdict.kept} for verdict in found],
    }


def show(figures: list[Figure], questions: tuple[Question, ...]) -> None:
    """One line per question."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="CPU seconds to a first answer", title_justify="left")
    for heading in ("question", "before", "empty cache", "compilation", "announced", "kernels", "full cache"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    for question in questions:
        cold, warm = (figure for figure in figures if figure.question == question.name)
        table.add_row(
            question.name,
            question.before,
            f"{cold.seconds:.1f}",
            f"{cold.compilation:.1f}",
            _sum(cold.estimates),
            str(len(cold.kernels)),
            f"{warm.seconds:.1f}" + (f" ({len(warm.kernels)} compiled)" if warm.kernels else ""),
        )
    Console(width=None if os.isatty(1) else 140).print(table)


def _sum(estimates: tuple[int, ...]) -> str:
    return " + ".join(map(str, estimates)) or "none"
