"""Transition counts of tables: of events, one per row, and of transitions, one per row.

DuckDB counts, out of core. An event table is first stored with its rows in their order, so that events of a session at
the same time follow each other as they do in the table. The counts are then those of

    SELECT state, lead(state) OVER (PARTITION BY session ORDER BY time, row) AS next, count(*) ... GROUP BY state, next

in which states are replaced by numbers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.errors import InvalidArgumentError
from klump.sources.adapters.adapted import Adapted, DeadEnds
from klump.sources.duckdb_tables import MEMORY_LIMIT, Table, open_table, quote_identifier

# Most states of a dense count matrix: 8 MB, and dense chains are faster downstream.
_MAX_DENSE_STATES = 1000
# Canonical decimal integers: str(int(name)) == name.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,3999}")
# Types that times in text are converted to, in order of preference; casts to timestamps take ISO 8601 only.
_TIMES = ("BIGINT", "DOUBLE", "TIMESTAMP_NS", "TIMESTAMP")
# Types of DuckDB whose values are no names of states, by the start of their names.
_NO_NAMES = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "JSON", "VARIANT")
_FLOATS = ("FLOAT", "DOUBLE")
_DROP = "drop these rows, or fill in the values"


def count_events(
    table: Any,
    *,
    state: str,
    session: str | None = None,
    time: str | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> Adapted:
    """Counts of the transitions between successive events of a session, and the distribution of first events.

    Parameters
    ----------
    table
        A DataFrame of pandas or polars, a table of pyarrow, or the path of a CSV or Parquet file; one event per row,
        in any order.
    state
        Column with the state that the event leads to, the page visited, say; integers stay integers.
    session
        Column that tells the sessions apart; None if all rows are one.
    time
        Column to order the events of a session by: numbers, timestamps, or text in ISO 8601. Events at the same time
        are in the order of the rows; with None all are.
    memory_limit
        Memory of DuckDB; beyond it, DuckDB works on disk, in the folder for temporary files.

    Examples
    --------
    >>> import pandas
    >>> visits = pandas.DataFrame({"visit": [1, 2, 1, 2, 1], "page": ["home", "home", "shop", "shop", "home"]})
    >>> found = count_events(visits, session="visit", state="page")
    >>> found.states, found.matrix.tolist(), found.initial.tolist()
    (('home', 'shop'), [[0, 2], [1, 0]], [1.0, 0.0])
    """
    # Text as it is written: 1.10 and 1.1 are two sessions, and dates are not guessed.
    text = [column for column in (session, time, state) if isinstance(column, str)]
    with open_table(table, text, memory_limit) as opened:
        opened.check_columns(session=session, time=time, state=state)
        _check_objects(table, session=session, time=time, state=state)
        _store_events(opened, state, session, time)
        states = _number_states(opened, "SELECT DISTINCT state FROM events")
        opened.run(
            "CREATE TABLE pairs AS SELECT source, target, count(*) AS weight, count_if(is_first) AS n_first FROM ("
            "SELECT source, lead(source) OVER by_time AS target, lag(source) OVER by_time IS NULL AS is_first "
            "FROM (SELECT session, time, number AS source, events.rowid AS place "
            "FROM events JOIN states USING (state)) "
            "WINDOW by_time AS (PARTITION BY session ORDER BY time, place)) GROUP BY source, target"
        )
        firsts = opened.run(
            "SELECT source, sum(n_first)::BIGINT AS n FROM pairs GROUP BY source"
        ).fetchnumpy()
        first = np.zeros(len(states))
        first[firsts["source"]] = firsts["n"]
        pairs = opened.run("SELECT source, target, weight FROM pairs WHERE target IS NOT NULL").fetchnumpy()
    if pairs["source"].size == 0:
        raise InvalidArgumentError(
            f"has no transition: none of the sessions in {session!r} has two events",
            argument="table",
            remedy="check which column names the sessions",
        )
    return _tabulate(pairs, states, first, DeadEnds("state {} has no successor", "drop its rows"))


def count_transitions(
    table: Any,
    *,
    source: str = "from",
    target: str = "to",
    weight: str | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> Adapted:
    """Weights of the transitions in a table with one transition per row; those of equal transitions add up.

    Parameters
    ----------
    table
        As in :func:`count_events`.
    source, target
        Columns with the states before and after the transition.
    weight
        Column with the weight, a count or a probability; None gives every row the weight 1.
    memory_limit
        As in :func:`count_events`.

    Examples
    --------
    >>> import pandas
    >>> links = pandas.DataFrame({"from": ["a", "a", "b"], "to": ["b", "a", "a"], "n": [3, 1, 2]})
    >>> found = count_transitions(links, weight="n")
    >>> found.states, found.matrix.tolist()
    (('a', 'b'), [[1.0, 3.0], [2.0, 0.0]])
    """
    text = [column for column in (source, target) if isinstance(column, str)]
    with open_table(table, text, memory_limit) as opened:
        opened.check_columns(source=source, target=target, weight=weight)
        _check_objects(table, source=source, target=target)
        _store_transitions(opened, source, target, weight)
        states = _number_states(
            opened, "SELECT source AS state FROM links UNION SELECT target AS state FROM links"
        )
        pairs = opened.run(
            "SELECT a.number AS source, b.number AS target, weight FROM links "
            "JOIN states a ON links.source = a.state JOIN states b ON links.target = b.state"
        ).fetchnumpy()
    return _tabulate(
        pairs, states, None, DeadEnds("state {} has no transition", "drop the rows that lead to it")
    )


def _store_events(opened: Table, state: str, session: str | None, time: str | None) -> None:
    """Store the columns that count as the table ``events``, in the order of the rows."""
    chosen = ", ".join(
        f"{'0' if column is None else quote_identifier(column)} AS {name}"
        for name, column in (("session", session), ("time", time), ("state", state))
    )
    opened.run(f"CREATE TABLE events AS SELECT {chosen} FROM given")
    _require_names(opened, "events", "state", state)
    for name, column in (("session", session), ("time", time), ("state", state)):
        if column is not None:
            _require_values(opened, "events", name, column)
    for name in ("time", "state"):
        if opened.type_of("events", name).startswith("ENUM"):
            opened.run(f"ALTER TABLE events ALTER {name} TYPE VARCHAR")
    if time is not None and opened.type_of("events", "time") == "VARCHAR":
        _parse_times(opened, time)


def _parse_times(opened: Table, column: str) -> None:
    """Convert a column of text to numbers or timestamps: text in its own order would put 10:00 before 9:00."""
    bad = None
    for kind in _TIMES:
        # A cast to integers would round 9.5.
        rounds = " OR NOT regexp_full_match(time, '[+-]?[0-9]+')" if kind == "BIGINT" else ""
        bad = opened.run(
            f"SELECT time FROM events WHERE try_cast(time AS {kind}) IS NULL{rounds} ORDER BY rowid LIMIT 1"
        ).fetchone()
        if bad is None:
            opened.run(f"ALTER TABLE events ALTER time TYPE {kind}")
            return
    assert bad is not None
    raise InvalidArgumentError(
        f"has {bad[0]!r}, which is neither a number nor a timestamp like '2024-12-31 23:59:59'",
        argument="time",
        value=column,
        remedy="convert the column to timestamps or numbers, or leave it out if the rows are in order",
    )


def _store_transitions(opened: Table, source: str, target: str, weight: str | None) -> None:
    """Store the sums of weights as the table ``links``."""
    columns = [("source", source), ("target", target), *([("weight", weight)] if weight is not None else [])]
    chosen = ", ".join(f"{quote_identifier(column)} AS {name}" for name, column in columns)
    opened.run(f"CREATE TABLE rows AS SELECT {chosen} FROM given")
    for name, column in columns:
        _require_values(opened, "rows", name, column)
    for name, column in columns[:2]:
        _require_names(opened, "rows", name, column)
    kinds = [_kind(opened.type_of("rows", name)) for name in ("source", "target")]
    if kinds[0] != kinds[1]:
        raise InvalidArgumentError(
            f"holds {kinds[1]}, but {source!r} holds {kinds[0]}",
            argument="target",
            value=target,
            remedy="give both columns one type",
        )
    total = "count(*)"
    if weight is not None:
        kind = opened.type_of("rows", "weight")
        if not kind.startswith(_FLOATS) and _kind(kind) != "integers" and not kind.startswith("DECIMAL"):
            raise InvalidArgumentError(
                f"holds {kind} values", argument="weight", value=weight, remedy="name a column of numbers"
            )
        # One thread: floating-point sums depend on the order of the terms.
        opened.run("SET threads = 1")
        total = "sum(weight)::DOUBLE"
    text = ["source::VARCHAR AS source", "target::VARCHAR AS target"]
    names = text if kinds[0] == "text" else ["source", "target"]
    opened.run(
        f"CREATE TABLE links AS SELECT {', '.join(names)}, {total} AS weight FROM rows GROUP BY source, target"
    )


def _number_states(opened: Table, distinct: str) -> tuple[Hashable, ...]:
    """Make the table ``states`` of distinct states and their numbers, and return them in this order."""
    opened.run(
        "CREATE TABLE states AS SELECT state, (row_number() OVER (ORDER BY state) - 1)::INTEGER AS number "
        f"FROM ({distinct})"
    )
    values = [row[0] for row in opened.run("SELECT state FROM states ORDER BY number").fetchall()]
    if opened.is_text and all(map(_INTEGER.fullmatch, values)):
        return tuple(map(int, values))
    return tuple(values)


def _require_values(opened: Table, table: str, name: str, column: str) -> None:
    """Raise for missing values, among which is NaN."""
    missing = f"{name} IS NULL"
    if opened.type_of(table, name).startswith(_FLOATS):
        missing += f" OR isnan({name})"
    n_missing, n_rows = opened.run(f"SELECT count_if({missing}), count(*) FROM {table}").fetchone()
    if n_rows == 0:
        raise InvalidArgumentError("has no rows", argument="table")
    if n_missing:
        raise InvalidArgumentError(
            f"has {n_missing:,} missing values in {n_rows:,} rows", argument=name, value=column, remedy=_DROP
        )


def _require_names(opened: Table, table: str, name: str, column: str) -> None:
    kind = opened.type_of(table, name)
    if kind.startswith(_NO_NAMES) or kind.endswith("]"):
        raise InvalidArgumentError(
            f"holds {kind} values, which cannot name states",
            argument=name,
            value=column,
            remedy="name a column of text or integers",
        )


def _kind(duckdb_type: str) -> str:
    if duckdb_type.startswith(("VARCHAR", "ENUM")):
        return "text"
    return "integers" if duckdb_type.endswith("INT") or duckdb_type == "INTEGER" else f"{duckdb_type} values"


def _check_objects(table: Any, **columns: str | None) -> None:
    """Raise for a pandas column of Python objects of several types: DuckDB would make text of them all."""
    for argument, column in columns.items():
        values = None
        if column is not None and hasattr(table, "iloc"):
            values = table.iloc[:, [str(name) for name in table.columns].index(column)]
        if values is None or values.dtype != object:
            continue
        from pandas.api.types import infer_dtype

        kind = infer_dtype(values, skipna=True)
        if kind.startswith("mixed"):
            raise InvalidArgumentError(
                "mixes values of several types",
                argument=argument,
                value=column,
                remedy="convert the column to one type, with astype(str), say",
            )


def _tabulate(
    pairs: dict[str, Any],
    states: Sequence[Hashable],
    first: NDArray[np.float64] | None,
    dead_ends: DeadEnds,
) -> Adapted:
    """Count matrix of sorted states that have a transition."""
    order = sorted(range(len(states)), key=states.__getitem__)  # type: ignore[arg-type]
    used = np.zeros(len(states), dtype=bool)
    used[pairs["source"]] = used[pairs["target"]] = True
    kept = np.array([number for number in order if used[number]], dtype=np.intp)
    rank = np.zeros(len(states), dtype=np.intp)
    rank[kept] = np.arange(kept.size)
    places = (rank[pairs["source"]], rank[pairs["target"]])
    counts: Any = sparse.csr_array(sparse.coo_array((pairs["weight"], places), shape=(kept.size, kept.size)))
    if kept.size <= _MAX_DENSE_STATES:
        counts = counts.toarray()
    initial = None
    if first is not None and first[kept].sum() > 0:
        initial = first[kept] / first[kept].sum()
    return Adapted(
        counts,
        tuple(states[number] for number in kept.tolist()),
        initial=initial,
        normalize=True,
        dead_ends=dead_ends,
    )
