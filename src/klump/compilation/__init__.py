"""Compilation of kernels: decorators, the cache of compiled code, and the announcement of compilation.

Importing this package does not import numba.
"""

from klump.compilation.announcement import Compilation, announce_all, compilations, need
from klump.compilation.decorators import FASTMATH, by_type, called, expanded, inlined, kernel
from klump.compilation.folders import cache_folder

__all__ = [
    "FASTMATH",
    "Compilation",
    "announce_all",
    "by_type",
    "cache_folder",
    "called",
    "compilations",
    "expanded",
    "inlined",
    "kernel",
    "need",
]
