"""The objective of a search: C_beta + gamma C_G."""

from __future__ import annotations

from dataclasses import dataclass

from klump.checkpoints import storable
from klump.search.kernels.tables import Weights

# Rounding error of 1 - 2 beta + gamma, dimensionless: a few units of the last place of 1.
_ROUNDING = 1e-15


@storable
@dataclass(frozen=True)
class Objective:
    """The cost C_beta + gamma C_G = (1 - 2 beta) C_L + beta C_P + gamma C_G.

    C_L is the cost of lumpability, C_P that of predictability, C_G = H(X2|X1) - H(Y2|X1) that of generated
    information.

    Examples
    --------
    >>> Objective(0.5).weights, Objective(0.7, gamma=0.4).weights.into
    (Weights(into=0.0, flow=0.5), 0.0)
    """

    beta: float
    gamma: float = 0.0

    @property
    def weights(self) -> Weights:
        """Weights of sum f(A) and of -sum f(B); sum f(nu) has weight 1."""
        into = 1.0 - 2.0 * self.beta + self.gamma
        return Weights(0.0 if abs(into) < _ROUNDING else into, 1.0 - self.beta)

    @property
    def traps_poor_starts(self) -> bool:
        """Whether 1 - 2 beta + gamma > 0: most random starts then end in poor local optima."""
        return self.weights.into > 0.0


# Objective with the cheapest sweeps, since sum f(A) has weight zero: the warm start for other objectives.
MIDDLE = Objective(0.5)
