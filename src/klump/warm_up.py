"""Compile all kernels in advance, by asking small questions of every kind.

numba compiles a kernel per array type, and writeability, alignment and the integer type are part of the type. So the
questions have dense, sparse and memory-mapped chains. Kernels for more than 2**31 transitions, whose indices are 64-bit
integers, are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from klump import compilation, signals
from klump.arguments import Progress, check_progress
from klump.errors import KlumpError
from klump.search.registry import METHODS

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Values of beta with and without A (beta = 1/2) and B (beta = 1), and one that traps poor starts (beta < 1/2).
_BETAS = (0.3, 0.5, 1.0)
# States above which "auto" includes the multilevel search, and one more.
_MULTILEVEL = 301
# States above which the stationary distribution is not found by dense elimination.
_MANY_STATES = 2001
# States and successors of a memory-mapped chain that is transposed bucket by bucket: more than 2**18 transitions.
_MAPPED_STATES = 2600
_MAPPED_DEGREE = 110


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up has done."""

    folder: Path
    """Folder with the compiled kernels."""
    n_files: int
    """Files in the folder, one per kernel and signature."""
    n_bytes: int
    """Size of the files."""
    n_compiled: int
    """Kernels and signatures that were compiled; the others were in the folder."""
    seconds: float
    """CPU time of compilation."""


def warm_up(progress: Progress | None = None) -> WarmUp:
    """Compile all kernels that are not in the cache.

    Parameters
    ----------
    progress
        Called as ``progress(done, total, nan)`` before each question.

    Raises
    ------
    KlumpError
        If nothing was kept.
    """
    before = len(compilation.compilations())
    report = check_progress(progress)
    for done, ask in enumerate(QUESTIONS.values()):
        if report is not None:
            report(done, len(QUESTIONS), nan)
        ask()
    seconds = [used.seconds for used in compilation.compilations()[before:] if used.seconds is not None]
    folder = compilation.cache_folder()
    sizes = [file.stat().st_size for file in folder.iterdir()] if folder.is_dir() else []
    if not sizes:
        raise KlumpError(
            f"no compiled kernels could be kept in {folder}",
            remedy="set NUMBA_CACHE_DIR to a folder of your own, and unset NUMBA_DISABLE_JIT",
        )
    return WarmUp(folder, len(sizes), sum(sizes), len(seconds), sum(seconds))


def _properties() -> None:
    from klump.sources.random_chains import random_chain

    for kind in ("dense", "sparse"):
        _look_at(random_chain(20, kind))


def _stationary_distributions() -> None:
    """The methods for large chains, and the one for weights whose products underflow."""
    import numpy as np
    from scipy import sparse

    from klump.chain import MarkovChain
    from klump.chain.kernels.flows import gauss_seidel
    from klump.sources.random_chains import random_chain

    rare = 1e-200
    _look_at(MarkovChain([[0, 1, 0, 0], [1 - rare, 0, rare, 0], [0, 1 - rare, 0, rare], [1, 0, 0, 0]]))
    _look_at(random_chain(_MANY_STATES, "sparse"))
    # Walks on a cycle mix slowly: a reversible one, and one with random drift.
    state = np.arange(_MANY_STATES)
    for right in (np.full(_MANY_STATES, 0.5), np.random.default_rng(0).uniform(0.2, 0.8, _MANY_STATES)):
        to = np.concatenate(((state + 1) % _MANY_STATES, (state - 1) % _MANY_STATES))
        entries = np.concatenate((right, 1 - right)), (np.concatenate((state, state)), to)
        _look_at(MarkovChain(sparse.csr_array(entries, shape=(_MANY_STATES, _MANY_STATES))))
    # The last resort, after seconds of sparse elimination: called directly.
    back: Any = random_chain(20, "sparse").transition_matrix
    gauss_seidel(back.indptr.copy(), back.indices.copy(), back.data.copy(), np.full(20, 0.05), 2)


def _dynamics() -> None:
    """Simulation, elimination with a record of rows, and the blocks of iterative solutions."""
    import numpy as np
    from scipy import sparse

    from klump.chain import MarkovChain
    from klump.dynamics.krylov import nearly_closed_blocks
    from klump.sources.random_chains import random_chain

    for kind in ("dense", "sparse"):
        random_chain(20, kind).simulate(5)
    n = _MANY_STATES + 1  # one of them is the target
    state = np.arange(n)
    chain = MarkovChain(sparse.csr_array((np.ones(n), (state, (state + 1) % n)), shape=(n, n)))
    chain.first_passage_times(target=0)
    nearly_closed_blocks(sparse.csr_array(chain.transition_matrix.T), np.full(n, 1.0 / n))


def _look_at(chain: MarkovChain) -> None:
    chain.stationary_distribution  # noqa: B018
    chain.is_reversible  # noqa: B018


def _few_states() -> None:
    from klump.aggregation import aggregate
    from klump.sources.random_chains import random_chain

    aggregate(random_chain(5), 2)
    aggregate(random_chain(5, "sparse", degree=2), 2)


def _exact() -> None:
    from klump.aggregation import aggregate, is_lumpable
    from klump.sources.random_chains import random_chain

    labels = [0] * 3 + [1] * 9
    for chain in (random_chain(12), random_chain(12, "sparse", degree=2)):
        # Tolerances that add up: groups are cut that no splitter has cut.
        for tolerance in (1e-10, 0.1):
            aggregate(chain, method="exact", initial=labels, tolerance=tolerance)
        is_lumpable(chain, labels)


def _method(method: str, kind: Any, n_states: int, betas: tuple[float, ...] = _BETAS) -> Callable[[], None]:
    def ask() -> None:
        from klump.aggregation import aggregate
        from klump.sources.random_chains import random_chain

        chain = random_chain(n_states, kind)
        for beta in betas:
            aggregate(chain, 4, beta, method, n_init=2)

    return ask


def _constraints(kind: Any, n_states: int) -> Callable[[], None]:
    def ask() -> None:
        from klump.aggregation import aggregate
        from klump.sources.random_chains import random_chain

        chain = random_chain(n_states, kind)
        for beta in _BETAS:
            aggregate(chain, 4, beta, n_init=2, must_link=[(0, 1)], cannot_link=[(0, 2)])

    return ask


def _mapped() -> None:
    from klump.aggregation import aggregate
    from klump.files import read_chain, write_chain
    from klump.sources.random_chains import random_chain

    with TemporaryDirectory() as folder, signals.removing(folder):
        for n_states, degree in ((_MULTILEVEL, 5), (_MAPPED_STATES, _MAPPED_DEGREE)):
            path = Path(folder) / f"{n_states}.mapped"
            write_chain(random_chain(n_states, "sparse", degree=degree), path)
            chain = read_chain(path)
            _look_at(chain)
            if n_states == _MULTILEVEL:
                aggregate(chain, 4, n_init=1)
            aggregate(chain, 4, 1.0, "sequential", n_init=1, max_sweeps=2)
            del chain


def _blocks() -> None:
    from klump.distributed import refine
    from klump.sources.random_chains import random_chain

    for kind in ("dense", "sparse"):
        refine(random_chain(20, kind), [0, 1] * 10, n_blocks=2)


_SEARCHES = [method for method in METHODS if method != "exact"]
# Methods that use other kernels on large chains than on small ones.
_SIZE_DEPENDENT = ("auto", "stochastic", "agglomerative", "agglomerative-relaxed")

QUESTIONS: dict[str, Callable[[], None]] = {
    "properties of a chain": _properties,
    "stationary distributions": _stationary_distributions,
    "dynamics": _dynamics,
    "few states": _few_states,
    "exact": _exact,
    **{f"{method}, dense": _method(method, "dense", 30) for method in _SEARCHES},
    **{f"{method}, sparse": _method(method, "sparse", 40) for method in _SEARCHES},
    **{
        f"{method}, {kind}, large": _method(method, kind, _MULTILEVEL)
        for method in _SIZE_DEPENDENT
        for kind in ("dense", "sparse")
    },
    **{
        f"constraints, {kind}, {n_states} states": _constraints(kind, n_states)
        for kind in ("dense", "sparse")
        for n_states in (40, _MULTILEVEL)
    },
    "memory-mapped": _mapped,
    "blocks of states": _blocks,
}
