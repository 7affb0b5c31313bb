"""The report in a real browser, offline."""

import html
import re

import numpy as np
import pytest


def luminance(colour):
    """Relative luminance of an rgb() colour, as WCAG defines it."""
    parts = [int(part) / 255.0 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_it_opens_offline_without_a_request_or_an_error(letters, visit):
    opened = visit(letters[0])
    assert opened.problems == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [letters[0].as_uri()]
    assert opened.page.title() == "Letters of a novel"
    assert opened.page.locator("#summary").inner_text().startswith("76 states, 1,146 transitions")


def shown_groups(opened):
    """Number of groups in each panel."""
    return {
        "table": len(opened.rows("group-table")),
        "graph": len(opened.data("graph-nodes")["x"]),
        "matrix": len(opened.data("matrix-borders")["x0"]) // 2 - 1,
        "strips": len(opened.data("matrix-strips")["left"]) // 2,
        "small matrix": len(opened.rows("small-matrix")),
        "filter": opened.page.locator("#group-filter option").count() - 1,
    }


def test_the_control_of_the_number_switches_all_panels(letters, visit):
    opened = visit(letters[0], fragment="#k=3&beta=0.5")
    assert set(shown_groups(opened).values()) == {3}
    opened.page.locator("#number").focus()
    for _ in range(2):
        opened.page.keyboard.press("ArrowRight")
    assert set(shown_groups(opened).values()) == {5}
    answer = letters[1][5, 0.5]
    assert [float(row[3]) for row in opened.rows("group-table")] == pytest.approx(answer.masses, abs=1e-4)
    probabilities = np.array([[float(cell) for cell in row[1:]] for row in opened.rows("small-matrix")])
    assert probabilities == pytest.approx(answer.chain.transition_matrix, abs=1e-4)
    assert f"cost {answer.cost:.4f} bits" in opened.page.locator("#figures").inner_text()
    assert opened.page.url.endswith("#k=5&beta=0.5")


def test_the_control_of_beta_switches_matrix_graph_and_table(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.5")
    before = opened.data("matrix-borders"), opened.data("graph-edges"), opened.rows("states")
    opened.page.locator("#beta").focus()
    opened.page.keyboard.press("End")
    after = opened.data("matrix-borders"), opened.data("graph-edges"), opened.rows("states")
    assert all(one != other for one, other in zip(before, after, strict=True))
    answer = letters[1][4, 1.0]
    assert opened.data("costs-here")["x"] == [1.0]
    assert opened.data("costs-here")["y"] == pytest.approx([answer.cost])
    assert opened.data("plane-here")["x"] == pytest.approx([answer.costs.lumpability])


def test_a_cell_of_the_table_selects_its_answer(letters, visit):
    opened = visit(letters[0])
    opened.page.get_by_label("6 groups, beta 0.8, kept").click()
    assert set(shown_groups(opened).values()) == {6}
    assert opened.page.locator("#beta-value").inner_text() == "0.8"
    assert opened.page.locator('#choice [aria-pressed="true"]').count() == 1


def test_search_finds_a_state_and_its_group(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.8")
    opened.page.locator("#search").fill("q")
    (row,) = [row for row in opened.rows("states") if row[0] == "q"]
    answer = letters[1][4, 0.8]
    group = answer.labels[answer.original.states.index("q")]
    assert row[1] == f"{group} {answer.names[group]}"
    opened.page.locator("#search").fill("no such state")
    assert opened.rows("states") == []
    assert opened.page.locator("#found").inner_text() == "0 states found"


def test_the_filter_and_the_order_of_the_states(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.8")
    opened.page.locator("#group-filter").select_option("2")
    found = [row[0] for row in opened.rows("states")]
    assert found == ["' '" if state == " " else state for state in letters[1][4, 0.8].groups[2]]
    opened.page.get_by_role("button", name="state", exact=True).click()
    by_name = [row[0] for row in opened.rows("states")]
    assert sorted(by_name) == sorted(found)
    assert [name for name in by_name if name.isalnum()] == sorted(
        filter(str.isalnum, found), key=str.casefold
    )
    assert by_name != found


def test_every_control_is_reached_by_the_keyboard(letters, visit):
    opened = visit(letters[0])
    reached = set()
    for _ in range(60):
        opened.page.keyboard.press("Tab")
        reached.add(opened.page.evaluate("document.activeElement.id"))
    assert reached >= {"theme", "number", "beta", "flow-axis", "search", "group-filter", "more"}


def test_the_matrix_tells_what_is_under_the_pointer(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.8")
    box = opened.page.locator("#matrix").bounding_box()
    opened.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.4 * box["height"])
    opened.page.wait_for_function("() => document.getElementById('matrix-readout').textContent !== ''")
    assert re.match(
        r"from .+ \(group \d\) to .+ \(group \d\): about 0\.\d+",
        opened.page.locator("#matrix-readout").inner_text(),
    )


def test_a_dot_of_a_curve_selects_its_answer(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.8")
    opened.page.evaluate(
        """() => {
            const dots = Bokeh.documents.map(d => d.get_model_by_name("kept-dots")).find(found => found);
            const place = dots.data.k.findIndex((k, i) => k === 7 && dots.data.beta[i] === 0.5);
            dots.selected.indices = [place];
        }"""
    )
    assert opened.page.url.endswith("#k=7&beta=0.5")


def test_the_flow_runs_along_beta_or_the_number_of_groups(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.5")
    assert len(opened.data("flow-bars")["left"]) == 3 * 4
    opened.page.locator("#flow-axis").select_option("by_beta")
    assert len(opened.data("flow-bars")["left"]) == 2 + 3 + 4 + 5 + 6 + 7


def test_the_beta_control_steps_over_cells_that_were_not_run(holes, visit):
    opened = visit(holes, fragment="#k=2&beta=0.2")
    opened.page.locator("#beta").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#beta-value").inner_text() == "0.8"
    opened.page.keyboard.press("ArrowLeft")
    assert opened.page.locator("#beta-value").inner_text() == "0.2"
    assert opened.rows("choice")[0][2] == "not run"


def test_it_works_in_a_frame_without_an_address(letters, visit, tmp_path):
    """As notebooks and previews show it."""
    frame = tmp_path / "frame.html"
    escaped = html.escape(letters[0].read_text(encoding="utf-8"))
    frame.write_text(
        f'<html data-ready="true"><iframe sandbox="allow-scripts" srcdoc="{escaped}"></iframe></html>'
    )
    opened = visit(frame)
    inside = opened.page.frame_locator("iframe")
    inside.locator("html[data-ready=true]").wait_for(state="attached")
    inside.get_by_label("6 groups, beta 0.8, kept").click()
    assert inside.locator("#number-value").inner_text() == "6"
    assert opened.problems == []


def test_the_filter_follows_its_group(letters, visit):
    opened = visit(letters[0], fragment="#k=4&beta=0.8")
    grid = letters[1]
    opened.page.locator("#group-filter").select_option("1")
    identity = grid[4, 0.8].identities[1]
    opened.page.get_by_label("5 groups, beta 0.8, kept").click()
    group = grid[5, 0.8].identities.index(identity)
    assert opened.page.locator("#group-filter").input_value() == str(group)


def test_names_that_are_markup_show_as_text(hostile, visit, screenshot):
    opened = visit(hostile)
    assert opened.page.locator("h1").inner_text() == "<script>alert(4)</script>"
    names = [row[0] for row in opened.rows("states")]
    assert "<script>alert(1)</script>" in names
    assert '"><img src=x onerror=alert(2)>' in names
    assert "{title}" in names
    shown = opened.page.locator("#group-table strong").all_inner_texts()
    assert shown == ["<script>alert(3)</script>", "<b>bold</b>", "$$x$$"]
    assert opened.page.locator("b, img").count() == 0
    # Tooltips of the graph, at the centre of the first group, which stands at the top.
    box = opened.page.locator("#graph").bounding_box()
    top = (1.46 - 1.0) / (1.46 + 1.42)
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + top * box["height"])
    opened.page.get_by_text("0 · <script>alert(3)</script>", exact=False).first.wait_for()
    screenshot(opened, "hostile")
    assert opened.problems == []


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_on_a_phone_and_on_a_screen(letters, visit, screenshot, width, scheme):
    opened = visit(letters[0], width, scheme, fragment="#k=4&beta=0.8")
    screenshot(opened, f"letters-{width}-{scheme}")
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in (figure.bounding_box() for figure in page.locator(".figure:visible").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] >= 0.2 * 1400 or box["width"] >= 0.75 * width
    sizes = page.eval_on_selector_all(
        "main p, main td, main th, main li, #controls label",
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))",
    )
    assert min(sizes) >= 12.0
    for selector, background in (
        (".caption", "section"),
        ("td.text", "section"),
        ("#summary", "body"),
        ("h2", "section"),
    ):
        colours = page.evaluate(
            """([text, back]) => [getComputedStyle(document.querySelector(text)).color,
                                  getComputedStyle(document.querySelector(back)).backgroundColor]""",
            [selector, background],
        )
        assert contrast(*colours) >= 4.5, selector
    is_dark = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1
    assert is_dark == (scheme == "dark")


def test_the_figures_follow_the_theme(letters, visit):
    opened = visit(letters[0])

    def colour_of_axis():
        return opened.page.evaluate(
            "() => Bokeh.documents.map(d => d.get_model_by_name('costs')).find(f => f).below[0].major_label_text_color"
        )

    before = colour_of_axis()
    opened.page.locator("#theme").click()
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert colour_of_axis() != before


def test_it_prints_in_light_colours_without_controls(letters, visit):
    opened = visit(letters[0], scheme="dark")
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("#number").is_visible()
    assert not opened.page.locator("#search").is_visible()
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert luminance(opened.page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
