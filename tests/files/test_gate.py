"""The gate: whatever a reader raises is one line about the file."""

import os
import struct
import tokenize
import types
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import klump
from klump.errors import FileFormatError, InvalidChainError
from klump.files import registry
from klump.files.gate import guard_place, guard_reading, quote, require_file

ERRORS = [
    ValueError("two\nlines \0 of text"),
    TypeError("x" * 10_000),
    KeyError("shape"),
    IndexError(),
    OverflowError("too large"),
    struct.error("unpack requires 4 bytes"),
    zlib.error("incorrect header check"),
    zipfile.BadZipFile("Bad CRC-32"),
    tokenize.TokenError("EOF", (2, 0)),
    NotImplementedError("flag bit 5"),
    RuntimeError("encrypted"),
    SystemError("invalid maximum character"),
    RecursionError("maximum recursion depth"),
    MemoryError(),
    EOFError("ended"),
    AssertionError(),
    OSError(5, "Input/output error"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
]


@pytest.fixture
def broken_format(monkeypatch):
    """Register a format whose reader raises what it is given."""

    def register(error):
        def read(path, *, add_up):
            raise error

        module = types.SimpleNamespace(read=read)
        monkeypatch.setitem(registry.MODULES, ".broken", "broken")
        monkeypatch.setattr(registry, "import_module", lambda name: module)

    return register


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_any_error_of_a_format_becomes_one_line(broken_format, tmp_path, error):
    broken_format(error)
    (tmp_path / "model.broken").touch()
    with pytest.raises(FileFormatError) as caught:
        klump.read_chain(tmp_path / "model.broken")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'model.broken'}: ")
    assert message.isprintable()
    assert len(message) < 500
    assert caught.value.__cause__ is error


def test_interruptions_pass(broken_format, tmp_path):
    broken_format(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        klump.read_chain(tmp_path / "model.broken")


def test_own_errors_keep_their_type_place_and_remedy():
    with (
        pytest.raises(InvalidChainError, match=r"^a\.csv: line 3: too short; add one$") as caught,
        guard_reading("a.csv"),
    ):
        raise InvalidChainError("line 3: too short", remedy="add one")
    assert caught.value.__cause__ is None


def test_the_place_is_named():
    with (
        pytest.raises(FileFormatError, match=r"^a\.npz: its array 'P' is damaged: bad; save it again$"),
        guard_reading("a.npz"),
        guard_place("its array 'P'", "save it again"),
    ):
        raise ValueError("bad")


def test_devices_are_refused():
    with pytest.raises(FileFormatError, match="a device or a FIFO"):
        require_file(Path(os.devnull))
    assert quote("9" * 5000).endswith("...")


@pytest.mark.parametrize("suffix", registry.MODULES)
def test_no_reader_takes_random_bytes_for_a_chain(tmp_path, suffix, rng):
    path = tmp_path / f"model{suffix}"
    for length in (0, 1, 2, 10, 500):
        path.write_bytes(rng.bytes(length))
        with pytest.raises(FileFormatError) as caught:
            klump.read_chain(path)
        assert str(caught.value).isprintable()


# A .umb is opened as a tar archive at each of its many lengths.
@pytest.mark.parametrize(
    "suffix",
    [
        pytest.param(suffix, marks=[pytest.mark.long] if suffix == ".umb" else [])
        for suffix in registry.MODULES
        if suffix != ".mapped"
    ],
)
def test_every_truncation_is_refused_or_a_chain(tmp_path, suffix):
    """Text that is cut at a line break may be a smaller file that is whole."""
    chain = klump.MarkovChain(np.array([[0.5, 0.5, 0], [0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]]))
    path = tmp_path / f"model{suffix}"
    klump.write_chain(chain, path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            found = klump.read_chain(path)
        except klump.KlumpError as error:
            assert str(error).isprintable()
        else:
            assert np.allclose(np.asarray(found.transition_matrix.sum(axis=1)).ravel(), 1)
