"""Compiled kernels behind the stationary distribution of large sparse chains."""
