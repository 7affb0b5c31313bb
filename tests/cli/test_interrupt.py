"""Ctrl-C, pressed for real while the progress bar is on the screen."""

import json
import os
import signal
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty")


def _heed_ctrl_c():
    """Programs that a shell starts in the background ignore the signal, and so do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_on_a_terminal(chain_file, chain):
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "klump", "aggregate", "chain.csv", "--normalize", "-k", "3", "--json"]
    # More restarts than finish before the signal.
    command += ["--method", "sequential", "--n-init", "1000000"]
    options = {"stdout": subprocess.PIPE, "stderr": terminal, "preexec_fn": _heed_ctrl_c}
    with subprocess.Popen(command, **options) as process:
        os.close(terminal)
        shown = b""
        while b"best cost 0" not in shown:
            # Fails with an OSError, instead of waiting forever, if the program has ended.
            shown += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        found = json.loads(process.stdout.read())
    rest = os.read(screen, 65536)
    os.close(screen)
    assert process.returncode == 130
    assert found["interrupted"] is True
    assert sorted(set(found["labels"])) == [0, 1, 2]
    assert b"interrupted: this is what was found so far" in rest
