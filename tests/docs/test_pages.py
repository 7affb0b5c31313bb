"""Links lead somewhere, the index lists every page, and names that pages mention exist."""

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import klump
from klump.cli import main
from klump.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Folders that `make docs` writes.
MADE = {"_build", "generated"}
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if MADE.isdisjoint(page.relative_to(DOCS).parts)),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_sections_list_every_page_once():
    """The site's tables of contents are the lists of links of some pages, which docs/conf.py names."""
    settings = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8"))
    assigned = {
        ast.unparse(node.targets[0]): node.value for node in settings.body if isinstance(node, ast.Assign)
    }
    listed = []
    for section in ast.literal_eval(assigned["SECTIONS"]):
        page = DOCS / f"{section}.md"
        links = re.findall(
            r"^(?:-|\d+\.) \[.+?\]\(([\w./]+)\)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        listed += [(page.parent / link).resolve() for link in links]
    assert len(listed) == len(set(listed))
    assert {page for page in PAGES if page.is_relative_to(DOCS)} - {DOCS / "index.md"} <= set(listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_public_names_exist(page):
    """Whatever stands as ``klump.name`` on a page is public."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = set(re.findall(r"`klump\.([A-Za-z_]+)", text))
    assert named <= {*klump.__all__, "sources"}, f"{page.name}: {named - set(klump.__all__)}"


def glossary():
    """Terms of the glossary: the first five cells of each row of its tables of terms."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = (re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in row] for row in rows if len(row) == 5]


def test_every_option_in_the_glossary_exists():
    known = set()
    for command in COMMANDS:
        help_text = CliRunner().invoke(main, [command, "--help"]).output
        known |= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", help_text))
    for term, _, _, cli, _ in glossary():
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cli):
            assert option in known, f"{term}: {option}"


def test_every_attribute_in_the_glossary_exists():
    chain = klump.datasets.three_state_example()[0]
    answer = klump.aggregate(chain, 2)
    for term, _, python, _, _ in glossary():
        for path in re.findall(r"`((?:chain|answer|klump)(?:\.\w+)+)", python):
            found = {"chain": chain, "answer": answer, "klump": klump}[path.partition(".")[0]]
            for name in path.split(".")[1:]:
                # A field of a dataclass without a default is no attribute of its class.
                annotated = name in getattr(found, "__annotations__", {})
                assert hasattr(found, name) or annotated, f"{term}: {path}"
                found = getattr(found, name, None)


def test_every_public_name_is_explained_somewhere():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    words = set(re.findall(r"\w+", text))
    assert set(klump.__all__) <= words


def keys(document):
    """All keys of a JSON document, however deep."""
    if isinstance(document, dict):
        return set(document) | set().union(*map(keys, document.values()))
    return set().union(*map(keys, document)) if isinstance(document, list) else set()


def test_every_json_key_in_the_glossary_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain, labels = klump.datasets.three_state_example()
    klump.write_chain(chain, "chain.npz")
    Path("labels.json").write_text(json.dumps(labels.tolist()))
    known = set()
    for command in (
        "info chain.npz",
        "aggregate chain.npz -k 2",
        "aggregate chain.npz -k 2 --method stochastic",
        "grid chain.npz -k 2",
        "path chain.npz -k 2",
        "select chain.npz -k 2 --beta 0.5",
        "score chain.npz labels.json --guarantees --horizon 3",
        "dynamics chain.npz labels.json --committor 1 2 --absorption 1 --absorption 2",
        "compare chain.npz -k 2 --methods auto --no-outside",
    ):
        result = CliRunner().invoke(main, [*command.split(), "--json", "--quiet"])
        assert result.exit_code == 0, result.output
        known |= keys(json.loads(result.stdout))
    for term, _, _, _, column in glossary():
        for key in re.findall(r"`(\w+)`", column):
            assert key in known, f"{term}: {key}"
