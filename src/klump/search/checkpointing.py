"""The checkpoint of a task: all that its answer depends on is the question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from klump.checkpoints import Checkpoint, open_checkpoint
from klump.search.method import Task

# Fields of a task on which no answer depends.
_OTHERS = {"n_jobs", "progress", "deadline", "futures", "journal"}
# Arguments by the field of a task, where the names differ.
_ARGUMENTS = {"n_groups": "n_states", "seed": "random_state"}


@contextmanager
def checkpointed(
    task: Task, checkpoint: Checkpoint | None, *, resume: bool, function: str, **arguments: Any
) -> Iterator[Task]:
    """Open the checkpoint of a task, and yield the task with it; the task itself if there is none.

    Parameters
    ----------
    task
        What to search.
    checkpoint, resume
        As in :func:`klump.checkpoints.open_checkpoint`.
    function
        Name of the function that was called.
    arguments
        Further arguments that the answer depends on, or others than the task has.
    """
    if checkpoint is None and not resume:
        yield task
        return
    known = {
        _ARGUMENTS.get(field.name, field.name): getattr(task, field.name)
        for field in fields(task)
        if field.name not in _OTHERS
    }
    question = {"function": function, **known, **arguments}
    with open_checkpoint(checkpoint, resume=resume, question=question) as scope:
        yield replace(task, journal=scope)
