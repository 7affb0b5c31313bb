"""Reports of the letters of a novel, and of a chain with hostile names; a real browser, offline."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import klump
from klump.report import write_report

# Screenshots are kept, to be looked at.
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "$$\\frac{1}{2}$$",
    "&amp;",
    "{title}",
    "",
]


@pytest.fixture(scope="session")
def letters(tmp_path_factory):
    """Report of the letter bigrams for 2 to 7 groups and three betas."""
    chain = klump.datasets.letter_bigrams()
    grid = klump.grid(chain, range(2, 8), [0.5, 0.8, 1.0], method="sequential", n_init=3)
    path = tmp_path_factory.mktemp("letters") / "report.html"
    grid.report(path, title="Letters of a novel")
    return path, grid


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """Report of a chain whose states and groups have names that are markup."""
    P = [[0.4 if i == j else 0.12 for j in range(6)] for i in range(6)]
    answer = klump.Aggregation.from_labels(klump.MarkovChain(P, HOSTILE), [0, 0, 1, 1, 2, 2])
    answer = answer.with_names(["<script>alert(3)</script>", "<b>bold</b>", "$$x$$"])
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    answer.report(path, title="<script>alert(4)</script>")
    return path


@pytest.fixture(scope="session")
def holes(tmp_path_factory):
    """Report of a grid in which some cells were not run."""
    chain = klump.datasets.letter_bigrams()
    answers = [
        klump.Aggregation.from_labels(chain, np.arange(76) % k, beta)
        for k, beta in ((2, 0.2), (2, 0.8), (3, 0.5))
    ]
    path = tmp_path_factory.mktemp("holes") / "report.html"
    write_report(answers, path)
    return path


def find_browser():
    names = ("chromium", "google-chrome", "chromium-browser")
    return next((found for name in names if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium; without one the tests are skipped, unless KLUMP_REQUIRE_BROWSER is set."""
    program = find_browser()
    if program is None:
        message = "no Chromium found: tools/install_system_packages.sh installs it"
        if os.environ.get("KLUMP_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        launched = driver.chromium.launch(executable_path=program, args=options)
        yield launched
        launched.close()


class Visit:
    """A page that was opened, and what it tried to do."""

    def __init__(self, page):
        self.page = page
        self.problems = []
        self.requests = []
        page.on(
            "console",
            lambda message: message.type in ("error", "warning") and self.problems.append(message.text),
        )
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def data(self, source):
        """Columns of a source of the figures."""
        return self.page.evaluate(
            """name => {
                for (const document of Bokeh.documents) {
                    const found = document.get_model_by_name(name);
                    if (found) return JSON.parse(JSON.stringify(found.data));
                }
            }""",
            source,
        )

    def rows(self, table):
        """Texts of the cells of a table, row by row, without the header."""
        return self.page.eval_on_selector_all(
            f"#{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )


@pytest.fixture
def visit(browser):
    """Open a file, with a width and a colour scheme; the network is off."""
    contexts = []

    def open_page(path, width=1400, scheme="light", fragment=""):
        context = browser.new_context(
            offline=True,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        contexts.append(context)
        opened = Visit(context.new_page())
        opened.page.goto(f"{Path(path).as_uri()}{fragment}")
        opened.page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def screenshot():
    """Keep a picture of a whole page."""

    def keep(visited, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        visited.page.wait_for_function("() => Bokeh.documents.every(document => document.is_idle)")
        visited.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    return keep
