"""How kernels are compiled."""

from __future__ import annotations

from typing import Any

# NaN and infinity keep their meaning; only the order of sums and the use of fused operations are free. Division by
# zero gives infinity instead of an error, whose check would keep loops from vectorising.
FAST = {"reassoc", "contract", "nsz"}
KERNEL: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST,
    "cache": True,
    "nogil": True,
    "no_cfunc_wrapper": True,
}
# Without reference counts: kernels allocate nothing, and counting would take most of a sweep's time.
INLINED: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST,
    "_nrt": False,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
