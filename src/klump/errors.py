"""Every error a user of klump can meet.

An error is data: the argument that it is about, its value, the problem and the remedy. Python, the command line and
JSON each render it, so that nothing needs to rewrite a sentence. All errors derive from :class:`KlumpError`; those
about a value that was passed in are also :class:`ValueError`, so that code that expects one catches them too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class _Unset:
    """Stands for a value that is not given, where None would be one."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = _Unset()


@dataclass(frozen=True)
class Symbol:
    """A value that a text mentions by name, like the p of ``restart=p``."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Setting:
    """An argument that a text mentions, with the value it should have; each surface spells it in its own way."""

    argument: str
    value: Any = UNSET


# A text that may mention arguments, in pieces.
Text = str | Setting | tuple[str | Setting, ...]
Spell = Callable[[str, Any], str]


def spell_in_python(argument: str, value: Any) -> str:
    """Write an argument and its value as in a call.

    >>> spell_in_python("restart", Symbol("p")), spell_in_python("beta", 2), spell_in_python("betas", UNSET)
    ('restart=p', 'beta=2', 'betas')
    """
    return argument if value is UNSET else f"{argument}={value!r}"


class KlumpError(Exception):
    """Anything that klump reports to its user.

    Parameters
    ----------
    problem
        What is wrong: a clause about the argument or the row if there is one, else a sentence.
    argument, value
        The argument that the error is about, and what was passed for it.
    remedy
        What helps.
    file
        The file that the error is about.
    row, state
        Row of a matrix that the error is about, and the name of its state.

    Examples
    --------
    >>> error = InvalidArgumentError("is not for method='auto'", argument="tolerance", value=0.1, remedy="leave it out")
    >>> print(error)
    tolerance=0.1 is not for method='auto'; leave it out
    >>> error.to_dict()["argument"]
    'tolerance'
    """

    def __init__(
        self,
        problem: Text = "",
        *,
        argument: str | None = None,
        value: Any = UNSET,
        remedy: Text = "",
        file: str | None = None,
        row: int | None = None,
        state: Any = UNSET,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.argument = argument
        self.value = value
        self.remedy = remedy
        self.file = file
        self.row = row
        self.state = state

    def render(self, spell: Spell = spell_in_python, *, with_remedy: bool = True) -> str:
        """Write the error on one line, arguments spelled as a surface spells them."""
        sentence = " ".join(part for part in (self._subject(spell), _write(self.problem, spell)) if part)
        remedy = _write(self.remedy, spell) if with_remedy else ""
        text = f"{sentence}; {remedy}" if remedy else sentence
        return text if self.file is None else f"{self.file}: {text}"

    def _subject(self, spell: Spell) -> str:
        if self.argument is not None:
            return spell(self.argument, self.value)
        if self.row is None:
            return ""
        return f"row {self.row}" + ("" if self.state is UNSET else f" (state {self.state!r})")

    def rename(self, old: str, new: str) -> None:
        """Call an argument by another name, wherever the error mentions it."""
        if self.argument == old:
            self.argument = new
        self.problem, self.remedy = (_rename(text, old, new) for text in (self.problem, self.remedy))

    def to_dict(self) -> dict[str, Any]:
        """Every part of the error, as JSON has it; what it does not have is None."""
        return {
            "error": type(self).__name__,
            "file": self.file,
            "argument": self.argument,
            "value": None if self.value is UNSET else repr(self.value),
            "row": self.row,
            "state": None if self.state is UNSET else str(self.state),
            "problem": _write(self.problem, spell_in_python),
            "remedy": _write(self.remedy, spell_in_python) or None,
        }

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # Exceptions are pickled by their positional arguments, and these have none but the problem.
        fields = dict(self.__dict__)
        return _restore, (type(self), fields)


def _restore(kind: type[KlumpError], fields: dict[str, Any]) -> KlumpError:
    error = kind(fields.pop("problem"))
    error.__dict__.update(fields)
    return error


def _rename(text: Text, old: str, new: str) -> Text:
    pieces = text if isinstance(text, tuple) else (text,)
    return tuple(
        Setting(new, piece.value) if isinstance(piece, Setting) and piece.argument == old else piece
        for piece in pieces
    )


def _write(text: Text, spell: Spell) -> str:
    pieces = text if isinstance(text, tuple) else (text,)
    return "".join(
        spell(piece.argument, piece.value) if isinstance(piece, Setting) else piece for piece in pieces
    )


class InvalidChainError(KlumpError, ValueError):
    """What was given is not the transition matrix of a Markov chain.

    Examples
    --------
    >>> import klump
    >>> klump.MarkovChain([[0.5, -0.5], [0.5, 0.5]])
    Traceback (most recent call last):
        ...
    klump.errors.InvalidChainError: row 0 of the transition matrix has -0.5 in column 1: probabilities ...
    """


class CountsError(InvalidChainError):
    """The rows of a matrix hold counts, not probabilities.

    Examples
    --------
    >>> import klump
    >>> klump.MarkovChain([[3, 1], [2, 2]])
    Traceback (most recent call last):
        ...
    klump.errors.CountsError: row 0 of the transition matrix sums to 4 instead of 1 (2 such rows): these ...
    """


class ReducibleChainError(InvalidChainError):
    """The chain has no unique, everywhere positive stationary distribution.

    Examples
    --------
    >>> import klump
    >>> klump.aggregate([[1.0, 0.0, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]], 2)
    Traceback (most recent call last):
        ...
    klump.errors.ReducibleChainError: the chain is not irreducible: absorbing state (0), absorbing state ...
    """


class InvalidArgumentError(KlumpError, ValueError):
    """An argument is out of range or does not fit the chain.

    Examples
    --------
    >>> import klump
    >>> klump.aggregate([[0.9, 0.1], [0.2, 0.8]], 2, beta=1.5)
    Traceback (most recent call last):
        ...
    klump.errors.InvalidArgumentError: beta=1.5 must lie between 0 (lumpability) and 1 (information bottleneck)
    """


class FileFormatError(KlumpError, ValueError):
    """A file cannot be read as what its name says it is.

    Examples
    --------
    >>> import klump
    >>> klump.read_chain("letters.csv")
    Traceback (most recent call last):
        ...
    klump.errors.FileFormatError: letters.csv: cannot be read: ...
    """


class ConvergenceError(KlumpError, RuntimeError):
    """A numerical method did not reach the accuracy that the result needs.

    Examples
    --------
    >>> import klump
    >>> error = klump.errors.ConvergenceError("the eigenvalues did not converge", remedy="ask for fewer")
    >>> print(error)
    the eigenvalues did not converge; ask for fewer
    >>> isinstance(error, RuntimeError)
    True
    """


class MissingPackageError(KlumpError, ImportError):
    """Something optional was asked for, and the package that does it is not installed.

    Examples
    --------
    >>> import klump
    >>> error = klump.errors.MissingPackageError("pictures need matplotlib", remedy="pip install 'klump[plots]'")
    >>> print(error)
    pictures need matplotlib; pip install 'klump[plots]'
    >>> isinstance(error, ImportError)
    True
    """
