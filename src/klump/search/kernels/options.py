"""How kernels are compiled."""

from __future__ import annotations

from typing import Any

# NaN and infinity keep their meaning; only the order of sums and the use of fused operations are free. Division by
# zero gives infinity instead of an error, whose check would keep loops from vectorising.
FAST = {"reassoc", "contract", "nsz"}
# Functions called from Python.
KERNEL: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST,
    "cache": True,
    "nogil": True,
    "no_cfunc_wrapper": True,
}
# Functions called from kernels: without wrappers for Python and C, whose compilation would take half of the time, and
# without reference counts, which would take most of a sweep's time: kernels allocate nothing.
CALLED: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
INLINED: dict[str, Any] = {**CALLED, "forceinline": True}
