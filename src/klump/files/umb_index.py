"""``index.json`` of a ``.umb`` archive: sizes, types and annotations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scipy import sparse

from klump.errors import FileFormatError
from klump.files.explicit_lines import MAX_STATES
from klump.files.gate import FETCH_AGAIN, quote

if TYPE_CHECKING:
    from klump.chain import MarkovChain

# Version of the format that is read and written.
_VERSION = 1
_TIMES: dict[str, Literal["discrete", "continuous"]] = {"discrete": "discrete", "stochastic": "continuous"}
_DOUBLE = {"type": "double", "size": 64}
_PLACES = ("states", "choices", "branches")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Name of a reward that has none.
_UNNAMED = "reward"


class Index(NamedTuple):
    """What the index says about a chain."""

    time: Literal["discrete", "continuous"]
    n_states: int
    n_branches: int
    labels: dict[str, str]
    """Folder of each label."""
    rewards: dict[str, tuple[str, list[str]]]
    """Folder of each reward, and to what it applies: states, choices, branches."""
    valuations: Any
    """Description of the valuations of states, or None."""


def parse_index(content: bytes) -> Index:
    """Parse and check the index; models that are no Markov chains are an error."""
    index = json.loads(content)
    version = index.get("format-version")
    if type(version) is not int or version > _VERSION:
        raise FileFormatError(f"index.json has the format version {quote(str(version))}, not {_VERSION}")
    system = index["transition-system"]
    time = _parse_type(system)
    n_states, n_choices, n_branches = (_count(system, f"#{what}") for what in _PLACES)
    if n_choices != n_states:
        raise FileFormatError(
            f"index.json: {n_states:,} states have {n_choices:,} choices, so that this is no Markov chain",
            remedy="give a DTMC or CTMC: fix a strategy first",
        )
    for key in ("branch-probability-type", "exit-rate-type"):
        kind = system.get(key, _DOUBLE)
        if kind.get("type") != "double" or kind.get("size", 64) != 64:
            raise FileFormatError(
                f"index.json: {key} is {quote(str(kind.get('type')))} of {quote(str(kind.get('size')))} bits, "
                "which is not read",
                remedy="write probabilities as double",
            )
    annotations = index.get("annotations", {})
    labels: dict[str, str] = {}
    rewards: dict[str, tuple[str, list[str]]] = {}
    for key, entry in annotations.get("aps", {}).items():
        if "states" in _applies_to(entry):
            labels[_free_name(entry.get("alias") or key, labels)] = key
    for key, entry in annotations.get("rewards", {}).items():
        if entry.get("type", _DOUBLE).get("type") != "double":
            raise FileFormatError(
                f"index.json: the reward {quote(key)} is not of type double", remedy="write it as double"
            )
        name = entry.get("alias") or (_UNNAMED if key == "default" else key)
        rewards[_free_name(name, rewards)] = (key, _applies_to(entry))
    return Index(time, n_states, n_branches, labels, rewards, index.get("valuations", {}).get("states"))


def _parse_type(system: dict[str, Any]) -> Literal["discrete", "continuous"]:
    time = _TIMES.get(system["time"])
    players, observations = system.get("#players", 0), system.get("#observations", 0)
    if time is None or players != 0 or observations != 0:
        kind = "MA" if time is None else "MDP" if players == 1 else "game" if players else "model"
        kind = f"PO{kind}" if observations and kind == "MDP" else kind
        raise FileFormatError(
            f"index.json: this is a {kind} (time {quote(str(system['time']))}, {quote(str(players))} players, "
            f"{quote(str(observations))} observations), not a Markov chain",
            remedy="give a DTMC or CTMC: fix a strategy first",
        )
    return time


def _count(system: dict[str, Any], key: str) -> int:
    count = system[key]
    if type(count) is not int or not 0 <= count <= (2**60 if key == "#branches" else MAX_STATES):
        raise FileFormatError(f"index.json: {quote(str(count))} is no {key}", remedy=FETCH_AGAIN)
    return count


def _applies_to(entry: dict[str, Any]) -> list[str]:
    return [place for place in _PLACES if place in entry.get("applies-to", ())]


def _free_name(name: Any, taken: dict[str, Any]) -> str:
    if not isinstance(name, str) or name in taken:
        raise FileFormatError(
            f"index.json: {quote(str(name))} is not the name of one label or reward", remedy=FETCH_AGAIN
        )
    return name


def write_index(
    chain: MarkovChain, n_branches: int, valuations: Any
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Return the index of a chain, and the folders of its labels and of its rewards."""
    labels = {name: _folder(name, "label", i) for i, name in enumerate(chain.labels)}
    rewards = {name: _folder(name, "reward", i) for i, name in enumerate(chain.rewards)}
    n_initial = 0 if chain.initial is None else int((chain.initial > 0).sum())
    system = {
        "time": "discrete",
        "#players": 0,
        "#states": chain.n_states,
        "#initial-states": n_initial,
        "#choices": chain.n_states,
        "#choice-actions": 0,
        "#branches": n_branches,
        "#branch-actions": 0,
        "#observations": 0,
        "branch-probability-type": _DOUBLE,
    }
    annotations: dict[str, Any] = {}
    if labels:
        annotations["aps"] = {
            key: {"alias": name, "applies-to": ["states"], "type": {"type": "bool", "size": 1}}
            for name, key in labels.items()
        }
    if rewards:
        annotations["rewards"] = {
            key: {
                "alias": name,
                "applies-to": ["branches" if sparse.issparse(chain.rewards[name]) else "states"],
                "type": _DOUBLE,
            }
            for name, key in rewards.items()
        }
    index: dict[str, Any] = {
        "format-version": _VERSION,
        "format-revision": 0,
        "file-data": {"tool": "klump"},
        "transition-system": system,
    }
    if annotations:
        index["annotations"] = annotations
    if valuations is not None:
        index["valuations"] = {"states": valuations}
    return index, labels, rewards


def _folder(name: str, kind: str, number: int) -> str:
    """Folder of a label or reward: its name, unless that has other characters than letters and digits."""
    taken = name.startswith(f"{kind}-") or name == "default"
    return name if _KEY.fullmatch(name) and not taken else f"{kind}-{number}"
