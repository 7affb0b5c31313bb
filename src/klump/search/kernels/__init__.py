"""Compiled kernels: plain arrays in, plain arrays out; no objects, no randomness.

Importing a module from here imports numba, so the rest of klump does it inside functions; exceptions are ``tables`` and
``blocks``, which hold types and constants.
"""
