"""Compiled kernels: plain arrays in, plain arrays out; no objects, no randomness.

Importing anything from here imports numba, so the rest of klump does it inside functions.
"""
