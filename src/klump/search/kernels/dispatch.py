"""Functions with one implementation per type of their first argument, chosen when a kernel is compiled."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import singledispatch
from typing import Any, cast

from numba.extending import overload

from klump.search.kernels.options import INLINED


def by_type(declared: Callable[..., Any]) -> Any:
    """``functools.singledispatch`` on a NamedTuple, in compiled code too."""
    generic = singledispatch(declared)

    def choose(first: Any, *_: Any) -> Any:
        implementation = generic.dispatch(first.instance_class)
        # numba compares the signatures of an overload and of its declaration, annotations included.
        implementation.__annotations__ = {}
        return implementation

    names = inspect.signature(declared).parameters
    bare = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    choose.__signature__ = inspect.Signature(bare)  # type: ignore[attr-defined]
    overload(generic, jit_options=cast(Any, INLINED))(choose)
    return generic
