"""Matrix Market: its variants, and the ways in which a file can be wrong."""

import gzip

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError, InvalidChainError

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
        (HEADER, "line 2: .*Premature EOF"),
        (
            HEADER + "2 2 3\n1 2 1\n2 1 0.5\n",
            "truncated: 1 of the entries announced in its header are missing",
        ),
        (HEADER + "2 2 2\n1 2 1\n2 1 1\n1 1 1\n", "line 5: Too many lines"),
        (HEADER + "2 2 2\n1 2 one\n2 1 1\n", "line 3: Invalid floating-point value"),
        (HEADER + "2 2 2\n1 3 1\n2 1 1\n", "line 3: Column index out of bounds"),
        (
            "%%MatrixMarket vector coordinate real general\n2 1\n1 1\n",
            "Vector Matrix Market files not supported",
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
    with pytest.raises(FileFormatError, match=r"model.mtx.gz: cannot be read: Not a gzipped file"):
        chain_from(tmp_path, HEADER, "model.mtx.gz")
    content = gzip.compress(
        (HEADER + "300 300 300\n" + "".join(f"{i} {i} 1\n" for i in range(1, 301))).encode()
    )
    (tmp_path / "cut.mtx.gz").write_bytes(content[:-200])
    with pytest.raises(FileFormatError, match=r"cut.mtx.gz: the file is truncated or damaged"):
        klump.read_chain(tmp_path / "cut.mtx.gz")
