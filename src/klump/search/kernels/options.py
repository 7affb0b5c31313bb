"""How kernels are compiled."""

from __future__ import annotations

from typing import Any

# NaN and infinity keep their meaning; only the order of sums and the use of fused operations are free. Division by
# zero gives infinity instead of an error, whose check would keep loops from vectorising.
FAST = {"reassoc", "contract", "nsz"}
KERNEL: dict[str, Any] = {"error_model": "numpy", "fastmath": FAST, "cache": True, "nogil": True}
