"""The format of a file: what the content says, what the name says, and which of them counts."""

import gzip
import lzma

import numpy as np
import pytest
from scipy import sparse

import klump
import models
from klump.errors import FileFormatError, InvalidArgumentError
from klump.files import streams
from klump.files.recognition import guess, recognize
from klump.files.registry import FORMAT_NAMES, MODULES

P = np.array([[0.5, 0.5, 0], [0.25, 0, 0.75], [0, 1, 0]])
SIGNED = [".npz", ".npy", ".mtx", ".storm.tra", ".drn", ".umb", ".graphml", ".parquet"]


@pytest.mark.parametrize("suffix", SIGNED)
@pytest.mark.parametrize("name", ["m.txt", "m", "m.csv", "m.tra", "m.npz", "m.mtx.gz"])
def test_a_signature_comes_before_the_name(tmp_path, suffix, name):
    klump.write_chain(P, tmp_path / f"whole{suffix}")
    content = (tmp_path / f"whole{suffix}").read_bytes()
    (tmp_path / name).write_bytes(content)
    assert recognize(tmp_path / name) == (".tra" if suffix == ".storm.tra" else suffix)
    chain = klump.read_chain(tmp_path / name)
    assert np.array_equal(sparse.csr_array(chain.transition_matrix).toarray(), P)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("suffix", [".mtx", ".csv", ".tsv", ".tra", ".drn", ".graphml", ".umb"])
def test_compression_is_told_by_the_content(tmp_path, suffix, compress):
    path = tmp_path / f"m{suffix}"
    klump.write_chain(sparse.csr_array(P), path)
    path.write_bytes(compress(path.read_bytes()))
    for other in (path, path.with_name(f"m{suffix}.gz"), path.with_name(f"m{suffix}.xz")):
        other.write_bytes(path.read_bytes())
        if (
            suffix != ".tsv" or other.suffix != ".xz"
        ):  # a name without known suffix is a .csv, told by its first line
            assert np.array_equal(klump.read_chain(other).transition_matrix.toarray(), P)


def test_names_without_known_suffix(tmp_path):
    path = tmp_path / "m.txt"
    for text, suffix in (
        ("3 1\n0 0 1\n", ".tra"),
        ("# Transitions (DTMC)\n3 1\n0 0.5:0 0.5:1\n", ".tra"),
        ("from to\na b\n", ".csv"),
        ("0.5 0.5\n0.5 0.5\n", ".csv"),
        ("1 0\n0 1\n", ".csv"),
    ):
        path.write_text(text)
        assert recognize(path) is None
        assert guess(path) == suffix
    path.write_bytes(b"\0\1\2")
    assert guess(path) is None
    with pytest.raises(FileFormatError, match=r"m\.txt: the suffix '\.txt' is not known; choose one of"):
        klump.read_chain(path)


def test_format_given_by_the_caller(tmp_path):
    (tmp_path / "m.csv").write_text("2 2\n0 1 1\n1 0 1\n")
    assert klump.read_chain(tmp_path / "m.csv", format="tra").n_states == 2
    assert klump.read_chain(tmp_path / "m.csv", format="TRA").n_states == 2
    with pytest.raises(
        InvalidArgumentError, match=r"format='doc' is not known; choose one of npz, npy, mtx, csv"
    ):
        klump.read_chain(tmp_path / "m.csv", format="doc")
    assert {f".{name}" for name in FORMAT_NAMES} <= set(MODULES)


def test_xz_with_a_huge_dictionary_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_XZ_MEMORY", 2**20)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**26}]
    text = models.dense(models.knuth_yao_die())
    body = "\n".join(",".join(map(repr, row)) for row in text.tolist())
    (tmp_path / "m.csv").write_bytes(lzma.compress(body.encode(), filters=filters))
    with pytest.raises(FileFormatError, match=r"m\.csv: .*[Mm]emory"):
        klump.read_chain(tmp_path / "m.csv")


def test_several_xz_streams_are_one_file(tmp_path):
    (tmp_path / "m.csv.xz").write_bytes(lzma.compress(b"0.5,0.5\n") + lzma.compress(b"0.25,0.75\n"))
    assert klump.read_chain(tmp_path / "m.csv.xz", format="csv").n_states == 2
    (tmp_path / "m.csv.xz").write_bytes(lzma.compress(b"0.5,0.5\n" * 99)[:-20])
    with pytest.raises(FileFormatError, match=r"m\.csv\.xz: "):
        klump.read_chain(tmp_path / "m.csv.xz", format="csv")
