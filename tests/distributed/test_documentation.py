"""The programs on the page about many machines work as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "many_machines.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_are_programs():
    assert len(PROGRAMS) == 2


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_work_as_printed(number, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAMS[number], encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=True
    ).stdout
    # The expected output is the comment after each print.
    expected = re.findall(r"print\(.*\)  # (.*)", PROGRAMS[number])
    assert expected
    assert printed.splitlines() == expected
