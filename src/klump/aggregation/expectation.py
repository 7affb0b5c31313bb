"""Announce the size of a search and its expected time, before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from logging import getLogger

from klump.search.duration import expected_seconds, format_duration
from klump.search.method import Task

# Shortest expected time that is announced, in seconds.
_MIN_SECONDS = 10.0

_logger = getLogger("klump")


def announce_search(
    tasks: Iterable[Task], method: str, what: str = "", *, times: int = 1, workers: int | None = 1
) -> None:
    """Log the size of the chain and the expected time of all tasks, if that is long, at level INFO.

    Nothing is logged for a run that is resumed, of which a part is known, nor with a time limit that ends it earlier.

    Parameters
    ----------
    tasks
        What is searched; all of the same chain.
    method
        Name of the method.
    what
        Description of several tasks, in place of the number of groups.
    times
        Number of chains of about this size on which each task is run.
    workers
        Number of searches that run in parallel, as in joblib.
    """
    known = list(tasks)
    first = known[0]
    if first.journal is not None and not first.journal.is_new:
        return
    seconds = times * sum(expected_seconds(task, method) for task in known)
    if seconds >= _MIN_SECONDS and workers not in (None, 1):
        import joblib

        seconds /= max(1, min(times * len(known), joblib.effective_n_jobs(workers)))
    limit = None if first.deadline is None else first.deadline.seconds
    if seconds < _MIN_SECONDS or (limit is not None and limit < seconds):
        return
    size = f"{first.chain.n_states:,} states, {first.chain.n_transitions:,} transitions"
    _logger.info(f"{size}, {what or f'k = {first.n_groups}'}: about {format_duration(seconds)}")
