"""What each effort of the default buys: cost and CPU seconds on the letter bigrams and on sparse noisy chains."""

from __future__ import annotations

import time

import klump
from benchmarks.cliffs import Row
from klump.search.registry import EFFORT_NAMES

NOISY = (Row("noisy", 3_000, 5, 0.3), Row("noisy", 100_000, 5, 0.3), Row("noisy", 100_000, 50, 0.5))
HEADER = ("chain", "k", "beta", *(f"{effort}: cost, CPU s" for effort in EFFORT_NAMES))
# Seconds after which a search is ended; its cell is then marked by an asterisk.
LIMIT = 300.0


def run(rows: tuple[Row, ...] = NOISY) -> list[str]:
    """Print a Markdown table, a row per chain, and return its lines."""
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    print("\n".join(lines), flush=True)
    for name, chain, k, beta in _questions(rows):
        # The first question compiles and fills the lazy properties of the chain, which no effort changes.
        klump.aggregate(chain, k, beta, effort="balanced", time_limit=1e-3)
        cells = [_ask(chain, k, beta, effort) for effort in EFFORT_NAMES]
        lines.append(_line([name, str(k), f"{beta:g}", *cells]))
        print(lines[-1], flush=True)
    return lines


def _questions(rows: tuple[Row, ...]):
    yield "letter bigrams", klump.datasets.letter_bigrams(), 4, 0.5
    for row in rows:
        yield f"{row.kind}, {row.n_states:,} states", klump.MarkovChain(row.make()[0]), row.n_groups, row.beta


def _ask(chain: klump.MarkovChain, k: int, beta: float, effort: str) -> str:
    begin = time.process_time()
    answer = klump.aggregate(chain, k, beta, effort=effort, time_limit=LIMIT)
    return f"{answer.cost:.6f}, {time.process_time() - begin:.2f}" + "*" * answer.interrupted


def _line(cells) -> str:
    return f"| {' | '.join(cells)} |"
