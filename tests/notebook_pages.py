"""HTML of a notebook cell, parsed: texts, tables, pictures, and what must not be in it."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

# Elements that notebooks may show; anything else came from a name that was not escaped.
ALLOWED = {
    *("div", "span", "em", "pre", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "title", "g", "path", "rect", "circle", "polyline", "text"),
}
# Attributes that may hold content; ids and event handlers are not among them.
FORBIDDEN = ("id", "class", "href", "src")
# Names that break out of HTML, that are not printable, or that are too long.
NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&amp;",
    "状态",
    "x" * 10_000,
    "\u202etxt",
    "a\nb",
    "\x00",
]


def walk(n):
    """A walk on n states, three transitions each, sparse."""
    states = np.arange(n)
    source, target = np.tile(states, 3), np.concatenate([states, (states + 1) % n, (7 * states + 3) % n])
    values = np.repeat([0.5, 0.3, 0.2], n)
    return sparse.csr_array((values, (source, target)), shape=(n, n))


def squares(svg):
    """Rows, columns and opacities of the squares of a matrix."""
    found = {}
    for path in svg.iterfind("g/path"):
        for run in path.get("d").split("M")[1:]:
            place, length = run.split("h")
            x, y = map(int, place.split())
            for column in range(x, x + int(length)):
                assert (y, column) not in found
                found[y, column] = float(path.get("stroke-opacity"))
    return found


class _Checker(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.texts, self.elements = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, tag
        for name, _ in attrs:
            assert name not in FORBIDDEN and not name.startswith("on"), (tag, name)
        self.open.append(tag)
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


class Page:
    """A parsed cell; it is well-formed XML, so that pictures can be read as such."""

    def __init__(self, html):
        checker = _Checker()
        checker.feed(html)
        checker.close()
        assert not checker.open
        html.encode("utf-8")
        self.html = html
        self.text = "".join(checker.texts)
        self.root = ElementTree.fromstring(html)

    @property
    def pictures(self):
        return list(self.root.iter("svg"))

    def picture(self, start):
        """The picture whose description starts with some words."""
        (found,) = [svg for svg in self.pictures if svg.get("aria-label").startswith(start)]
        return found

    @property
    def tables(self):
        """Header and rows of each table, as texts."""
        return [
            (
                ["".join(cell.itertext()) for cell in table.iterfind("thead/tr/th")],
                [["".join(cell.itertext()) for cell in row] for row in table.iterfind("tbody/tr")],
            )
            for table in self.root.iter("table")
        ]

    def table(self, column):
        """The table with a column of some name."""
        (found,) = [table for table in self.tables if column in table[0]]
        return found

    @property
    def facts(self):
        """Values of the table without a header, by name."""
        return {name: value for header, rows in self.tables if not header for name, value in rows}


def show(result):
    """The cell of a result; fails if only the text that replaces a failed picture is shown."""
    page = Page(result._repr_html_())
    assert page.root.find("pre") is None, page.text
    return page
