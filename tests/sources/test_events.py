"""Tables of events and of transitions, against counts in plain Python."""

import itertools
import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klump import MarkovChain
from klump.errors import FileFormatError, InvalidArgumentError, KlumpError, MissingPackageError
from klump.sources import duckdb_tables
from klump.sources.events import count_events, count_transitions

pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

KINDS = ("pandas", "polars", "pyarrow", "csv", "csv.gz", "tsv", "parquet")
# Names that SQL would misread, if it could.
COLUMNS = {"session": 'se"ssion; --', "time": "select", "state": "page 'x'"}


def as_kind(table, kind, folder):
    """The same table as another kind of object, or as a file whose name is a pattern that does not match itself."""
    if kind in ("pandas", "polars", "pyarrow"):
        converted = {"polars": polars.from_pandas, "pyarrow": pyarrow.Table.from_pandas}
        return converted.get(kind, lambda same: same)(table)
    path = folder / f"events [1]*.{kind}"
    if kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


def textbook_counts(rows):
    """Counts of pairs and of first states; rows are (session, time, state), and sorting is stable."""
    by_session = defaultdict(list)
    for session, time, state in rows:
        by_session[session].append((time, state))
    pairs, first = Counter(), Counter()
    for events in by_session.values():
        states = [state for _, state in sorted(events, key=lambda event: event[0])]
        pairs.update(itertools.pairwise(states))
        first[states[0]] += 1
    return pairs, first


def found_counts(adapted):
    matrix = np.asarray(
        adapted.matrix if isinstance(adapted.matrix, np.ndarray) else adapted.matrix.toarray()
    )
    names = adapted.states
    return {(names[i], names[j]): int(matrix[i, j]) for i, j in zip(*np.nonzero(matrix), strict=True)}


def events_table(rng, n=600, pages=("a", "b", "c,d", "ü", "10")):
    """Many ties in time, in no order."""
    return pandas.DataFrame(
        {
            COLUMNS["session"]: rng.integers(40, size=n),
            "unused": rng.random(n),
            COLUMNS["time"]: rng.integers(6, size=n),
            COLUMNS["state"]: rng.choice(list(pages), size=n),
        }
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [COLUMNS["time"], None])
def test_events_are_counted_in_time_then_in_row_order(rng, tmp_path, kind, time):
    table = events_table(rng)
    rows = table[[COLUMNS["session"], time or "unused", COLUMNS["state"]]].values.tolist()
    pairs, first = textbook_counts([(s, 0 if time is None else t, x) for s, t, x in rows])
    found = count_events(as_kind(table, kind, tmp_path), **{**COLUMNS, "time": time})
    assert found_counts(found) == pairs
    assert found.states == tuple(sorted({state for pair in pairs for state in pair}))
    np.testing.assert_allclose(found.initial, [first[state] / first.total() for state in found.states])


@pytest.mark.parametrize("kind", KINDS)
def test_integer_states_stay_integers(rng, tmp_path, kind):
    table = events_table(rng, pages=(-3, 7, 10, 100))
    found = count_events(as_kind(table, kind, tmp_path), **COLUMNS)
    assert found.states == (-3, 7, 10, 100)
    assert all(type(state) is int for state in found.states)


def test_states_of_text_files_stay_text_if_one_is_no_integer(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("page\n7\n07\n7\n")
    assert count_events(path, state="page").states == ("07", "7")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abc")), min_size=2, max_size=40)
)
def test_any_table(rows):
    pairs, _ = textbook_counts(rows)
    table = pandas.DataFrame(rows, columns=["session", "time", "state"])
    if not pairs:
        with pytest.raises(InvalidArgumentError, match="has no transition"):
            count_events(table, session="session", time="time", state="state")
        return
    assert found_counts(count_events(table, session="session", time="time", state="state")) == pairs


def test_without_sessions_all_rows_are_one():
    found = count_events(pandas.DataFrame({"t": [3, 1, 2], "x": ["c", "a", "b"]}), time="t", state="x")
    assert found_counts(found) == {("a", "b"): 1, ("b", "c"): 1}


def test_many_states_are_sparse():
    table = pandas.DataFrame({"x": [*range(1500), 0]})
    found = count_events(table, state="x")
    assert found.matrix.format == "csr"
    assert found.matrix.sum() == 1500


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-02T10:00:00", "2024-01-02T09:00:00", "2024-01-01T23:00:00"],
        ["2024-01-02 10:00:00Z", "2024-01-02 09:00:00Z", "2024-01-01 23:00:00Z"],
        [10.5, 9.0, -1.0],
        pandas.to_datetime(["2024-01-02 10:00", "2024-01-02 09:00", "2024-01-01 23:00"]),
        pandas.to_datetime(["2024-01-02 10:00", "2024-01-02 09:00", "2024-01-01 23:00"], utc=True),
    ],
)
def test_kinds_of_times(times):
    found = count_events(pandas.DataFrame({"t": times, "x": ["c", "b", "a"]}), time="t", state="x")
    assert found_counts(found) == {("a", "b"): 1, ("b", "c"): 1}


def test_times_as_text_are_not_sorted_as_text(tmp_path):
    """As text, 10:00 would precede 9:00."""
    path = tmp_path / "events.csv"
    path.write_text("t;x\n2024-01-02 10:00;b\n2024-01-02 9:00;a\n")
    assert found_counts(count_events(path, time="t", state="x")) == {("a", "b"): 1}


def test_categories_are_their_values():
    for values in (["a", "b", "a"], [2, 1, 2]):
        table = pandas.DataFrame({"x": pandas.Categorical(values)})
        assert count_events(table, state="x").states == tuple(sorted(set(values)))


def test_the_chain_knows_where_sessions_begin():
    table = pandas.DataFrame({"s": [1, 1, 2, 2, 2], "x": ["a", "b", "a", "b", "c"]})
    chain = MarkovChain.from_events(table, session="s", state="x", restart=0.25)
    np.testing.assert_array_equal(chain.initial, [1, 0, 0])
    np.testing.assert_allclose(chain.transition_matrix, [[0.25, 0.75, 0], [0.25, 0, 0.75], [1, 0, 0]])
    elsewhere = MarkovChain.from_events(table, session="s", state="x", restart=0.25, initial="b")
    np.testing.assert_array_equal(elsewhere.initial, [0, 1, 0])
    words = r"state 'c' has no successor.*drop its rows, or pass restrict='connected'.*restart=p"
    with pytest.raises(InvalidArgumentError, match=words):
        MarkovChain.from_events(table, session="s", state="x")


def test_the_connected_set_goes_by_counts():
    # Two states with 9 counts between them, three with 6, and a dead end.
    states = [*"abababababcdecdecz"]
    chain = MarkovChain.from_events(pandas.DataFrame({"x": states}), state="x", restrict="connected")
    assert chain.states == ("a", "b")
    assert "the counts; dropped 'c', 'd', 'e', 'z'" in chain.applied[0]
    links = pandas.DataFrame({"from": states[:-1], "to": states[1:]})
    assert MarkovChain.from_table(links, restrict="connected").states == ("a", "b")
    assert MarkovChain.from_table(links.drop_duplicates(), restrict="connected").states == ("c", "d", "e")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, "n"])
def test_transitions(rng, tmp_path, kind, weight):
    table = pandas.DataFrame(
        {"from": rng.choice(list("abc"), 50), "n": rng.integers(1, 9, 50), "to": rng.choice(list("abc"), 50)}
    )
    expected = Counter()
    for source, n, target in table.values.tolist():
        expected[source, target] += 1 if weight is None else n
    found = count_transitions(as_kind(table, kind, tmp_path), weight=weight)
    assert found_counts(found) == expected
    chain = MarkovChain.from_table(as_kind(table, kind, tmp_path), weight=weight)
    np.testing.assert_allclose(chain.transition_matrix.sum(axis=1), 1)


def test_sums_of_floats_do_not_depend_on_threads(rng):
    table = pandas.DataFrame({"a": ["x"] * 300_000, "b": ["x"] * 300_000, "w": rng.random(300_000)})
    sums = {
        float(count_transitions(table, source="a", target="b", weight="w").matrix[0, 0]) for _ in range(3)
    }
    assert len(sums) == 1


def refusal(table, **columns):
    with pytest.raises(KlumpError) as found:
        MarkovChain.from_events(table, **columns)
    return found.value


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_not_there(rng, tmp_path, kind):
    error = refusal(as_kind(events_table(rng), kind, tmp_path), session="unusde", state=COLUMNS["state"])
    assert (error.argument, error.value) == ("session", "unusde")
    assert "did you mean 'unused'?" in str(error)
    assert COLUMNS["time"] in str(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("argument", ["session", "time", "state"])
def test_missing_values(rng, tmp_path, kind, argument):
    table = events_table(rng)
    table[COLUMNS["time"]] = table[COLUMNS["time"]].astype(float)
    table[COLUMNS["session"]] = table[COLUMNS["session"]].astype(float)
    table.loc[[3, 5], COLUMNS[argument]] = None
    error = refusal(as_kind(table, kind, tmp_path), **COLUMNS)
    assert (error.argument, error.value) == (argument, COLUMNS[argument])
    assert "has 2 missing values in 600 rows; drop these rows" in str(error)


def test_nan_is_a_missing_value():
    table = pyarrow.table({"t": [1.0, float("nan")], "x": ["a", "b"]})
    assert "has 1 missing values in 2 rows" in str(refusal(table, time="t", state="x"))


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ({"x": []}, {"state": "x"}, "table has no rows"),
        (
            {"s": [1, 2], "x": ["a", "b"]},
            {"state": "x", "session": "s"},
            "none of the sessions in 's' has two",
        ),
        (
            {"t": ["soon", "later"], "x": ["a", "b"]},
            {"state": "x", "time": "t"},
            "time='t' has 'soon', which is",
        ),
        ({"x": [1, "1", 1]}, {"state": "x"}, "state='x' mixes values of several types"),
        ({"x": ["a", "b"]}, {"state": 0}, "state=0 must be the name of a column"),
        (
            {"x": ["a", "b"]},
            {"state": "x", "memory_limit": "1; DROP"},
            "memory_limit='1; DROP' must be an amount",
        ),
    ],
)
def test_tables_that_cannot_be_counted(table, columns, message):
    assert message in str(refusal(pandas.DataFrame(table), **columns))


def test_lists_cannot_name_states():
    error = refusal(pyarrow.table({"x": [[1], [2]]}), state="x")
    assert "holds BIGINT[] values, which cannot name states" in str(error)


def test_sources_and_targets_have_one_type():
    table = pandas.DataFrame({"from": ["a", "b"], "to": [1, 2]})
    with pytest.raises(InvalidArgumentError, match="target='to' holds integers, but 'from' holds text"):
        MarkovChain.from_table(table)


def test_weights_are_numbers():
    table = pandas.DataFrame({"from": ["a", "b"], "to": ["b", "a"], "n": ["x", "y"]})
    with pytest.raises(InvalidArgumentError, match="weight='n' holds VARCHAR values"):
        MarkovChain.from_table(table, weight="n")


def test_what_is_no_table():
    assert "table is a list, not a table; pass a DataFrame" in str(refusal([["a", "b"]], state="x"))
    assert "collect it first" in str(refusal(polars.LazyFrame({"x": ["a"]}), state="x"))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "events.parquet").write_text("no parquet")
    for name, message in (
        ("events.parquet", "DuckDB cannot read the table"),
        ("missing.csv", "cannot be read: No such file or directory"),
        ("events.xlsx", "the suffix '.xlsx' is not that of a table"),
    ):
        error = refusal(tmp_path / name, state="x")
        assert isinstance(error, FileFormatError)
        assert error.file == str(tmp_path / name)
        assert message in str(error)
        assert "\n" not in str(error)


def test_addresses_are_no_files():
    assert "No such file or directory" in str(refusal("https://example.org/events.csv", state="x"))


def test_duckdb_works_in_a_folder_that_is_removed_and_without_extensions(rng, monkeypatch, tmp_path):
    monkeypatch.setattr(duckdb_tables.tempfile, "tempdir", str(tmp_path))
    with duckdb_tables.open_table(events_table(rng), [], "200MB") as opened:
        settings = (
            "autoinstall_known_extensions",
            "autoload_known_extensions",
            "temp_directory",
            "memory_limit",
        )
        found = {name: opened.run(f"SELECT current_setting('{name}')").fetchone()[0] for name in settings}
        assert [found.pop(name) for name in settings[:2]] == [False, False]
        assert found["temp_directory"].startswith(str(tmp_path))
        assert found["memory_limit"] == "190.7 MiB"
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_more_events_than_memory(rng, tmp_path):
    """The sort alone takes more than the limit, so that DuckDB writes to its folder."""
    n = 1_000_000
    table = pyarrow.table(
        {"s": rng.integers(n // 10, size=n), "t": rng.random(n), "x": rng.integers(9, size=n)}
    )
    narrow, wide = (
        count_events(table, session="s", time="t", state="x", memory_limit=limit)
        for limit in ("100MB", "2GB")
    )
    np.testing.assert_array_equal(narrow.matrix, wide.matrix)
    assert narrow.matrix.sum() == n - len(np.unique(table["s"].to_numpy()))


def test_without_duckdb(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'klump\[events\]'"):
        MarkovChain.from_events(pandas.DataFrame({"x": ["a"]}), state="x")


def test_duckdb_is_imported_only_when_a_table_is_counted():
    code = "import sys, klump; klump.MarkovChain([[1.0]]); assert 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("columns", [["Page", "page"], ["page", "page"]])
def test_columns_that_differ_in_case_at_most_are_refused(columns):
    table = pandas.DataFrame([["x", "a"], ["y", "b"], ["x", "a"]], columns=columns)
    with pytest.raises(InvalidArgumentError, match="differ in case at most"):
        MarkovChain.from_events(table, state="page")


def test_columns_of_pandas_may_be_numbers():
    chain = MarkovChain.from_events(pandas.DataFrame({0: list("ababa")}), state="0")
    assert chain.states == ("a", "b")


def test_rows_that_begin_with_a_hash_are_no_comments(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("s,p\n#1,a\n#1,b\n2,a\n2,c\n#1,a\n2,a\n")
    chain = MarkovChain.from_events(path, session="s", state="p")
    assert chain.states == ("a", "b", "c")
    np.testing.assert_allclose(chain.transition_matrix, [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])


def test_sessions_of_a_text_file_are_text(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("s,p\n1.10,a\n1.1,x\n1.10,b\n1.1,y\n1.10,a\n1.1,x\n")
    chain = MarkovChain.from_events(path, session="s", state="p", restart=0.1)
    assert chain.transition_matrix[chain.states.index("a"), chain.states.index("b")] > 0.8
    assert chain.initial.tolist() == [0.5, 0, 0.5, 0]


def test_dates_are_not_guessed(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("t,p\n01/12/2024,a\n02/01/2024,b\n02/02/2024,c\n03/01/2024,a\n")
    with pytest.raises(InvalidArgumentError, match="'01/12/2024', which is neither a number nor a timestamp"):
        MarkovChain.from_events(path, time="t", state="p")


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-01 00:00:00.000000002", "2024-01-01 00:00:00.000000001"],
        pandas.Categorical(["2024-01-10", "2024-01-09"], categories=["2024-01-10", "2024-01-09"]),
        ["10", "9"],
        ["1e1", "9.5"],
        ["1600-01-02", "1600-01-01"],  # before the first nanosecond that 64 bits hold
    ],
)
def test_times_in_text_are_in_their_own_order(times):
    table = pandas.DataFrame({"t": times, "p": ["a", "b"]})
    chain = MarkovChain.from_events(table, time="t", state="p", restart=0.1)
    assert chain.initial.tolist() == [0.0, 1.0]
