"""The version is the same wherever it stands, and the pins of the oldest versions follow pyproject.toml."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import klump

ROOT = Path(__file__).parents[2]


def test_changelog_and_citation_name_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.*?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    version, date = headings[1]
    assert version == klump.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


def test_oldest_versions_are_those_of_pyproject():
    script = ROOT / "tools" / "oldest_versions.py"
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    pins = dict(line.split("==") for line in printed.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name, least = requirement.split(">=")
        assert f"{pins[name].removesuffix('.*')}.0".startswith(least), requirement
    assert "pytest" not in pins
