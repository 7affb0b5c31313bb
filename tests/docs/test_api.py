"""The API pages list every public name, and every public function and class has an example."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import klump
import klump.errors
from klump.sources import datasets, random_chains

DOCS = Path(__file__).parents[2] / "docs"


def listed_names():
    """Full names in the summaries of the API pages."""
    for page in sorted((DOCS / "api").glob("*.md")):
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            module = re.search(r"currentmodule:: (\S+)", block)[1]
            yield from (f"{module}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE))


def is_public(module, value):
    """Whether a module defines a value, and it is a function or a class."""
    defined = (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == module.__name__
    return defined and not value.__name__.startswith("_")


def resolve(name):
    module, _, last = name.rpartition(".")
    return getattr(klump.datasets if module == "klump.datasets" else import_module(module), last)


def test_every_public_name_is_listed_once():
    listed = list(listed_names())
    assert len(listed) == len(set(listed))
    values = {name: getattr(klump, name) for name in klump.__all__}
    expected = {f"klump.{name}" for name, value in values.items() if not isinstance(value, ModuleType | str)}
    expected |= {f"klump.distributed.{name}" for name in klump.distributed.__all__}
    expected |= {
        f"klump.datasets.{name}" for name, value in vars(datasets).items() if is_public(datasets, value)
    }
    expected |= {
        f"klump.sources.random_chains.{name}"
        for name, value in vars(random_chains).items()
        if is_public(random_chains, value)
    }
    kinds = [kind for kind in vars(klump.errors).values() if is_public(klump.errors, kind)]
    expected |= {
        f"klump.errors.{kind.__name__}"
        for kind in kinds
        if inspect.isclass(kind) and issubclass(kind, klump.KlumpError) and kind is not klump.KlumpError
    }
    assert expected <= set(listed)


@pytest.mark.parametrize("name", sorted(listed_names()))
def test_every_listed_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(resolve(name)), f"{name}: no Examples in its docstring"
