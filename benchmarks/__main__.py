"""``make bench``: run every benchmark, print the verdicts, keep the figures."""

from __future__ import annotations

import argparse

from benchmarks import contest, lumping, many_machines, merging, settling, sweeps
from benchmarks.measure import write
from benchmarks.peers import CONTESTANTS
from benchmarks.workloads import WORKLOADS

BENCHMARKS = {
    "sweeps": sweeps.run,
    "settling": settling.run,
    "lumping": lumping.run,
    "merging": merging.run,
    "many-machines": many_machines.run,
}
NAMES = (*BENCHMARKS, "peers")
QUICK_LIMIT = 60.0


def main(arguments):
    for name in arguments.names or NAMES:
        if name == "peers":
            contest.run(settings(arguments))
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


def parsed(words=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="benchmark", help=f"some of {', '.join(NAMES)}; else all")
    peers = parser.add_argument_group("peers")
    peers.add_argument("--quick", action="store_true", help="up to 10,000 states, one round, 60 s each")
    peers.add_argument("--sizes", type=_sizes, help="numbers of states, like 1e4,1e5")
    families = sorted({workload.family for workload in WORKLOADS})
    peers.add_argument("--families", type=_words, help=f"some of {','.join(families)}")
    peers.add_argument("--only", type=_words, help=f"contestants, or parts of names: {','.join(CONTESTANTS)}")
    peers.add_argument("--rounds", type=int, help="measurements of each contestant (3)")
    peers.add_argument("--timeout", type=float, help="seconds for a measurement (600)")
    peers.add_argument("--threads", type=int, default=1, help="threads for each contestant (1)")
    peers.add_argument("--output", help="name of the files in benchmarks/results")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    return arguments


def _words(text):
    return tuple(word.strip() for word in text.split(","))


def _sizes(text):
    return tuple(int(float(word)) for word in text.split(","))


if __name__ == "__main__":
    main(parsed())
