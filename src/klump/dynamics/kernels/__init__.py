"""Compiled kernels of the dynamics."""
