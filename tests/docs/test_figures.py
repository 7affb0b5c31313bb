"""The pictures in docs/figures/ are those that their script draws, small, and shown on a page."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "figures"
LARGEST = 100_000  # bytes


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_figures", FOLDER / "make_figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(svg):
    """Texts of a picture, in order."""
    return re.findall(r"<text[^>]*>([^<]*)<", svg.read_text(encoding="utf-8"))


def test_the_script_draws_the_pictures_that_are_there(script, tmp_path):
    script.main(tmp_path)
    drawn = {path.name: words(path) for path in tmp_path.iterdir()}
    assert drawn == {path.name: words(path) for path in FOLDER.glob("*.svg")}


def test_pictures_are_small_and_shown():
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    for picture in FOLDER.glob("*.svg"):
        assert picture.stat().st_size < LARGEST, picture.name
        assert f"figures/{picture.name})" in pages, picture.name


def test_the_chain_of_the_pictures_is_that_of_the_page(script):
    page = (DOCS / "what_is_markov_aggregation.md").read_text(encoding="utf-8")
    namespace = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0].split("print")[0], namespace)
    assert namespace["states"] == script.WEATHER
    assert namespace["P"] == script.WEATHER_P.tolist()
