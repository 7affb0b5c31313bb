"""Names of groups: from their heaviest members, or given."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from klump.arguments import is_integer
from klump.chain.wording import CUT, format_state
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.aggregation.aggregation import Aggregation

# Largest number of members in a name, and of characters.
_MAX_MEMBERS = 3
_MAX_LENGTH = 24


def default_names(groups: Iterable[Sequence[Hashable]]) -> tuple[str, ...]:
    """Name each group by its heaviest members, at most three, in at most 24 characters.

    A number in parentheses tells apart groups that would have equal names; a group that is the most probable one of
    no state is named by its number.

    Parameters
    ----------
    groups
        Members of each group, the heaviest first.

    Examples
    --------
    >>> default_names([("e", "a", "o", "i"), (" ", "."), (7,), ("7",), ()])
    ('e a o', "' ' .", '7', '7 (2)', 'group 4')
    """
    taken: set[str] = set()
    names = []
    for number, members in enumerate(groups):
        name = wanted = _join(members) or f"group {number}"
        count = 2
        while name in taken:
            name = f"{wanted} ({count})"
            count += 1
        taken.add(name)
        names.append(name)
    return tuple(names)


def _join(members: Sequence[Hashable]) -> str:
    words = [format_state(state) for state in members[:_MAX_MEMBERS]]
    while len(words) > 1 and len(" ".join(words)) > _MAX_LENGTH:
        words.pop()
    text = " ".join(words)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - len(CUT)] + CUT


def check_names(names: Any, n_groups: int) -> tuple[str, ...]:
    """Return the names of all groups: distinct texts.

    >>> check_names(["vowels", "consonants"], 2)
    ('vowels', 'consonants')
    >>> check_names(["vowels", "vowels"], 2)
    Traceback (most recent call last):
    ...
    klump.errors.InvalidArgumentError: names holds 'vowels' twice; pass 2 different names
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidArgumentError(
            "must list a name per group, or map groups to names", argument="names", value=names
        )
    checked = tuple(names)
    if len(checked) != n_groups:
        raise InvalidArgumentError(
            f"has {len(checked)} entries, but there are {n_groups} groups",
            argument="names",
            remedy="pass a name per group, or a dict with some of them",
        )
    seen: set[str] = set()
    for name in checked:
        if not isinstance(name, str) or not name.strip():
            raise InvalidArgumentError(
                f"holds {name!r}", argument="names", remedy="pass texts that are not blank"
            )
        if name in seen:
            raise InvalidArgumentError(
                f"holds {name!r} twice", argument="names", remedy=f"pass {n_groups} different names"
            )
        seen.add(name)
    return tuple(str(name) for name in checked)


def rename(answer: Aggregation, names: Any) -> Aggregation:
    """Return the same answer with other names of groups; ``names`` as in :meth:`Aggregation.with_names`."""
    if isinstance(names, Mapping):
        names = _replace_some(answer.names, names)
    renamed = copy.copy(answer)  # keeps costs and masses that are computed already
    renamed.__dict__.pop("names", None)
    renamed.__dict__["group_names"] = check_names(names, answer.n_states)
    return renamed


def _replace_some(names: tuple[str, ...], given: Mapping[Any, Any]) -> list[Any]:
    place = {name: number for number, name in enumerate(names)}
    found: list[Any] = list(names)
    for key, name in given.items():
        number = place.get(key, -1) if isinstance(key, str) else key
        if not is_integer(number) or not 0 <= number < len(names):
            raise InvalidArgumentError(
                f"renames {key!r}, which is no group",
                argument="names",
                remedy=f"rename groups by number, 0 to {len(names) - 1}, or by name",
            )
        found[number] = name
    return found


def names_of_labels(labels: Any, n_groups: int) -> tuple[str, ...] | None:
    """Names of groups that are labelled by texts, in the order in which they first appear; None for other labels.

    >>> names_of_labels(["dry", "wet", "dry"], 2), names_of_labels([0, 1, 0], 2)
    (('dry', 'wet'), None)
    """
    named = getattr(labels, "group_names", None)
    if named is not None:
        return tuple(named)
    if isinstance(labels, str | Mapping) or not isinstance(labels, Iterable) or hasattr(labels, "indptr"):
        return None
    if getattr(labels, "ndim", 1) != 1:
        return None
    found: dict[str, None] = {}
    for label in labels:
        if not isinstance(label, str) or not label.strip():
            return None
        found.setdefault(str(label))
    return tuple(found) if len(found) == n_groups else None
