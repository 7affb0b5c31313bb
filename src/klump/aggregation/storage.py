"""Answers on disk: an open format, exact to the last bit, without pickle.

A file is an uncompressed ``.npz``, which NumPy and anything that reads zip archives can open. Its entries:

``metadata``
    JSON text: the format and its version, the names of the states, what was applied to the chain, and for
    each aggregation its beta, gamma, method, seed, trace and number of groups; for a grid also the numbers of groups
    and the betas that it spans. Tuples are lists; bytes are ``{"bytes": hex}``, and floats that JSON lacks are
    ``{"float": "nan"}``.
``transition_matrix``, or ``data``, ``indices``, ``indptr``, ``shape``, ``format`` and ``_is_array``
    The matrix of a dense chain, or that of a sparse one as :func:`scipy.sparse.load_npz` reads it.
``stationary_distribution``, ``original_index``
    As the chain has them; a chain that is not irreducible has no ``stationary_distribution``.
``labels_0``, or ``map_0_data``, ``map_0_indices`` and ``map_0_indptr``
    The group of each state in aggregation 0, or its stochastic map in CSR form; 1, 2, ... likewise.
``record_0_...``
    The columns of what the method recorded on its way, if it did; the metadata tell of what kind they are.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.aggregation.aggregation import Aggregation, AggregationPath
from klump.aggregation.grids import AggregationGrid
from klump.aggregation.mapping import Mapping, as_mapping, from_labels
from klump.arguments import check_beta, check_gamma
from klump.chain import MarkovChain, validation
from klump.chain.connectivity import communicating_classes
from klump.errors import FileFormatError, InvalidArgumentError, KlumpError
from klump.search.method import Record

Arrays = dict[str, NDArray[Any]]
Saved = Aggregation | AggregationPath | AggregationGrid

_VERSION = 1
_AGGREGATION, _PATH, _GRID = "klump/aggregation", "klump/path", "klump/grid"
_FORMATS: dict[type, str] = {Aggregation: _AGGREGATION, AggregationPath: _PATH, AggregationGrid: _GRID}
# Types of the entries. A file never decides by itself as what it is read.
_FLOATS, _INTEGERS, _LABELS, _TEXT = ("float64",), ("int32", "int64"), ("int32",), ("bytes",)
_NUMBERS = (*_FLOATS, *_INTEGERS)
_CSR = {"data": _FLOATS, "indices": _INTEGERS, "indptr": _INTEGERS}


def save(answer: Saved, path: str | os.PathLike[str]) -> None:
    """Save an aggregation, a path or a grid, so that :func:`load` gives it back exactly.

    The file appears only when it is complete, and under exactly the name given.

    Parameters
    ----------
    answer
        What to save.
    path
        The name of the file; ``.npz`` is a fitting suffix, but none is required and none is added.

    Raises
    ------
    InvalidArgumentError
        If a state has a name other than text, bytes, a number, a truth value, None or a tuple of these.

    Examples
    --------
    >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
    >>> path = getfixture("tmp_path") / "answer.npz"
    >>> save(answer, path)
    >>> load(path).cost == answer.cost
    True
    """
    if type(answer) not in _FORMATS:
        raise InvalidArgumentError(
            f"only an Aggregation, an AggregationPath or an AggregationGrid can be saved, not {answer!r}"
        )
    arrays = _content(answer)
    target = Path(os.path.realpath(path))
    # In the same directory, because only there is renaming atomic.
    unfinished = target.with_name(f".klump-{secrets.token_hex(8)}")
    try:
        try:
            _write(arrays, unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise FileFormatError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def load(path: str | os.PathLike[str]) -> Saved:
    """Load what :func:`save` wrote.

    Nothing is computed anew: the chain, its stationary distribution and the maps are those that were saved,
    bit for bit.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, is something else, or was written by a newer klump.

    Examples
    --------
    >>> answer = Aggregation.from_labels([[0.9, 0.1], [0.3, 0.7]], ["dry", "wet"], beta=0.8)
    >>> path = getfixture("tmp_path") / "answer.npz"
    >>> answer.save(path)
    >>> print(load(path))
    2 states in 2 groups, beta = 0.8, given
      0.7500  0
      0.2500  1
    cost 0.000000 bits (lumpability 0.000000, predictability 0.000000, bottleneck 0.000000, generated 0.000000);
    kept 100.0%
    """
    try:
        with _opened(path) as entries:
            return _answer(entries)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}") from error


# Writing


def _write(arrays: Arrays, path: Path) -> None:
    """Write as numpy.savez does, but never a pickle and never the time: equal answers give equal files."""
    with path.open("xb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _content(answer: Saved) -> Arrays:
    """Everything that is saved; what cannot be saved is found here, before a file is touched."""
    answers = (answer,) if isinstance(answer, Aggregation) else answer.aggregations
    if not answers:
        raise InvalidArgumentError("the path is empty: it has no chain, so there is nothing to save")
    chain = answers[0].original
    if any(other.original is not chain for other in answers):
        raise InvalidArgumentError("these are aggregations of different chains; save each alone")
    metadata: dict[str, Any] = {
        "format": _FORMATS[type(answer)],
        "version": _VERSION,
        "states": _names(chain),
        "applied": list(chain.applied),
        "aggregations": [_facts(each) for each in answers],
    }
    if isinstance(answer, AggregationGrid):
        metadata["grid"] = {"n_states": list(answer.n_states), "betas": list(answer.betas)}
    arrays = {
        "metadata": np.array(json.dumps(metadata, allow_nan=False).encode("ascii")),
        "original_index": chain.original_index,
    }
    if chain.is_irreducible:
        arrays["stationary_distribution"] = chain.stationary_distribution
    arrays |= _matrix_arrays(chain)
    for number, each in enumerate(answers):
        arrays |= _map_arrays(each.map, number)
        arrays |= _record_arrays(each.record, number)
    return arrays


def _names(chain: MarkovChain) -> list[Any] | None:
    if not chain.has_names:
        return None
    encoded = []
    for name in chain.states:
        try:
            encoded.append(_encode(name))
        except TypeError as error:
            raise InvalidArgumentError(
                f"the state name {name!r} cannot be saved without pickle; name the states with text, bytes, "
                "numbers or tuples of these: MarkovChain(P, states=...)"
            ) from error
    return encoded


def _facts(answer: Aggregation) -> dict[str, Any]:
    return {
        "beta": float(answer.beta),
        "gamma": float(answer.gamma),
        "n_asked": answer.n_asked,
        "method": str(answer.method),
        "random_state": _encode(answer.random_state),
        "trace": [_encode(float(cost)) for cost in answer.trace],
        "interrupted": bool(answer.interrupted),
        "made_with": dict(answer.made_with),
        "n_groups": answer.n_states,
        "record": None if answer.record is None else [answer.record.kind, *answer.record.columns],
    }


def _matrix_arrays(chain: MarkovChain) -> Arrays:
    matrix: Any = chain.transition_matrix
    if not chain.is_sparse:
        return {"transition_matrix": matrix}
    # Entries as scipy.sparse.save_npz names them.
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape, dtype=np.int64),
        "format": np.array(b"csr"),
        "_is_array": np.array(True),
    }


def _map_arrays(mapping: Mapping, number: int) -> Arrays:
    if mapping.labels is not None:
        return {f"labels_{number}": mapping.labels}
    weights = mapping.weights
    return {f"map_{number}_{part}": getattr(weights, part) for part in _CSR}


def _record_arrays(record: Record | None, number: int) -> Arrays:
    columns = {} if record is None else record.columns
    return {f"record_{number}_{name}": column for name, column in columns.items()}


def _encode(value: Any) -> Any:
    """Make a value fit for JSON; TypeError if it would not come back as the same kind."""
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_ | np.bytes_):
        value = value if isinstance(value, np.timedelta64) else value.item()
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is tuple:
        return [_encode(item) for item in value]
    raise TypeError(kind.__name__)


# Reading


def _damaged(what: str) -> FileFormatError:
    return FileFormatError(f"the file is damaged: {what}; save the answer again")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[_Entries]:
    try:
        with open(path, "rb") as file:
            _require_archive(file)
            with np.load(file, allow_pickle=False) as archive:
                yield _Entries(archive)
    except (EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        # The last two are what zipfile makes of flipped bits in the archive's directory.
        raise FileFormatError(f"the file is cut short or damaged ({error}); save the answer again") from error
    except OSError as error:
        raise FileFormatError(f"cannot be read: {error.strerror or error}") from error


def _require_archive(file: Any) -> None:
    is_archive = zipfile.is_zipfile(file)
    file.seek(0)
    start = file.read(2)
    file.seek(0)
    if is_archive and start == b"PK":
        return
    if not start:
        raise FileFormatError("the file is empty; save the answer again")
    if start == b"PK":
        raise FileFormatError("the file is cut short; save the answer again")
    raise FileFormatError("this is not an .npz archive; give a file that Aggregation.save wrote")


@dataclass(frozen=True)
class _Entries:
    """The arrays of an archive, each read when it is asked for and only as what it must be."""

    archive: Any

    def has(self, name: str) -> bool:
        return name in self.archive.files

    def read(self, name: str, types: tuple[str, ...], ndim: int = 1) -> NDArray[Any]:
        if not self.has(name):
            raise _damaged(f"its entry {name!r} is missing")
        try:
            array = self.archive[name]
        except ValueError as error:
            raise _damaged(f"its entry {name!r} cannot be read ({' '.join(str(error).split())})") from error
        if not isinstance(array, np.ndarray) or array.ndim != ndim or not array.dtype.name.startswith(types):
            raise _damaged(f"its entry {name!r} is not what it should be")
        return array

    def read_csr(self, prefix: str, shape: Sequence[int]) -> sparse.csr_array:
        parts = tuple(self.read(prefix + part, types) for part, types in _CSR.items())
        try:
            matrix = sparse.csr_array(parts, shape=tuple(shape))
            # Indices out of range would be followed blindly by compiled code later on.
            matrix.check_format(full_check=True)
        except (ValueError, TypeError, OverflowError) as error:
            raise _damaged(f"its sparse matrix {prefix + 'data'!r} is inconsistent ({error})") from error
        return matrix


def _answer(entries: _Entries) -> Saved:
    metadata = _metadata(entries)
    try:
        chain = _chain(entries, metadata)
        answers = [_aggregation(entries, facts, i, chain) for i, facts in enumerate(metadata["aggregations"])]
        if metadata["format"] == _PATH:
            return AggregationPath(tuple(answers))
        if metadata["format"] == _GRID:
            return _grid(metadata["grid"], answers)
        (answer,) = answers
        return answer
    except FileFormatError:
        raise
    except (KlumpError, AttributeError, KeyError, TypeError, ValueError) as error:
        # A file that klump wrote gets here intact; this one was changed since.
        raise _damaged(f"its contents do not fit together ({error})") from error


def _grid(spans: dict[str, Any], answers: list[Aggregation]) -> AggregationGrid:
    grid = AggregationGrid(
        tuple(map(int, spans["n_states"])), tuple(map(check_beta, spans["betas"])), tuple(answers)
    )
    cells = len(grid.n_states) * len(grid.betas)
    if not answers or len(grid.not_run) != cells - len(answers):
        raise _damaged(f"its grid of {cells} cells and its {len(answers)} aggregations do not fit together")
    return grid


def _metadata(entries: _Entries) -> dict[str, Any]:
    foreign = FileFormatError(
        "this is an .npz archive, but klump saved no answer in it; read chains with klump.read_chain"
    )
    if not entries.has("metadata"):
        raise foreign
    try:
        metadata = json.loads(entries.read("metadata", _TEXT, ndim=0).item())
        kind, version = metadata["format"], metadata["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged("its metadata cannot be understood") from error
    if kind not in _FORMATS.values():
        raise foreign
    if type(version) is not int or version < 1:
        raise _damaged(f"its format version is {version!r}")
    if version > _VERSION:
        raise FileFormatError(f"written by a newer klump (format {version}); upgrade klump")
    return dict(metadata)


def _chain(entries: _Entries, metadata: dict[str, Any]) -> MarkovChain:
    """Restore the chain bit for bit: what is validated here is checked, not corrected."""
    if entries.has("transition_matrix"):
        matrix: Any = entries.read("transition_matrix", _FLOATS, ndim=2)
    else:
        matrix = entries.read_csr("", entries.read("shape", _INTEGERS).tolist())
    n = validation.transition_matrix(matrix).shape[0]
    law = None
    if entries.has("stationary_distribution") or communicating_classes(matrix).n_classes == 1:
        law = entries.read("stationary_distribution", _FLOATS)
        validation.supplied_distribution(law, matrix)
    index = entries.read("original_index", _INTEGERS)
    if index.shape != (n,):
        raise _damaged(f"its entry 'original_index' has {len(index)} values for {n} states")
    names = metadata["states"]
    if names is not None:
        names = validation.state_names([_decode(name) for name in names], n)
    applied = tuple(str(words) for words in metadata["applied"])
    return MarkovChain._restored(matrix, law, names, index, applied)


def _aggregation(entries: _Entries, facts: dict[str, Any], number: int, chain: MarkovChain) -> Aggregation:
    return Aggregation(
        chain,
        _map(entries, number, chain.n_states, facts["n_groups"]),
        beta=check_beta(facts["beta"]),
        method=str(facts["method"]),
        random_state=_decode(facts["random_state"]),
        trace=tuple(float(_decode(cost)) for cost in facts["trace"]),
        interrupted=bool(facts["interrupted"]),
        made_with=tuple((str(name), str(version)) for name, version in facts["made_with"].items()),
        record=_record(entries, facts.get("record"), number),
        gamma=check_gamma(facts.get("gamma", 0.0)),
        n_asked=_number_or_none(facts.get("n_asked")),
    )


def _number_or_none(value: Any) -> int | None:
    return None if value is None else int(value)


def _map(entries: _Entries, number: int, n_states: int, n_groups: int) -> Mapping:
    name = f"labels_{number}"
    if not entries.has(name):
        weights = entries.read_csr(f"map_{number}_", (n_states, n_groups))
        as_mapping(weights, n_states)
        return Mapping(weights, None)
    labels = entries.read(name, _LABELS)
    mapping = as_mapping(labels, n_states)
    if mapping.n_groups != n_groups:
        raise _damaged(f"its entry {name!r} has {mapping.n_groups} groups instead of {n_groups}")
    return from_labels(labels, n_groups)


def _record(entries: _Entries, names: Any, number: int) -> Record | None:
    """Restore what the method recorded; files of the first klump have nothing of the kind."""
    if names is None:
        return None
    kind, *columns = map(str, names)
    return Record(kind, {name: entries.read(f"record_{number}_{name}", _NUMBERS) for name in columns})


def _decode(value: Any) -> Any:
    """Undo :func:`_encode`."""
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return bytes.fromhex(text) if kind == "bytes" else {"float": float}[kind](text)
    return value
