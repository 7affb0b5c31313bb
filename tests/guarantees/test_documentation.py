"""The program on the page about guarantees prints what stands beside it."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"


def test_program_works_as_printed(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    # The output of a program stands beside it as a comment.
    expected = re.findall(r"print\(.*\)  # (.*)", program)
    assert len(expected) == 5
    assert capsys.readouterr().out.splitlines() == expected
