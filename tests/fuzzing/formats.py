"""Registry of what is fuzzed: a new format is one entry."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from fuzzing import seeds, targets
from fuzzing.archive_mutators import ARCHIVE_MUTATORS, ARRAY_MUTATORS, gzip_mutators
from fuzzing.byte_mutators import BYTE_MUTATORS, Mutator, mutate
from fuzzing.seeds import Files
from fuzzing.tar_mutators import TAR_MUTATORS, XML_MUTATORS, xz_mutators
from fuzzing.text_mutators import JSON_MUTATORS, TEXT_MUTATORS

# Mutators by the end of a file's name.
MUTATORS: dict[str, tuple[Mutator, ...]] = {
    ".graphml.gz": gzip_mutators(XML_MUTATORS),
    ".gz": gzip_mutators(TEXT_MUTATORS),
    ".xz": xz_mutators(TEXT_MUTATORS),
    ".umb": TAR_MUTATORS,
    ".graphml": XML_MUTATORS,
    ".parquet": BYTE_MUTATORS,
    ".npz": ARCHIVE_MUTATORS,
    ".npy": ARRAY_MUTATORS,
    ".json": JSON_MUTATORS,
    "": TEXT_MUTATORS,
}


# Files that a chain may be written to as a .tra.
TRA_FILES = tuple(
    f"out{number}.{kind}" for number in ("", 1, 2, 3) for kind in ("tra", "sta", "lab", "srew", "trew")
)


@dataclass(frozen=True)
class FuzzedFormat:
    """Valid files, and what is run on mutants of them.

    ``fixed`` are files that are never mutated; ``outputs`` may exist after the run, and no other new file.
    """

    name: str
    make_seeds: Callable[[], list[Files]]
    target: targets.Target
    fixed: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def mutant(self, files: Files, rng: random.Random) -> Files:
        """Change one of the files."""
        name = rng.choice([name for name in files if name not in self.fixed])
        mutators = next(kind for suffix, kind in MUTATORS.items() if name.endswith(suffix))
        return {**files, name: mutate(files[name], mutators, rng)}


def _labels(suffix: str, target: Callable[[str], targets.Target], word: str) -> FuzzedFormat:
    # Initial labels must be a partition, as the first two are.
    made = slice(2 if target is targets.initial_labels else None)
    name = f"labels{suffix}"
    return FuzzedFormat(
        f"{word} {suffix}", lambda: seeds.labels(suffix)[made], target(name), fixed=("chain.npz",)
    )


FORMATS = (
    FuzzedFormat("npz dense", seeds.npz_dense, targets.info("model.npz")),
    FuzzedFormat("npz sparse", lambda: seeds.npz_sparse(compressed=False), targets.info("model.npz")),
    FuzzedFormat("npz compressed", lambda: seeds.npz_sparse(compressed=True), targets.info("model.npz")),
    FuzzedFormat(
        "npy",
        lambda: seeds.chain_files("model.npy", *seeds.dense_chains(names=False)),
        targets.info("model.npy", "--normalize"),
    ),
    FuzzedFormat("mtx", seeds.mtx, targets.info("model.mtx", "--normalize")),
    FuzzedFormat("mtx.gz", lambda: seeds.compress(seeds.mtx()), targets.info("model.mtx.gz", "--normalize")),
    FuzzedFormat("csv matrix", seeds.csv_matrix, targets.info("model.csv", "--normalize")),
    FuzzedFormat("csv transitions", seeds.csv_transitions, targets.info("model.csv", "--normalize")),
    FuzzedFormat(
        "csv.gz", lambda: seeds.compress(seeds.csv_transitions()), targets.info("model.csv.gz", "--normalize")
    ),
    FuzzedFormat(
        "tsv",
        lambda: seeds.chain_files("model.tsv", *seeds.dense_chains(), *seeds.sparse_chains()),
        targets.info("model.tsv"),
    ),
    FuzzedFormat("tra", seeds.tra, targets.info("model.tra")),
    FuzzedFormat("tra variants", seeds.tra_variants, targets.info("model.tra", "--normalize")),
    FuzzedFormat("tra rates", seeds.tra_rates, targets.info("model.tra", "--ctmc")),
    FuzzedFormat("storm.tra", seeds.storm_tra, targets.info("model.storm.tra")),
    FuzzedFormat("tra.gz", lambda: seeds.compress(seeds.tra()), targets.info("model.tra.gz")),
    FuzzedFormat(
        "storm.tra.gz", lambda: seeds.compress(seeds.storm_tra()), targets.info("model.storm.tra.gz")
    ),
    FuzzedFormat("drn", seeds.drn, targets.info("model.drn")),
    FuzzedFormat("drn rates", seeds.drn_rates, targets.info("model.drn", "--ctmc")),
    FuzzedFormat("drn.gz", lambda: seeds.compress(seeds.drn()), targets.info("model.drn.gz")),
    FuzzedFormat("drn.xz", lambda: seeds.compress_xz(seeds.drn()), targets.info("model.drn.xz")),
    FuzzedFormat("umb", seeds.umb, targets.info("model.umb")),
    FuzzedFormat("graphml", seeds.graphml, targets.info("model.graphml", "--normalize")),
    FuzzedFormat(
        "graphml.gz",
        lambda: seeds.compress(seeds.graphml()),
        targets.info("model.graphml.gz", "--normalize"),
    ),
    FuzzedFormat("parquet", seeds.parquet, targets.info("model.parquet", "--normalize")),
    FuzzedFormat("no suffix", seeds.no_suffix, targets.info("model.txt", "--normalize")),
    FuzzedFormat("drn to tra", seeds.drn, targets.convert("model.drn", "out.tra"), outputs=TRA_FILES),
    FuzzedFormat("tra to umb", seeds.tra, targets.convert("model.tra", "out.umb"), outputs=("out.umb",)),
    FuzzedFormat("mapped", seeds.mapped, targets.info("model.mapped")),
    FuzzedFormat(
        "npz to mapped",
        lambda: seeds.npz_sparse(compressed=False),
        targets.convert("model.npz", "out.mapped"),
        outputs=("out.mapped",),
    ),
    *(
        FuzzedFormat(f"saved {kind}", lambda kind=kind: seeds.answers(kind), targets.load("answer.npz"))
        for kind in ("aggregation", "path", "grid", "tree", "soft")
    ),
    *(
        _labels(suffix, targets.score, "labels")
        for suffix in (".txt", ".json", ".csv", ".csv.gz", ".npy", ".npz")
    ),
    *(_labels(suffix, targets.initial_labels, "initial labels") for suffix in (".json", ".npy")),
    FuzzedFormat("checkpoints", seeds.checkpoints, targets.resume),
)
