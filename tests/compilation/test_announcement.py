"""Compilation is announced once per need, with an estimate."""

import logging
import math

import numba
import pytest

from klump.compilation import announcement, kernel, need

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def table(monkeypatch, tmp_path):
    """An empty table of times, and nothing compiled yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    table = {"seconds": {}, "needs": {}}
    monkeypatch.setattr(announcement, "_table", lambda: table)
    monkeypatch.setattr(announcement, "_used", [])
    monkeypatch.setattr(announcement, "_announced", set())
    monkeypatch.setattr(announcement, "_MIN_MEASURED", math.inf)
    return table


@kernel
def inner(x):
    return x + 1


@kernel
def outer(x):
    return inner(x) * 2


def make_kernels():
    @kernel
    def first(x):
        return x + 1

    @kernel
    def second(x):
        return x + 2

    return first, second


@pytest.fixture
def keys(table):
    """Keys of both kernels for an integer; removes all traces of their compilation."""
    for function in make_kernels():
        function(1)
        function._cache.flush()
    found = [used.key for used in announcement._used]
    announcement._used.clear()
    announcement._announced.clear()
    return found


def test_first_kernel_announces_all_of_its_need(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    table["needs"] = {"both": keys}
    first, second = make_kernels()
    caplog.clear()
    with need("both"):
        first(1)
        second(1)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("klump", logging.WARNING)
    assert record.getMessage().startswith(
        "compiling kernels for this machine: about 7 s, once; `klump warm-up`"
    )


def test_a_need_includes_that_of_a_small_chain(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    table["needs"] = {"both": keys[:1], "both, small": keys[1:]}
    caplog.clear()
    with need("both"):
        make_kernels()[0](1)
    assert "about 7 s" in caplog.messages[0]


def test_a_need_with_kernels_of_a_small_chain_has_all_that_it_needs(table):
    table["needs"] = {
        "a": ["x", "y"],
        "a, small": ["x", "z"],
        "b": ["v"],
        "b, small": ["w"],
        "c, small": ["u"],
    }
    assert announcement._needed_keys("a") == ["x", "y"]
    assert announcement._needed_keys("b") == ["v", "w"]
    assert announcement._needed_keys("c") == ["u"]
    assert announcement._needed_keys("d") == []


def test_estimate_leaves_out_what_is_in_the_cache(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    table["needs"] = {"both": keys}
    make_kernels()[1](1)
    announcement._used.clear()
    announcement._announced.clear()
    caplog.clear()
    with need("both"):
        for function in make_kernels():
            function(1)
    [record] = caplog.records
    assert "about 2 s" in record.getMessage()


def test_later_need_is_announced_too(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    first, second = make_kernels()
    caplog.clear()
    first(1)
    assert "about 2 s" in caplog.messages[0]
    second(1)
    assert len(caplog.records) == 2


def test_short_compilation_and_loading_are_not_announced(table, keys, caplog):
    table["seconds"] = dict.fromkeys(keys, 0.4)
    table["needs"] = {"both": keys}
    caplog.clear()
    for _ in range(2):
        with need("both"):
            for function in make_kernels():
                function(1)
    assert caplog.records == []


def test_new_signature_is_taken_for_as_slow_as_the_known_one(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    caplog.clear()
    make_kernels()[1](1.5)
    assert "about 5 s" in caplog.messages[0]


def test_estimate_follows_the_speed_of_the_machine(table, keys, monkeypatch, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    monkeypatch.setattr(announcement, "_used", [announcement.Compilation(keys[0], "", 6.0)])
    monkeypatch.setattr(announcement, "_MIN_MEASURED", 1.0)
    caplog.clear()
    make_kernels()[1](1)
    assert "about 15 s" in caplog.messages[0]


def test_kernels_and_their_cpu_times_are_recorded(table, keys):
    first, second = make_kernels()
    with need("both"):
        first(1)
    second(1)
    make_kernels()[0](1)
    compiled_first, compiled_second, loaded = announcement.compilations()
    assert [compiled_first.key, compiled_second.key, loaded.key] == [*keys, keys[0]]
    assert [compiled_first.need, compiled_second.need, loaded.need] == ["both", "", ""]
    assert compiled_first.seconds > 0.0
    assert loaded.seconds is None


def test_kernel_within_a_kernel_is_part_of_its_time(table):
    assert outer(1) == 4
    [used] = announcement.compilations()
    assert ".outer-" in used.key


def test_announce_all(table, keys, caplog):
    table["seconds"] = dict(zip(keys, (2.0, 5.0), strict=True))
    make_kernels()[0](1)
    announcement._announced.clear()
    announcement._used.clear()
    caplog.clear()
    announcement.announce_all()
    assert caplog.messages == ["compiling kernels for this machine: about 5 s, once"]
    make_kernels()[1](1)
    assert len(caplog.records) == 1
