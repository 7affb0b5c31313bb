"""Numba kernels for the stationary distribution of large sparse chains."""
