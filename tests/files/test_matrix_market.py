"""Matrix Market: its variants, and the ways in which a file can be wrong."""

import gzip

import numpy as np
import pytest
from scipy import io, sparse

import klump
from klump.errors import FileFormatError, InvalidChainError
from klump.files import matrix_market, matrix_market_lines

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def chain_from(tmp_path, text, name="model.mtx", **options):
    (tmp_path / name).write_text(text)
    return klump.read_chain(tmp_path / name, **options)


def test_coordinate(tmp_path):
    chain = chain_from(tmp_path, HEADER + "% a comment\n2 2 3\n1 2 1\n2 1 0.5\n2 2 0.5\n")
    assert chain.is_sparse
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1], [0.5, 0.5]])


def test_array(tmp_path):
    chain = chain_from(tmp_path, "%%MatrixMarket matrix array real general\n2 2\n0.1\n0.2\n0.9\n0.8\n")
    assert not chain.is_sparse
    assert np.array_equal(chain.transition_matrix, [[0.1, 0.9], [0.2, 0.8]])


def test_symmetric_pattern(tmp_path):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    chain = chain_from(tmp_path, text, normalize=True)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not a Matrix Market file"),
        ("from,to,weight\na,a,1\n", "line 1: not a Matrix Market file"),
        (HEADER, "line 2: '' is not the number of rows, columns and entries"),
        (
            HEADER + "2 2 3\n1 2 1\n2 1 0.5\n",
            "truncated: 1 of the entries announced in its header are missing",
        ),
        (
            HEADER + "2 2 2\n1 2 1\n2 1 1\n1 1 1\n",
            "line 5: there are more entries than the 2 that are announced",
        ),
        (HEADER + "2 2 2\n1 2 one\n2 1 1\n", "line 3: 'one' is not a number"),
        (HEADER + "2 2 2\n1 3 1\n2 1 1\n", "line 3: column '3' is not one of the 2 columns"),
        (
            "%%MatrixMarket vector coordinate real general\n2 1\n1 1\n",
            "line 1: 'vector' is not read; write one of matrix",
        ),
    ],
)
def test_invalid_files(tmp_path, text, message):
    with pytest.raises(
        FileFormatError, match=f"model.mtx: {message}|model.mtx: the file is {message}"
    ) as error:
        chain_from(tmp_path, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "2 2 2\n1 2 nan\n2 1 1\n", "row 0 of the transition matrix has nan in column 1"),
        (HEADER + "2 2 2\n1 2 -1\n2 1 1\n", "has -1.0 in column 1: probabilities cannot be negative"),
        (HEADER + "2 3 2\n1 2 1\n2 1 1\n", r"must be square, but its shape is \(2, 3\)"),
        (HEADER + "2 2 1\n1 2 1\n", "row 1 of the transition matrix sums to 0"),
        (HEADER + "2 2 2\n1 2 5\n2 1 7\n", "row 0 .* sums to 5 .*look like counts; pass normalize=True"),
        (HEADER.replace("real", "complex") + "1 1 1\n1 1 1 0\n", "complex"),
    ],
)
def test_not_a_chain(tmp_path, text, message):
    with pytest.raises(InvalidChainError, match=f"model.mtx: .*{message}"):
        chain_from(tmp_path, text)


def test_invalid_gzip_files(tmp_path):
    plain = chain_from(tmp_path, HEADER + "1 1 1\n1 1 1\n", "model.mtx.gz")
    assert plain.n_states == 1
    content = gzip.compress(
        (HEADER + "300 300 300\n" + "".join(f"{i} {i} 1\n" for i in range(1, 301))).encode()
    )
    (tmp_path / "cut.mtx.gz").write_bytes(content[:-200])
    with pytest.raises(FileFormatError, match=r"cut.mtx.gz: the file is truncated: "):
        klump.read_chain(tmp_path / "cut.mtx.gz")


def written(tmp_path, matrix, **options):
    io.mmwrite(tmp_path / "model.mtx", matrix, **options)
    return tmp_path / "model.mtx"


def read(path):
    matrix = matrix_market.read(path, add_up=False).matrix
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("chunk", [2**20, 200, 64])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("kind", [sparse.coo_array, np.asarray], ids=["coordinate", "array"])
def test_same_as_scipy(tmp_path, monkeypatch, rng, kind, field, symmetry, chunk):
    """Every float bit for bit, at every length of the chunks."""
    if field == "pattern" and (kind is np.asarray or symmetry == "skew-symmetric"):
        pytest.skip("does not exist")
    monkeypatch.setattr(matrix_market_lines, "_CHUNK", chunk)
    matrix = rng.random((30, 30)) ** 9 * (rng.random((30, 30)) < 0.3)
    matrix = (1000 * matrix).astype(int) if field == "integer" else matrix
    if symmetry != "general":
        matrix = np.tril(matrix, -1) + (
            np.tril(matrix, -1).T if symmetry == "symmetric" else -np.tril(matrix, -1).T
        )
    path = written(tmp_path, kind(matrix), field=field, symmetry=symmetry)
    expected = io.mmread(path)
    assert np.array_equal(read(path), expected.toarray() if sparse.issparse(expected) else expected)


@pytest.mark.parametrize(
    "text",
    [
        "%%matrixmarket MATRIX Coordinate Real General\n%\n\n% c\n 2\t2 3 \n1 2 1\n\n2 1 0.5\r\n2 2 .5",
        "%%MatrixMarket matrix coordinate double general\n2 2 3\n  1 2 1.\n2 1 5e-1 \n2\t2\t+0.5\n \n",
        "%MatrixMarket matrix coordinate real general\r\n2 2 3\r\n1 2 1e0\r\n2 1 5E-01\r\n02 2 0.05e+1\r\n",
    ],
)
def test_variants(tmp_path, text):
    (tmp_path / "model.mtx").write_bytes(text.encode())
    assert np.array_equal(read(tmp_path / "model.mtx"), [[0, 1], [0.5, 0.5]])


def test_duplicates_are_added_up(tmp_path):
    chain = chain_from(tmp_path, HEADER + "2 2 4\n1 2 0.5\n2 1 1\n1 2 0.25\n1 1 0.25\n")
    assert np.array_equal(chain.transition_matrix.toarray(), [[0.25, 0.75], [1, 0]])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1 1,9", "line 4: '1,9' is not a number"),
        ("1 1 1x", "line 4: '1x' is not a number"),
        ("1 1 1.2.3", "line 4: '1.2.3' is not a number"),
        ("1 1 1e", "line 4: '1e' is not a number"),
        ("1 1 1-2", "line 4: '1-2' is not a number"),
        ("1 1 0x1", "line 4: '0x1' is not a number"),
        ("1 1 1_0", "line 4: '1_0' is not a number"),
        ("1 1 1d0", "line 4: '1d0' is not a number"),
        ("1 1 \0", r"line 4: '\\x00' is not a number"),
        ("1 1 1\0", r"line 4: '1\\x00' is not a number"),
        ("1 1\x0b1 1", r"line 4: '1\\x0b1' is not the number of a column"),
        ("1.0 1 1", "line 4: '1.0' is not the number of a row"),
        ("1e0 1 1", "line 4: '1e0' is not the number of a row"),
        ("+1 1 1", "line 4: '\\+1' is not the number of a row"),
        ("-1 1 1", "line 4: '-1' is not the number of a row"),
        ("0 1 1", "line 4: row '0' is not one of the 2 rows"),
        ("1 18446744073709551617 1", "line 4: column '18446744073709551617' is not one of the 2 columns"),
        (f"1 {'9' * 5000} 1", r"line 4: column '9{40}'\.\.\. is not one of the 2 columns"),
        ("1 1", "line 4: '1 1' has 2 fields instead of 3"),
        ("1 1 1 1", "line 4: '1 1 1 1' has 4 fields instead of 3"),
        ("% 1 1", "line 4: '%' is not the number of a row"),
        ("1 " * 40_000, r"line 4: .* has 40000 fields instead of 3"),
    ],
)
def test_junk_is_refused_with_its_line(tmp_path, line, message):
    with pytest.raises(FileFormatError, match=f"model.mtx: {message}") as error:
        chain_from(tmp_path, f"{HEADER}2 2 3\n1 2 1\n{line}\n2 2 1\n", normalize=True)
    assert len(str(error.value)) < 300


def test_integers_have_no_fraction(tmp_path):
    with pytest.raises(FileFormatError, match=r"line 3: '1\.5' is not an integer"):
        chain_from(tmp_path, HEADER.replace("real", "integer") + "1 1 1\n1 1 1.5\n")
    chain = chain_from(tmp_path, HEADER.replace("real", "integer") + f"1 1 1\n1 1 {2**70}\n", normalize=True)
    assert chain.n_states == 1


def test_a_number_too_large_is_not_a_probability(tmp_path):
    for number in ("1e999", "9" * 5000):
        with pytest.raises(InvalidChainError, match=r"row 0 .* has inf in column 0"):
            chain_from(tmp_path, f"{HEADER}1 1 1\n1 1 {number}\n", normalize=True)


@pytest.mark.parametrize("last", ["", " ", "\t", "\0", " \0", "\r", "  \n \n"])
def test_no_end_of_the_file_crashes(tmp_path, last):
    text = HEADER + "2 2 3\n1 2 1\n2 1 0.5\n2 2 0.5" + last
    (tmp_path / "model.mtx").write_bytes(text.encode())
    if "\0" in last:
        with pytest.raises(FileFormatError, match="line 5: "):
            klump.read_chain(tmp_path / "model.mtx")
    else:
        assert klump.read_chain(tmp_path / "model.mtx").n_transitions == 3


@pytest.mark.parametrize(
    ("banner", "message"),
    [
        ("%%MatrixMarket matrix coordinate real", "line 1: the banner has 3 words"),
        (
            "%%MatrixMarket matrix coordinate real triangular",
            "line 1: 'triangular' is not read; write one of general",
        ),
        ("%%MatrixMarket matrix array pattern general", "line 1: a matrix in array format has values"),
        ("%%MatrixMarket matrix coordinate real symmetric", "line 2: a symmetric matrix must be square"),
    ],
)
def test_banners(tmp_path, banner, message):
    with pytest.raises(FileFormatError, match=message):
        chain_from(tmp_path, f"{banner}\n2 3 1\n1 1 1\n")


def test_lines_that_never_end(tmp_path, monkeypatch):
    monkeypatch.setattr(matrix_market_lines, "_CHUNK", 2**10)
    for text in (HEADER + "2 2 " + "0" * 100_000, HEADER + "1 1 1\n1 1 1" + "0" * 100_000):
        with pytest.raises(FileFormatError, match=r"line [23]: longer than 65,536 bytes"):
            chain_from(tmp_path, text)
