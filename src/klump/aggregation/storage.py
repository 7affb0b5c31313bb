"""Serialise answers: an open format that round-trips bit for bit, without pickle.

A file is an uncompressed ``.npz``, a zip archive of NumPy arrays. Its entries:

``metadata``
    JSON text: the format and its schema version, the names of the states, the changes applied to the chain, and per
    aggregation its beta, gamma, lag, microstates, method, effort, constraints, seed, trace, number of groups, names
    given to them, and interruption; for a grid also the numbers of groups and the betas that it spans, and the time
    limit that interrupted it. Tuples are lists; bytes are ``{"bytes": hex}``, and NaN and infinities, which JSON lacks,
    are ``{"float": "nan"}``.
``transition_matrix``, or ``data``, ``indices``, ``indptr``, ``shape``, ``format`` and ``_is_array``
    The matrix of a dense chain, or that of a sparse one as :func:`scipy.sparse.load_npz` reads it.
``stationary_distribution``, ``original_index``
    As the chain has them; a chain that is not irreducible has no ``stationary_distribution``.
``attributes``, ``attribute_...``
    Labels, initial distribution, rewards and restart as in :mod:`klump.files.attributes`, if there are any.
``labels_0``, or ``map_0_data``, ``map_0_indices`` and ``map_0_indptr``
    The group of each state in aggregation 0, or its stochastic map in CSR form; 1, 2, ... likewise.
``record_0_...``
    Columns of the merges or splits that the method recorded, if any; the metadata hold their kind.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from klump.aggregation.aggregation import Aggregation
from klump.aggregation.archive import (
    CSR_PARTS,
    FLOATS,
    INTEGERS,
    LABELS,
    NUMBERS,
    TEXT,
    ArchiveEntries,
    Arrays,
    damage_error,
    decode,
    encode,
    open_archive,
    write_archive,
)
from klump.aggregation.constraints import NO_CONSTRAINTS, GroupConstraints, check_constraints
from klump.aggregation.grids import AggregationGrid
from klump.aggregation.identities import check_identities
from klump.aggregation.mapping import Mapping, as_mapping, from_labels
from klump.aggregation.names import check_names
from klump.aggregation.path import AggregationPath
from klump.aggregation.record_checks import check_record
from klump.arguments import check_beta, check_count, check_gamma, check_time_limit
from klump.chain import MarkovChain, validation
from klump.chain.connectivity import communicating_classes
from klump.chain.supplied import check_stationary_distribution
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files.atomic import replacing
from klump.files.attributes import check_attributes, decode_attributes, encode_attributes
from klump.files.gate import describe, one_line
from klump.search.method import Record

Saved = Aggregation | AggregationPath | AggregationGrid

# Schema version of the files that are written; higher ones are refused.
_SCHEMA_VERSION = 1
# Number of groups that a map of fewer states may have, most of them empty: their masses take 8 MB.
_MAX_GROUPS = 10**6
# Largest |row sum - 1| of a matrix that was saved: MarkovChain divides rows by their sums above 1e-12.
_ROUNDING = 1e-11
# Cells of a grid: a file of a megabyte could announce 10**11.
_MAX_CELLS = 10**6
_AGGREGATION = "klump/aggregation"
_PATH = "klump/path"
_GRID = "klump/grid"
_FORMATS: dict[type, str] = {Aggregation: _AGGREGATION, AggregationPath: _PATH, AggregationGrid: _GRID}


def save(answer: Saved, path: str | os.PathLike[str]) -> None:
    """Save an aggregation, a path or a grid, so that :func:`load` restores it exactly.

    The file is written atomically, under exactly the name given.

    Parameters
    ----------
    answer
        The answer to save.
    path
        Name of the file; ``.npz`` is the conventional suffix, but none is required and none is added.

    Raises
    ------
    InvalidArgumentError
        If a state has a name other than text, bytes, a number, a truth value, None or a tuple of these.
    FileFormatError
        If the file cannot be written, or is not a regular file; an older file is then as it was.

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
            "is not an answer",
            argument="answer",
            value=answer,
            remedy="only an Aggregation, an AggregationPath or an AggregationGrid can be saved",
        )
    arrays = _collect_arrays(answer)
    with replacing(path) as part:
        write_archive(arrays, part)


def load(path: str | os.PathLike[str]) -> Saved:
    r"""Load an answer that its ``save`` method wrote.

    Nothing is recomputed: the chain, its stationary distribution and the maps are restored bit for bit.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, holds no answer, or was written by a newer klump.

    Examples
    --------
    >>> answer = Aggregation.from_labels([[0.9, 0.1], [0.3, 0.7]], ["dry", "wet"], beta=0.8)
    >>> path = getfixture("tmp_path") / "answer.npz"
    >>> answer.save(path)
    >>> print(load(path))
    2 states in 2 groups, beta = 0.8, given
    group  name  states     mass  members, heaviest first
        0  dry        1   0.7500  0
        1  wet        1   0.2500  1
    cost 0.000000 bits, kept 100.0%: lumpability 0.000000,
    predictability 0.000000, bottleneck 0.000000, generated 0.000000
    from\to           0       1
          0 dry  0.9000  0.1000
          1 wet  0.3000  0.7000
    """
    with open_archive(path) as entries:
        return _read_answer(entries)


def _collect_arrays(answer: Saved) -> Arrays:
    """All archive entries by name; raises before a file is touched if something cannot be serialised."""
    answers = (answer,) if isinstance(answer, Aggregation) else answer.aggregations
    if not answers:
        raise InvalidArgumentError(
            "the path is empty: it has no chain", remedy="save a path with at least one aggregation"
        )
    chain = answers[0].original
    if any(other.original is not chain for other in answers):
        raise InvalidArgumentError("these are aggregations of different chains", remedy="save each alone")
    metadata: dict[str, Any] = {
        "format": _FORMATS[type(answer)],
        "version": _SCHEMA_VERSION,
        "states": _encode_state_names(chain),
        "applied": list(chain.applied),
        "aggregations": [_aggregation_metadata(each) for each in answers],
    }
    if isinstance(answer, AggregationGrid):
        metadata["grid"] = {
            "n_states": list(answer.n_states),
            "betas": list(answer.betas),
            "interrupted_after": answer.interrupted_after,
        }
    arrays = {
        "metadata": np.array(json.dumps(metadata, allow_nan=False).encode("ascii")),
        "original_index": chain.original_index,
    }
    if chain.is_irreducible:
        arrays["stationary_distribution"] = chain.stationary_distribution
    arrays |= _matrix_arrays(chain) | encode_attributes(chain)
    for number, each in enumerate(answers):
        arrays |= _map_arrays(each.map, number)
        arrays |= _record_arrays(each.record, number)
    return arrays


def _encode_state_names(chain: MarkovChain) -> list[Any] | None:
    if not chain.has_names:
        return None
    encoded = []
    for name in chain.states:
        try:
            encoded.append(encode(name))
        except TypeError as error:
            raise InvalidArgumentError(
                f"the state name {name!r} cannot be saved without pickle",
                remedy="name the states with text, bytes, numbers or tuples of these: MarkovChain(P, states=...)",
            ) from error
    return encoded


def _aggregation_metadata(answer: Aggregation) -> dict[str, Any]:
    return {
        "beta": float(answer.beta),
        "gamma": float(answer.gamma),
        "lag": int(answer.lag),
        "microstates": answer.microstates,
        "n_asked": answer.n_asked,
        "method": str(answer.method),
        "random_state": encode(answer.random_state),
        "trace": [encode(float(cost)) for cost in answer.trace],
        "interrupted": bool(answer.interrupted),
        "interrupted_after": answer.interrupted_after,
        "effort": answer.effort,
        "constraints": asdict(answer.constraints) if answer.constraints else None,
        "made_with": dict(answer.made_with),
        "n_groups": answer.n_states,
        "names": None if answer.group_names is None else list(answer.group_names),
        "identities": None if answer.group_identities is None else list(answer.group_identities),
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
    return {f"map_{number}_{part}": getattr(weights, part) for part in CSR_PARTS}


def _record_arrays(record: Record | None, number: int) -> Arrays:
    columns = {} if record is None else record.columns
    return {f"record_{number}_{name}": column for name, column in columns.items()}


def _read_answer(entries: ArchiveEntries) -> Saved:
    metadata = _read_metadata(entries)
    try:
        chain = _read_chain(entries, metadata)
        answers = [
            _read_aggregation(entries, each, number, chain)
            for number, each in enumerate(metadata["aggregations"])
        ]
        if metadata["format"] == _PATH:
            return AggregationPath(tuple(answers))
        if metadata["format"] == _GRID:
            return _build_grid(metadata["grid"], answers)
        (answer,) = answers
        return answer
    except FileFormatError:
        raise
    except Exception as error:
        # Files that klump wrote raise none: this one was changed.
        raise damage_error(f"its contents do not fit together ({describe(error)})") from error


def _build_grid(spans: dict[str, Any], answers: list[Aggregation]) -> AggregationGrid:
    if len(spans["n_states"]) * len(spans["betas"]) > _MAX_CELLS:
        raise damage_error(f"its grid has more than {_MAX_CELLS:,} cells")
    grid = AggregationGrid(
        tuple(map(int, spans["n_states"])),
        tuple(map(check_beta, spans["betas"])),
        tuple(answers),
        check_time_limit(spans.get("interrupted_after")),
    )
    cells = len(grid.n_states) * len(grid.betas)
    if not answers or len(grid.not_run) != cells - len(answers):
        raise damage_error(
            f"its grid of {cells} cells and its {len(answers)} aggregations do not fit together"
        )
    return grid


def _read_metadata(entries: ArchiveEntries) -> dict[str, Any]:
    foreign = FileFormatError(
        "this is an .npz archive, but klump saved no answer in it",
        remedy="read chains with klump.read_chain",
    )
    if not entries.has("metadata"):
        raise foreign
    try:
        metadata = json.loads(entries.read("metadata", TEXT, ndim=0).item())
        kind, version = metadata["format"], metadata["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damage_error("its metadata are not valid JSON with a format and a version") from error
    if kind not in _FORMATS.values():
        raise foreign
    if type(version) is not int or version < 1:
        raise damage_error(f"its format version is {one_line(version)}")
    if version > _SCHEMA_VERSION:
        raise FileFormatError(f"written by a newer klump (format {version})", remedy="upgrade klump")
    return dict(metadata)


def _read_chain(entries: ArchiveEntries, metadata: dict[str, Any]) -> MarkovChain:
    """Restore the chain bit for bit: it is validated, but not normalised."""
    if entries.has("transition_matrix"):
        matrix: Any = entries.read("transition_matrix", FLOATS, ndim=2)
    else:
        matrix = entries.read_csr("", entries.read("shape", INTEGERS).tolist())
    n = validation.transition_matrix(matrix).shape[0]
    if np.abs(validation.row_sums(matrix) - 1.0).max() > _ROUNDING:
        raise damage_error("a row of its transition matrix does not sum to 1")
    stationary = None
    if entries.has("stationary_distribution") or communicating_classes(matrix).n_classes == 1:
        stationary = entries.read("stationary_distribution", FLOATS)
        check_stationary_distribution(stationary, matrix)
    index = entries.read("original_index", INTEGERS)
    if index.shape != (n,):
        raise damage_error(f"its entry 'original_index' has {len(index)} values for {n} states")
    names = metadata["states"]
    if names is not None:
        names = validation.state_names([decode(name) for name in names], n)
    applied = tuple(str(change) for change in metadata["applied"])
    found = decode_attributes(lambda key: entries.read_any(key) if entries.has(key) else None, n)
    attributes = check_attributes(found, range(n) if names is None else names)
    return MarkovChain._from_parts(matrix, stationary, names, index, applied, attributes)


def _read_aggregation(
    entries: ArchiveEntries, metadata: dict[str, Any], number: int, chain: MarkovChain
) -> Aggregation:
    return Aggregation(
        chain,
        _read_map(entries, number, chain.n_states, metadata["n_groups"]),
        beta=check_beta(metadata["beta"]),
        method=str(metadata["method"]),
        random_state=decode(metadata["random_state"]),
        trace=tuple(float(decode(cost)) for cost in metadata["trace"]),
        interrupted=bool(metadata["interrupted"]),
        made_with=tuple((str(name), str(version)) for name, version in metadata["made_with"].items()),
        record=_read_record(entries, metadata.get("record"), number, chain.n_states),
        gamma=check_gamma(metadata.get("gamma", 0.0)),
        n_asked=_int_or_none(metadata.get("n_asked")),
        effort=_text_or_none(metadata.get("effort")),
        interrupted_after=check_time_limit(metadata.get("interrupted_after")),
        group_names=_read_names(metadata),
        group_identities=check_identities(metadata.get("identities"), metadata["n_groups"]),
        lag=check_count("lag", metadata.get("lag", 1), most=2**60),
        microstates=_int_or_none(metadata.get("microstates")),
        constraints=_read_constraints(metadata.get("constraints"), chain),
    )


def _read_constraints(found: dict[str, Any] | None, chain: MarkovChain) -> GroupConstraints:
    """Validate the constraints of a file; older files have none."""
    if found is None:
        return NO_CONSTRAINTS
    # States are stored as indices, which a name may look like.
    numbered = MarkovChain._from_parts(
        chain.transition_matrix, None, None, chain.original_index, (), chain._attributes
    )
    return check_constraints(
        numbered,
        respect_labels=list(found["labels"]),
        fixed=dict(found["fixed"]),
        must_link=found["must_link"],
        cannot_link=found["cannot_link"],
        min_mass=found["min_mass"],
    )


def _read_names(metadata: dict[str, Any]) -> tuple[str, ...] | None:
    """Names that were given to the groups; files of the first klump have none."""
    names = metadata.get("names")
    return None if names is None else check_names(names, metadata["n_groups"])


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _int_or_none(value: Any) -> int | None:
    return None if value is None else int(value)


def _read_map(entries: ArchiveEntries, number: int, n_states: int, n_groups: int) -> Mapping:
    name = f"labels_{number}"
    if type(n_groups) is not int or not 1 <= n_groups <= max(n_states, _MAX_GROUPS):
        raise damage_error(f"its metadata have {one_line(n_groups)} groups")
    if not entries.has(name):
        weights = entries.read_csr(f"map_{number}_", (n_states, n_groups))
        as_mapping(weights, n_states)
        return Mapping(weights, None)
    labels = entries.read(name, LABELS)
    mapping = as_mapping(labels, n_states)
    if mapping.n_groups != n_groups:
        raise damage_error(f"its entry {name!r} has {mapping.n_groups} groups instead of {n_groups}")
    return from_labels(labels, n_groups)


def _read_record(entries: ArchiveEntries, names: Any, number: int, n_states: int) -> Record | None:
    """Restore the record of the method; files of the first klump have none."""
    if names is None:
        return None
    kind, *columns = map(str, names)
    record = Record(kind, {name: entries.read(f"record_{number}_{name}", NUMBERS) for name in columns})
    return check_record(record, n_states)
