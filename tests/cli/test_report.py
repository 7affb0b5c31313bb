"""``klump report``: one page for every number of groups and beta."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import klump
from klump.cli import main

EVENTS = "visit,time,page\n" + "".join(
    f"{visit},{time},{(visit * time * time + visit) % 5}\n" for visit in range(1, 40) for time in range(8)
)


def data_of(path):
    """The JSON that a page carries, and the part that says how to get it again."""
    page = Path(path).read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="klump-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data[1]), page[page.index('id="reproduce-title"') :]


def test_the_page_has_the_answers_of_a_grid(klump_cli, chain_file, chain):
    words = "chain.csv --normalize -k 2..4 --beta 0.5 --beta 1 --no-compare"
    result = klump_cli(f"report {words} -o report.html")
    assert "klump: saved report.html" in result.stderr
    found, end = data_of("report.html")
    assert (found["numbers"], found["betas"]) == ([2, 3, 4], [0.5, 1.0])
    grid = klump.grid(chain, [2, 3, 4], [0.5, 1.0])
    partition = found["partitions"][found["cells"][1][0]]
    assert partition["predictability"] == pytest.approx(grid[3, 0.5].costs.predictability)
    assert found["chain"]["states"] == [str(state) for state in chain.states]
    assert f"klump report {words} -o report.html" in end
    assert hashlib.sha256(Path("chain.csv").read_bytes()).hexdigest() in end


def test_methods_are_compared_on_small_chains(klump_cli, chain_file):
    klump_cli("report chain.csv --normalize -k 2 --beta 0.5 -o report.html -q")
    found, _ = data_of("report.html")
    assert {"sequential", "annealing", "agglomerative", "spectral"} <= {
        row["name"] for row in found["comparisons"]["2"]["rows"]
    }


def test_default_numbers_stop_at_the_number_of_states(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("three.csv").write_text("0.5,0.25,0.25\n0.25,0.5,0.25\n0.1,0.4,0.5\n")
    klump_cli("report three.csv -o report.html --no-compare -q")
    found, _ = data_of("report.html")
    assert found["numbers"] == [2, 3]
    assert found["betas"] == [0.2, 0.5, 0.8, 1.0]


def test_a_table_of_events(klump_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(EVENTS)
    klump_cli(
        "report events.csv --session visit --time time --state page -k 2..3 --restrict connected "
        "--no-compare -o report.html -q"
    )
    found, _ = data_of("report.html")
    assert len(found["chain"]["states"]) > 2


def test_the_json_document_names_the_page(klump_cli, chain_file):
    document = json.loads(
        klump_cli("report chain.csv --normalize -k 2 --beta 0.5 --no-compare -o report.html --json -q").stdout
    )
    assert document["schema"] == "klump/report/1"
    assert document["output"] == "report.html"
    assert document["cells"][0]["n_groups"] == 2


def test_the_title_is_the_name_of_the_file_or_given(klump_cli, chain_file):
    words = "report chain.csv --normalize -k 2 --beta 0.5 --no-compare -o report.html -q"
    klump_cli(words)
    assert "<title>chain.csv</title>" in Path("report.html").read_text()
    # Not through klump_cli, which splits at blanks.
    main([*words.split(), "--title", "A <b> title"], standalone_mode=False)
    assert "<title>A &lt;b&gt; title</title>" in Path("report.html").read_text()


@pytest.mark.parametrize(
    ("command", "n_cells"),
    [
        ("grid chain.csv --normalize -k 2..3", 2),
        ("aggregate chain.csv --normalize -k 2", 1),
        ("path chain.csv --normalize -k 2 --betas 1,0.5,0", 3),
        ("score chain.csv labels.json --normalize", 1),
    ],
)
def test_answers_are_saved_as_reports(klump_cli, chain_file, command, n_cells):
    Path("labels.json").write_text("[0, 0, 0, 0, 1, 1, 1, 1]")
    klump_cli(f"{command} -o page.html -q")
    found, end = data_of("page.html")
    assert sum(map(len, found["cells"])) == n_cells
    assert f"klump {command} -o page.html -q" in end


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Missing option '-o'"),
        ("-o report.pdf", "must end in .html"),
        ("-o report.html -k 2..x", "is not a list of numbers of groups"),
        ("-o report.html --method exact", "'exact' is not one of auto"),
    ],
)
def test_wrong_usage(klump_cli, chain_file, arguments, message):
    assert message in klump_cli(f"report chain.csv --normalize {arguments}", 2).stderr
