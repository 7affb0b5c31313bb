"""Run a command in a process that gets a signal at a chosen call of a Python function, the same one in every run."""

from __future__ import annotations

import re
import subprocess
import sys

# MOMENT: the number of a call, or the name of a function; all calls are counted, from the first import of the program.
SCRIPT = """
import atexit, os, sys, threading
number, moment = int(sys.argv[1]), sys.argv[2]
moment = int(moment) if moment.isdigit() else moment
sys.argv[:3] = ["klump"]
calls = 0

def watch(frame, event, _):  # a trace function that traces calls only
    global calls, moment
    calls += 1
    if calls == moment or frame.f_code.co_name == moment:
        moment = None
        os.kill(os.getpid(), number)

atexit.register(lambda: print(f"{calls} calls", file=sys.stderr))
from klump import signals
signals.install()
sys.settrace(watch)
threading.settrace(watch)
from klump.__main__ import run
run()
"""


def interrupt(words, number, moment, **options):
    """Run a command, words in one string, and send it a signal; returns the finished process."""
    command = [sys.executable, "-c", SCRIPT, str(int(number)), str(moment), *words.split()]
    # A shell that starts the tests in the background has SIGINT ignored, and so would the command.
    options.setdefault("preexec_fn", _heed_ctrl_c)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def count_calls(words):
    """Calls of Python functions that a command makes."""
    done = interrupt(words, 0, 0)
    assert done.returncode == 0, done.stderr
    return int(re.search(r"(\d+) calls", done.stderr)[1])


def _heed_ctrl_c():
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
