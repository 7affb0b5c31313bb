"""Registry of adapters: which module turns the objects of which package into chains.

An adapter is a module with ``adapt(given)``, which returns :class:`Adapted`, or None for a type that it does not know,
or raises a KlumpError that names the type. It is one file and one line here. The package of an object is read off the
modules of its classes, so that no package is imported to find out, and subclasses are recognised.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from scipy import sparse

from klump.sources.adapters.adapted import Adapted, refuse

ADAPTERS = {
    "anndata": "klump.sources.adapters.anndata_objects",
    "deeptime": "klump.sources.adapters.deeptime_models",
    "igraph": "klump.sources.adapters.graphs",
    "networkx": "klump.sources.adapters.graphs",
    "pandas": "klump.sources.adapters.tables",
    "polars": "klump.sources.adapters.tables",
    "pyarrow": "klump.sources.adapters.tables",
    "pydtmc": "klump.sources.adapters.pydtmc_chains",
    "stormpy": "klump.sources.adapters.stormpy_models",
}
# For objects of all other packages, such as the kernels of CellRank.
_ANY_PACKAGE = "klump.sources.adapters.matrix_holders"
# What NumPy converts to an array as a whole. It would also take any object with a length and items, and ask for one
# item after the other: minutes for an AnnData.
_ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__")
_REMEDY = (
    "pass a transition matrix (an array, or a SciPy sparse matrix), a table with one row and one column per state, "
    f"or an object of {', '.join(sorted(set(ADAPTERS) | {'cellrank'}))}"
)


class Adapter(Protocol):
    """Interface of a module that knows the objects of a package."""

    def adapt(self, given: Any) -> Adapted | None:
        """Parts of the chain that an object holds; None for a type that the module does not know."""


def adapt(given: Any) -> Adapted | None:
    """Parts of the chain that an object of another package holds; None for arrays, sparse matrices and lists.

    Raises
    ------
    InvalidChainError
        If the object is neither; before any attempt to convert it.

    >>> adapt([[1.0]]) is None
    True
    """
    if isinstance(given, np.ndarray | list | tuple) or sparse.issparse(given):
        return None
    for package in packages_of(given):
        module = ADAPTERS.get(package)
        found = None if module is None else _load(module).adapt(given)
        if found is not None:
            return found
    found = _load(_ANY_PACKAGE).adapt(given)
    if found is None and not _is_array_like(given):
        raise refuse(given, "is not a Markov chain", _REMEDY)
    return found


def packages_of(given: object) -> list[str]:
    """Packages that define an object's classes, most derived first.

    >>> packages_of(True)
    ['builtins']
    """
    return list(dict.fromkeys(kind.__module__.partition(".")[0] for kind in type(given).__mro__))


def _load(module: str) -> Adapter:
    return cast(Adapter, import_module(module))


def _is_array_like(given: Any) -> bool:
    # Classes whose instances make up attributes as they are asked for are looked at by their type.
    return any(hasattr(type(given), name) for name in _ARRAY_PROTOCOLS) or isinstance(
        given, memoryview | bytearray | int | float | complex | np.generic
    )
