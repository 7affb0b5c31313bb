"""The table of a selection: one row per number of groups and beta."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from klump.arguments import check_beta
from klump.chain.wording import format_number, format_percent
from klump.errors import InvalidArgumentError, MissingPackageError

# Two betas closer than this are equal: decimal fractions differ by rounding.
_BETA_TOLERANCE = 1e-9


@dataclass(frozen=True)
class SelectionRow:
    """Evidence for one number of groups at one beta; None where it was not or could not be computed.

    Examples
    --------
    >>> import klump
    >>> from klump.sources.random_chains import block_chain
    >>> chain, planted = block_chain((6, 6, 6), alpha=0.5, eps=0.2, random_state=0)
    >>> table = klump.select(chain, [2, 3, 4], [0.5], n_restarts=1, n_shuffles=1).table
    >>> row = table[3, 0.5]
    >>> row.n_states, round(row.cost, 4), round(row.gain, 4), round(row.kept, 2)
    (3, 0.0774, 0.0493, 0.7)
    """

    n_states: int
    """Number of groups."""
    beta: float
    """Beta of the cost."""
    cost: float
    """Cost in bits, C_beta + gamma C_G."""
    lumpability: float
    """C_L in bits."""
    predictability: float
    """C_P in bits."""
    bottleneck: float
    """C_1 in bits."""
    gain: float
    """Decrease of the cost per added group, from the next smaller number of groups (or from one), in bits."""
    bend: float | None
    """Gain divided by the largest one of all later steps."""
    kept: float
    """Kept share I(Y1;Y2) / I(X1;X2)."""
    mean_variation: float
    """Mean total variation between a state's and its group's next-group distribution."""
    epsilon: float
    """Largest total variation between a state's and its group's next-group distribution."""
    restart_agreement: float | None
    """Mean adjusted Rand index of the groups with those of searches with other seeds."""
    resample_agreement: float | None
    """Mean adjusted Rand index of the groups with those of resampled chains, if counts are known."""
    held_out: float | None
    """Bits per step of held-out sequences under the pi-lifting of the aggregated chain; infinite if impossible."""
    gap: float | None
    """Modulus of eigenvalue number k less that of number k + 1."""
    interrupted: bool = False
    """Whether Ctrl-C or the time limit stopped the search."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to types that JSON has; ``n_states`` is called ``n_groups``, as in every document."""
        values = asdict(self)
        return {"n_groups": values.pop("n_states"), **values}


# Columns of the printed table: header, attribute, format. Those without any value are left out.
_COLUMNS = (
    ("groups", "n_states", str),
    ("beta", "beta", "{:g}".format),
    ("cost", "cost", format_number),
    ("gain", "gain", format_number),
    ("bend", "bend", "{:.1f}".format),
    ("kept", "kept", format_percent),
    ("mean TV", "mean_variation", format_number),
    ("epsilon", "epsilon", format_number),
    ("restarts", "restart_agreement", "{:.2f}".format),
    ("resamples", "resample_agreement", "{:.2f}".format),
    ("held-out", "held_out", "{:.4f}".format),
    ("gap", "gap", format_number),
)


@dataclass(frozen=True)
class SelectionTable:
    """The rows of a selection, by beta and then by number of groups.

    ``table[4, 0.5]`` is the row of 4 groups at beta = 0.5; iterating visits all rows.

    Examples
    --------
    >>> import klump
    >>> from klump.sources.random_chains import block_chain
    >>> chain, planted = block_chain((6, 6, 6), alpha=0.5, eps=0.2, random_state=0)
    >>> table = klump.select(chain, [2, 3, 4], [0.5], n_restarts=1, n_shuffles=1).table
    >>> [row.n_states for row in table], len(table)
    ([2, 3, 4], 3)
    >>> table[3, 0.5].gain > table[4, 0.5].gain
    True
    """

    rows: tuple[SelectionRow, ...]
    """All rows."""

    def __iter__(self) -> Iterator[SelectionRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, cell: tuple[int, float]) -> SelectionRow:
        if not isinstance(cell, tuple) or len(cell) != 2:
            raise InvalidArgumentError(
                f"{cell!r} is not a cell of the table",
                remedy="ask for table[n_states, beta], like table[4, 0.5]",
            )
        number, beta = cell[0], check_beta(cell[1])
        for row in self.rows:
            if row.n_states == number and abs(row.beta - beta) < _BETA_TOLERANCE:
                return row
        raise InvalidArgumentError(
            f"n_states={number!r}, beta={beta:g} is not in this table",
            remedy="iterate over it to see its rows",
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Convert to types that JSON has: a dictionary per row."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per number of groups and beta."""
        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError("to_frame() needs pandas", remedy="pip install pandas") from error
        return pandas.DataFrame([asdict(row) for row in self.rows])

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and formatted cells, without the columns that have no value in any row."""
        used = [
            (header, name, format_value)
            for header, name, format_value in _COLUMNS
            if any(getattr(row, name) is not None for row in self.rows)
        ]
        formatted = [
            ["-" if getattr(row, name) is None else form(getattr(row, name)) for _, name, form in used]
            for row in self.rows
        ]
        return [header for header, _, _ in used], formatted

    def __str__(self) -> str:
        header, formatted = self.cells()
        widths = [max(map(len, column)) for column in zip(header, *formatted, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
            for line in (header, *formatted)
        )
