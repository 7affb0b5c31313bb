"""Contestants of a benchmark that misbehave. (Run as a program, in place of ``benchmarks.trial``.)"""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
from benchmarks import trial
from benchmarks.peers import CONTESTANTS, Contestant


def first_come(task):
    """An answer, at once."""
    return np.arange(task.chain.n_states) % task.n_groups


def fails(task):
    raise ValueError("this chain\nis not to my liking")


def crashes(task):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(task):
    if task.chain.n_states != trial.REHEARSAL_STATES:
        signal.pause()


def leaves(task):
    sys.exit("I have had enough")


MADE_UP = {
    "first-come": Contestant(first_come),
    "fails": Contestant(fails),
    "crashes": Contestant(crashes),
    "hangs": Contestant(hangs),
    "leaves": Contestant(leaves),
    "absent": Contestant(first_come, ("a_module_that_nobody_has",)),
    "small-only": Contestant(first_come, most_states=10, reason="it is lazy"),
}

if __name__ == "__main__":
    CONTESTANTS.update(MADE_UP)
    trial.main(*sys.argv[1:])
