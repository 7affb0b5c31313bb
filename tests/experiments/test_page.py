"""The summary page of synthetic results."""

import dataclasses
from html.parser import HTMLParser
from importlib import resources

import pytest

from klump.experiments.page import number, page, write
from klump.experiments.result import OUTCOMES, Marked, Picture, Result, Table, Verdict

VOID = {"meta", "img", "br", "link"}
FACTS = {"seed": "7", "trials": "2 <few>", "run it again": "`klump reproduce --seed 7`"}


class Reader(HTMLParser):
    """HTML parser that records tags and texts, and checks that elements are closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], "unclosed elements"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def within(self, tag):
        return [text for place, text in self.texts if place == tag]


def draw():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2), layout="constrained")
    figure.subplots().plot([0, 1], [1, 0])
    return figure


def verdict(what, outcome, mode="as published", paper=0.77, reason="4 standard errors"):
    return Verdict(what, mode, paper, 0.781234567, 0.05, outcome, reason)


@pytest.fixture
def results():
    return [
        Result(
            "letters",
            "Letters <&> groups",
            ("The first paragraph about `aggregate(x < y)`.", "The second <script>alert(1)</script>."),
            (
                verdict("ARI of 'a' & \"b\"", "agrees"),
                verdict("cost <i>", "differs", reason="Z & U: another edition"),
                verdict("default", "better", "default", paper=None),
                verdict("one draw", "undecided", reason="one draw says little; 4 standard errors"),
                dataclasses.replace(verdict("few", "undecided", reason="3 draws: too few to show"), draws=3),
            ),
            (
                Table(
                    "Groups <of 4>",
                    ("beta", "groups & more"),
                    (
                        ("1", Marked((("<ae", False), ("u&", True), (">", False)))),
                        ("0.8", "plain <b>text</b>"),
                    ),
                    "Marked: differs from the paper's <table>",
                ),
            ),
            (Picture("over beta/all", 'A "caption" <here>', draw), Picture("letters-two", "Two", draw)),
            {"costs": [0.25]},
        ),
        Result("empty", "Nothing but a title", (), ()),
    ]


def test_page_is_well_formed_and_escaped(results):
    text = page(results, FACTS)
    reader = Reader(text)
    assert "<script" not in text
    assert "<b>" not in text
    assert "<here>" not in text
    assert reader.within("title") == ["The paper, reproduced by klump"]
    assert "Letters <&> groups" in reader.within("h2")
    assert "The second <script>alert(1)</script>." in reader.within("p")
    assert "aggregate(x < y)" in reader.within("code")
    assert "klump reproduce --seed 7" in reader.within("code")
    assert "2 <few>" in reader.within("dd")
    assert "plain <b>text</b>" in reader.within("td")
    assert "Marked: differs from the paper's <table>" in reader.within("p")


def test_page_needs_nothing_but_its_folder(results):
    reader = Reader(page(results, FACTS))
    addresses = [tag.get("src") or tag.get("href") for _, tag in reader.tags if "src" in tag or "href" in tag]
    assert addresses
    assert not any("//" in address or address.startswith("/") for address in addresses)
    assert reader.all("script") == reader.all("link") == []
    assert "url(" not in page(results, FACTS)
    assert "@import" not in page(results, FACTS)


def test_links_lead_to_sections(results):
    reader = Reader(page(results, FACTS))
    sections = {f"#{section['id']}" for section in reader.all("section")}
    assert sections == {link["href"] for link in reader.all("a") if link["href"].startswith("#")}
    assert sections == {"#letters", "#empty"}


def test_marked_pieces(results):
    reader = Reader(page(results, FACTS))
    assert reader.within("mark") == ["u&"]


def test_score(results):
    reader = Reader(page(results, FACTS))
    # Of everything, then of each experiment.
    assert reader.within("strong") == ["1", "1", "1", "2"] * 2
    assert reader.within("li") == ["agrees", "is better", "differs", "are undecided"] * 2
    nothing = Reader(page(results[1:], FACTS))
    assert nothing.within("strong") == ["0"] * 4
    assert nothing.within("li") == ["agree", "are better", "differ", "are undecided"]


def test_overview_counts_every_outcome_by_mode(results):
    cells = Reader(page(results, FACTS)).within("td")
    letters = ["1", "0", "1", "2", "0", "1", "0", "0"]
    assert cells[:24] == [*letters, *["0"] * 8, *letters]


def test_every_outcome_has_a_colour_in_light_and_dark():
    style = resources.files("klump").joinpath("data", "reproduction.css").read_text(encoding="utf-8")
    for outcome in OUTCOMES:
        assert style.count(f"--{outcome}: #") == style.count(f"--{outcome}-tint: #") == 2
        assert f"\n.{outcome} {{" in style
        assert f"\n.bar .{outcome} {{" in style


def test_numbers_that_differ_come_first_and_expanded(results):
    text = page(results, FACTS)
    reader = Reader(text)
    assert [("open" in details) for details in reader.all("details")] == [True, False, False]
    assert reader.within("summary") == [
        "1 number outside the band, and why",
        "2 numbers undecided, and why",
        "2 numbers that agree or are better, one by one",
    ]
    assert text.index("Z &amp; U: another edition") < text.index("ARI of &#x27;a&#x27;")


def test_numbers_of_a_verdict(results):
    cells = Reader(page(results, FACTS)).within("td")
    place = cells.index("cost <i>")
    assert cells[place : place + 6] == ["cost <i>", "as published", "0.77", "0.7812", "0.01123", "0.05"]
    place = cells.index("default")
    assert cells[place : place + 6] == ["default", "default", "–", "0.7812", "–", "0.05"]
    place = cells.index("one draw")
    assert cells[place : place + 6] == ["one draw", "as published", "0.77", "0.7812", "0.01123", "0.05"]


def test_numbers_of_too_few_draws_are_not_shown(results):
    reader = Reader(page(results, FACTS))
    cells = reader.within("td")
    place = cells.index("few")
    assert cells[place : place + 6] == ["few", "as published", *["–"] * 4]
    assert "3 draws: too few to show" in reader.within("small")


def test_pictures_are_files_beside_the_page(results, tmp_path):
    path = write(tmp_path / "new" / "folder", results, FACTS)
    assert path == tmp_path / "new" / "folder" / "index.html"
    images = Reader(path.read_text(encoding="utf-8")).all("img")
    assert [image["src"] for image in images] == [
        "figures/letters-over-beta-all.png",
        "figures/letters-two.png",
    ]
    assert images[0]["alt"] == 'A "caption" <here>'
    for image in images:
        assert (image["width"], image["height"]) == ("288", "192")
        assert (path.parent / image["src"]).read_bytes().startswith(b"\x89PNG")


def test_page_is_the_same_every_time(results, tmp_path):
    first, second = (write(tmp_path / name, results, FACTS) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_columns_are_classified_by_content():
    rows = (("0.43", "-", "a", "b " * 30), ("−1e-09", "20.9 %", "2", "c"), ("0.77 ± 0.26", "", "7", ""))
    result = Result("none", "None", (), (), (Table("Kinds", tuple("abcd"), rows),))
    cells = Reader(page([result], {})).all("td")[-4:]
    assert [cell.get("class") for cell in cells] == ["number", "number", None, "long"]


def test_table_without_rows():
    result = Result("none", "None", (), (), (Table("No rows", ("a", "b"), ()),))
    assert Reader(page([result], {})).within("th")[-2:] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (0.123456, "0.1235"), (-0.25, "−0.25"), (1e-9, "1e-09"), (-1e-9, "−1e-09"), (None, "–")],
)
def test_number(value, text):
    assert number(value) == text
