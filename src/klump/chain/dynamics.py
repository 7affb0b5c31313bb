"""Dynamics as methods of a chain; :mod:`klump.dynamics` computes them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from klump.arguments import DEFAULT_SEED, is_number
from klump.chain.quantities import ChainQuantities
from klump.errors import UNSET, KlumpError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from klump.chain.markov_chain import MarkovChain

Floats = NDArray[np.float64]


class ChainDynamics(ChainQuantities):
    """The part of a :class:`klump.MarkovChain` that tells what happens over time.

    A state is given by its name, or by its index if no name is a number; a set as a list of these, as a boolean mask
    of all states, or as a label of the chain. All times are in steps of the chain.
    """

    @cached_property
    def _index_of(self) -> dict[Hashable, int]:
        """Index by name, and by index if no name is a number."""
        names = self.states
        found = {name: index for index, name in enumerate(names)}
        # Indices stand for states unless a name is a number, which they could be mistaken for.
        if self.has_names and not any(is_number(name) or isinstance(name, bool) for name in names):
            found |= dict(zip(range(len(names)), range(len(names)), strict=True))
        return found

    def timescales(self, n: int | None = None) -> Floats:
        """Implied timescales ``-1 / ln|lambda|``, slowest first, without the stationary eigenvalue.

        Complex eigenvalues count by their modulus, each of a pair. A timescale is infinite if ``|lambda| = 1``: for
        each closed class but one, and for the eigenvalues of a periodic chain other than 1; it is 0 if lambda = 0. Up
        to 2,000 states eigenvalues near 1 are computed from the group inverse of I - P by elimination without
        subtractions, so that timescales of any length are accurate; larger chains by ARPACK, or by inverse iteration
        if that does not converge, which finds the eigenvalues nearest to 1.

        Parameters
        ----------
        n
            How many; all if left out, or 10 for a chain of more than 2,000 states.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> MarkovChain([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]]).timescales().round(6)
        array([9.491222, 0.434294])
        """
        from klump.dynamics.timescales import timescales

        return timescales(cast("MarkovChain", self), n)

    @cached_property
    def _slowest_timescale(self) -> float | None:
        """The slowest timescale of an irreducible chain in steps; None if it takes too much time.

        It serves notes and reports, where nobody asked for it: what cannot be computed is left out.
        """
        from klump.dynamics.timescales import estimate_slowest

        try:
            with np.errstate(all="ignore"):
                return estimate_slowest(cast("MarkovChain", self))
        except (KlumpError, np.linalg.LinAlgError):
            return None

    def first_passage_times(self, target: Any = None, source: Any = None) -> Any:
        """Mean first-passage times: expected numbers of steps until the chain is in a target for the first time.

        The time is 0 if the chain starts in the target, and infinite if it may never get there. All of them are
        computed without subtractions, and are relatively accurate in nearly decomposable chains.

        Parameters
        ----------
        target
            A state or a set of states.
        source
            A state or a set; from a set, the mean is weighted with the stationary distribution, whose mass there must
            be in the range of float64.

        Returns
        -------
        ndarray or float
            Without arguments the n x n matrix of the times from row to column, for at most 5,000 states; with
            ``target`` the times from all states; with ``source`` alone the times to all states; with both a number.

        Raises
        ------
        ConvergenceError
            If a time that is finite exceeds the range of float64.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> chain = MarkovChain([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]], states=["a", "b", "c"])
        >>> chain.first_passage_times()
        array([[ 0., 10., 22.], [12.,  0., 12.], [22., 10.,  0.]])
        >>> chain.first_passage_times(target="a"), round(chain.first_passage_times("a", source=["b", "c"]), 6)
        (array([ 0., 12., 22.]), 20.333333)
        """
        from klump.dynamics.questions import first_passage_times

        return first_passage_times(cast("MarkovChain", self), target, source)

    def committor(self, source: Any, target: Any, *, forward: bool = True) -> Floats:
        """Committor: per state the probability that the chain gets to ``target`` before it gets to ``source``.

        With ``forward=False`` the backward committor: the probability that the chain, which is in the state now, came
        from ``source`` last rather than from ``target``. That is the probability that the time-reversed chain gets to
        ``source`` before ``target``, 1 - forward if the chain is reversible, and it needs an irreducible chain.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> chain = MarkovChain([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5], [0.0, 0.1, 0.9]], states=["a", "b", "c"])
        >>> chain.committor("a", "c"), chain.committor("a", "c", forward=False)
        (array([0. , 0.5, 1. ]), array([1. , 0.5, 0. ]))
        """
        from klump.dynamics.questions import find_committor

        return find_committor(cast("MarkovChain", self), source, target, forward=forward)

    def absorption_probabilities(self, targets: Any = None) -> Floats:
        """Absorption probabilities ("fates"): per state and target the probability to get there before any other.

        Rows sum to 1 where the chain gets to a target with probability 1. The chain need not be irreducible.

        Parameters
        ----------
        targets
            A list of targets, each a state or a set, or a dict of these; if left out, the closed classes of the chain,
            in the order of their first states.

        Returns
        -------
        ndarray
            n x m for m targets.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> chain = MarkovChain([[0.5, 0.3, 0.2], [0, 1, 0], [0, 0, 1]], states=["stem", "red", "white"])
        >>> chain.absorption_probabilities(["red", "white"])[0]
        array([0.6, 0.4])
        """
        from klump.dynamics.questions import absorption_probabilities

        return absorption_probabilities(cast("MarkovChain", self), targets)

    def simulate(
        self,
        n_steps: int,
        start: Any = None,
        n_chains: int | None = None,
        random_state: Any = DEFAULT_SEED,
        *,
        seed: Any = UNSET,
    ) -> NDArray[np.intp]:
        """Simulate the chain: indices of the states that it visits, the first one included.

        Parameters
        ----------
        n_steps
            Number of states per trajectory.
        start
            First state, by name or index, a set of these, weighted with the stationary distribution, or a distribution:
            a dict ``{state: mass}`` or one float per state. If left out, drawn from :attr:`initial`, or from the
            stationary distribution if that is not known.
        n_chains
            Number of independent trajectories.
        random_state
            Seed. The same seed gives the same trajectory.
        seed
            Another name of ``random_state``; pass one of them.

        Returns
        -------
        ndarray
            Of shape (n_steps,), or (n_chains, n_steps) if ``n_chains`` is given. The names of the states are
            ``[chain.states[i] for i in path]``.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> chain = MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], states=["a", "b", "c"])
        >>> chain.simulate(5, start="b")
        array([1, 2, 0, 1, 2])
        """
        from klump.dynamics.simulation import simulate

        return simulate(cast("MarkovChain", self), n_steps, start, n_chains, random_state, seed)

    def relaxation(self, n_steps: int, start: Any = None, observable: Any = None) -> Floats:
        """Relaxation towards the stationary distribution, at the times 0, 1, ..., ``n_steps``.

        Parameters
        ----------
        n_steps
            The last time.
        start
            First state, by name or index, or its distribution, as in :meth:`simulate`.
        observable
            One number per state, whose expectation is returned; if left out, the total variation between the
            distribution and the stationary one.

        Examples
        --------
        >>> from klump import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.3, 0.7]]).relaxation(2, start=0).round(6)
        array([0.25, 0.15, 0.09])
        """
        from klump.dynamics.relaxation import relaxation

        return relaxation(cast("MarkovChain", self), n_steps, start, observable)
