"""The cache of compiled kernels: whole, fresh, and shared by processes."""

import ast
import os
import shutil
import sys
from pathlib import Path

import numba
import pytest

import klump
from klump.compilation.sources import PACKAGE, kernel_files

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
INTEGERS, FLOATS, ARRAY = "add(1, 2)", "add(1.0, 2.5)", "total(np.arange(4.0))"


def imported(path):
    """Names of the modules that a file imports, as ``klump.x`` or ``klump.x.name``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_module_with_a_kernel_counts():
    """Else a change there would go unnoticed."""
    decorators = ("klump.compilation.kernel", "klump.compilation.inlined")
    found = [path for path in PACKAGE.rglob("*.py") if any(name in decorators for name in imported(path))]
    assert len(found) > 5
    assert set(found) <= set(kernel_files())


def test_kernels_use_nothing_that_does_not_count():
    """Else a constant could change unnoticed."""
    for path in kernel_files():
        for name in imported(path):
            if name.startswith("klump.") and not name.startswith("klump.compilation."):
                module = PACKAGE.joinpath(*name.split(".")[1:])
                files = {module.with_suffix(".py"), module.parent.with_suffix(".py"), module / "__init__.py"}
                assert files & set(kernel_files()), f"{path} imports {name}"


def test_all_kernels_are_compiled_by_the_decorators():
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "compilation":
            assert not {"numba.njit", "numba.jit"} & set(imported(path)), path


def test_functions_stay_plain_without_the_compiler(toys):
    assert toys.run("type(add).__name__", INTEGERS, NUMBA_DISABLE_JIT="1")["answers"] == ["function", 4]
    assert toys.files() == []


def test_python_can_call_an_inlined_function(toys):
    """Before and after it was compiled into a kernel for these types, where it has no entry point for Python."""
    assert toys.run("twice(1)", INTEGERS, "twice(1)", "twice(1.5)")["answers"] == [2, 4, 2, 3.0]
    assert [path.name.split("-")[0] for path in toys.files()] == ["__main__.add"]


def test_importing_kernels_touches_no_disk(toys):
    toys.run()
    assert not toys.cache.exists()


def test_one_file_per_signature_and_a_second_process_compiles_nothing(toys):
    first = toys.run(INTEGERS, FLOATS, ARRAY)
    assert (first["answers"], first["compiled"]) == ([4, 4.5, 6.0], 3)
    assert len(toys.files()) == 3
    assert {path.parent for path in toys.files()} == {Path(first["folder"])}
    second = toys.run(FLOATS, ARRAY, INTEGERS)
    assert (second["answers"], second["compiled"]) == ([4.5, 6.0, 4], 0)
    assert len(toys.files()) == 3


def test_changed_bytecode_is_compiled(toys):
    toys.run(INTEGERS)
    toy = toys.path / "toy.py"
    toy.write_text(toy.read_text().replace("twice(a) + b", "twice(a) - b"))
    assert toys.run(INTEGERS)["answers"] == [0]
    assert len(toys.files()) == 2


def test_damaged_file_is_replaced(toys):
    questions = [INTEGERS, FLOATS, "add(1, 2.5)", ARRAY]
    answers = toys.run(*questions)["answers"]
    empty, garbage, half, flipped = toys.files()
    empty.write_bytes(b"")
    garbage.write_bytes(b"garbage")
    half.write_bytes(half.read_bytes()[:-1000])
    # One bit of the machine code, which unpickling would not notice.
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    again = toys.run(*questions)
    assert (again["answers"], again["compiled"]) == (answers, 4)
    assert "Traceback" not in again["stderr"]
    assert toys.run(*questions)["compiled"] == 0


def copy_package(folder):
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(Path(klump.__file__).parent, folder / "copied" / "klump", ignore=ignored))


def append(path, text):
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_changing_one_byte_of_a_kernel_file_compiles_again(toys):
    """Whichever file it is: the kernels of all are compiled into each other."""
    package = copy_package(toys.path)
    environment = {"PYTHONPATH": str(package.parent)}
    assert toys.run(INTEGERS, **environment)["compiled"] == 1
    append(package / "search" / "problem.py", "\n")
    assert toys.run(INTEGERS, **environment)["compiled"] == 0
    append(package / "search" / "kernels" / "tables.py", "\n")
    assert toys.run(INTEGERS, **environment)["compiled"] == 1
    assert len({path.parent for path in toys.files()}) == 2


def test_file_that_changes_while_it_is_in_use_is_not_cached(toys):
    """Its digest may be that of the old or of the new content."""
    package = copy_package(toys.path)
    change = f"Path({str(package / 'search/kernels/tables.py')!r}).write_text('#')"
    found = toys.run(change, INTEGERS, PYTHONPATH=str(package.parent))
    assert (found["answers"], found["compiled"]) == ([1, 4], 1)
    assert toys.files() == []


def test_processes_that_compile_at_the_same_time(toys):
    """Different signatures, and the same one, all of one kernel: what numba's own index loses."""
    questions = [INTEGERS, FLOATS, "add(1, 2.5)", INTEGERS, "add(1j, 2)", FLOATS]
    answers = [4, 4.5, 4.5, 4, None, 4.5]
    processes = [toys.start(f"{question} if {question}.imag == 0 else None") for question in questions]
    assert [toys.finish(process)["answers"][0] for process in processes] == answers
    assert len(toys.files()) == 4
    again = toys.run(*(f"{question} if {question}.imag == 0 else None" for question in questions))
    assert (again["answers"], again["compiled"]) == (answers, 0)
    assert not [path for path in toys.files() if path.name.startswith(".")]


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(toys):
    """Paths below a file: permissions do not bind root."""
    nowhere = str(toys.path / "toy.py" / "below")
    found = toys.run(f"setattr(tempfile, 'tempdir', {nowhere!r})", INTEGERS, FLOATS, NUMBA_CACHE_DIR=nowhere)
    assert found["answers"] == [None, 4, 4.5]
    [line] = [line for line in found["stderr"].splitlines() if "kept" in line]
    assert line.startswith(f"compiled kernels cannot be kept: {nowhere}")
    assert line.endswith("; set NUMBA_CACHE_DIR to a folder of your own")
    assert "Traceback" not in found["stderr"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no HOME")
def test_without_a_home_folder_the_temporary_one_is_used(toys):
    temporary = toys.path / "temporary"
    temporary.mkdir()
    toys.environment.pop("NUMBA_CACHE_DIR")
    environment = {"HOME": os.devnull, "XDG_CACHE_HOME": "", "TMPDIR": str(temporary)}
    found = toys.run(INTEGERS, FLOATS, **environment)
    assert found["answers"] == [4, 4.5]
    [folder] = temporary.glob("klump-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    [line] = [line for line in found["stderr"].splitlines() if "kept" in line]
    assert line.startswith(f"compiled kernels are kept in the temporary folder {folder}: ")
    again = toys.run(INTEGERS, FLOATS, **environment)
    assert (again["compiled"], again["stderr"]) == (0, "")


@compiled
def test_numba_can_flush_and_recompile(monkeypatch, tmp_path):
    from klump.compilation import cache_folder, kernel

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @kernel
    def double(x):
        return 2 * x

    assert double(2) == 4
    assert len(list(cache_folder().iterdir())) == 1
    double._cache.flush()
    assert list(cache_folder().iterdir()) == []
    double.recompile()
    assert len(list(cache_folder().iterdir())) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of processes")
def test_full_disk(toys):
    """No file can exceed 1,000 bytes, and no candidate for the temporary folder takes one."""
    limit = "__import__('resource').setrlimit(__import__('resource').RLIMIT_FSIZE, (1000, 1000))"
    nowhere = "setattr(tempfile, '_candidate_tempdir_list', lambda: ['/dev/null'])"
    found = toys.run(limit, nowhere, INTEGERS, FLOATS)
    assert found["answers"] == [None, None, 4, 4.5]
    [line] = [line for line in found["stderr"].splitlines() if "kept" in line]
    assert "Traceback" not in found["stderr"]
    assert line.startswith(f"compiled kernels cannot be kept: {toys.cache / 'klump'} cannot be written")
    assert toys.files() == []
