"""Compiled parts of a step.

Importing anything from here imports numba, so the rest of klump does it inside functions.
"""
