"""Parquet: columns, types, order of states, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, MissingPackageError
from klump.files import parquet

pytest.importorskip("pyarrow")

P = np.array([[0.5, 0.5, 0], [0.25, 0, 0.75], [0, 1, 0]])


def chain_from(tmp_path, columns, **options):
    pd.DataFrame(columns).to_parquet(tmp_path / "m.parquet", index=False)
    return klump.read_chain(tmp_path / "m.parquet", **options)


@pytest.mark.parametrize(
    "columns",
    [
        {"from": ["b", "b", "a", "a"], "to": ["a", "b", "b", "a"], "weight": [0.25, 0.75, 0.5, 0.5]},
        {
            "To": ["a", "b", "b", "a"],
            "probability": [0.25, 0.75, 0.5, 0.5],
            "FROM": ["b", "b", "a", "a"],
            "x": 1.0,
        },
        {
            "source": pd.Categorical(["b", "b", "a", "a"]),
            "target": ["a", "b", "b", "a"],
            "count": [1, 3, 2, 2],
        },
    ],
)
def test_columns(tmp_path, columns):
    chain = chain_from(tmp_path, columns, normalize="count" in columns)
    assert chain.states == ("b", "a")
    assert np.array_equal(chain.transition_matrix.toarray(), [[0.75, 0.25], [0.5, 0.5]])


def test_transitions_without_weights_are_counted(tmp_path):
    columns = {"from": [10, 2, 10, 10, 10], "to": [2, 10, 10, 2, 2]}
    chain = chain_from(tmp_path, columns, normalize=True)
    assert chain.states == (2, 10)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1], [0.75, 0.25]])
    with pytest.raises(
        FileFormatError, match="the transition from '10' to '2' is given twice; remove one, or pass"
    ):
        chain_from(tmp_path, columns)


@pytest.mark.parametrize("batch", [1, 3, 2**16])
@pytest.mark.parametrize("states", [None, ("x", "y", "z"), (7, -2, 12), (1, 2, 3), ("2", "1", "0")])
def test_round_trip(tmp_path, monkeypatch, batch, states):
    monkeypatch.setattr(parquet, "_BATCH", batch)
    chain = klump.MarkovChain(sparse.csr_array(P), states)
    klump.write_chain(chain, tmp_path / "m.parquet")
    back = klump.read_chain(tmp_path / "m.parquet")
    assert np.array_equal(back.transition_matrix.toarray(), P)
    assert back.states == chain.states
    frame = pd.read_parquet(tmp_path / "m.parquet")
    assert list(frame.columns) == ["from", "to", "probability"]
    assert len(frame) == chain.n_transitions


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [2]}, "there are no columns from and to among 'a, b'"),
        ({"from": [0.5], "to": [1]}, "the column 'from' is of type double, not of text or integers"),
        ({"from": ["a", None], "to": ["a", "a"]}, "the column 'from' has empty cells"),
        ({"from": ["a"], "to": [1]}, "the columns of the states differ in type"),
        ({"from": ["a"], "to": ["a"], "weight": ["x"]}, "the column 'weight' does not hold a number per row"),
        ({"from": ["a"], "to": ["a"], "weight": [-1.0]}, "the column 'weight' has -1, which is no weight"),
        ({"from": ["a"], "to": ["a"], "weight": [np.inf]}, "the column 'weight' has inf"),
        ({"from": pd.Series([], dtype=str), "to": pd.Series([], dtype=str)}, "there is no transition"),
    ],
)
def test_errors(tmp_path, columns, message):
    with pytest.raises(FileFormatError, match=f"m.parquet: {message}"):
        chain_from(tmp_path, columns)


def test_many_rows_in_few_bytes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "FREE_ARCHIVE_BYTES", 1000)
    with pytest.raises(FileFormatError, match="it expands from"):
        chain_from(tmp_path, {"from": ["a"] * 500_000, "to": ["a"] * 500_000}, normalize=True)


def test_pyarrow_is_optional(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingPackageError, match=r"Parquet files need pyarrow; pip install 'klump\[parquet\]'"
    ):
        klump.write_chain(P, tmp_path / "m.parquet")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "m.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingPackageError, match="Parquet files need pyarrow"):
        klump.read_chain(tmp_path / "m.parquet")
