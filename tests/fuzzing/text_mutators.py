"""Mutations of text: numbers, lines, fields and JSON values."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from fuzzing.byte_mutators import BYTE_MUTATORS, Mutator, mutate

NUMBERS = (
    *("0", "-0", "-1", "1", "2", "3", "1000000", "100000000", "900000000", "2147483647", "2147483648"),
    *("4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 5000),
    *(
        "1e308",
        "1e309",
        "-1e309",
        "1e-320",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1_0",
        "1,9",
        "1.5",
        "1e5",
        "1e",
        "",
    ),
    *("+1", "--1", "1.0.0", "٣", "1d0", "True", "null", "0.1" + "0" * 5000, "1;2", "1 2", " 1 "),
)
WORDS = (
    "",
    " ",
    "-7",
    "a\rb",
    '"',
    "from",
    "#",
    "é",
    "\ud800",
    "x" * 200_000,
    "\0",
    "nan",
    "general",
    "coordinate",
)
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_%]+")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _replace_match(
    content: bytes, pattern: re.Pattern[str], choices: tuple[str, ...], rng: random.Random
) -> bytes:
    text = content.decode("utf-8", "replace")
    # Headers matter most: every second change is within the first matches.
    found = list(pattern.finditer(text))
    if not found:
        return content
    match = rng.choice(found[:6] if rng.random() < 0.5 else found)
    return _encode(text[: match.start()] + rng.choice(choices) + text[match.end() :])


def change_number(content: bytes, rng: random.Random) -> bytes:
    return _replace_match(content, _NUMBER, NUMBERS, rng)


def change_word(content: bytes, rng: random.Random) -> bytes:
    return _replace_match(content, _WORD, WORDS, rng)


def change_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    i, j = (min(rng.randrange(len(lines)), rng.choice((2, 10**6))) for _ in range(2))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        lines.insert(i, rng.choice((b"\n", b"% c\n", b"# c\n", b" \n", b"\r\n")))
    elif kind == 4:
        lines[-1] = lines[-1].rstrip(b"\n") + rng.choice((b"", b" ", b"\t", b"\0", b"\r"))
    elif kind == 5:
        lines[i] = lines[i].rstrip(b"\n")
    else:
        lines[i] = lines[i].rstrip(b"\n") + rng.choice((b" 1\n", b",1\n", b"\r", b" x\n", b" \n"))
    return b"".join(lines)


def change_separators(content: bytes, rng: random.Random) -> bytes:
    old, new = rng.choice(
        ((b"\n", b"\r\n"), (b"\n", b"\r"), (b",", b";"), (b" ", b"\t"), (b",", b"\t"), (b" ", b"  "))
    )
    return content.replace(old, new, rng.choice((1, -1)))


TEXT_MUTATORS: tuple[Mutator, ...] = (
    change_number,
    change_number,
    change_number,
    change_word,
    change_lines,
    change_lines,
    change_separators,
    lambda content, rng: mutate(content, BYTE_MUTATORS, rng),
    lambda content, rng: mutate(content, BYTE_MUTATORS, rng),
)

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        1.5,
        10**6,
        10**9,
        2**31,
        2**63,
        2**64,
        10**30,
        float("nan"),
        float("inf"),
    ),
    *(
        "",
        "a",
        "0",
        "\ud800",
        "klump/path",
        "\0",
        [],
        [[]],
        {},
        {"float": "nan"},
        {"float": "x"},
        {"bytes": "0g"},
    ),
    *({"a": 1, "b": 2}, [1, 2, 3], [None], ["a", "a"], [0.5, 0.5]),
)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Containers and keys of all values inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        found.append((value, key))
        _places(inner, found)
    return found


def change_json(content: bytes, rng: random.Random) -> bytes:
    """Change, delete or repeat a value; the document stays valid JSON, or nearly so."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content
    places = _places(document, [])
    if not places:
        return content
    container, key = rng.choice(places)
    kind = rng.randrange(8)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif kind == 2:
        other, other_key = rng.choice(places)
        container[key] = json.loads(json.dumps(other[other_key]))
    elif kind == 3:
        marked = "MARK"
        container[key] = marked
        replacement = rng.choice(
            ("9" * 5000, "[" * 100_000, "1e999", "-0", '"\\ud83d"', "NaN", "[" * 900 + "]" * 900)
        )
        return _encode(json.dumps(document).replace('"MARK"', replacement))
    else:
        container[key] = rng.choice(VALUES)
    return _encode(json.dumps(document))


JSON_MUTATORS: tuple[Mutator, ...] = (
    change_json,
    change_json,
    change_json,
    *TEXT_MUTATORS[:3],
    *TEXT_MUTATORS[-2:],
)
