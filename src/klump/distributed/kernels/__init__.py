"""Numba kernels of a distributed step. Importing ``steps`` imports numba: other modules do it inside functions."""
