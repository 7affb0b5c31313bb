"""``make bench``: run every benchmark, print the verdicts, keep the figures."""

from __future__ import annotations

import argparse

from benchmarks import (
    cliffs,
    contest,
    efforts,
    estimator,
    events,
    first_answer,
    lumping,
    many_machines,
    merging,
    pages,
    renumbering,
    selection,
    settling,
    sweeps,
)
from benchmarks.measure import write
from benchmarks.peers import CONTESTANTS
from benchmarks.workloads import WORKLOADS

BENCHMARKS = {
    "sweeps": sweeps.run,
    "settling": settling.run,
    "lumping": lumping.run,
    "merging": merging.run,
    "many-machines": many_machines.run,
    "events": events.run,
    "pages": pages.run,
    "renumbering": renumbering.run,
    "selection": selection.run,
}
# These print tables or write files of their own.
WITH_OPTIONS = {
    "efforts": lambda arguments: efforts.run(),
    "estimator": lambda arguments: estimator.run(),
    "first-answer": lambda arguments: first_answer.run(),
    "cliffs": lambda arguments: cliffs.run(cliff_settings(arguments)),
    "peers": lambda arguments: contest.run(settings(arguments)),
}
NAMES = (*BENCHMARKS, *WITH_OPTIONS)
QUICK_LIMIT = 60.0


def main(arguments):
    for name in arguments.names or NAMES:
        if name in WITH_OPTIONS:
            WITH_OPTIONS[name](arguments)
            continue
        verdicts = BENCHMARKS[name]()
        write(name, verdicts)
        print("\n".join(str(verdict) for verdict in verdicts))


def settings(arguments):
    quick = arguments.quick
    return contest.Settings(
        sizes=arguments.sizes,
        families=arguments.families,
        only=arguments.only,
        quick=quick,
        rounds=arguments.rounds or (1 if quick else 3),
        limit=arguments.timeout or (QUICK_LIMIT if quick else 600.0),
        threads=arguments.threads,
        name=arguments.output or ("peers-quick" if quick else "peers"),
    )


def cliff_settings(arguments):
    default = cliffs.Settings()
    return cliffs.Settings(
        rows=arguments.rows or default.rows,
        rounds=arguments.rounds or default.rounds,
        limit=arguments.timeout or default.limit,
        resume=arguments.resume,
        name=arguments.output or default.name,
    )


def parsed(words=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="benchmark", help=f"some of {', '.join(NAMES)}; else all")
    both = parser.add_argument_group("peers and cliffs")
    both.add_argument("--rounds", type=int, help="measurements of each contestant (3; cliffs: 1)")
    both.add_argument(
        "--timeout", type=float, help="seconds for a measurement (600; cliffs: 300, of CPU time)"
    )
    both.add_argument("--output", help="name of the files in benchmarks/results, for one of the two")
    rows = parser.add_argument_group("cliffs")
    rows.add_argument(
        "--rows", help="table (the default), degenerate, all, or a regular expression, like noisy-.*-k5-"
    )
    rows.add_argument("--resume", action="store_true", help="keep what an interrupted run has measured")
    peers = parser.add_argument_group("peers")
    peers.add_argument("--quick", action="store_true", help="up to 10,000 states, one round, 60 s each")
    peers.add_argument("--sizes", type=_sizes, help="numbers of states, like 1e4,1e5")
    families = sorted({workload.family for workload in WORKLOADS})
    peers.add_argument("--families", type=_words, help=f"some of {','.join(families)}")
    peers.add_argument("--only", type=_words, help=f"contestants, or parts of names: {','.join(CONTESTANTS)}")
    peers.add_argument("--threads", type=int, default=1, help="threads for each contestant (1)")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    if arguments.output and {"cliffs", "peers"} <= set(arguments.names or NAMES):
        parser.error("--output names the files of one benchmark; run cliffs and peers one after the other")
    if not cliff_settings(arguments).chosen():
        parser.error(
            f"no row matches {arguments.rows!r}; choose from {', '.join(row.name for row in cliffs.ROWS)}"
        )
    return arguments


def _words(text):
    return tuple(word.strip() for word in text.split(","))


def _sizes(text):
    return tuple(int(float(word)) for word in text.split(","))


if __name__ == "__main__":
    main(parsed())
