"""Sibling files of a ``.tra``: state names (``.sta``), labels (``.lab``), rewards (``.srew``, ``.trew``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.chain.rows import entries
from klump.errors import FileFormatError
from klump.files import explicit_labels
from klump.files.explicit_lines import read_table
from klump.files.explicit_states import read_states, write_states
from klump.files.gate import FETCH_AGAIN, guard_reading, quote
from klump.files.matrix_market_lines import Lines
from klump.files.streams import create_text, open_bytes

if TYPE_CHECKING:
    from klump.chain import MarkovChain

_STEM = re.compile(r"(.*)\.tra(?:\.gz)?", re.IGNORECASE | re.DOTALL)
_KINDS = ("sta", "lab", "srew", "trew")
_NAME = re.compile(rb'#\s*Reward structure\s+"([^"]*)"\s*')
# Largest number of reward structures that are looked for.
_MAX_REWARDS = 1000

write_prism_labels = explicit_labels.write_prism_labels
write_storm_labels = explicit_labels.write_storm_labels


class Siblings(NamedTuple):
    """What the sibling files say about a chain."""

    states: list[Hashable] | None
    labels: Mapping[str, NDArray[np.intp]] | None
    initial: NDArray[np.float64] | None
    rewards: Mapping[str, Any] | None


def stem_of(path: Path) -> str:
    """Name that the files of a model share.

    >>> stem_of(Path("models/die.tra.gz"))
    'die'
    """
    found = _STEM.fullmatch(path.name)
    return path.name if found is None else found[1]


def existing(path: Path) -> list[Path]:
    """Sibling files that exist.

    Several reward structures have numbers, ``die1.srew``, ``die2.srew``, unless there is a model of that name.
    """
    stem = stem_of(path)
    names = [f"{stem}.{kind}" for kind in _KINDS]
    for number in range(1, _MAX_REWARDS):
        rewards = [f"{stem}{number}.{kind}" for kind in ("srew", "trew")]
        is_model = any(path.with_name(f"{stem}{number}.tra{end}").exists() for end in ("", ".gz"))
        if is_model or not any(_either(path, name) for name in rewards):
            break
        names += rewards
    return [file for name in names if (file := _either(path, name)) is not None]


def _either(path: Path, name: str) -> Path | None:
    """File of this name, plain or compressed; None if there is none."""
    files = (path.with_name(name), path.with_name(f"{name}.gz"))
    return next((file for file in files if file.exists()), None)


def read_siblings(path: Path, n_states: int) -> Siblings:
    """Read the files beside a ``.tra``; errors name the file that they are about."""
    states, labels, initial = None, None, None
    rewards: dict[str, Any] = {}
    for file in existing(path):
        kind = file.name.removesuffix(".gz").rpartition(".")[2]
        with guard_reading(file):
            if kind == "sta":
                states = read_states(file, n_states)
            elif kind == "lab":
                labels, initial = explicit_labels.read_labels(file, n_states)
            else:
                name, reward = _read_reward(file, n_states, 1 if kind == "srew" else 2)
                _add_reward(rewards, name, reward)
    return Siblings(states, labels, initial, rewards or None)


def _read_reward(path: Path, n_states: int, n_indices: int) -> tuple[str, Any]:
    """Name of a reward structure, and the rewards of states (n,) or of transitions (n x n)."""
    name = "reward"
    with open_bytes(path) as (stream, _):
        lines = Lines(stream)
        line = lines.next_line()
        while line.startswith(b"#") or (line and not line.strip()):
            if found := _NAME.fullmatch(line.strip()):
                name = found[1].decode("utf-8")
            line = lines.next_line()
        words = line.split()
        if len(words) != 2 or not all(re.fullmatch(rb"[0-9]{1,18}", word) for word in words):
            raise FileFormatError(
                f"line {lines.number}: {quote(line.strip())} is not the number of states and of rewards",
                remedy=FETCH_AGAIN,
            )
        if int(words[0]) != n_states:
            raise FileFormatError(
                f"line {lines.number}: {int(words[0]):,} states, but the .tra file has {n_states:,}",
                remedy="give the files of one model the same name",
            )
        indices, values = read_table(lines, n_states, n_indices)
    if len(values) != int(words[1]):
        raise FileFormatError(
            f"the header announces {int(words[1]):,} rewards, but {len(values):,} follow", remedy=FETCH_AGAIN
        )
    if n_indices == 2:
        return name, sparse.csr_array((values, tuple(indices)), shape=(n_states, n_states))
    reward = np.zeros(n_states)
    np.add.at(reward, indices[0], values)
    return name, reward


def _add_reward(rewards: dict[str, Any], name: str, reward: Any) -> None:
    """Add a reward structure; PRISM writes both files of one, of which mostly one holds zeros only."""
    if name in rewards and not _is_zero(rewards[name]) and _is_zero(reward):
        return
    if name in rewards and not _is_zero(rewards[name]):
        again = f"{name} (transitions)" if sparse.issparse(reward) else name
        name = next(
            free for free in (again, *(f"{again} {i}" for i in range(2, 10**6))) if free not in rewards
        )
    rewards[name] = reward


def _is_zero(reward: Any) -> bool:
    return not (reward.data if sparse.issparse(reward) else reward).any()


def writers(
    chain: MarkovChain, path: Path, write_labels: Callable[[MarkovChain, Path], None]
) -> dict[Path, Callable[[Path], None]]:
    """Sibling files for what the chain has, and their writers."""
    stem = stem_of(path)
    files: dict[Path, Callable[[Path], None]] = {}
    if chain.has_names:
        files[path.with_name(f"{stem}.sta")] = partial(write_states, chain)
    if chain.labels or chain.initial is not None:
        files[path.with_name(f"{stem}.lab")] = partial(write_labels, chain)
    for number, (name, reward) in enumerate(chain.rewards.items(), start=1):
        kind = "trew" if sparse.issparse(reward) else "srew"
        count = str(number) if len(chain.rewards) > 1 else ""
        files[path.with_name(f"{stem}{count}.{kind}")] = partial(_write_reward, name, reward)
    return files


def _write_reward(name: str, reward: Any, path: Path) -> None:
    explicit_labels.check_text(name, "reward")
    with create_text(path) as stream:
        stream.write(f'# Reward structure "{name}"\n')
        if sparse.issparse(reward):
            stream.write(f"# Transition rewards\n{reward.shape[0]} {np.count_nonzero(reward.data)}\n")
            for row, col, value in entries(reward):
                triples = zip(row.tolist(), col.tolist(), value.tolist(), strict=True)
                stream.writelines(f"{i} {j} {amount!r}\n" for i, j, amount in triples)
            return
        states = np.flatnonzero(reward)
        stream.write(f"# State rewards\n{len(reward)} {len(states)}\n")
        stream.writelines(
            f"{i} {amount!r}\n" for i, amount in zip(states.tolist(), reward[states].tolist(), strict=True)
        )
