"""Compiled parts of a step. Importing a module from here imports numba, so other modules do it inside functions."""
