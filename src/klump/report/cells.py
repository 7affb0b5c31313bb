"""The answers of a report: one per number of groups and beta."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from klump.aggregation import AggregationGrid, AggregationPath
from klump.aggregation.identities import check_one_chain, identify
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.aggregation import Aggregation
    from klump.chain import MarkovChain

# Beta at which a report opens, if it is among those of the report.
_FIRST_BETA = 0.5


@dataclass(frozen=True, eq=False)
class Cells:
    """Answers of one chain by number of groups and beta; cells without an answer were not run."""

    numbers: tuple[int, ...]
    """Numbers of groups, increasing."""
    betas: tuple[float, ...]
    """Values of beta, increasing."""
    answers: dict[tuple[int, float], Aggregation]
    function: str | None = None
    """Name of the function of klump that found them; None if they are from several calls, or from elsewhere."""

    @classmethod
    def from_answers(cls, answers: Iterable[Aggregation]) -> Cells:
        """Arrange the answers of a grid or of a path, or a list of answers of one chain.

        Answers of a path in which groups ran empty count as answers of the largest number of groups.
        """
        listed = list(answers)
        _check_answers(listed)
        largest = max(answer.n_states for answer in listed)
        is_path, is_grid = isinstance(answers, AggregationPath), isinstance(answers, AggregationGrid)
        found = {(largest if is_path else answer.n_states, answer.beta): answer for answer in listed}
        if len(found) < len(listed):
            raise InvalidArgumentError(
                "has two answers with the same number of groups and beta",
                argument="answers",
                remedy="make a report of each",
            )
        numbers, betas = zip(*found, strict=True)
        if isinstance(answers, AggregationGrid):
            numbers, betas = answers.n_states, answers.betas
        function = "beta_path" if is_path else "grid" if is_grid else None
        if len(listed) == 1 and function is None and listed[0].method != "given":
            function = "aggregate"
        return cls(tuple(sorted(set(numbers))), tuple(sorted(set(betas))), found, function)

    @property
    def original(self) -> MarkovChain:
        """The chain that was aggregated."""
        return next(iter(self.answers.values())).original

    def identities(self) -> dict[tuple[int, float], tuple[int, ...]]:
        """Identities of the groups of each answer, which select their colours; a path or a grid has its own."""
        if len(self.numbers) == 1 or all(
            answer.group_identities is not None for answer in self.answers.values()
        ):
            return {cell: answer.identities for cell, answer in self.answers.items()}
        return identify(self.answers)

    def first(self) -> tuple[int, float]:
        """Cell at which a report opens: beta 0.5 if there is one, and the number at which the cost curve bends most."""
        with_answers = [beta for beta in self.betas if any((k, beta) in self.answers for k in self.numbers)]
        beta = min(with_answers, key=lambda value: abs(value - _FIRST_BETA))
        numbers = [number for number in self.numbers if (number, beta) in self.answers]
        return max(numbers, key=lambda number: (self._bend(numbers, beta, number), -number)), beta

    def _bend(self, numbers: list[int], beta: float, number: int) -> float:
        """Gain of the step to a number of groups, relative to the gain of the next step; 0 at both ends."""
        place = numbers.index(number)
        if not 0 < place < len(numbers) - 1 or not self.original.is_irreducible:
            return 0.0
        before, here, after = (self.answers[n, beta].cost for n in numbers[place - 1 : place + 2])
        return (before - here) / max(here - after, 1e-12)


def _check_answers(answers: list[Aggregation]) -> None:
    """Raise InvalidArgumentError unless there are answers, all of one chain, with one gamma."""
    if not answers:
        raise InvalidArgumentError(
            "is empty", argument="answers", remedy="pass at least one answer, a path or a grid"
        )
    check_one_chain(answers)
    first = answers[0]
    for answer in answers:
        if answer.gamma != first.gamma:
            raise InvalidArgumentError(
                f"has answers with gamma {first.gamma:g} and {answer.gamma:g}, whose costs are not comparable",
                argument="answers",
                remedy="make a report of each gamma",
            )
