"""CSV: matrices with and without names, lists of transitions, and errors that name the line."""

import gzip

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError, InvalidChainError

P = [[0.5, 0.5], [0.25, 0.75]]


def chain_from(tmp_path, text, name="model.csv", **options):
    (tmp_path / name).write_bytes(text.encode())
    return klump.read_chain(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("0.5,0.5\n0.25,0.75\n", (0, 1)),
        ("0.5,0.5\r\n0.25,0.75", (0, 1)),
        ("# by hand\n#\n\n 0.5 , 5e-1\n\n.25,0.75\n\n", (0, 1)),
        ("\ufeff0.5,0.5\n0.25,0.75\n", (0, 1)),
        ("a,b\n0.5,0.5\n0.25,0.75\n", ("a", "b")),
        ("a,0.5,0.5\nb,0.25,0.75\n", ("a", "b")),
        (",a,b\na,0.5,0.5\nb,0.25,0.75\n", ("a", "b")),
        ('"",a,b\na,0.5,0.5\nb,0.25,0.75\n', ("a", "b")),
        ("a,b\na,0.5,0.5\nb,0.25,0.75\n", ("a", "b")),
        ("state,0,1\n0,0.5,0.5\n1,0.25,0.75\n", (0, 1)),
        (",4,2\n4,0.5,0.5\n2,0.25,0.75\n", (4, 2)),
        ("0.5;0.5\n0.25;0.75\n", (0, 1)),
        ("a;b\n0.5;0.5\n0.25;0.75\n", ("a", "b")),
        ("a\tb,\n0.5\t0.5\n0.25\t0.75\n", None),
        (" 0.5  0.5 \n0.25 0.75\n", (0, 1)),
        ('"a b" c\n0.5 0.5\n0.25    0.75\n', ("a b", "c")),
        (' ,"\n"\n0.5,0.5\n0.25,0.75\n', (" ", "\n")),
        ("1,a\n0.5,0.5\n0.25,0.75\n", ("1", "a")),
    ],
)
def test_matrix(tmp_path, text, states):
    if states is None:  # a comma in the first record comes before a tab
        with pytest.raises(FileFormatError, match=r"line 2, column 1: '0\.5\\t0\.5' is not a number"):
            chain_from(tmp_path, text)
        return
    chain = chain_from(tmp_path, text)
    assert not chain.is_sparse
    assert np.array_equal(chain.transition_matrix, P)
    assert chain.states == states


def test_one_state(tmp_path):
    assert chain_from(tmp_path, "1\n").n_states == 1
    assert chain_from(tmp_path, ",a\na,1\n").states == ("a",)
    assert chain_from(tmp_path, "a,1\n").states == ("a",)
    assert chain_from(tmp_path, "a\n1\n").states == ("a",)


def test_tabs(tmp_path):
    assert chain_from(tmp_path, "a,\tb\n0.5\t0.5\n0.25\t0.75\n", "model.tsv").states == ("a,", "b")


@pytest.mark.parametrize("header", ["from,to,weight", "From, To ,COUNT", "# note\n\nfrom,to,probability"])
def test_transitions(tmp_path, header):
    chain = chain_from(tmp_path, header + "\nb,a,0.25\nb,b,0.75\na,b,0.5\na,a,0.5\n")
    assert chain.is_sparse
    assert chain.states == ("b", "a")
    assert np.array_equal(chain.transition_matrix.toarray(), [[0.75, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "   "])
@pytest.mark.parametrize("header", ["from to weight", "source target count", "weight source target"])
@pytest.mark.parametrize("name", ["model.csv", "model.tsv", "model.txt"])
def test_delimiters_are_detected(tmp_path, delimiter, header, name):
    rows = [("b", "a", "0.25"), ("b", "b", "0.75"), ("a", "b", "0.5"), ("a", "a", "0.5")]
    if header.startswith("weight"):
        rows = [(weight, *ends) for *ends, weight in rows]
    text = "".join(delimiter.join(row) + "\n" for row in (header.split(), *rows))
    chain = chain_from(tmp_path, text, name)
    assert chain.states == ("b", "a")
    assert np.array_equal(chain.transition_matrix.toarray(), [[0.75, 0.25], [0.5, 0.5]])


def test_transitions_without_weights_count_one_each(tmp_path):
    chain = chain_from(tmp_path, "source,target\na,b\nb,a\nb,b\nb,a\nb,a\n", normalize=True)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1], [0.75, 0.25]])
    with pytest.raises(FileFormatError, match="line 5: the transition from 'b' to 'a' was already given"):
        chain_from(tmp_path, "from,to\na,b\nb,a\nb,b\nb,a\n")


def test_columns_in_another_order(tmp_path):
    chain = chain_from(tmp_path, "count,to,from\n1,b,a\n3,a,b\n1,b,b\n", normalize=True)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1], [0.75, 0.25]])


def test_names_with_commas_quotes_blanks_and_hashes(tmp_path):
    text = 'from,to,weight\n" ",",",1\n",","""",1\n"""",#,1\n#,a ,1\na , ,1\n'
    assert chain_from(tmp_path, text).states == (" ", ",", '"', "#", "a ")


def test_integer_names_are_sorted(tmp_path):
    chain = chain_from(tmp_path, "from,to,weight\n10,2,1\n2,1,1\n1,10,1\n")
    assert chain.states == (1, 2, 10)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    chain = chain_from(tmp_path, "from,to,weight\n01,2,1\n2,01,1\n")
    assert chain.states == ("01", "2")


def test_duplicate_transitions_are_summed_only_with_normalize(tmp_path):
    text = "from,to,weight\na,b,1\nb,a,2\nb,b,1\nb,a,1\n"
    with pytest.raises(
        FileFormatError, match="line 5: the transition from 'b' to 'a' was already given in line 3"
    ):
        chain_from(tmp_path, text)
    chain = chain_from(tmp_path, text, normalize=True)
    assert np.array_equal(chain.transition_matrix.toarray(), [[0, 1], [0.75, 0.25]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("a;b\n1,0\n", "line 2, column 1: '1,0' is not a number"),
        ("from;to;probability\na;b;0,5\n", "line 2, column probability: '0,5' is not a number"),
        ("0.5,0.5\n0.25\n", "line 2 has 1 fields instead of 2"),
        (
            "# x\n0.5,0.5\n# y\n0.25,0.75\n",
            "line 3 has 1 fields instead of 2; move comments above the first record",
        ),
        ("0.5,0.5\n0.25,x\n", "line 2, column 2: 'x' is not a number"),
        ("0.5,0.5\nx,0.25\n", "line 2, column 1: 'x' is not a number"),
        ("0.5,0.5\n0.25,\n", "line 2, column 2: '' is not a number"),
        ("0.5,0.5\n0.25,-0.75\n", "line 2, column 2: -0.75 is negative"),
        ("0.5,0.5\nnan,0.75\n", "line 2, column 1: nan is not a finite number"),
        (",a,b\na,1,0\nb,0,inf\n", "line 3, column 3: inf is not a finite number"),
        ("a,b\n", "line 1 is read as names, and there is no row"),
        ("a,b,c\n0.5,0.5\n0.5,0.5\n", "line 1 names 3 states, but 2 rows of 2 follow"),
        (
            "a,b,c\n0.5,0.5,0\n0.5,0.5,0\n",
            "line 2: the row is named '0.5', but its column is named 'b' in line 1",
        ),
        (",a,b\na,1,0\nc,0,1\n", "line 3: the row is named 'c', but its column is named 'b' in line 1"),
        ("x,y,a,b\na,1,0\nb,0,1\n", "line 1 names 4 states, but 2 rows follow"),
        ("from,to,weight\n", "there is no transition below the header"),
        (
            "from,to,speed\na,b,1\n",
            "line 1: the header has no column of weights; name the columns from, to and one of weight",
        ),
        ("from,to,weight\na,b,1\na,b\n", "line 3 has 2 fields instead of 3"),
        ("from,to,weight\na,b,much\n", "line 2, column weight: 'much' is not a number"),
        ("# c\nfrom,to,count\n\na,b,1\nb,a,-1\n", "line 5, column count: -1.0 is negative"),
        ("from,to,weight\na,b,nan\n", "line 2, column weight: nan is not a finite number"),
        ('from,to,weight\na,b,1\n",a,1\n', "line 3: unexpected end of data; quote a field"),
        ('from,to,weight\na,"b"c,1\n', "line 2: .* expected after .*; quote a field"),
        ("\0\1\2,3\n", "not a text file"),
    ],
)
def test_invalid_files(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=f"model.csv: {message}") as error:
        chain_from(tmp_path, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,0,0\n0,1,0\n", r"must be square, but its shape is \(2, 3\)"),
        ("1,2\n3,4\n0,1\n", r"must be square, but its shape is \(3, 2\)"),
        ("5,2\n1,1\n", r"row 0 of .* sums to 7 .*counts; pass normalize=True to divide each row by its sum$"),
        ("a,a\n1,0\n0,1\n", "state name 'a' is given twice"),
        ("from,to,count\na,b,3\nb,a,1\n", r"row 0 \(state 'a'\) .* sums to 3 .*pass normalize=True"),
        ("from,to,weight\na,b,1\n", r"row 1 \(state 'b'\) of the transition matrix sums to 0"),
    ],
)
def test_not_a_chain(tmp_path, text, message):
    with pytest.raises(InvalidChainError, match=f"model.csv: .*{message}"):
        chain_from(tmp_path, text)


def test_dead_end_with_normalize(tmp_path):
    with pytest.raises(InvalidChainError, match=r"row 1 \(state 'b'\) of the transition matrix is all zero"):
        chain_from(tmp_path, "from,to,weight\na,b,1\n", normalize=True)


def test_binary_and_truncated(tmp_path):
    np.savez(tmp_path / "model.npz", P=P)
    (tmp_path / "model.csv").write_bytes((tmp_path / "model.npz").read_bytes())
    assert np.array_equal(klump.read_chain(tmp_path / "model.csv").transition_matrix, P)
    with pytest.raises(
        FileFormatError, match=r"model.csv: not UTF-8 text \(it seems to be a zip or .npz archive\)"
    ):
        klump.read_chain(tmp_path / "model.csv", format="csv")
    (tmp_path / "model.csv").write_bytes("ä,b\n1,0\n0,1".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"model.csv: not UTF-8 text; "):
        klump.read_chain(tmp_path / "model.csv")
    content = gzip.compress(b"from,to,weight\n" + b"".join(b"%d,%d,1\n" % (i, i) for i in range(999)))
    (tmp_path / "model.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(FileFormatError, match=r"model.csv.gz: the file is truncated: "):
        klump.read_chain(tmp_path / "model.csv.gz")
    (tmp_path / "model.csv.gz").write_text("1")
    assert klump.read_chain(tmp_path / "model.csv.gz").n_states == 1
