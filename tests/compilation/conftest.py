"""Small kernels in a module of their own, run by other processes."""

import json
import os
import subprocess
import sys

import pytest

TOY = """
import json, sys, tempfile
from pathlib import Path
import numpy as np
from numba.core import event
from klump.compilation import cache_folder, compilations, inlined, kernel

@inlined
def twice(x):
    return x + x

@kernel
def add(a, b):
    return twice(a) + b

@kernel(fastmath=False, allocates=False)
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result

class Counter(event.Listener):
    count = 0
    def on_start(self, event):
        self.count += event.data["dispatcher"].py_func.__name__ != "twice"
    def on_end(self, event):
        pass

counter = Counter()
event.register("numba:compile", counter)
if __name__ == "__main__":
    answers = [eval(question) for question in sys.argv[1:]]
    print(json.dumps({"answers": answers, "compiled": counter.count, "folder": str(cache_folder())}))
"""


class Toys:
    """Runs expressions with the kernels of ``toy.py``, in processes with one cache folder."""

    def __init__(self, path):
        self.path = path
        self.cache = path / "cache"
        self.environment = {**os.environ, "NUMBA_CACHE_DIR": str(self.cache)}
        self.environment.pop("NUMBA_DISABLE_JIT", None)
        (path / "toy.py").write_text(TOY)

    def start(self, *questions, **environment):
        command = [sys.executable, str(self.path / "toy.py"), *questions]
        environment = self.environment | environment
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def finish(self, process):
        """Output as a dictionary, with standard error in it."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return json.loads(out) | {"stderr": err}

    def run(self, *questions, **environment):
        return self.finish(self.start(*questions, **environment))

    def files(self):
        """Files of the cache, of all versions."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file())


@pytest.fixture
def toys(tmp_path):
    return Toys(tmp_path)
