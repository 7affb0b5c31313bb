"""Every line of README's table "Your data" works as printed, with the package that it names."""

import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import klump
import models
from klump.sources.random_chains import block_chain

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CHAIN, PLANTED = block_chain((10, 10, 10, 10, 10), alpha=0.3, eps=0.1, random_state=0)
P = np.asarray(CHAIN.transition_matrix)

pytestmark = pytest.mark.filterwarnings("ignore")


def lines():
    """Pairs of what a user has, and the code for it."""
    table = README.split("## Your data")[1].split("\n\n")[1]
    rows = [row.strip("|").split(" | ") for row in table.splitlines()[2:]]
    return [(has.strip(), re.findall("`([^`]+)`", line)[0]) for has, line in rows]


def run(has, **given):
    code = next(code for name, code in lines() if name.startswith(has))
    return eval(code, {"klump": klump, **given})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_row_has_a_test():
    source = Path(__file__).read_text(encoding="utf-8")
    called = set(re.findall(r'run\(\s*"([^"]+)"', source))
    assert all(any(has.startswith(name) for name in called) for has, _ in lines())
    assert len(lines()) == 9


@pytest.mark.parametrize("kind", ["numpy", "scipy", "pandas", "polars"])
def test_matrices(kind):
    names = [f"s{i}" for i in range(len(P))]
    if kind in ("pandas", "polars"):
        package = pytest.importorskip(kind)
        given = package.DataFrame(dict(zip(names, P.T, strict=True)))
        if kind == "pandas":
            given.index = names
    else:
        given = P if kind == "numpy" else sparse.coo_matrix(P)
    assert run("a matrix", P=given).n_states == 4


def test_deeptime():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        markov = pytest.importorskip("deeptime.markov.msm")
        msm = markov.MarkovStateModel(P)
    slow = run("a Markov state model", msm=msm)
    assert slow.transition_matrix.shape == (4, 4)
    assert slow.transition_matrix.sum(axis=1) == pytest.approx(1.0)


def test_storm():
    stormpy = pytest.importorskip("stormpy")
    die = models.knuth_yao_die()
    labels = {label: [die.names[i] for i in die.labels[label]] for label in ("done", "six")}
    chain = klump.MarkovChain(die.matrix, die.names, labels=labels, initial=die.names[die.initial])
    klump.write_chain(chain, "model.tra")
    klump.write_chain(chain, "model.drn")
    from_file = run("a model for PRISM or Storm")
    assert from_file.n_states == 8  # 13 states: the outcomes but for six are alike
    assert set(from_file.labels) == {"done", "six"}
    model = stormpy.build_model_from_drn("model.drn")
    from_storm = klump.aggregate(model, method="exact", respect_labels=True).quotient
    assert from_storm.n_states == from_file.n_states


def test_single_cells():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.zeros((len(P), 1), dtype=np.float32))
    adata.obs_names = [f"cell {i}" for i in range(len(P))]
    kernel = SimpleNamespace(transition_matrix=sparse.csr_matrix(P), adata=adata)
    run("an AnnData", kernel=kernel, adata=adata)
    assert adata.obs["klump"].nunique() == 8
    assert adata.obsm["klump_memberships"].shape == (len(P), 8)


@pytest.mark.parametrize("package", ["networkx", "igraph"])
def test_graphs(package):
    module = pytest.importorskip(package)
    pytest.importorskip("networkx")
    edges = [(i, j) for i in range(len(P)) for j in range(i) if PLANTED[i] == PLANTED[j] or (i + j) % 17 == 0]
    G = module.Graph(edges)
    small = run("a graph", G=G)
    assert small.number_of_nodes() == 4
    assert sum(mass for _, mass in small.nodes(data="mass")) == pytest.approx(1.0)


def test_events(rng):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    n = 2000
    columns = {
        "visit": rng.integers(50, size=n),
        "time": np.arange(n),
        "page": [f"page {i}" for i in rng.integers(8, size=n)],
    }
    parquet.write_table(pyarrow.table(columns), "log.parquet")
    assert run("a log of events").n_states == 5


def test_sequences(rng):
    assert run("sequences", walks=list(rng.integers(10, size=(20, 200)))).n_states == 4


def test_points(rng):
    X = rng.normal(size=(60, 2)) + 8 * np.repeat(np.arange(3), 20)[:, None]
    assert len(set(run("points", X=X).tolist())) == 3


def test_rates():
    rates = P - np.eye(len(P))
    assert run("rates", rates=rates - np.diag(rates.sum(axis=1))).n_states == 4
