"""Run a target on each mutant in a forked process with limits on memory and time, and count the outcomes."""

from __future__ import annotations

import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, which has no fork either
    resource = None  # type: ignore[assignment]

import klump
from fuzzing.formats import FORMATS, FuzzedFormat
from fuzzing.seeds import Files

# Memory that a mutant may add to that of the process, in bytes. The seeds are of some kilobytes.
MEMORY = 2**29
# Resident memory that a mutant may add, in bytes: the seeds add some megabytes.
RESIDENT = 2**27
# Time that a mutant may take, in seconds, on a busy machine.
SECONDS = 20.0
# Exit status of the child where the target raised.
_RAISED = 70
# Unit of ru_maxrss, in bytes.
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
# Resident memory of a child when it starts, which the parent reads: a fork does not inherit all pages.
_SHARED = mmap.mmap(-1, mmap.PAGESIZE)
_BEFORE = struct.Struct("q")
# Verdicts that are failures.
FAILURES = ("traceback", "crash", "timeout", "memory", "wrong", "not one line", "leftover")


@dataclass
class Count:
    """Outcomes of the mutants of a format."""

    format: str
    verdicts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    peak: int = 0
    peak_at: int = 0
    seconds: float = 0.0

    @property
    def mutants(self) -> int:
        return self.verdicts.total()

    @property
    def failures(self) -> int:
        return sum(self.verdicts[kind] for kind in FAILURES)

    def add(self, verdict: str, detail: str, number: int) -> None:
        self.verdicts[verdict] += 1
        if verdict in FAILURES:
            self.examples.setdefault(f"{verdict}: {detail}", f"{self.format}:{number}")


def fuzz(
    format: FuzzedFormat,
    n_mutants: int,
    seed: int,
    *,
    deadline: float | None = None,
    only: int | None = None,
    keep: Path | None = None,
) -> Count:
    """Run ``n_mutants`` of a format, or fewer if the deadline passes; mutant i is the same whatever their number."""
    made = format.make_seeds()
    # A kernel that only chains of tiny probabilities need.
    _ = klump.MarkovChain([[3, 1], [1e-320, 2]], normalize=True).stationary_distribution
    count = Count(format.name)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for files in made:
            _warm_up(format, files, root)
        for number in range(n_mutants) if only is None else (only,):
            if deadline is not None and time.time() > deadline:
                break
            rng = random.Random(f"{seed}/{format.name}/{number}")
            mutant = format.mutant(rng.choice(made), rng)
            if keep is not None:
                _write(mutant, keep)
            verdict, detail, peak = _run(format, mutant, root)
            if peak > count.peak:
                count.peak, count.peak_at = peak, number
            count.add(verdict, detail, number)
            if only is not None:
                print(verdict, detail)
    count.seconds = time.perf_counter() - start
    return count


def fuzz_by_name(name: str, n_mutants: int, seed: int, deadline: float | None) -> Count:
    """Run the mutants of the format of this name: formats cannot be pickled."""
    (format,) = (each for each in FORMATS if each.name == name)
    return fuzz(format, n_mutants, seed, deadline=deadline)


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _warm_up(format: FuzzedFormat, files: Files, root: Path) -> None:
    """Read the seed in this process, so that modules and kernels are loaded before the forks."""
    folder = root / "seed"
    _write(files, folder)
    with _redirect(root / "output"):
        status = format.target(folder)
    assert status == 0, f"{format.name}: status {status} for a valid file"
    shutil.rmtree(folder)


@contextmanager
def _redirect(file: Path):
    """Standard output and error of this process to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for stream in (1, 2):
            os.dup2(target, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, old in zip((1, 2), kept, strict=True):
            os.dup2(old, stream)
            os.close(old)
        os.close(target)


def _run(format: FuzzedFormat, files: Files, root: Path) -> tuple[str, str, int]:
    """Verdict, detail, and resident memory added by one mutant."""
    folder, log = root / "mutant", root / "log"
    _write(files, folder)
    child = os.fork()
    if child == 0:
        _run_in_child(format, folder, log)
    _, status, usage = os.wait4(child, 0)
    output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    (before,) = _BEFORE.unpack_from(_SHARED)
    peak = max(0, usage.ru_maxrss * _MAXRSS_UNIT - before)
    left = {str(path.relative_to(folder)) for path in folder.rglob("*")} - set(files)
    left -= {str(parent) for name in files for parent in Path(name).parents}
    shutil.rmtree(folder)
    log.unlink(missing_ok=True)
    verdict, detail = _judge(status, output, peak)
    outside = {path.name for path in root.iterdir()} - {"output"}
    if outside:
        return "leftover", f"outside of the folder: {', '.join(sorted(outside))}", peak
    if verdict == "refused" and left:
        return "leftover", ", ".join(sorted(left)), peak
    if verdict == "accepted" and any(Path(name).parts[0] not in format.outputs for name in left):
        return "leftover", ", ".join(sorted(left)), peak
    return verdict, detail, peak


def _judge(status: int, output: str, peak: int) -> tuple[str, str]:
    lines = output.splitlines()
    last = lines[-1] if lines else ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("timeout", "") if number == signal.SIGALRM else ("crash", signal.Signals(number).name)
    code = os.WEXITSTATUS(status)
    if code == _RAISED or "Traceback (most recent call last)" in output:
        places = [line.strip() for line in lines if line.strip().startswith("File ") and "klump" in line]
        kind = "wrong" if last.startswith("AssertionError") else "traceback"
        return kind, f"{last[:150]} at {places[-1].split('src/')[-1] if places else '?'}"
    if "not enough memory" in last or peak > RESIDENT:
        return "memory", f"{last[:150]} ({peak >> 20} MB)"
    if code == 0:
        return "accepted", ""
    errors = [line for line in lines if line.startswith("klump: error: ")]
    if code == 1 and len(errors) == 1 and last == errors[0]:
        return "refused", ""
    return "not one line", f"status {code}: {output[-200:]!r}"


def _run_in_child(format: FuzzedFormat, folder: Path, log: Path) -> None:
    """Never returns."""
    try:
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = str(folder)
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(target, stream)
        _BEFORE.pack_into(_SHARED, 0, _statm(1))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        _limit_memory()
        try:
            status = format.target(folder)
        except BaseException:
            traceback.print_exc()
            status = _RAISED
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    finally:
        os._exit(_RAISED)


def _limit_memory() -> None:
    size = _statm(0)
    if size:
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def _statm(field: int) -> int:
    """Virtual (0) or resident (1) size of this process in bytes; 0 where there is no /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[field]) * mmap.PAGESIZE
    except OSError:
        return 0
