"""Every JSON document of every command follows the schema in the package."""

import json

import jsonschema
import numba
import pytest

import klump
from klump.documents import read_schema

SCHEMA = json.loads(read_schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EVENTS = "visit,time,page\n" + "".join(
    f"{visit},{time},{(visit * time * time + visit) % 5}\n" for visit in range(1, 40) for time in range(8)
)


@pytest.fixture
def files(chain_file, chain, tmp_path):
    """The chain of chain_file, a reducible one, labels, a soft map and a table of events."""
    klump.write_chain(chain, "chain.npz")
    (tmp_path / "absorbing.csv").write_text("from,to,weight\na,a,0.5\na,b,0.5\nb,b,1\n")
    (tmp_path / "labels.json").write_text("[0, 0, 0, 0, 1, 1, 1, 1]")
    (tmp_path / "two.json").write_text("[0, 1]")
    (tmp_path / "soft.json").write_text(json.dumps({"mapping": [[0.9, 0.1]] * 4 + [[0.2, 0.8]] * 4}))
    (tmp_path / "events.csv").write_text(EVENTS)


def schema_of(document):
    VALIDATOR.validate(document)
    return document["schema"]


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ("info chain.csv --normalize", "klump/info/1"),
        ("info absorbing.csv", "klump/info/1"),
        ("info events.csv --session visit --time time --state page", "klump/info/1"),
        ("aggregate chain.npz -k 2", "klump/aggregation/1"),
        ("aggregate chain.npz -k 2 --initial-labels labels.json --method annealing", "klump/aggregation/1"),
        ("aggregate chain.npz -k 2 --method agglomerative", "klump/aggregation/1"),
        ("aggregate chain.npz -k 2 --method deterministic-annealing", "klump/aggregation/1"),
        ("aggregate chain.npz -k 2 --beta 0.1 --method stochastic", "klump/aggregation/1"),
        (
            "aggregate absorbing.csv --method exact --initial-labels two.json --tolerance 1e-9",
            "klump/aggregation/1",
        ),
        ("aggregate chain.npz -k 2 --time-limit 1e-9", "klump/aggregation/1"),
        ("path chain.npz -k 2 --betas 1,0.5,0", "klump/path/1"),
        ("grid chain.npz -k 2..3 --beta 0.5 --beta 1", "klump/grid/1"),
        ("report chain.npz -k 2..3 --beta 0.5 --no-compare -o report.html", "klump/report/1"),
        ("select chain.npz -k 2..3 --beta 0.5 --beta 1", "klump/selection/1"),
        (
            "select chain.csv --normalize -k 2..3 --beta 0.5 --resamples 0 --time-limit 1e-9",
            "klump/selection/1",
        ),
        ("score chain.npz labels.json", "klump/score/1"),
        ("score chain.npz labels.json --guarantees --horizon 3 --beta 0 --beta 1", "klump/score/1"),
        ("score chain.npz soft.json", "klump/score/1"),
        ("aggregate chain.npz -k 2 --lag 3", "klump/aggregation/1"),
        ("dynamics chain.npz --absorption x --absorption y", "klump/dynamics/1"),
        ("dynamics chain.npz labels.json --committor x y --steps 1,3", "klump/dynamics/1"),
        ("dynamics chain.npz soft.json", "klump/dynamics/1"),
        ("dynamics absorbing.csv --absorption closed", "klump/dynamics/1"),
        ("compare chain.npz -k 2 --methods auto,stochastic,spectral --no-outside", "klump/comparison/1"),
        ("convert chain.npz out.csv", "klump/conversion/1"),
        ("convert events.csv out.mapped --session visit --time time --state page", "klump/conversion/1"),
    ],
)
def test_documents_follow_the_schema(files, klump_cli, arguments, schema):
    document = json.loads(klump_cli(f"{arguments} --json -q").stdout)
    assert schema_of(document) == schema
    assert "input" in document


@pytest.mark.parametrize(
    "arguments", ["info chain.npz absorbing.csv chain.csv", "aggregate chain.npz chain.csv -k 2"]
)
def test_documents_of_several_files_follow_the_schema(files, klump_cli, arguments):
    """Without --normalize the last file is an error."""
    document = json.loads(klump_cli(f"{arguments} --json -q", status=1).stdout)
    assert schema_of(document) == "klump/files/1"
    assert schema_of(document["documents"][0]).startswith(
        f"klump/{arguments[:4]}".replace("aggr", "aggregation")
    )
    assert schema_of(document["documents"][-1]) == "klump/error/1"
    assert document["n_failed"] == 1
    document["documents"][0]["extra"] = 1
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("arguments", ["info missing.csv", "aggregate chain.npz -k 9", "info chain.csv"])
def test_errors_follow_the_schema(files, klump_cli, arguments):
    document = json.loads(klump_cli(f"{arguments} --json -q", status=1).stdout)
    assert schema_of(document) == "klump/error/1"


@pytest.mark.parametrize("options", [{}, {"method": "agglomerative"}, {"method": "stochastic", "beta": 0.1}])
def test_to_dict_is_the_document_of_the_command_line(files, klump_cli, chain, options):
    flags = " ".join(f"--{name} {value}" for name, value in options.items())
    printed = json.loads(klump_cli(f"aggregate chain.npz -k 2 {flags} --json -q").stdout)
    own = klump.aggregate(klump.read_chain("chain.npz"), 2, **options).to_dict()
    assert schema_of(own) == "klump/aggregation/1"
    assert own == {key: value for key, value in printed.items() if key in own}
    settings = {"n_init", "step", "max_sweeps", "allow_empty", "tolerance", "time_limit"}
    inputs = {"input", "initial_labels_input", "constraints_input"}
    assert printed.keys() - own.keys() == settings | inputs | {"reachability"}


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_warm_up_follows_the_schema(klump_cli, monkeypatch):
    from klump import warm_up
    from klump.compilation import announcement

    monkeypatch.setattr(announcement, "announce_all", lambda: None)
    monkeypatch.setattr(warm_up, "QUESTIONS", {})
    assert schema_of(json.loads(klump_cli("warm-up --json -q").stdout)) == "klump/warm-up/1"


def test_a_reproduction_follows_the_schema():
    from klump.cli.reproduce import _summary
    from klump.experiments.result import Result
    from klump.experiments.trials import Settings

    result = Result("quick", "A quick one", (), (), data={"found": [1.0, None]})
    assert schema_of(json.loads(_summary([result], Settings()))) == "klump/reproduction/2"


def test_the_schema_is_valid_and_notices_changes(files, klump_cli):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = json.loads(klump_cli("info chain.npz --json -q").stdout)
    for changed in (
        {**document, "schema": "klump/info/2"},
        {**document, "extra": 1},
        {key: value for key, value in document.items() if key != "period"},
        {**document, "n_states": "8"},
    ):
        assert not VALIDATOR.is_valid(changed)


def test_every_definition_is_used():
    text = json.dumps(SCHEMA)
    assert all(f'"#/$defs/{name}"' in text for name in SCHEMA["$defs"])
