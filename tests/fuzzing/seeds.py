"""Valid files of every format, small, as a path inside a folder and its content."""

from __future__ import annotations

import gzip
import io
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import klump
from klump.experiments import trials

Files = dict[str, bytes]

DENSE = np.array(
    [
        [0.5, 0.2, 0.1, 0.1, 0.05, 0.05],
        [0.25, 0.45, 0.1, 0.1, 0.05, 0.05],
        [0.05, 0.05, 0.5, 0.3, 0.05, 0.05],
        [0.05, 0.05, 0.35, 0.45, 0.05, 0.05],
        [0.02, 0.08, 0.05, 0.05, 0.6, 0.2],
        [0.05, 0.05, 0.05, 0.05, 0.3, 0.5],
    ]
)
NAMES = ["sun", "rain", "a b", "ä", "x,y", "-7"]
# Arguments of the pieces of an experiment, and their results.
POWERS = [(1.5, 2.0), (2.0, 0.5), (3.0, -1.0), (10.0, 20.0)]
LABELS = [0, 0, 1, 1, 2, 2]


def ring(n: int = 40) -> sparse.csr_array:
    state = np.arange(n)
    rows, columns = np.tile(state, 3), np.concatenate([state, (state + 1) % n, (state - 1) % n])
    return sparse.csr_array((np.repeat([0.5, 0.3, 0.2], n), (rows, columns)), shape=(n, n))


def _collect(write: Callable[[Path], object]) -> Files:
    """Files that a function writes to a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def chain_files(name: str, *chains: klump.MarkovChain) -> list[Files]:
    """Each chain, as klump writes it to a file of this name."""
    return [_collect(lambda folder, chain=chain: klump.write_chain(chain, folder / name)) for chain in chains]


def dense_chains(*, names: bool = True) -> list[klump.MarkovChain]:
    plain = [klump.MarkovChain(DENSE)]
    return [*plain, klump.MarkovChain(DENSE, NAMES)] if names else plain


def sparse_chains(*, names: bool = True) -> list[klump.MarkovChain]:
    named = [
        klump.MarkovChain(ring(6), NAMES),
        klump.MarkovChain(ring(6), [(1, "a"), None, 2.5, "x", 7, True]),
    ]
    return [klump.MarkovChain(ring()), *(named if names else ())]


def labelled_chain() -> klump.MarkovChain:
    """Chain with labels, an initial distribution and rewards of both kinds."""
    rewards = {"cost": np.arange(6.0), "toll": sparse.eye_array(6), "ä": DENSE}
    labels = {"goal": NAMES[4:], "none": [], "all": NAMES}
    return klump.MarkovChain(ring(6), NAMES, labels=labels, initial={"sun": 3, "rain": 1}, rewards=rewards)


def npz_dense() -> list[Files]:
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        P=DENSE.astype(np.float32),
        other=np.arange(3),
        states_json=['"a"', "7", "[1]", "2.5", "null", "true"],
    )
    return [*chain_files("model.npz", *dense_chains(), labelled_chain()), {"model.npz": stream.getvalue()}]


def npz_sparse(*, compressed: bool) -> list[Files]:
    files = []
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.dia_array, sparse.bsr_array):
        stream = io.BytesIO()
        sparse.save_npz(stream, kind(ring(9)), compressed=compressed)
        files.append({"model.npz": stream.getvalue()})
    return [*files, *([] if compressed else chain_files("model.npz", *sparse_chains()))]


def mtx() -> list[Files]:
    texts = (
        "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 3\n1 1\n2 1\n3 2\n",
        "%%MatrixMarket matrix coordinate integer general\n\n3 3 4\n1 2 3\n2 3 1\n2 1 1\n3 1 12\n",
        "%%MatrixMarket matrix array real symmetric\n2 2\n0.5\n0.5\n0.5\n",
    )
    written = chain_files("model.mtx", klump.MarkovChain(DENSE), klump.MarkovChain(ring(12)))
    return [*written, *({"model.mtx": text.encode()} for text in texts)]


def csv_matrix() -> list[Files]:
    return [*chain_files("model.csv", *dense_chains()), {"model.csv": b"# counts\na,b\n3,1\n2,2\n"}]


def csv_transitions() -> list[Files]:
    counts = b"from,to,count\n10,2,1\n2,1,4\n1,10,3\n1,2,3\n"
    return [*chain_files("model.csv", *sparse_chains()), {"model.csv": counts}]


def compress(files: list[Files]) -> list[Files]:
    return [{f"{name}.gz": gzip.compress(text, mtime=0) for name, text in each.items()} for each in files]


def mapped() -> list[Files]:
    chain = klump.MarkovChain(ring(12))
    _ = chain.stationary_distribution
    restricted = klump.MarkovChain(np.pad(DENSE, (0, 1)) + np.diag([0.0] * 6 + [1.0]), restrict="largest")
    named = klump.MarkovChain(ring(6), [(1, "a"), None, 2.5, "x", 7, "ä"])
    return chain_files("model.mapped", chain, restricted, named, labelled_chain(), *sparse_chains())


def answers(kind: str) -> list[Files]:
    """A saved aggregation, path, grid or tree, of a dense and of a sparse chain."""
    made = {
        "aggregation": lambda chain: klump.aggregate(chain, 3, method="sequential", n_init=2, random_state=0),
        "path": lambda chain: klump.beta_path(chain, 3, betas=[1.0, 0.5], n_init=2, random_state=0),
        "grid": lambda chain: klump.grid(
            chain, [2, 3], betas=[1.0, 0.5], method="sequential", n_init=2, random_state=0
        ),
        "tree": lambda chain: klump.aggregate(chain, 2, method="agglomerative"),
        "soft": lambda chain: klump.aggregate(
            chain, 2, method="deterministic-annealing", n_init=2, random_state=0
        ),
    }[kind]
    chains = (klump.MarkovChain(DENSE, NAMES), klump.MarkovChain(ring(8)), labelled_chain())
    return [_collect(lambda folder, chain=chain: made(chain).save(folder / "answer.npz")) for chain in chains]


def labels(suffix: str) -> list[Files]:
    """Labels of the chain in ``chain.npz``, which is not mutated."""
    chain = {"chain.npz": npz_dense()[1]["model.npz"]}
    share = np.eye(3)[LABELS] * 0.8 + 0.2 / 3
    contents: list[bytes] = {
        ".txt": lambda: ["".join(f"{label}\n" for label in LABELS).encode(), b"a\na\nb\nb\nc\nc\n"],
        ".json": lambda: [
            json.dumps(LABELS).encode(),
            json.dumps({"states": NAMES, "labels": LABELS}).encode(),
            json.dumps({"states": NAMES, "mapping": share.tolist()}).encode(),
        ],
        ".csv": lambda: [
            b'state,group\nsun,0\nrain,0\na b,1\n\xc3\xa4,1\n"x,y",2\n-7,2\n',
            b"state,group,share_0,share_1\nsun,0,1,0\nrain,0,1,0\na b,1,0,1\n\xc3\xa4,1,0,1\n"
            b'"x,y",0,0.5,0.5\n-7,0,1,0\n',
        ],
        ".npy": lambda: [save(np.array(LABELS)), save(np.array(list("aabbcc"))), save(share)],
        ".npz": lambda: [answers("aggregation")[0]["answer.npz"], answers("soft")[0]["answer.npz"]],
    }[suffix]()
    return [{**chain, f"labels{suffix}": content} for content in contents]


def checkpoints() -> list[Files]:
    """Finished pieces of an experiment."""

    def write(folder: Path) -> None:
        trials.run_pieces("power", math.pow, POWERS, trials.Settings(n_jobs=1, directory=folder))

    return [_collect(write)]


def save(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()
