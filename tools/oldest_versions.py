"""Print a pip constraint for each requirement of pyproject.toml: the oldest minor version that it admits.

``numpy>=1.26`` becomes ``numpy==1.26.*``, ``rich>=13`` becomes ``rich==13.0.*``: the newest patch of the oldest minor
version. Tools that only run the tests stay free.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Tools that only run the tests.
TOOLS = {"coverage", "hypothesis", "mypy", "pytest", "pytest-xdist", "ruff"}
# Dependencies of the oldest versions that are pinned too: matplotlib 3.8 calls functions that pyparsing 3.3 deprecates,
# and the tests turn warnings into errors.
INDIRECT = {"pyparsing==3.2.*"}
# "klump[dask]>=1.2.3; marker": the name, and the first two components of the version. The bracketed extras and the
# marker are left out: a constraint on a package that is not installed has no effect.
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,-]*\])?>=(\d+)(?:\.(\d+))?(?:\.\d+)*(?:;.*)?")


def constraint(requirement: str) -> str | None:
    """Pin a requirement to the oldest minor version that it admits; None for the tools."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"{requirement!r} has no lower bound of the form name>=1.2; give it one")
    name, major, minor = match.groups()
    return None if name in TOOLS else f"{name}=={major}.{minor or 0}.*"


def main() -> None:
    """Read pyproject.toml beside this folder and print the constraints of klump and of its tests."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    pins = [constraint(requirement) for requirement in requirements]
    sys.stdout.write(
        "".join(f"{pin}\n" for pin in sorted({pin for pin in pins if pin is not None} | INDIRECT))
    )


if __name__ == "__main__":
    main()
