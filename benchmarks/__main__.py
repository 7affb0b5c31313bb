"""``make bench``: run every benchmark, print the verdicts, keep the figures."""

from __future__ import annotations

import sys

from benchmarks import lumping, merging, sweeps
from benchmarks.measure import write

BENCHMARKS = {"sweeps": sweeps.run, "lumping": lumping.run, "merging": merging.run}


def main(names):
    for name in names or BENCHMARKS:
        verdicts = BENCHMARKS[name]()
        write(name, verdicts)
        print("\n".join(str(verdict) for verdict in verdicts))


if __name__ == "__main__":
    main(sys.argv[1:])
