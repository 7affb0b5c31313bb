"""Registry of what is fuzzed: a new format is one entry."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from fuzzing import seeds, targets
from fuzzing.archive_mutators import ARCHIVE_MUTATORS, ARRAY_MUTATORS, gzip_mutators
from fuzzing.byte_mutators import Mutator, mutate
from fuzzing.seeds import Files
from fuzzing.text_mutators import JSON_MUTATORS, TEXT_MUTATORS

# Mutators by the end of a file's name.
MUTATORS: dict[str, tuple[Mutator, ...]] = {
    ".gz": gzip_mutators(TEXT_MUTATORS),
    ".npz": ARCHIVE_MUTATORS,
    ".npy": ARRAY_MUTATORS,
    ".json": JSON_MUTATORS,
    "": TEXT_MUTATORS,
}


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
    *(_labels(suffix, targets.score, "labels") for suffix in (".txt", ".json", ".csv", ".npy", ".npz")),
    *(_labels(suffix, targets.initial_labels, "initial labels") for suffix in (".json", ".npy")),
    FuzzedFormat("checkpoints", seeds.checkpoints, targets.resume),
)
