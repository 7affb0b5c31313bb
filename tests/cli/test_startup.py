"""Help and plain imports stay light, and the program runs as a program."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "scipy.sparse", "numba", "sklearn", "matplotlib", "joblib", "rich"}


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options
    )


def imported(code):
    """Modules that are loaded after the code has run in an interpreter of its own."""
    result = run("-c", f"{code}\nimport sys; print('modules:', *sys.modules)")
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split("modules:")[1].split())


def test_import_klump_is_light():
    assert not imported("import klump") & HEAVY


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["info"],
        ["aggregate"],
        ["path"],
        ["grid"],
        ["select"],
        ["score"],
        ["compare"],
        ["convert"],
        ["reproduce"],
        ["warm-up"],
    ],
)
def test_help_is_light(command):
    code = f"from klump.cli import main; main({[*command, '--help']}, standalone_mode=False)"
    assert not imported(code) & HEAVY


def test_python_m_klump():
    result = run("-m", "klump", "--version")
    assert result.returncode == 0
    assert result.stdout.startswith("klump ")
    result = run("-m", "klump", "info")
    assert result.returncode == 2
    assert "Usage: klump info" in result.stderr
    result = run("-m", "klump", "info", "missing.npz")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "klump: error: missing.npz: cannot be read: No such file or directory\n"


def test_reader_that_closes_the_pipe(tmp_path):
    path = tmp_path / "chain.csv"
    path.write_text("0.5,0.5\n0.5,0.5\n")
    command = [sys.executable, "-m", "klump", "info", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        remarks = process.stderr.read()
    assert "Error" not in remarks
    assert "Traceback" not in remarks
