"""The data of a report are those of its answers."""

import base64
import json
import re

import numpy as np
import pytest

import klump
from klump.report import Cells, write_report
from klump.report.contents import contents
from klump.report.page import embed_json
from klump.sources.random_chains import block_chain, sparse_block_chain
from klump.views import ordered_matrix


def decode(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def collect(answers):
    return contents(Cells.from_answers(answers), {})


@pytest.fixture(scope="module")
def chain():
    return block_chain((3, 5, 4, 2), alpha=0.7, eps=0.2, random_state=0)[0]


@pytest.fixture(scope="module")
def grid(chain):
    return klump.grid(chain, [2, 3, 4], [0.2, 0.5, 1.0], method="sequential", n_init=2)


def test_cells_lead_to_the_partitions_of_the_answers(grid):
    found = collect(grid)
    assert found["numbers"] == [2, 3, 4]
    assert found["betas"] == [0.2, 0.5, 1.0]
    for row, k in enumerate(grid.n_states):
        for column, beta in enumerate(grid.betas):
            partition, answer = found["partitions"][found["cells"][row][column]], grid[k, beta]
            assert decode(partition["labels"], "<u2").tolist() == answer.labels.tolist()
            assert partition["names"] == list(answer.names)
            assert partition["lumpability"] == answer.costs.lumpability
            assert partition["epsilon"] == answer.bisimulation.epsilon
            assert np.array(partition["transition_matrix"]) == pytest.approx(
                answer.chain.transition_matrix, abs=1e-6
            )


def test_cells_with_the_same_partition_share_its_data(chain):
    labels = np.arange(14) % 3
    answers = [klump.Aggregation.from_labels(chain, labels, beta) for beta in (0.0, 0.5, 1.0)]
    found = collect(answers)
    assert found["cells"] == [[0, 0, 0]]
    assert len(found["partitions"]) == 1


def test_the_matrix_is_that_of_the_view(grid):
    answer = grid[3, 0.5]
    found = collect([answer])["partitions"][0]["matrix"]
    view = ordered_matrix(answer, 120)
    levels = decode(found["levels"], np.uint8).reshape(view.density.shape)
    # 8 bits of the square root.
    assert found["largest"] * (levels / 255.0) ** 2 == pytest.approx(view.density, abs=2 / 255)
    assert found["borders"] == view.borders.tolist()


def test_groups_keep_their_identity_along_beta_and_the_number_of_groups(chain, grid):
    labels = block_chain((3, 5, 4, 2), alpha=0.7, eps=0.2, random_state=0)[1]
    coarse = klump.Aggregation.from_labels(chain, np.minimum(labels, 2), 0.5)
    fine = klump.Aggregation.from_labels(chain, (labels + 1) % 4, 0.5)
    found = Cells.from_answers([coarse, fine]).identities()
    for group in (0, 1):
        assert found[4, 0.5][(group + 1) % 4] == found[3, 0.5][group]
    path = klump.beta_path(chain, 4, betas=[1, 0.5, 0])
    assert set(Cells.from_answers(path).identities().values()) == {(0, 1, 2, 3)}


def test_it_opens_where_the_cost_curve_bends():
    planted = block_chain((10, 10, 10), alpha=0.9, eps=0.1, random_state=1)[0]
    grid = klump.grid(planted, range(2, 7), [0.5, 1.0], method="sequential", n_init=5)
    assert Cells.from_answers(grid).first() == (3, 0.5)


def test_cells_that_were_not_run_are_empty(chain, grid):
    found = collect([grid[2, 0.5], grid[3, 0.5], grid[3, 1.0]])
    assert found["cells"][0] == [0, None]
    assert None not in found["cells"][1]


def test_soft_maps_have_memberships_and_no_bound_from_any_start(chain):
    rng = np.random.default_rng(0)
    answer = klump.Aggregation.from_labels(chain, rng.dirichlet([1.0, 1.0, 1.0], size=14))
    (partition,) = collect([answer])["partitions"]
    assert decode(partition["shares"], "<f4") == pytest.approx(answer.mapping.max(axis=1))
    assert partition["epsilon"] is None
    assert any("soft" in sentence for sentence in partition["certificate"])


def test_an_exact_lumping_of_a_reducible_chain_has_no_costs():
    P = [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.2, 0.3, 0.25, 0.25], [0.3, 0.2, 0.25, 0.25]]
    answer = klump.aggregate(P, method="exact", initial=[0, 0, 1, 1])
    (partition,) = collect([answer])["partitions"]
    assert partition["lumpability"] is None
    assert partition["masses"] is None
    assert any("exact lumping" in sentence for sentence in partition["certificate"])


@pytest.mark.parametrize("labels", [np.zeros(14, dtype=int), np.arange(14)], ids=["one group", "all states"])
def test_the_least_and_the_most_groups(chain, labels, tmp_path):
    klump.Aggregation.from_labels(chain, labels).report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10**6


def test_certificates_quote_the_bounds_of_the_answer(grid):
    answer = grid[3, 0.5]
    (partition,) = collect([answer])["partitions"]
    text = " ".join(partition["certificate"])
    assert f"{answer.bisimulation.epsilon:.4f} at worst" in text
    assert f"({answer.kept:.1%})" in text
    quoted = re.search(r"between ([\d.e-]+) and ([\d.e-]+) bits per step", text)
    bracket = answer.guarantees_within(budget=2e7).divergence
    assert [float(bound) for bound in quoted.groups()] == pytest.approx(
        [bracket.lower, bracket.upper], rel=0.05
    )


def test_curves_over_time_are_those_of_the_test(grid):
    answer = grid[3, 0.5]
    found = collect([answer])["partitions"][0]["dynamics"]
    test = answer.chapman_kolmogorov(found["test"]["steps"])
    for kind in ("original", "aggregated", "long_time"):
        expected = np.diagonal(getattr(test, kind), axis1=1, axis2=2).T
        assert np.array(found["test"][kind]) == pytest.approx(expected, abs=1e-6)
    assert found["original"][0] == pytest.approx(answer.original.timescales(1)[0])


def test_a_report_of_20000_sparse_states_is_small(tmp_path):
    planted, labels = sparse_block_chain(20_000, 8)
    names = [f"state number {state}" for state in range(20_000)]
    chain = klump.MarkovChain(planted.transition_matrix, names)
    answers = [klump.Aggregation.from_labels(chain, labels % k) for k in (2, 4, 8)]
    write_report(answers, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 4e6


def test_json_cannot_end_its_element():
    value = {"name": "</script><!--<script>\u2028"}
    text = embed_json(value)
    assert "<" not in text
    assert json.loads(text) == value


def test_only_html_files_are_written(grid, tmp_path):
    with pytest.raises(klump.errors.InvalidArgumentError, match=r"must end in \.html"):
        grid.report(tmp_path / "report.pdf")


def test_the_page_has_no_address_of_a_network(letters):
    page = letters[0].read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page)


def test_without_bokeh_the_remedy_is_named(grid, tmp_path, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "bokeh"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(klump.errors.MissingPackageError, match=r"pip install 'klump\[report\]'"):
        grid.report(tmp_path / "report.html")
