"""Arrays in NumPy's format: what NumPy writes is read, without pickle and without evaluating the header."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from klump.errors import FileFormatError
from klump.files.arrays import PickleError, map_array, read_array, read_array_file

DTYPES = [
    "<f8",
    ">f8",
    "<f4",
    "<f2",
    "<i8",
    ">i4",
    "|u1",
    "<u8",
    "|b1",
    "<c16",
    "<U3",
    "|S5",
    np.dtype(np.longdouble).str,
]


def saved(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True, **options)
    return stream.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4), (2, 1, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_writes(dtype, shape, version):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for given_array in (array, array.copy(order="F")):
        content = saved(given_array, version=version)
        found = read_array(io.BytesIO(content), len(content))
        assert found.shape == shape
        assert found.dtype == np.dtype(dtype).newbyteorder("=")
        assert np.array_equal(found, array)


@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=5)))
def test_floats_bit_for_bit(array):
    content = saved(array)
    assert read_array(io.BytesIO(content), len(content)).tobytes() == array.tobytes()


def with_header(text, data=b"\0" * 16):
    content = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\0" + len(content).to_bytes(2, "little") + content + data


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        '{"shape": (2,), "fortran_order": False, "descr": "<f8"}',
        "{'shape':(2L,),'descr':'<f8','fortran_order':False}",
    ],
)
def test_headers_of_other_writers(header):
    content = with_header(header)
    assert read_array(io.BytesIO(content), len(content)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (2 2,), }", "header .* is damaged"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }", "header .* is damaged"),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }", "header .* is damaged"),
        ("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", "holds records"),
        ("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2,), }", "dtype '<M8"),
        ("{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", "dtype '<f3'"),
        ("__import__('os').getcwd()", "header .* is damaged"),
        (
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
            "announces 24 bytes of shape .*but 16 follow",
        ),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }", "truncated"),
    ],
)
def test_damaged_headers(header, message):
    content = with_header(header)
    with pytest.raises(FileFormatError, match=message):
        read_array(io.BytesIO(content), len(content))


def test_pickles_text_that_is_none_and_odd_truth_values():
    content = saved(np.array([{}, None], dtype=object))
    with pytest.raises(PickleError, match="pickled Python objects"):
        read_array(io.BytesIO(content), len(content))
    content = saved(np.array(["abc"]))[:-4] + b"\xff" * 4
    with pytest.raises(FileFormatError, match="not Unicode"):
        read_array(io.BytesIO(content), len(content))
    content = saved(np.array([True, True]))[:-2] + b"\x02\x00"
    assert read_array(io.BytesIO(content), len(content)).tolist() == [True, False]


def test_a_stream_that_ends_early():
    content = saved(np.zeros(4))
    with pytest.raises(EOFError, match="8 bytes are missing"):
        read_array(io.BytesIO(content[:-8]), len(content))


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_an_array(content):
    try:
        array = read_array(io.BytesIO(b"\x93NUMPY\x01\0" + content), 8 + len(content))
    except (FileFormatError, EOFError):
        return
    assert array.nbytes <= 16 * len(content)


def test_memory_maps(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5.0))
    path = tmp_path / "a.npy"
    assert (
        map_array(path, 0, path.stat().st_size).tolist() == read_array_file(path).tolist() == [0, 1, 2, 3, 4]
    )
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="truncated"):
        map_array(path, 0, path.stat().st_size)
