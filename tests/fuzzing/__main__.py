"""``make fuzz``: mutants of every format, and a table of what became of them."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from fuzzing.formats import FORMATS
from fuzzing.running import FAILURES, Count, fuzz, fuzz_by_name

# Inherited by the workers, which must have one thread when they fork.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_COLUMNS = ("mutants", "accepted", "refused", *FAILURES)


def main() -> int:
    os.environ |= ONE_THREAD
    options = _parse()
    formats = [each for each in FORMATS if not options.formats or each.name in options.formats]
    if options.only:
        name, number = options.only.rsplit(":", 1)
        (one,) = (each for each in FORMATS if each.name == name)
        fuzz(one, 1, options.seed, only=int(number), keep=options.keep)
        return 0
    if not options.json:
        print(_row("format", *_COLUMNS, "peak MB", "s"), flush=True)
    counts = []
    # Fresh processes, which import klump by themselves and have one thread when they fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        one = partial(fuzz_by_name, n_mutants=options.mutants, seed=options.seed, deadline=_deadline(options))
        for count in pool.map(one, [each.name for each in formats]):
            counts.append(count)
            if not options.json:
                _print(count)
    if options.json:
        print(json.dumps([_record(count) for count in counts]))
    return int(any(count.failures or not count.mutants for count in counts))


def _deadline(options: argparse.Namespace) -> float | None:
    return None if options.time_limit is None else time.time() + options.time_limit


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument(
        "formats", nargs="*", help=f"of {', '.join(each.name for each in FORMATS)}; all if left out"
    )
    parser.add_argument("--mutants", type=int, default=2000, help="per format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, help="seconds after which no further mutant is begun")
    parser.add_argument("--jobs", type=int, default=1, help="formats that run at the same time")
    parser.add_argument("--only", metavar="FORMAT:NUMBER", help="run one mutant, and print its verdict")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --only, write the mutant there")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _row(name: object, *cells: object) -> str:
    return f"{name!s:20}" + "".join(f"{cell!s:>{max(8, len(str(cell)) + 2)}}" for cell in cells)


def _print(count: Count) -> None:
    values = (count.mutants, *(count.verdicts[kind] for kind in _COLUMNS[1:]))
    widths = [max(8, len(column) + 2) for column in _COLUMNS]
    cells = "".join(f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
    print(
        f"{count.format:20}{cells}{count.peak / 2**20:>9.0f}{count.seconds:>8.1f}  [{count.peak_at}]",
        flush=True,
    )
    for problem, example in count.examples.items():
        print(f"    {problem}  [{example}]", flush=True)


def _record(count: Count) -> dict[str, object]:
    return {
        "format": count.format,
        "mutants": count.mutants,
        "verdicts": dict(count.verdicts),
        "failures": count.failures,
        "examples": count.examples,
        "peak_mb": count.peak / 2**20,
    }


if __name__ == "__main__":
    sys.exit(main())
