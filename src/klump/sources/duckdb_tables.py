"""Tables in memory and files of tables, opened in DuckDB, which counts them out of core.

Column names and paths are data: names are looked up among the columns of the table before they are quoted as
identifiers, and paths are passed as arguments. DuckDB gets no network: extensions are neither fetched nor loaded.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from klump.errors import FileFormatError, InvalidArgumentError, KlumpError, MissingPackageError, Setting
from klump.sources.adapters.adapted import article_name_of
from klump.sources.adapters.registry import packages_of

# Memory of DuckDB, beyond which it writes to the temporary folder.
MEMORY_LIMIT = "1GB"
# DuckDB wants 125 MB per thread at least; with more threads than this, the memory limit would have to grow with them.
_MAX_THREADS = 4
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (*_TEXT, *_PARQUET)
_TABLES = "a DataFrame of pandas or polars, a table of pyarrow, or the path of a CSV or Parquet file"
# Columns that are listed in an error.
_MAX_LISTED = 20
_MEMORY = re.compile(r"\d+(\.\d+)?\s*([KMGT]i?B)", re.IGNORECASE)
# Characters of DuckDB's file name patterns.
_PATTERN = re.compile(r"([*?\[])")


class Table:
    """A connection to a DuckDB database that has the table as the view ``given``."""

    def __init__(self, connection: Any, columns: Sequence[str], path: Path | None) -> None:
        self._connection = connection
        self.columns = tuple(columns)
        self.is_text = path is not None and path.name.lower().endswith(_TEXT)
        """Whether the table is a text file, in which every value is text."""

    def check_columns(self, **columns: str | None) -> None:
        """Raise an InvalidArgumentError for the first column that is not there, by the name of its argument."""
        for argument, column in columns.items():
            if column is None:
                continue
            if not isinstance(column, str):
                raise InvalidArgumentError(
                    "must be the name of a column", argument=argument, value=column, remedy="pass a string"
                )
            if column not in self.columns:
                raise _missing_column(argument, column, self.columns)

    def run(self, query: str) -> Any:
        """Run a query, and return DuckDB's result."""
        return self._connection.execute(query)

    def type_of(self, table: str, column: str) -> str:
        """Type of a column of a table that klump made."""
        query = f"SELECT column_type FROM (DESCRIBE {table}) WHERE column_name = '{column}'"
        return str(self.run(query).fetchone()[0])


def quote_identifier(name: str) -> str:
    """Quote a name as an identifier of SQL.

    >>> quote_identifier('page "x"; DROP')
    '"page ""x""; DROP"'
    """
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def open_table(given: Any, columns: Sequence[str], memory_limit: str = MEMORY_LIMIT) -> Iterator[Table]:
    """Open a table in DuckDB; what is written to disk is removed at the end.

    Parameters
    ----------
    given
        A DataFrame of pandas or polars, a table of pyarrow, or the path of a CSV or Parquet file.
    columns
        Names of columns whose values are read as text from a text file, whatever they look like; names that the table
        does not have are passed over.
    memory_limit
        Memory of DuckDB.
    """
    if not isinstance(memory_limit, str) or not _MEMORY.fullmatch(memory_limit):
        raise InvalidArgumentError(
            "must be an amount of memory",
            argument="memory_limit",
            value=memory_limit,
            remedy="pass '4GB', say",
        )
    path = _path_of(given)
    duckdb = _import_duckdb()
    with tempfile.TemporaryDirectory(prefix="klump-") as folder:
        config = {
            "memory_limit": memory_limit,
            "temp_directory": folder,
            "threads": min(_MAX_THREADS, os.cpu_count() or 1),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(":memory:", config=config)
        try:
            with _translate_errors(duckdb, path, memory_limit):
                connection.execute("SET enable_progress_bar = false")
                names = _register(connection, given, path, columns)
                yield Table(connection, names, path)
        finally:
            connection.close()


def _path_of(given: Any) -> Path | None:
    """Path of a file; None for a table in memory."""
    if not isinstance(given, str | os.PathLike):
        return None
    path = Path(given)
    if not path.name.lower().endswith(SUFFIXES):
        raise FileFormatError(
            f"the suffix {path.suffix!r} is not that of a table",
            remedy=f"choose one of {', '.join(SUFFIXES)}",
            file=os.fspath(given),
        )
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise FileFormatError(f"cannot be read: {error.strerror}", file=os.fspath(given)) from error
    return path


def _register(connection: Any, given: Any, path: Path | None, text: Sequence[str]) -> list[str]:
    """Make the table the view ``given``, and return the names of its columns."""
    if path is None:
        table = _to_registered(given)
        is_frame = hasattr(table, "columns") and hasattr(table, "dtypes")
        names = [str(name) for name in (table.columns if is_frame else table.column_names)]
        _check_case(names)
        connection.register("given", table)
        return names
    # Absolute, so that no path is taken for an address; brackets make each special character stand for itself.
    name = _PATTERN.sub(r"[\1]", str(path.resolve()))
    if path.name.lower().endswith(_PARQUET):
        relation = connection.read_parquet(name)
    else:
        # Without a comment character, else DuckDB may take rows that begin with # for comments.
        layout = {"header": True, "skiprows": 0, "comment": ""}
        found = connection.read_csv(name, **layout).columns
        types = {column: "VARCHAR" for column in found if column in text}
        relation = connection.read_csv(name, **layout, dtype=types)
    relation.create_view("given")
    return list(relation.columns)


def _check_case(names: Sequence[str]) -> None:
    """Raise for names that differ in case only: for DuckDB they are the same."""
    first: dict[str, str] = {}
    for name in names:
        if name.casefold() in first:
            raise InvalidArgumentError(
                f"has the columns {first[name.casefold()]!r} and {name!r}, which differ in case at most",
                argument="table",
                remedy="rename one of them",
            )
        first[name.casefold()] = name


def _to_registered(given: Any) -> Any:
    """Table in a form that DuckDB scans without a copy."""
    packages = packages_of(given)
    if "pandas" in packages and hasattr(given, "columns"):
        return given
    if "polars" in packages and hasattr(given, "to_arrow"):
        return given.to_arrow()
    if "pyarrow" in packages and hasattr(given, "column_names"):
        return given
    collect = "; collect it first" if type(given).__name__ == "LazyFrame" else ""
    raise InvalidArgumentError(
        f"is {article_name_of(given)}, not a table", argument="table", remedy=f"pass {_TABLES}{collect}"
    )


def _missing_column(argument: str, column: str, columns: Sequence[str]) -> InvalidArgumentError:
    listed = ", ".join(map(repr, columns[:_MAX_LISTED])) + ", ..." * (len(columns) > _MAX_LISTED)
    close = get_close_matches(column, columns, n=1)
    remedy = f"did you mean {close[0]!r}? The columns are {listed}" if close else f"the columns are {listed}"
    return InvalidArgumentError(
        "is not a column of the table", argument=argument, value=column, remedy=remedy
    )


@contextmanager
def _translate_errors(duckdb: Any, path: Path | None, memory_limit: str) -> Iterator[None]:
    """Turn errors of DuckDB into one line, which names the file."""
    file = None if path is None else str(path)
    try:
        yield
    except KlumpError as error:
        error.file = error.file or file
        raise
    except duckdb.OutOfMemoryException as error:
        raise InvalidArgumentError(
            "is not enough memory to count the table",
            argument="memory_limit",
            value=memory_limit,
            remedy=("pass a larger one, like ", Setting("memory_limit", "4GB")),
            file=file,
        ) from error
    except duckdb.Error as error:
        reason = " ".join(str(error).split("\n\n")[0].split())[:200]
        kind = FileFormatError if file else InvalidArgumentError
        raise kind(
            f"DuckDB cannot read the table: {reason}",
            remedy="give every column values of one type, and every row the same columns",
            file=file,
        ) from error


def _import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingPackageError(
            "tables of events and of transitions are counted by DuckDB", remedy="pip install 'klump[events]'"
        ) from error
    return duckdb
