"""``.umb``: Unified Markov Binary, the format that PRISM and Storm share.

A tar archive, plain or compressed by gzip or xz, with ``index.json`` and arrays in little-endian byte order: the CSR
matrix of a chain, bit sets of initial states and labels, rewards of states, choices and branches, and valuations of the
states. A chain has one choice per state, and its branches are the transitions.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import FileFormatError
from klump.files.compressed_matrices import build_compressed
from klump.files.explicit_labels import drop_deadlock, uniform
from klump.files.gate import FETCH_AGAIN, guard_place, quote
from klump.files.rate_matrices import rates_of
from klump.files.registry import Contents
from klump.files.tar_members import read_members
from klump.files.umb_index import Index, parse_index, write_index
from klump.files.umb_valuations import decode_valuations, encode_valuations

if TYPE_CHECKING:
    from klump.chain import MarkovChain

KEEPS = ("valuations", "labels", "initial states", "rewards")
_INDEX = "index.json"
_WANTED = re.compile(
    r"index\.json|[a-z-]+\.bin|annotations/(?:aps|rewards)/[^/]+/(?:states|choices|branches)/values\.bin"
    r"|valuations/states/valuations\.bin"
)


def read(path: Path, *, add_up: bool) -> Contents:
    """Read a chain with its labels, initial states, rewards and valuations."""
    members = read_members(path, lambda name: _WANTED.fullmatch(name) is not None)
    if _INDEX not in members:
        raise FileFormatError(f"the archive has no {_INDEX}", remedy="check the suffix")
    with guard_place(_INDEX):
        index = parse_index(members[_INDEX])
    arrays = _Arrays(members)
    matrix = _read_matrix(index, arrays)
    n = index.n_states
    initial = arrays.read_bits("state-is-initial.bin", n)
    bits = {
        name: np.flatnonzero(arrays.require_bits(f"annotations/aps/{key}/states/values.bin", n))
        for name, key in index.labels.items()
    }
    with guard_place("its member 'valuations/states/valuations.bin'"):
        states = decode_valuations(index.valuations, members.get("valuations/states/valuations.bin"), n)
    return Contents(
        matrix,
        states,
        drop_deadlock(bits) or None,
        None if initial is None else uniform(np.flatnonzero(initial), n),
        _read_rewards(index, arrays, matrix) or None,
        index.time,
    )


class _Arrays:
    """Arrays of an archive; each must have the length that the index announces."""

    def __init__(self, members: dict[str, bytes]) -> None:
        self._members = members

    def read(self, name: str, dtype: str, size: int) -> NDArray[Any] | None:
        """Array of ``size`` elements; None if there is no such member."""
        content = self._members.get(name)
        if content is None:
            return None
        if len(content) != size * np.dtype(dtype).itemsize:
            raise FileFormatError(
                f"its member {quote(name)} has {len(content):,} bytes instead of "
                f"{size * np.dtype(dtype).itemsize:,}",
                remedy=FETCH_AGAIN,
            )
        return np.frombuffer(content, dtype=dtype).astype(np.dtype(dtype).newbyteorder("="))

    def require(self, name: str, dtype: str, size: int) -> NDArray[Any]:
        """Array of ``size`` elements."""
        return _require(name, self.read(name, dtype, size))

    def read_bits(self, name: str, size: int) -> NDArray[np.bool_] | None:
        """Bit set, padded to a multiple of 8 bytes; None if there is no such member."""
        packed = self.read(name, "|u1", -(-size // 64) * 8)
        return None if packed is None else np.unpackbits(packed, count=size, bitorder="little").view(np.bool_)

    def require_bits(self, name: str, size: int) -> NDArray[np.bool_]:
        """Bit set of a label."""
        return _require(name, self.read_bits(name, size))


def _require(name: str, array: NDArray[Any] | None) -> NDArray[Any]:
    if array is None:
        raise FileFormatError(f"its member {quote(name)} is missing", remedy=FETCH_AGAIN)
    return array


def _read_matrix(index: Index, arrays: _Arrays) -> sparse.csr_array:
    n, n_branches = index.n_states, index.n_branches
    choices = arrays.read("state-to-choices.bin", "<u8", n + 1)
    if choices is not None and not np.array_equal(choices, np.arange(n + 1)):
        raise FileFormatError(
            "a state has several choices, or none, so that this is no Markov chain",
            remedy="give a DTMC or CTMC: fix a strategy first",
        )
    indptr = arrays.require("choice-to-branches.bin", "<u8", n + 1).astype(np.int64)
    target = arrays.require("branch-to-target.bin", "<u8", n_branches).astype(np.int64)
    weight = arrays.require("branch-to-probability.bin", "<f8", n_branches)
    if index.time == "continuous":
        rate = arrays.require("state-to-exit-rate.bin", "<f8", n)
    with guard_place("its transition matrix"):
        matrix: sparse.csr_array = build_compressed("csr", (weight, target, indptr), (n, n))
        if index.time == "continuous":
            matrix.data *= np.repeat(rate, np.diff(indptr))
        return matrix


def _read_rewards(index: Index, arrays: _Arrays, matrix: sparse.csr_array) -> dict[str, Any]:
    """Rewards by name: of states, to which those of their choices are added, or of transitions."""
    rewards: dict[str, Any] = {}
    for name, (key, places) in index.rewards.items():
        folder = f"annotations/rewards/{key}"
        total = np.zeros(index.n_states)
        for place in places:
            size = index.n_branches if place == "branches" else index.n_states
            values = arrays.require(f"{folder}/{place}/values.bin", "<f8", size)
            if place == "branches":
                parts = (values, matrix.indices, matrix.indptr)
                branches = sparse.csr_array(parts, shape=matrix.shape, copy=True)
                rewards[name if len(places) == 1 else f"{name} (transitions)"] = branches
            else:
                total += values
        if set(places) != {"branches"}:
            rewards[name] = total
    return rewards


def write(chain: MarkovChain, path: Path) -> None:
    """Write an archive that is not compressed; names are kept if they are valuations."""
    _write(_members(chain, sparse.csr_array(chain.transition_matrix)), path)


def write_rates(chain: MarkovChain, path: Path) -> None:
    """Write the rates of a uniformised chain."""
    rates = rates_of(chain)
    exit_rates = np.asarray(rates.sum(axis=1)).ravel()
    rates.data /= np.repeat(exit_rates, np.diff(rates.indptr))
    _write(_members(chain, rates, exit_rates), path)


def _write(members: Iterable[tuple[str, bytes]], path: Path) -> None:
    with path.open("wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def _members(
    chain: MarkovChain, matrix: sparse.csr_array, exit_rates: NDArray[np.float64] | None = None
) -> Iterator[tuple[str, bytes]]:
    names = encode_valuations(chain.states) if chain.has_names else None
    index, labels, rewards = write_index(chain, matrix.nnz, None if names is None else names[0])
    if exit_rates is not None:
        index["transition-system"] |= {"time": "stochastic", "exit-rate-type": {"type": "double", "size": 64}}
    yield _INDEX, json.dumps(index, indent=4).encode()
    if chain.initial is not None:
        yield "state-is-initial.bin", _pack_bits(chain.initial > 0)
    yield "choice-to-branches.bin", matrix.indptr.astype("<u8").tobytes()
    yield "branch-to-target.bin", matrix.indices.astype("<u8").tobytes()
    yield "branch-to-probability.bin", matrix.data.astype("<f8").tobytes()
    if exit_rates is not None:
        yield "state-to-exit-rate.bin", exit_rates.astype("<f8").tobytes()
    for name, key in labels.items():
        mask = np.zeros(chain.n_states, dtype=bool)
        mask[chain.labels[name]] = True
        yield f"annotations/aps/{key}/states/values.bin", _pack_bits(mask)
    for name, key in rewards.items():
        reward = chain.rewards[name]
        if sparse.issparse(reward):
            yield f"annotations/rewards/{key}/branches/values.bin", _on_branches(reward, matrix)
        else:
            yield f"annotations/rewards/{key}/states/values.bin", reward.astype("<f8").tobytes()
    if names is not None:
        yield "valuations/states/valuations.bin", names[1]


def _pack_bits(mask: NDArray[np.bool_]) -> bytes:
    packed = np.packbits(mask, bitorder="little").tobytes()
    return packed.ljust(-(-len(mask) // 64) * 8, b"\0")


def _on_branches(reward: Any, matrix: sparse.csr_array) -> bytes:
    """Rewards of the transitions, in their order."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    values = np.asarray(sparse.csr_array(reward)[rows, matrix.indices]).ravel()
    return values.astype("<f8").tobytes()
