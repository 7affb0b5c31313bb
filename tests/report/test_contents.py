"""The data of a report are those of its answers."""

import base64
import html
import json
import re

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.report import Cells, write_report
from klump.report.contents import contents
from klump.report.page import embed_json
from klump.report.sentences import round_down, round_up
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


def test_flows_of_soft_maps_have_their_masses(chain):
    rng = np.random.default_rng(1)
    soft = [
        klump.Aggregation.from_labels(chain, rng.dirichlet([1.0, 1.0, 1.0], size=14), beta)
        for beta in (0.5, 1.0)
    ]
    bars = collect(soft)["flows"]["by_number"][0]["bars"]
    heights = {(answer, group): top - bottom for answer, group, _, bottom, top in bars}
    for number, answer in enumerate(soft):
        assert [heights[number, group] for group in range(3)] == pytest.approx(answer.masses, abs=2e-4)


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
    lower, upper = map(float, quoted.groups())
    assert 0.9 * bracket.lower <= lower <= bracket.lower
    assert bracket.upper <= upper <= 1.1 * bracket.upper


def test_bounds_are_rounded_outwards():
    assert round_up(0.12341) == "0.1235"
    assert round_down(0.12349) == "0.1234"
    assert float(round_up(9.01e-13)) >= 9.01e-13
    assert float(round_down(3.19e-7)) <= 3.19e-7


def test_a_nearly_decomposable_chain_is_not_called_exact_at_all_times():
    e = 1e-13
    P = [[1 - 5 * e, e, 4 * e, 0], [e, 1 - e, 0, 0], [2 * e, 0, 0.8 - 2 * e, 0.2], [0, 0, 0.2, 0.8]]
    answer = klump.Aggregation.from_labels(P, [0, 0, 1, 1])
    text = " ".join(collect([answer])["partitions"][0]["certificate"])
    assert "up to t times" in text
    assert "all times" not in text


def test_the_test_over_time_speaks_of_the_steps_that_it_looked_at():
    """On a slow cycle the largest difference is between the tested numbers of steps."""
    P = 0.999 * np.roll(np.eye(32), 1, axis=1) + 0.001 * np.eye(32)
    answer = klump.Aggregation.from_labels(P, np.random.default_rng(23).integers(0, 2, 32))
    (sentence,) = [line for line in collect([answer])["partitions"][0]["over_time"] if "Chapman" in line]
    assert re.search(r"test at \d+ numbers of steps", sentence)


def test_a_periodic_chain_has_infinite_timescales_that_keep_their_rank():
    P = np.roll(np.eye(4), 1, axis=1)
    (partition,) = collect([klump.Aggregation.from_labels(P, [0, 1, 0, 1])])["partitions"]
    assert partition["dynamics"]["original"] == [None, None, None]
    assert any("does not relax" in line for line in partition["over_time"])


def test_a_long_time_chain_with_negative_entries_is_left_out():
    chain = block_chain((3, 4, 5), random_state=0)[0]
    answer = klump.Aggregation.from_labels(chain, np.random.default_rng(0).dirichlet([1, 1, 1], 12))
    assert not answer.long_time_chain.is_stochastic
    (partition,) = collect([answer])["partitions"]
    assert partition["dynamics"]["long_time"] is None
    assert any("negative entries" in line for line in partition["over_time"])


def test_an_independent_chain_has_nothing_to_keep():
    (partition,) = collect([klump.Aggregation.from_labels(np.full((4, 4), 0.25), [0, 0, 1, 1])])["partitions"]
    assert any("independent" in line for line in partition["certificate"])
    assert partition["over_time"] == []


def test_many_groups_take_no_dense_tables(tmp_path):
    n = 3_000
    states = np.arange(n)
    parts = [sparse.csr_array((np.full(n, 0.5), (states, (states + j) % n)), shape=(n, n)) for j in (0, 1)]
    answer = klump.Aggregation.from_labels(parts[0] + parts[1], states // 2)
    (partition,) = collect([answer])["partitions"]
    assert partition["dynamics"]["test"] is None
    assert any("1,500 groups are left out" in line for line in partition["over_time"])
    assert partition["graph"] is None


def test_names_belong_to_their_cell(chain):
    first, second = (
        klump.Aggregation.from_labels(chain, np.arange(14) % 2, beta).with_names(names)
        for beta, names in ((0.2, ["x", "y"]), (0.8, ["left", "right"]))
    )
    found = collect([first, second])
    assert [found["partitions"][number]["names"] for number in found["cells"][0]] == [
        ["x", "y"],
        ["left", "right"],
    ]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (lambda one, other: [], "is empty"),
        (lambda one, other: [one, one], "two answers with the same number of groups and beta"),
        (lambda one, other: [one, other], "are of different chains"),
        (
            lambda one, other: [one, klump.Aggregation.from_labels(one.original, one.labels, 1.0, gamma=0.5)],
            "gamma 0 and 0.5",
        ),
    ],
)
def test_answers_that_make_no_report(chain, tmp_path, answers, message):
    one = klump.Aggregation.from_labels(chain, np.arange(14) % 2)
    # Another chain with the same states.
    other = klump.Aggregation.from_labels(block_chain((7, 7), random_state=1)[0], one.labels, 1.0)
    with pytest.raises(klump.errors.InvalidArgumentError, match=message):
        write_report(answers(one, other), tmp_path / "report.html")


def test_an_interrupted_grid_shows_what_was_not_run(grid):
    stopped = klump.AggregationGrid((2, 3, 4), (0.5, 1.0), grid.aggregations[1:2])
    found = collect(stopped)
    assert (found["numbers"], found["betas"]) == ([2, 3, 4], [0.5, 1.0])
    assert found["cells"] == [[0, None], [None, None], [None, None]]


def test_costs_with_gamma(chain):
    answer = klump.Aggregation.from_labels(chain, np.arange(14) % 3, 0.8, gamma=0.3)
    found = collect([answer])
    partition = found["partitions"][0]
    cost = (1 - 2 * 0.8) * partition["lumpability"] + 0.8 * partition["predictability"]
    assert cost + found["gamma"] * partition["generated"] == pytest.approx(answer.cost)


@pytest.mark.parametrize("function", ["aggregate", "beta_path", "grid"])
def test_the_python_call_of_the_page_finds_the_same(chain, tmp_path, function):
    found = {
        "aggregate": lambda: klump.aggregate(chain, 3, 1 / 3),
        "beta_path": lambda: klump.beta_path(chain, 3, betas=[1, 1 / 3]),
        "grid": lambda: klump.grid(chain, [2, 3], [1 / 3], method="annealing", gamma=0.1),
    }[function]()
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    call = html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1])
    assert call.startswith(f"klump.{function}(")
    again = eval(call.splitlines()[0], {"klump": klump, "chain": chain})
    pairs = zip(
        *([answers] if function == "aggregate" else answers for answers in (found, again)), strict=True
    )
    assert all((one.labels == other.labels).all() and one.cost == other.cost for one, other in pairs)


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
