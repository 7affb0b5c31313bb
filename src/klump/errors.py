"""Every error a user of klump can meet.

All of them derive from :class:`KlumpError`; those about a value that was passed in are also
:class:`ValueError`, so that code written against plain Python habits catches them too. A message names
the argument or file, the offending value and the remedy, on one line.
"""

from __future__ import annotations


class KlumpError(Exception):
    """Anything that klump reports to its user."""


class InvalidChainError(KlumpError, ValueError):
    """What was given is not the transition matrix of a Markov chain."""


class ReducibleChainError(InvalidChainError):
    """The chain has no unique, everywhere positive stationary distribution."""


class InvalidArgumentError(KlumpError, ValueError):
    """An argument is out of range or does not fit the chain."""


class FileFormatError(KlumpError, ValueError):
    """A file cannot be read as what its name says it is."""


class ConvergenceError(KlumpError, RuntimeError):
    """A numerical method did not reach the accuracy that the result needs."""


class MissingPackageError(KlumpError, ImportError):
    """Something optional was asked for, and the package that does it is not installed."""
