"""Chains larger than memory.

A subprocess gets a limit on data memory (RLIMIT_DATA) that is smaller than the transitions of the chain, on top of the
memory of Python and the compiled kernels. A copy of the transitions would raise MemoryError.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.files import write_mapped

resource = pytest.importorskip("resource")

N_GROUPS = 10
# Memory limit per size of the transitions, of which float64 values are 2/3 and int32 columns 1/3.
SHARE = 0.3

LIMIT = """
import re, resource, sys
import numpy as np
import klump
from klump.chain import rows
from klump.files.conversion import convert_chain

rows.MAX_BLOCK_TRANSITIONS = 2**15  # the ratio of block to chain of a really large chain

def limit(size):
    now = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (now + int(size), resource.RLIM_INFINITY))

small, large, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
"""

EVERYTHING = """
def everything(folder):
    chain = klump.read_chain(folder + "/chain.mapped")
    labels = np.arange(chain.n_states) % 5
    costs = klump.score(chain, labels)
    answer = klump.Aggregation.from_labels(chain, labels)
    assert answer.cost == costs.at(0.5) > 0.0
    entropy = klump.information.entropy(chain.stationary_distribution)
    assert abs(chain.entropy_rate + chain.redundancy_rate - entropy) < 1e-9
    assert abs(chain.joint.sum() - 1.0) < 1e-9
    assert 0.0 < answer.bisimulation.epsilon < 1.0
    assert not chain.is_reversible and not klump.is_lumpable(chain, labels)
    klump.write_chain(chain, folder + "/copy.mapped")
    other = convert_chain(folder + "/chain.npz", folder + "/other.mapped", restart=0.1, initial=0, restrict="largest")
    assert other.n_states == chain.n_states and other.stationary_distribution[0] > 0.1
    return chain

everything(small)  # warm-up: imports and compilation
chain = klump.read_chain(large + "/chain.mapped")
size = chain.n_transitions * 12
del chain
limit(share * size)
everything(large)
print("done", size)
"""

SEARCH = """
from klump.search.method import Task
from klump.search.multilevel import multilevel
from klump.sources.random_chains import random_chain

# Warm-up: imports and compilation, with chains with and without groups; aggregate treats small chains differently.
for chain in (klump.read_chain(small + "/chain.mapped"), random_chain(300, kind="sparse", random_state=0)):
    klump.score(chain, np.arange(chain.n_states) % 10)
    for beta in (0.5, 0.3):
        multilevel(Task(chain, 10, beta))
chain = klump.read_chain(large + "/chain.mapped")
size = chain.n_transitions * 12
limit(share * size)
planted = klump.score(chain, np.arange(chain.n_states) % 10)
for beta in (0.5, 0.3):
    answer = klump.aggregate(chain, 10, beta=beta)
    assert answer.cost <= planted.at(beta) + 1e-9
    assert len(set(answer.labels.tolist())) == 10
print("done", size)
"""

COPIED = """
chain = klump.read_chain(large + "/chain.mapped")
limit(share * chain.n_transitions * 12)
try:
    klump.MarkovChain(chain.transition_matrix)
except MemoryError:
    print("no room")
"""


def blocks(n, degree, size, rng):
    """Row blocks of a metastable chain: 90 % of the transitions stay in the group, one leads to the next state."""
    for first in range(0, n, size):
        row = np.arange(first, min(first + size, n))
        inside = N_GROUPS * rng.integers(n // N_GROUPS, size=(len(row), degree)) + (row % N_GROUPS)[:, None]
        inside[:, ::10] = rng.integers(n, size=(len(row), -(-degree // 10)))
        inside[:, 0], inside[:, 1] = (row + 1) % n, row
        ends = np.arange(len(row) + 1) * degree
        yield sparse.csr_array((1.0 - rng.random(inside.size), inside.ravel(), ends), shape=(len(row), n))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A small chain above the limit of dense elimination, and one of several million transitions."""
    rng = np.random.default_rng(0)
    folders = []
    for n, degree in ((2500, 20), (20_000, 200)):
        folders.append(tmp_path_factory.mktemp("chains"))
        write_mapped(folders[-1] / "chain.mapped", blocks(n, degree, 1000, rng), normalize=True)
        klump.write_chain(klump.read_chain(folders[-1] / "chain.mapped"), folders[-1] / "chain.npz")
    return folders


def run(code, folders):
    return subprocess.run(
        [sys.executable, "-c", LIMIT + code, *map(str, folders), str(SHARE)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what is not mapped from files")
@pytest.mark.parametrize("code", [EVERYTHING, SEARCH], ids=["everything but a search", "search"])
def test_larger_than_memory(folders, code):
    result = run(code, folders)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[1]) > 4e7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what is not mapped from files")
def test_the_limit_forbids_a_copy(folders):
    """A copy of the transitions does not fit within the limit."""
    result = run(COPIED, folders)
    assert result.stdout == "no room\n", result.stderr
