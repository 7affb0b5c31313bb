"""Valid files of every format, small, as a path inside a folder and its content."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import klump
import models
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


def die() -> klump.MarkovChain:
    """A die with labels, initial state and rewards of states and transitions."""
    model = models.knuth_yao_die()
    jumps = model.matrix.copy()
    jumps.data = np.arange(1.0, jumps.nnz + 1)
    return klump.MarkovChain(
        model.matrix,
        model.names,
        labels={label: [model.names[i] for i in states] for label, states in model.labels.items()},
        initial=model.names[model.initial],
        rewards={**model.rewards, "jumps": jumps},
    )


def tra() -> list[Files]:
    return chain_files("model.tra", die(), *sparse_chains(), *dense_chains())


def tra_variants() -> list[Files]:
    """Rationals, actions, comments, the rows variant, deadlocks, unnamed rewards."""
    texts = (
        b"# Transitions (DTMC)\n3 5\n0 0 9/10\n0 1 1/10\n# half\n1 1 0.5 go\n1 2 5e-1 stay\n2 0 1\n",
        b"3 4\n0 0.5:0 0.5:1\n1 1/3:1 2/3:2 act\n",
        b"dTmC\n\n 0\t1   1\n1 0 0.5\n1 2 0.5\n",
    )
    more = {
        "model.sta": b"(s,b)\n0:(0,true)\n1:(-1,false)\n2:(7,true)\n",
        "model.lab": b'0="init" 1="deadlock" 2="a b"\n0: 0 2\n2: 1 2\n',
        "model.srew": b"3 2\n0 1.5\n2 1/3\n",
        "model1.trew": b'# Reward structure "x"\n# Transition rewards\n3 1\n0 1 -2\n',
    }
    return [{"model.tra": text, **(more if number else {})} for number, text in enumerate(texts)]


def tra_rates() -> list[Files]:
    rates = b"0 1 2.0\n0 0 1.0\n1 0 3\n1 2 1\n2 2 4\n"
    labels = b"#DECLARATION\ninit goal\n#END\n0 init\n2 goal\n"
    return [{"model.tra": start + rates, "model.lab": labels} for start in (b"ctmc\n", b"3 5\n")]


def storm_tra() -> list[Files]:
    plain = klump.MarkovChain(ring(6), labels={"odd": [1, 3, 5]}, initial=2)
    return chain_files("model.storm.tra", die(), plain)


DRN = b"""// Exported by storm
@type: %s
@value_type: double
@parameters

@reward_models
%s
@nr_states
3
@nr_choices
3
@placeholders
$x : 0.25
$y : 3/4
@model
state 0%s init "a b"
//[s=0\t& !b]
\taction 0%s
\t\t1 : $x
\t\t2 : $y
state 1%s
//[s=1\t& b]
\taction __NOLABEL__
\t\t0 : 1
state 2%s done
//[s=2\t& b]
\taction "go on" %s
\t\t2 : 1
"""


def drn() -> list[Files]:
    text = DRN % (b"DTMC", b"a b", b" [1, 2]", b" [0, 1/2]", b" [0, 0]", b" [3.5, -1]", b"[0, 0]")
    return [*chain_files("model.drn", die(), *sparse_chains()), {"model.drn": text}]


def drn_rates() -> list[Files]:
    text = DRN % (b"CTMC", b"", b" !1", b"", b" !1", b" !1.0", b"")
    scaled = text.replace(b"!1\n", b"!2.5\n")
    return [{"model.drn": text}, {"model.drn": scaled}]


def umb() -> list[Files]:
    files = chain_files("model.umb", die(), klump.MarkovChain(ring(70), labels={"x y": [3]}, initial=5))
    (plain,) = files[0].values()
    packed = [gzip.compress(plain, mtime=0), lzma.compress(plain)]
    return [*files, *({"model.umb": content} for content in packed)]


def graphml() -> list[Files]:
    foreign = b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>
<key id="d1" for="node" attr.name="goal" attr.type="boolean"/>
<graph edgedefault="undirected"><node id="a"><data key="d1">true</data></node><node id="b"/>
<edge source="a" target="b"><data key="d0">1.5</data></edge><edge source="b" target="b"/></graph></graphml>"""
    return [*chain_files("model.graphml", die(), *sparse_chains()), {"model.graphml": foreign}]


def parquet() -> list[Files]:
    integers = klump.MarkovChain(ring(6), [5, 3, 1, 0, 2, 4])
    return chain_files("model.parquet", die(), klump.MarkovChain(ring()), integers)


def no_suffix() -> list[Files]:
    """Formats that are told by their content."""
    made = [
        tra()[1]["model.tra"],
        mtx()[0]["model.mtx"],
        npz_dense()[0]["model.npz"],
        drn()[0]["model.drn"],
        gzip.compress(csv_transitions()[0]["model.csv"], mtime=0),
        b"source target\na b\nb a\nb b\n",
        b"from;to;weight\na;b;1\nb;a;2\n",
    ]
    return [{"model.txt": content} for content in made]


def compress_xz(files: list[Files]) -> list[Files]:
    return [{f"{name}.xz": lzma.compress(text) for name, text in each.items()} for each in files]


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
        "path": lambda chain: klump.beta_path(
            chain, 3, betas=[1.0, 0.5], n_init=2, random_state=0
        ).with_names(["in", "out", "ä \\"]),
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
        ".csv.gz": lambda: [gzip.compress(files["labels.csv"], mtime=0) for files in labels(".csv")],
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
