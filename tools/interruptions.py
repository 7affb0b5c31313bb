"""Send SIGINT, SIGTERM and SIGKILL to every command at many moments, and tabulate how it ends.

    python tools/interruptions.py [--moments N] [--seed S] [COMMAND ...]

Moments are drawn from a seed, as shares of the time that the command takes without a signal. A run ends well with its
best answer so far, or with one line and no answer; with the exit status of the signal; without a traceback; with
files that are complete or as they were before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

# Seconds after which a run counts as hanging.
_TIMEOUT = 300.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
OUTCOMES = ("answer", "none", "complete", "python", "traceback", "ignored", "hangs", "status", "partial file")
# Outcomes that are as they should be; "python": the signal arrived before the first line of klump was run.
WELL = ("answer", "none", "complete", "python")


@dataclass(frozen=True)
class Command:
    """A command line, and the file that it writes, if any."""

    words: str
    output: str | None = None
    cold: bool = False
    """Whether it starts with an empty cache of compiled kernels."""


COMMANDS = {
    "info": Command("info large.npz --json"),
    "aggregate": Command("aggregate chain.npz -k 5 --json -o out.npz", "out.npz"),
    "path": Command("path chain.npz -k 4 --n-init 200 --json -o out.csv", "out.csv"),
    "grid": Command("grid chain.npz -k 2..5 --json -o out.png", "out.png"),
    "score": Command("score chain.npz labels.csv --json"),
    "score --guarantees": Command("score chain.npz labels.csv --guarantees --json"),
    "compare": Command("compare chain.npz -k 4 --no-outside --json -o out.json", "out.json"),
    "convert": Command("convert large.npz out.csv --json", "out.csv"),
    "convert to .mapped": Command("convert large.npz out.mapped --stationary --json", "out.mapped"),
    "reproduce": Command("reproduce nonreversible --trials 3 --jobs 2 -o out", "out/index.html"),
    "warm-up": Command("warm-up --json"),
    "info, compiling": Command("info large.npz --json", cold=True),
    "aggregate, compiling": Command("aggregate chain.npz -k 5 --json -o out.npz", "out.npz", cold=True),
    "warm-up, compiling": Command("warm-up --json", cold=True),
}


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    from klump import write_chain
    from klump.sources.random_chains import random_chain

    write_chain(random_chain(150, seed=1), folder / "chain.npz")
    write_chain(random_chain(3000, "sparse", seed=1), folder / "large.npz")
    rows = "\n".join(f"{state},{state % 4}" for state in range(60))
    (folder / "labels.csv").write_text(f"state,group\n{rows}\n")


def run(command: Command, folder: Path, number: int, delay: float | None) -> tuple[str | None, float]:
    """Run a command and send a signal after a delay; returns the outcome, and the seconds that the run took.

    The outcome is None if the command had ended before.
    """
    environment = dict(os.environ)
    if command.cold:
        environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
        shutil.rmtree(folder / "cache", ignore_errors=True)
    before = _remove_output(command, folder)
    begin = time.perf_counter()
    # Files instead of pipes, which the workers of a killed process would keep open.
    with TemporaryFile("w+") as stdout, TemporaryFile("w+") as stderr:
        program = [sys.executable, "-m", "klump", *command.words.split()]
        process = subprocess.Popen(program, cwd=folder, env=environment, stdout=stdout, stderr=stderr)
        try:
            process.wait(_TIMEOUT if delay is None else delay)
            return None, time.perf_counter() - begin
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        status: int | None = None
        try:
            status = process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        out, err = (_read(file) for file in (stdout, stderr))
    seconds = time.perf_counter() - begin
    outcome = judge(number, status, out, err)
    if outcome not in WELL:
        print(f"{command.words}: signal {number} after {delay} s: {status}\n{err}", file=sys.stderr)
    # Nobody can remove the temporary files of a process that was killed.
    left = _remove_temporary(command, folder, before) and number != signal.SIGKILL
    if outcome in WELL and (left or not _is_whole(command, folder)):
        outcome = "partial file"
    return outcome, seconds


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def judge(number: int, status: int | None, out: str, err: str) -> str:
    """Classify the end of a run by its exit status and what it printed."""
    if status is None:
        return "hangs"
    if number == signal.SIGKILL and status == -number:
        return "none"
    if "Traceback" in err or "Exception ignored" in err or "Error" in err:
        return "traceback" if f"{os.sep}klump{os.sep}" in err else "python"
    printed = _is_document(out) or out.rstrip().endswith("index.html")
    if status == 0:
        return "complete" if printed else "ignored"
    if status == -number and not out and not err:
        return "python"  # the system ended it before there was a handler
    if printed and status in (128 + number, -number):  # the latter while the interpreter is taken apart
        return "answer"
    if status != 128 + number:
        return "status"
    return "none" if "klump: interrupted" in err and not out else "status"


def _is_document(text: str) -> bool:
    try:
        return bool(json.loads(text))
    except ValueError:
        return False


def _remove_output(command: Command, folder: Path) -> set[str]:
    """Remove what earlier runs have written; returns the names of the files that are left."""
    if command.output is not None:
        path = folder / command.output.split("/")[0]
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
    return set(os.listdir(folder))


def _remove_temporary(command: Command, folder: Path, before: set[str]) -> bool:
    """Remove temporary files; returns whether there were any."""
    name = "" if command.output is None else command.output
    left = set(os.listdir(folder)) - before - {name.split("/")[0], "cache"}
    found = {*(folder / item for item in left), *folder.glob("*/.klump-*")}
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return bool(found)


def _is_whole(command: Command, folder: Path) -> bool:
    """Whether the output is complete or absent."""
    name = "" if command.output is None else command.output
    path = folder / name
    if not name or not path.exists():
        return True
    content = b"" if path.is_dir() else path.read_bytes()
    if path.suffix == ".json":
        return _is_document(content.decode())
    if path.suffix == ".npz":
        from klump import load

        return bool(load(path))
    if path.suffix == ".mapped":
        from klump import read_chain

        return read_chain(path).n_states > 0
    ends = {".csv": b"\n", ".png": b"IEND\xaeB`\x82", ".html": b"</html>\n"}
    return content.endswith(ends[path.suffix])


def sweep(name: str, folder: Path, n_moments: int, seed: int) -> Counter[str]:
    """Run one command with every signal at random moments; returns the outcomes, and their number as ``"moments"``."""
    command, draw = COMMANDS[name], random.Random(f"{seed} {name}")
    if not command.cold:
        run(command, folder, signal.SIGINT, None)
    _, seconds = run(command, folder, signal.SIGINT, None)
    outcomes: Counter[str] = Counter()
    for number in _SIGNALS:
        done = 0
        while done < n_moments:
            outcome, taken = run(command, folder, number, draw.random() * seconds)
            if outcome is None:
                seconds = min(seconds, taken)
                continue
            done += 1
            outcomes.update((outcome, "moments"))
    return outcomes


def main() -> None:
    """Sweep the commands and print a table in Markdown; exit with 1 if a run did not end well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="names; all if left out")
    parser.add_argument("--moments", type=int, default=12, help="per command and signal")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # A shell that starts this in the background has it ignored, and so would the commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    columns = ("moments", *OUTCOMES)
    print("| command |", " | ".join(columns), "|")
    print("|---|" + "---:|" * len(columns))
    failed = False
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for command in options.commands or COMMANDS:
            outcomes = sweep(command, folder, options.moments, options.seed)
            print(f"| {command} |", " | ".join(str(outcomes[column]) for column in columns), "|", flush=True)
            failed = failed or any(outcomes[outcome] for outcome in OUTCOMES if outcome not in WELL)
    sys.exit(failed)


if __name__ == "__main__":
    main()
