"""Several files at once: each result, one summary, and errors that do not stop the others."""

import json

import pytest
from click.testing import CliRunner

import klump
from klump import aggregation
from klump.cli import main
from klump.sources.random_chains import random_chain


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("a.npz", "b.csv", "c.npz")):
        klump.write_chain(random_chain(10 + number, seed=number), name)
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    return tmp_path


RUN = "-k 2 --effort quick --n-init 2"


def test_each_answer_and_a_summary(folder, klump_cli):
    result = klump_cli(f"aggregate a.npz b.csv c.npz {RUN}")
    alone = [klump_cli(f"aggregate {name} {RUN}").stdout for name in ("a.npz", "b.csv", "c.npz")]
    assert result.stdout.startswith("\n".join(alone))
    summary = [line.split() for line in result.stdout.splitlines()[-4:]]
    assert summary[0] == ["file", "states", "groups", "cost", "kept", "status"]
    for row, name, n_states in zip(summary[1:], ("a.npz", "b.csv", "c.npz"), (10, 11, 12), strict=True):
        answer = klump.aggregate(klump.read_chain(name), 2, effort="quick", n_init=2)
        assert row[:3] == [name, str(n_states), "2"]
        assert float(row[3]) == pytest.approx(answer.cost, abs=1e-4)
        assert float(row[4]) == pytest.approx(100 * answer.kept, abs=0.05)
        assert row[-1] == "done"


def test_an_error_does_not_stop_the_others(folder, klump_cli):
    result = klump_cli(f"aggregate bad.csv a.npz missing.npz b.csv {RUN} --quiet", status=1)
    assert result.stderr.splitlines() == [
        "klump: error: bad.csv: line 2, column 2: 'x' is not a number",
        "klump: error: missing.npz: cannot be read: No such file or directory",
    ]
    assert [line.split()[-1] for line in result.stdout.splitlines()[-4:]] == [
        "failed",
        "done",
        "failed",
        "done",
    ]
    # More groups than states: an error about the chain, not about the file.
    result = klump_cli("aggregate a.npz c.npz -k 11 --method sequential --n-init 1", status=1)
    assert result.stderr.startswith("klump: error: a.npz: -k 11 must lie between 1 and the 10 states")
    assert result.stdout.splitlines()[-1].split()[-1] == "done"


def test_json_is_one_document(folder, klump_cli):
    result = klump_cli(f"aggregate a.npz bad.csv b.csv {RUN} --json", status=1)
    document = json.loads(result.stdout)
    assert {key: document[key] for key in ("schema", "n_files", "n_failed", "n_not_run")} == {
        "schema": "klump/files/1",
        "n_files": 3,
        "n_failed": 1,
        "n_not_run": 0,
    }
    first, second, third = document["documents"]
    for found, name in ((first, "a.npz"), (third, "b.csv")):
        assert found == json.loads(klump_cli(f"aggregate {name} {RUN} --json").stdout)
    assert (second["schema"], second["error"]["file"]) == ("klump/error/1", "bad.csv")


def test_info(folder, klump_cli):
    result = klump_cli("info a.npz bad.csv b.csv", status=1)
    assert result.stdout.startswith(klump_cli("info a.npz").stdout)
    assert [line.split() for line in result.stdout.splitlines()[-3:]] == [
        ["a.npz", "10", "100", "yes", "done"],
        ["bad.csv", "-", "-", "-", "failed"],
        ["b.csv", "11", "121", "yes", "done"],
    ]


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_saved(folder, klump_cli, suffix):
    (folder / "out").mkdir()
    result = klump_cli(f"aggregate a.npz bad.csv b.csv {RUN} -o out/{{}}.{suffix}", status=1)
    assert f"klump: saved out/a.{suffix}\n" in result.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == [f"a.{suffix}", f"b.{suffix}"]
    klump_cli(f"aggregate b.csv {RUN} -o alone.{suffix}")
    assert (folder / "out" / f"b.{suffix}").read_bytes() == (folder / f"alone.{suffix}").read_bytes()


def test_a_result_that_cannot_be_saved(folder, klump_cli):
    """The folder goes away during the search."""
    (folder / "out").mkdir()

    def search(chain, *arguments, **options):
        found = klump.aggregate(chain, *arguments, **options)
        if chain.n_states == 10:
            (folder / "out").rename(folder / "gone")
        else:
            (folder / "gone").rename(folder / "out")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregation, "aggregate", search)
        result = klump_cli(f"aggregate a.npz b.csv {RUN} -o out/{{}}.csv --quiet", status=1)
    assert result.stderr == "klump: error: out/a.csv: cannot be written: No such file or directory\n"
    assert [line.split()[-1] for line in result.stdout.splitlines()[-2:]] == ["saved", "done"]
    assert [path.name for path in (folder / "out").iterdir()] == ["b.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            f"aggregate a.npz b.csv {RUN} -o out.csv",
            "-o needs {} for the name of each file, like -o '{}-groups.csv'",
        ),
        (f"aggregate a.npz ./a.csv {RUN} -o {{}}.csv", "a.npz and ./a.csv would both be written to a.csv"),
        (f"aggregate a.npz b.csv {RUN} --initial-labels x.csv", "--initial-labels are those of one FILE"),
        (f"aggregate a.npz - {RUN}", "standard input is read alone"),
        ("info a.npz -", "standard input is read alone"),
    ],
)
def test_usage(folder, klump_cli, words, message):
    assert message in " ".join(klump_cli(words, status=2).stderr.split())


def test_one_file_has_no_summary_but_may_have_a_pattern(folder, klump_cli):
    klump_cli(f"aggregate b.csv {RUN} -o {{}}.json")
    assert (folder / "b.json").exists()


def test_interrupted(folder, monkeypatch):
    """Ctrl-C in the second of three searches: the first is complete, the third is not run."""
    calls = []

    def search(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return klump.aggregate(*arguments, **options)

    monkeypatch.setattr(aggregation, "aggregate", search)
    result = CliRunner().invoke(main, f"aggregate a.npz b.csv c.npz {RUN} -q".split())
    assert result.exit_code == 130
    assert [line.split()[-1] for line in result.stdout.splitlines()[-3:]] == ["done", "interrupted", "run"]
    calls.clear()
    result = CliRunner().invoke(main, f"aggregate a.npz b.csv c.npz {RUN} -q --json".split())
    assert (result.exit_code, json.loads(result.stdout)["n_not_run"]) == (130, 2)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"aggregate b.csv d.csv {RUN} -o {{}}.csv", "-o b.csv would replace b.csv, an input"),
        (f"aggregate a.npz d.csv {RUN} -o {{}}.npz", "-o a.npz would replace a.npz, an input"),
        (f"aggregate b.csv {RUN} -o ../here/b.csv", "-o ../here/b.csv would replace b.csv, an input"),
        (f"aggregate link.csv {RUN} -o b.csv", "-o b.csv would replace link.csv, an input"),
        (f"aggregate a.npz {RUN} --initial-labels b.csv -o b.csv", "-o b.csv would replace b.csv, an input"),
        (f"aggregate a.npz {RUN} --fixed b.csv -o b.csv", "-o b.csv would replace b.csv, an input"),
        ("select b.csv -o b.csv", "-o b.csv would replace b.csv, an input"),
        ("select a.npz --held-out b.csv -o b.csv", "-o b.csv would replace b.csv, an input"),
        ("grid a.npz -o a.npz", "-o a.npz would replace a.npz, an input"),
        ("path b.csv -k 2 -o b.csv", "-o b.csv would replace b.csv, an input"),
        ("compare b.csv -k 2 -o b.csv", "-o b.csv would replace b.csv, an input"),
    ],
)
def test_an_output_never_replaces_an_input(tmp_path, klump_cli, monkeypatch, words, message):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for number, name in enumerate(("a.npz", "b.csv", "d.csv")):
        klump.write_chain(random_chain(5 + number, seed=number), name)
    (folder / "link.csv").symlink_to("b.csv")
    before = contents(folder)
    result = klump_cli(words, status=2)
    assert message in " ".join(result.stderr.split())
    assert not result.stdout
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        ("w.tra", "w.TRA", "-o w.TRA would replace w.lab, a file of the input w.tra"),
        ("v.tra", "v.TRA", "-o v.TRA would have the same .lab, .sta and reward files as the input v.tra"),
        ("w1.tra", "w.tra", "-o w.tra would replace w1.srew, a file of the input w1.tra"),
        ("w.map.csv", "w.drn", "-o w.drn would replace w.map.csv, an input"),
    ],
)
def test_an_output_never_replaces_a_sibling_of_an_input(
    tmp_path, klump_cli, monkeypatch, source, output, message
):
    monkeypatch.chdir(tmp_path)
    chain = random_chain(5, seed=0)
    klump.write_chain(klump.MarkovChain(chain, labels={"goal": [1]}, initial=0), "w.tra")
    klump.write_chain(klump.MarkovChain(chain, rewards={"cost": [1.0, 2, 3, 4, 5]}), "w1.tra")
    klump.write_chain(chain, "v.tra")
    klump.write_chain(chain, "w.map.csv")
    before = contents(tmp_path)
    result = klump_cli(f"aggregate {source} {RUN} -o {output}", status=2)
    assert message in " ".join(result.stderr.split())
    assert contents(tmp_path) == before
