"""Sizes that a file cannot hold, and files that expand beyond all measure, are refused before memory is allocated."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError, InvalidChainError
from klump.files import archives, streams
from klump.files.limits import expansion_limit, require_plausible_states

BANNER = "%%MatrixMarket matrix coordinate real general\n"
# Bytes that a refusal may take.
LITTLE = 2**22


def refusal(path, **options):
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError) as caught:
            klump.read_chain(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LITTLE
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{BANNER}100000000 100000000 1\n1 1 1\n", "line 2: 100,000,000 states, but at most 1 transitions"),
        (
            f"{BANNER}900000000 900000000 3\n1 1 1\n1 2 1\n1 3 1\n",
            "900,000,000 states, but at most 3 transitions",
        ),
        (f"{BANNER}900000000 900000000 900000000\n1 1 1\n", "line 2: 900,000,000 entries are announced"),
        (f"{BANNER}{'9' * 5000} 1 1\n1 1 1\n", "line 2: '9999.*is not the number of rows"),
        ("%%MatrixMarket matrix array real general\n99999 99999\n1\n", "9,999,800,001 entries are announced"),
        (
            f"{BANNER.replace('general', 'symmetric')}9999999 9999999 3\n1 1 1\n2 1 1\n3 1 1\n",
            "at most 6 transitions",
        ),
    ],
)
def test_matrix_market(tmp_path, text, message):
    (tmp_path / "model.mtx").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        klump.read_chain(tmp_path / "model.mtx")
    refusal(tmp_path / "model.mtx")
    (tmp_path / "model.mtx.gz").write_bytes(gzip.compress(text.encode()))
    refusal(tmp_path / "model.mtx.gz")


def npy(shape, descr="<f8", data=b"\0" * 64):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + b"\n"
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("shape", "descr"),
    [
        ("(1000000, 1000000)", "<f8"),
        ("(9223372036854775808, 2)", "<f8"),
        (f"({'9' * 5000}, 2)", "<f8"),
        ("(1, 1)", "<U100000000"),
        ("(1000000000000, 1)", "<U0"),
    ],
)
def test_npy_headers(tmp_path, shape, descr):
    (tmp_path / "model.npy").write_bytes(npy(shape, descr))
    refusal(tmp_path / "model.npy")
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("P.npy", npy(shape, descr))
    assert "its array 'P' is damaged: " in refusal(tmp_path / "model.npz")


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "dia", "bsr"])
def test_sparse_archives(tmp_path, kind):
    stored = getattr(sparse, f"{kind}_array")(np.eye(4))
    sparse.save_npz(tmp_path / "model.npz", stored)
    with np.load(tmp_path / "model.npz") as archive:
        content = dict(archive)
    np.savez(tmp_path / "model.npz", **(content | {"shape": np.array([10**9, 10**9])}))
    assert "its sparse matrix" in refusal(tmp_path / "model.npz") or "states" in refusal(
        tmp_path / "model.npz"
    )


def test_a_valid_chain_is_plausible():
    """Every state has a transition, so that no chain has more states than entries."""
    require_plausible_states(10**8, 10**8)
    require_plausible_states(10**6, 0)  # small enough for the error that names the empty row
    with pytest.raises(FileFormatError, match="10,000,000 states, but at most 9,999,999 transitions"):
        require_plausible_states(10**7, 10**7 - 1)


def test_dead_ends_are_still_named(tmp_path):
    (tmp_path / "model.mtx").write_text(f"{BANNER}1000 1000 1\n7 7 1\n")
    with pytest.raises(InvalidChainError, match="row 0 of the transition matrix sums to 0"):
        klump.read_chain(tmp_path / "model.mtx")


def test_a_symmetric_matrix_may_have_half_as_many_entries_as_states(tmp_path, monkeypatch):
    monkeypatch.setattr("klump.files.limits._ALWAYS_PLAUSIBLE", 0)
    (tmp_path / "model.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n4 3\n"
    )
    assert klump.read_chain(tmp_path / "model.mtx").n_states == 4


# Bombs


@pytest.fixture
def small_allowance(monkeypatch):
    monkeypatch.setattr(streams, "FREE_TEXT_BYTES", 2**16)
    monkeypatch.setattr(archives, "FREE_ARCHIVE_BYTES", 2**16)


TRANSITIONS = b"from,to,weight\n" + b"a,a,1\n" * 100_000
ENTRIES = BANNER.encode() + b"1 1 100000\n" + b"1 1 1\n" * 100_000


@pytest.mark.parametrize(("suffix", "text"), [(".csv.gz", TRANSITIONS), (".mtx.gz", ENTRIES)])
def test_gzip_bombs(tmp_path, small_allowance, suffix, text):
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(gzip.compress(text))
    message = refusal(path, normalize=True)
    assert "beyond 100 times its length; decompress it first, or set KLUMP_MAX_EXPANSION" in message
    plain = path.with_suffix("")
    plain.write_bytes(text)
    assert klump.read_chain(plain, normalize=True).n_states == 1


def test_zip_bombs(tmp_path, small_allowance, monkeypatch):
    matrix = np.zeros((300, 300))
    matrix[:, 0] = 1.0
    np.savez_compressed(tmp_path / "bomb.npz", P=matrix)
    assert "it expands from 0.0 MB" in refusal(tmp_path / "bomb.npz")
    monkeypatch.setenv("KLUMP_MAX_EXPANSION", "2000")
    assert klump.read_chain(tmp_path / "bomb.npz").n_states == 300


def test_overlapping_members_count_each_time(tmp_path, small_allowance):
    """A thousand members that are the same bytes of the file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("P.npy", npy("(8,)"))
        first = archive.infolist()[0]
        for number in range(1000):
            copy = zipfile.ZipInfo(f"{number}.npy")
            copy.header_offset, copy.file_size, copy.compress_size, copy.CRC = 0, 20_000, 20_000, first.CRC
            archive.filelist.append(copy)
        archive._didModify = True
    (tmp_path / "bomb.npz").write_bytes(stream.getvalue())
    refusal(tmp_path / "bomb.npz")


def test_members_outside_the_archive_twice_or_oddly_compressed(tmp_path):
    for name, method, message in (
        ("../P.npy", zipfile.ZIP_STORED, r"its member '\.\./P\.npy' points outside"),
        ("/P.npy", zipfile.ZIP_STORED, r"its member '/P\.npy' points outside"),
        ("P.npy", zipfile.ZIP_LZMA, r"its member 'P\.npy' is compressed by method 14"),
    ):
        with zipfile.ZipFile(tmp_path / "model.npz", "w", method) as archive:
            archive.writestr(name, npy("(8,)"))
        with pytest.raises(FileFormatError, match=message):
            klump.read_chain(tmp_path / "model.npz")
    with (
        zipfile.ZipFile(tmp_path / "model.npz", "w") as archive,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        archive.writestr("P.npy", npy("(8,)"))
        archive.writestr("P.npy", npy("(8,)"))
    with pytest.raises(FileFormatError, match="two arrays named 'P'"):
        klump.read_chain(tmp_path / "model.npz")


def test_expansion_limit(monkeypatch):
    assert expansion_limit(10, 1000) == 1000
    assert expansion_limit(10**6, 1000) == 10**8
    monkeypatch.setenv("KLUMP_MAX_EXPANSION", "7")
    assert expansion_limit(10**6, 1000) == 7 * 10**6
    monkeypatch.setenv("KLUMP_MAX_EXPANSION", "much")
    assert expansion_limit(10**6, 1000) == 10**8
