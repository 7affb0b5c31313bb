"""Decorators for kernels: ``kernel`` for entry points, which are cached on disk, the others for their parts.

With ``NUMBA_DISABLE_JIT=1`` they return the function unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, singledispatch
from typing import Any, Protocol, TypeVar, cast, overload

from klump.compilation.announcement import follow
from klump.compilation.cache import KernelCache
from klump.compilation.sources import record_sources

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered, and products and sums fused; NaN and infinity keep their meaning.
FASTMATH = frozenset({"reassoc", "contract", "nsz"})
_NO_C_WRAPPER: dict[str, Any] = {"no_cfunc_wrapper": True}
_NO_WRAPPERS: dict[str, Any] = {**_NO_C_WRAPPER, "no_cpython_wrapper": True}


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(
    *, fastmath: frozenset[str] | bool = ..., error_model: str = ..., allocates: bool = ...
) -> Callable[[F], F]: ...
def kernel(
    function: F | None = None,
    /,
    *,
    fastmath: frozenset[str] | bool = FASTMATH,
    error_model: str = "numpy",
    allocates: bool = True,
) -> F | Callable[[F], F]:
    """Compile a function that Python calls, without the GIL, and cache the machine code on disk.

    Parameters
    ----------
    fastmath
        LLVM's fast-math flags; False keeps sums in the order in which they are written.
    error_model
        ``"numpy"``: division by zero gives infinity or NaN; the check of ``"python"`` keeps loops from vectorising.
    allocates
        False for kernels that allocate no arrays: reference counts are left out.
    """
    options = _options(fastmath, error_model, allocates)

    def compile_kernel(function: F) -> F:
        from numba import njit

        dispatcher = njit(nogil=True, **options, **_NO_C_WRAPPER)(function)
        # A closure would have to be part of the file's name; kernels have none.
        if dispatcher is not function and function.__closure__ is None:
            record_sources()
            follow(function)
            dispatcher._cache = KernelCache(function)
        return dispatcher

    return compile_kernel if function is None else compile_kernel(function)


@overload
def called(function: F, /) -> F: ...
@overload
def called(
    *, fastmath: frozenset[str] | bool = ..., error_model: str = ..., allocates: bool = ...
) -> Callable[[F], F]: ...
def called(
    function: F | None = None,
    /,
    *,
    fastmath: frozenset[str] | bool = FASTMATH,
    error_model: str = "numpy",
    allocates: bool = False,
) -> F | Callable[[F], F]:
    """Compile a function that kernels call. Parameters as for :func:`kernel`.

    It gets no wrapper that converts arguments from Python, which takes longer to compile than a small function. If
    Python calls it all the same, as tests do, it is compiled again.
    """
    options = _options(fastmath, error_model, allocates)
    return _compile_part(options, options) if function is None else _compile_part(options, options)(function)


@overload
def inlined(function: F, /) -> F: ...
@overload
def inlined(
    *, fastmath: frozenset[str] | bool = ..., error_model: str = ..., allocates: bool = ...
) -> Callable[[F], F]: ...
def inlined(
    function: F | None = None,
    /,
    *,
    fastmath: frozenset[str] | bool = FASTMATH,
    error_model: str = "numpy",
    allocates: bool = False,
) -> F | Callable[[F], F]:
    """Compile a function into each kernel that calls it. Parameters as for :func:`kernel`; else as :func:`called`."""
    options = _options(fastmath, error_model, allocates)
    compile_part = _compile_part(options, {**options, "forceinline": True})
    return compile_part if function is None else compile_part(function)


def expanded(function: F) -> F:
    """Copy a function into the kernel that calls it, before anything is compiled.

    For large functions with one caller: an inlined one would be optimised twice, on its own and in its caller.
    """
    from numba import njit

    return cast(F, njit(inline="always")(function))


class ByType(Protocol):
    """A function with one implementation per type of its first argument."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the implementation for the type of the first argument."""

    def register(self, kind: type) -> Callable[[F], F]:
        """Decorator of the implementation for a type."""


def by_type(declared: Callable[..., Any]) -> ByType:
    """``functools.singledispatch`` on a NamedTuple, in compiled code too, where it is inlined."""
    from numba.extending import overload as compile_overload

    generic = singledispatch(declared)

    def choose(first: Any, *_: Any) -> Any:
        implementation = generic.dispatch(first.instance_class)
        # numba compares the signatures of an overload and of its declaration, annotations included.
        implementation.__annotations__ = {}
        return implementation

    names = inspect.signature(declared).parameters
    bare = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    choose.__signature__ = inspect.Signature(bare)  # type: ignore[attr-defined]
    options: Any = {**_options(FASTMATH, "numpy", allocates=False), "forceinline": True, **_NO_WRAPPERS}

    compile_overload(generic, jit_options=options)(choose)
    return cast(ByType, generic)


def _compile_part(plain: dict[str, Any], options: dict[str, Any]) -> Callable[[F], F]:
    """Decorator that compiles a function without wrappers; with ``plain`` options and wrappers if Python calls it."""

    def compile_part(function: F) -> F:
        from numba import njit

        dispatcher = njit(**options, **_NO_WRAPPERS)(function)
        if dispatcher is not function:
            _allow_calls(dispatcher, plain)
        return dispatcher

    return compile_part


def _allow_calls(dispatcher: Any, options: dict[str, Any]) -> None:
    """Let Python call a function that has no wrapper, where numba would crash: compile it again, with one."""
    from numba import njit

    @cache
    def with_wrapper() -> Any:
        return njit(**options)(dispatcher.py_func)

    def add_overload(result: Any) -> None:
        # As numba does, but for the table of entry points, through which calls from Python go.
        dispatcher.overloads[tuple(result.signature.args)] = result

    dispatcher.add_overload = add_overload
    # What this returns is called with the arguments.
    dispatcher._compile_for_args = lambda *arguments, **named: with_wrapper()


def _options(fastmath: frozenset[str] | bool, error_model: str, allocates: bool) -> dict[str, Any]:
    """Options of ``numba.njit``."""
    options = {
        "fastmath": fastmath if isinstance(fastmath, bool) else set(fastmath),
        "error_model": error_model,
    }
    return options if allocates else {**options, "_nrt": False}
