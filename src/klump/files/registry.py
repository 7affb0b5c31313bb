"""Registry of file formats: the module that reads and writes each suffix.

A new format is a module with ``KEEPS``, ``read(path, *, add_up)`` and ``write(chain, path)``, and a line here. ``read``
returns :class:`Contents` and leaves the validation of the chain to ``MarkovChain``; its errors name the
line or array inside the file. :func:`read_contents` prefixes the file name, and makes one such error of whatever else
a reader raises.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.gate import guard_reading
from klump.files.recognition import guess, recognize

if TYPE_CHECKING:
    from klump.chain import MarkovChain
    from klump.chain.restart_record import Restart

# Longer suffixes precede the shorter ones that they end in.
MODULES = {
    ".npz": "klump.files.npz",
    ".npy": "klump.files.npy",
    ".mtx": "klump.files.matrix_market",
    ".mtx.gz": "klump.files.matrix_market",
    ".csv": "klump.files.csv_files",
    ".csv.gz": "klump.files.csv_files",
    ".tsv": "klump.files.csv_files",
    ".tsv.gz": "klump.files.csv_files",
    ".storm.tra": "klump.files.storm_tra",
    ".storm.tra.gz": "klump.files.storm_tra",
    ".tra": "klump.files.prism_tra",
    ".tra.gz": "klump.files.prism_tra",
    ".drn": "klump.files.drn",
    ".drn.gz": "klump.files.drn",
    ".drn.xz": "klump.files.drn",
    ".umb": "klump.files.umb",
    ".graphml": "klump.files.graphml",
    ".graphml.gz": "klump.files.graphml",
    ".parquet": "klump.files.parquet",
    ".mapped": "klump.files.mapped",
}
# Names of formats, for files whose name does not tell.
FORMAT_NAMES = tuple(
    suffix.removeprefix(".") for suffix in MODULES if suffix.count(".") == 1 and suffix != ".mapped"
)


class Contents(NamedTuple):
    """Contents of a file: an unvalidated matrix, dense or sparse, and what else is known of the chain.

    Or a validated MarkovChain, which has its own state names, labels, initial distribution and rewards.
    """

    matrix: Any
    states: Sequence[Hashable] | None = None
    """State names."""
    labels: Mapping[str, Any] | None = None
    """Indices of the states that have each label."""
    initial: Any = None
    """Initial distribution."""
    rewards: Mapping[str, Any] | None = None
    """Rewards of states, or of transitions, by name."""
    time: Literal["discrete", "continuous"] | None = None
    """Whether the file says that the matrix holds probabilities or rates; None if it does not say."""
    restart: Restart | None = None
    """The restart that the transitions contain."""
    rate: float | None = None
    """Uniformisation rate, if the matrix was made of rates."""


class Format(Protocol):
    """Interface of a module for a file format."""

    KEEPS: Collection[str]
    """Parts of a chain that ``write`` keeps: of "names", "labels", "initial" and "rewards".

    Or less of them: "valuations" (names that are such), "used labels" (that a state has), "initial states" (without
    their probabilities), "state rewards" (not of transitions).
    """

    def read(self, path: Path, *, add_up: bool) -> Contents:
        """Read a matrix; ``add_up`` sums the weights of duplicate transitions, which are an error otherwise."""

    def write(self, chain: MarkovChain, path: Path) -> None:
        """Write a chain."""


def suffix_of(path: Path) -> str | None:
    """Known suffix of a name; None if it has none.

    >>> suffix_of(Path("die.storm.tra")), suffix_of(Path("model.CSV.gz")), suffix_of(Path("notes.txt"))
    ('.storm.tra', '.csv.gz', None)
    """
    name = path.name.lower()
    return next((suffix for suffix in MODULES if name.endswith(suffix)), None)


def format_of(path: Path) -> Format:
    """Module that writes a file, by its suffix; a mapped folder is recognised by its metadata file.

    >>> format_of(Path("model.csv.gz")).__name__
    'klump.files.csv_files'
    """
    suffix = suffix_of(path)
    if suffix is None and (path / "chain.json").is_file():
        suffix = ".mapped"
    if suffix is None:
        known = ", ".join(MODULES)
        raise FileFormatError(f"the suffix {path.suffix!r} is not known", remedy=f"choose one of {known}")
    return _load(suffix)


def format_to_read(path: Path, format: str | None = None) -> Format:
    """Module that reads a file: by the rule in :mod:`klump.files.recognition`."""
    if format is not None:
        if f".{format.lower()}" not in MODULES:
            raise InvalidArgumentError(
                "is not known",
                argument="format",
                value=format,
                remedy=f"choose one of {', '.join(FORMAT_NAMES)}",
            )
        return _load(f".{format.lower()}")
    if path.is_dir():
        return format_of(path)
    found = recognize(path) or suffix_of(path) or guess(path)
    return format_of(path) if found is None else _load(found)


def _load(suffix: str) -> Format:
    return cast(Format, import_module(MODULES[suffix]))


def read_contents(path: Path, *, add_up: bool, format: str | None = None) -> Contents:
    """Read a file of any format through the gate."""
    with guard_reading(path):
        return format_to_read(path, format).read(path, add_up=add_up)
