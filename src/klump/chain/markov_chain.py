"""The Markov chain: a validated, immutable transition matrix and the quantities that follow from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump import information
from klump.arguments import check_count
from klump.chain import connectivity, rows, validation
from klump.chain.attributes import NO_ATTRIBUTES, Attributes, Reward, build_attributes
from klump.chain.initial import initial_distribution
from klump.chain.validation import Matrix
from klump.chain.wording import Change, format_count, kind_of
from klump.errors import InvalidArgumentError

if TYPE_CHECKING:
    from klump.sources.adapters import Adapted

# Largest residual of detailed balance, sum |J - J^T|, of a reversible chain.
_REVERSIBLE_TOLERANCE = 1e-10

ChainLike = Any  # a MarkovChain, an array, a sparse matrix, or an object that an adapter knows


class MarkovChain:
    """A finite, time-homogeneous Markov chain.

    Parameters
    ----------
    P
        Transition matrix: an array, any SciPy sparse matrix (which stays sparse), a DataFrame whose
        columns name the states, or an object of another package that holds a chain (see
        :mod:`klump.sources.adapters`): a graph, a Markov state model, a kernel, a verification model.
    states
        Names of the states, any hashable values; ``0 .. n-1`` if left out.
    stationary_distribution
        The stationary distribution, if it is known; it is checked.
    normalize
        Divide each row by its sum instead of insisting that it is 1.
    restrict
        ``"largest"`` keeps only the largest closed class of a chain that is not irreducible.
    restart
        Return to ``initial`` with this probability at every step: makes absorbing chains irreducible.
    initial
        Distribution of the first state, and target of a restart: the name of a state, a dict ``{state: mass}``, or a
        vector. If it is left out, a restart leads to every state with equal probability.
    labels
        Labels of states: per label the names of the states that have it, or a boolean mask.
    rewards
        Rewards by name: one number per state, or an n x n matrix with one per transition.

    Examples
    --------
    >>> chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["sun", "rain"])
    >>> chain.stationary_distribution.round(12)
    array([0.75, 0.25])
    >>> chain
    MarkovChain(2 states, 4 transitions)
    """

    transition_matrix: Matrix
    """The row-stochastic matrix P, read-only: an array, or a ``csr_array``."""
    original_index: NDArray[np.intp]
    """Index that each state had in the matrix given (they differ after ``restrict``)."""
    applied: tuple[str, ...]
    """Descriptions of the changes (``restart``, ``restrict``, powers) to the given chain, in order."""

    def __init__(
        self,
        P: ChainLike,
        states: Iterable[Hashable] | None = None,
        *,
        stationary_distribution: Any = None,
        normalize: bool = False,
        restrict: Literal["largest"] | None = None,
        restart: float | None = None,
        initial: Any = None,
        labels: Mapping[str, Any] | None = None,
        rewards: Mapping[str, Any] | None = None,
    ) -> None:
        found = _unwrap(P)
        states = found.states if states is None else states
        initial = found.initial if initial is None else initial
        labels = found.labels if labels is None else labels
        rewards = found.rewards if rewards is None else rewards
        given = _fill_dead_ends(found, states, restart, initial)
        # The matrix of a MarkovChain is validated already, and immutable.
        known = P if isinstance(P, MarkovChain) else None
        normalize = normalize or found.normalize
        matrix = given if known else validation.transition_matrix(given, normalize=normalize)
        names = None if states is None else validation.state_names(states, matrix.shape[0])
        index = known.original_index if known else np.arange(matrix.shape[0])
        applied = list(known.applied) if known else []
        attributes = build_attributes(
            known._attributes if known else NO_ATTRIBUTES,
            names or range(matrix.shape[0]),
            labels=labels,
            initial=initial,
            rewards=rewards,
        )
        if restart is not None:
            distribution = attributes.initial
            if distribution is None:
                distribution = np.full(matrix.shape[0], 1.0 / matrix.shape[0])
            attributes = attributes.with_initial(distribution)
            matrix = connectivity.add_restart(matrix, restart, distribution)
            goal = f"{np.count_nonzero(distribution)} initial states"
            if np.count_nonzero(distribution) == 1:
                start = int(np.argmax(distribution))
                goal = f"state {names[start] if names else start!r}"
            applied.append(Change(f"restarted at {goal} with probability {restart:g}", "restarted"))
        if restrict is not None:
            if restrict != "largest":
                raise InvalidArgumentError(
                    "is not known",
                    argument="restrict",
                    value=restrict,
                    remedy="the only choice is 'largest'",
                )
            kept = connectivity.communicating_classes(matrix).largest_closed()
            if len(kept) < matrix.shape[0]:
                what = f"restricted to the largest closed class, {len(kept)} of {matrix.shape[0]} states"
                applied.append(Change(what, "restricted"))
                attributes = attributes.restrict(kept, matrix.shape[0])
                matrix = connectivity.restrict_to_class(matrix, kept)
                index = index[kept]
                names = None if names is None else tuple(names[i] for i in kept.tolist())
                if names is None:
                    names = tuple(kept.tolist())
        if stationary_distribution is not None:
            from klump.chain.supplied import check_stationary_distribution

            self.__dict__["_supplied"] = _read_only(
                check_stationary_distribution(stationary_distribution, matrix)
            )
        elif known and matrix is given:
            facts = ("stationary_distribution", "_supplied", "classes")
            self.__dict__.update({name: known.__dict__[name] for name in facts if name in known.__dict__})
        self.__dict__["transition_matrix"] = _read_only(matrix)
        self.__dict__["original_index"] = _read_only(index)
        self.__dict__["applied"] = tuple(applied)
        self.__dict__["_names"] = names
        self.__dict__["_attributes"] = attributes

    @classmethod
    def _from_parts(
        cls,
        matrix: Matrix,
        stationary_distribution: NDArray[np.float64] | None,
        names: tuple[Hashable, ...] | None,
        original_index: NDArray[np.intp],
        applied: tuple[str, ...],
        attributes: Attributes = NO_ATTRIBUTES,
    ) -> MarkovChain:
        """Chain from validated parts, bit for bit; no checks."""
        chain = cls.__new__(cls)
        chain.__dict__["transition_matrix"] = _read_only(matrix)
        if stationary_distribution is not None:
            chain.__dict__["stationary_distribution"] = _read_only(stationary_distribution)
        chain.__dict__["original_index"] = _read_only(original_index)
        chain.__dict__["applied"] = applied
        chain.__dict__["_names"] = names
        chain.__dict__["_attributes"] = attributes
        return chain

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a MarkovChain is immutable: {name} cannot be set; build a new chain")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a MarkovChain is immutable: {name} cannot be deleted")

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():  # copies and pickles of read-only arrays are writeable
            if isinstance(value, np.ndarray) or sparse.issparse(value):
                _read_only(value)
        self.__dict__.update(state)

    def __repr__(self) -> str:
        changes = "".join(f", {change}" for change in self.applied)
        size = f"{format_count(self.n_states, 'state')}, {format_count(self.n_transitions, 'transition')}"
        return f"MarkovChain({size}{changes})"

    # Quantities

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.transition_matrix.shape[0])

    @cached_property
    def n_transitions(self) -> int:
        """Number of transitions with positive probability."""
        if isinstance(self.transition_matrix, sparse.csr_array):
            return int(self.transition_matrix.nnz)
        return int(np.count_nonzero(self.transition_matrix))

    @property
    def is_sparse(self) -> bool:
        """Whether the transition matrix is sparse (CSR)."""
        return isinstance(self.transition_matrix, sparse.csr_array)

    @cached_property
    def states(self) -> tuple[Hashable, ...]:
        """Names of the states."""
        names: tuple[Hashable, ...] | None = self.__dict__["_names"]
        return tuple(range(self.n_states)) if names is None else names

    @cached_property
    def has_names(self) -> bool:
        """Whether the states have names other than ``0 .. n-1``."""
        return self.__dict__["_names"] is not None

    @property
    def _attributes(self) -> Attributes:
        attributes: Attributes = self.__dict__.get("_attributes", NO_ATTRIBUTES)  # older pickles have none
        return attributes

    @property
    def labels(self) -> Mapping[str, NDArray[np.intp]]:
        """Sorted indices of the states that have each label."""
        return MappingProxyType(self._attributes.labels)

    @property
    def initial(self) -> NDArray[np.float64] | None:
        """Distribution of the first state; None if it is not known."""
        return self._attributes.initial

    @property
    def rewards(self) -> Mapping[str, Reward]:
        """Rewards by name, per single step: of states, an array, or of transitions, a ``csr_array``."""
        return MappingProxyType(self._attributes.rewards)

    @cached_property
    def classes(self) -> connectivity.Classes:
        """The communicating classes."""
        return connectivity.communicating_classes(self.transition_matrix)

    @property
    def is_irreducible(self) -> bool:
        """Whether every state can reach every other."""
        return self.classes.n_classes == 1

    @cached_property
    def stationary_distribution(self) -> NDArray[np.float64]:
        """The distribution mu with mu P = mu.

        Raises
        ------
        ReducibleChainError
            If the chain is reducible: then mu is not unique, or is zero at transient states.
        """
        if not self.is_irreducible:
            raise connectivity.reducible_error(
                self.classes,
                self.states,
                restarted=any(kind_of(change) == "restarted" for change in self.applied),
            )
        if "_supplied" in self.__dict__:
            supplied: NDArray[np.float64] = self.__dict__["_supplied"]
            return supplied
        from klump.chain.stationary import stationary_distribution

        return _read_only(stationary_distribution(self.transition_matrix))

    @property
    def _known_stationary(self) -> NDArray[np.float64] | None:
        """The stationary distribution if it was supplied or is cached, else None; never solves for it."""
        known = self.__dict__
        mu: NDArray[np.float64] | None = known.get("stationary_distribution", known.get("_supplied"))
        return mu

    @cached_property
    def joint(self) -> Matrix:
        """Joint distribution of two successive states, J = diag(mu) P.

        If the chain is memory-mapped, J is memory-mapped to a temporary file in the same folder.
        """
        matrix, mu = self.transition_matrix, self.stationary_distribution
        if isinstance(matrix, sparse.csr_array):
            return _read_only(rows.scale_csr_rows(matrix, mu))
        return _read_only(matrix * mu[:, None])

    @cached_property
    def entropy_rate(self) -> float:
        """Entropy rate H(X2|X1), in bits per step."""
        mu = self.stationary_distribution
        blocks = rows.entries(self.transition_matrix)
        return sum(information.conditional_entropy(p, mu[row]) for row, _, p in blocks)

    @cached_property
    def redundancy_rate(self) -> float:
        """Redundancy rate I(X1;X2), in bits per step."""
        matrix, mu = self.transition_matrix, self.stationary_distribution
        # I(X1;X2) = sum_i mu_i D(P[i, :] || mu P)
        sums, next_mu = validation.row_sums(matrix), mu @ matrix
        blocks = rows.entries(matrix)
        return sum(information.divergence(p / sums[row], next_mu[col], mu[row]) for row, col, p in blocks)

    @cached_property
    def is_reversible(self) -> bool:
        """Whether detailed balance holds: sum |J - J^T| <= 1e-10 with J = diag(mu) P."""
        matrix, mu = self.transition_matrix, self.stationary_distribution
        if not isinstance(matrix, sparse.csr_array):
            return float(np.abs(self.joint - self.joint.T).sum()) <= _REVERSIBLE_TOLERANCE
        from klump.chain.kernels.flows import balance_residual

        limit = _REVERSIBLE_TOLERANCE
        return balance_residual(matrix.indptr, matrix.indices, matrix.data, mu, limit) <= limit

    def power(self, steps: int) -> MarkovChain:
        """Chain P^steps of every ``steps``-th state, with the same stationary distribution.

        Powers of a sparse matrix have fill-in. With at most 5,000 states the result may be dense; with more states it
        is sparse, and more than 20,000,000 transitions are an error.

        >>> MarkovChain([[0.9, 0.1], [0.3, 0.7]]).power(2)
        MarkovChain(2 states, 4 transitions, every 2 steps taken as one)
        """
        from klump.chain.powers import power

        if check_count("steps", steps, most=2**60) == 1:
            return self
        mu = self.stationary_distribution
        try:
            matrix = power(self.transition_matrix, mu, int(steps))
        except InvalidArgumentError as error:
            error.value = steps
            raise
        chain = MarkovChain._from_parts(
            matrix,
            mu,
            self.__dict__["_names"],
            self.original_index,
            (*self.applied, Change(f"every {steps} steps taken as one", "power")),
            self._attributes,
        )
        if not chain.is_irreducible:
            raise InvalidArgumentError(
                f"gives a power with {chain.classes.n_classes} communicating classes, because the chain is periodic or "
                "small probabilities underflow",
                argument="steps",
                value=steps,
                remedy="take another number of steps",
            )
        return chain

    # Sources: documented in klump.sources

    @classmethod
    def from_counts(
        cls, counts: Any, states: Iterable[Hashable] | None = None, **options: Any
    ) -> MarkovChain:
        """Chain from a square matrix of transition counts (or other non-negative weights).

        >>> MarkovChain.from_counts([[8, 2], [3, 3]]).transition_matrix
        array([[0.8, 0.2], [0.5, 0.5]])
        """
        return cls(counts, states, normalize=True, **options)

    @classmethod
    def from_sequences(cls, sequences: Any, lag: int = 1, **options: Any) -> MarkovChain:
        """Maximum-likelihood chain of sequences of symbols: normalised counts of transitions at distance ``lag``.

        A symbol without a successor is an error, unless ``restart`` is given: then it restarts with probability 1.

        >>> MarkovChain.from_sequences([["a", "b", "a", "a"], ["b", "a"]]).transition_matrix
        array([[0.5, 0.5], [1. , 0. ]])
        """
        from klump.sources.dead_ends import fill_dead_ends
        from klump.sources.sequences import transition_counts

        counts, states = transition_counts(sequences, lag)
        words = {"problem": f"symbol {{}} has no successor at lag={lag}", "remedy": "drop the final symbols"}
        counts = fill_dead_ends(counts, states, _restart_distribution(states, options), **words)
        return cls.from_counts(counts, states, **options)

    @classmethod
    def from_events(
        cls,
        table: Any,
        *,
        state: str,
        session: str | None = None,
        time: str | None = None,
        memory_limit: str = "1GB",
        **options: Any,
    ) -> MarkovChain:
        """Maximum-likelihood chain of a table of events: normalised counts of successive states within sessions.

        Parameters are documented in :func:`klump.sources.events.count_events`. The chain's ``initial`` distribution is
        that of the first events of the sessions, so that a ``restart`` begins another session. A state without a
        successor is an error, unless ``restart`` is given: then it restarts with probability 1.

        >>> import pandas
        >>> visits = pandas.DataFrame({"visit": [1, 2, 1, 2, 1], "page": ["home", "home", "shop", "shop", "home"]})
        >>> chain = MarkovChain.from_events(visits, session="visit", state="page")
        >>> chain.states, chain.initial
        (('home', 'shop'), array([1., 0.]))
        """
        from klump.sources.events import count_events

        counted = count_events(table, state=state, session=session, time=time, memory_limit=memory_limit)
        return cls(counted, **options)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        source: str = "from",
        target: str = "to",
        weight: str | None = None,
        memory_limit: str = "1GB",
        **options: Any,
    ) -> MarkovChain:
        """Chain from a table with one transition per row; weights of equal transitions add up, and are normalised.

        Parameters are documented in :func:`klump.sources.events.count_transitions`.

        >>> import pandas
        >>> links = pandas.DataFrame({"from": ["a", "a", "b"], "to": ["b", "a", "a"], "n": [3, 1, 2]})
        >>> MarkovChain.from_table(links, weight="n").transition_matrix
        array([[0.25, 0.75], [1.  , 0.  ]])
        """
        from klump.sources.events import count_transitions

        counted = count_transitions(
            table, source=source, target=target, weight=weight, memory_limit=memory_limit
        )
        return cls(counted, **options)

    @classmethod
    def from_text(cls, text: str, **options: Any) -> MarkovChain:
        """Chain of the characters of a text.

        >>> MarkovChain.from_text("abracadabra").states
        ('a', 'b', 'c', 'd', 'r')
        """
        return cls.from_sequences([text], **options)

    @classmethod
    def from_points(
        cls,
        X: Any,
        n_neighbors: int = 15,
        *,
        walk: Literal["similarity", "neighbors"] = "similarity",
        **options: Any,
    ) -> MarkovChain:
        """Random walk between points, with transition probabilities that decrease with distance.

        With ``walk="similarity"`` the weight of a step is ``exp(-d**2 / s)``, with ``d`` the distance and ``s`` the
        mean squared distance between a point and its ``n_neighbors`` nearest neighbours. With ``walk="neighbors"``
        it is the random walk on the symmetrised nearest-neighbour graph: a sparse chain.
        """
        from klump.sources.points import neighbor_graph, similarities

        if walk == "similarity":
            return cls.from_counts(similarities(X, n_neighbors), **options)
        if walk != "neighbors":
            raise InvalidArgumentError(
                "is not known", argument="walk", value=walk, remedy="choose 'similarity' or 'neighbors'"
            )
        weights = neighbor_graph(X, n_neighbors)
        if options.get("restart") is None:  # random walk on symmetric weights: mu ~ degree
            degrees = weights.sum(axis=1)
            options.setdefault("stationary_distribution", degrees / degrees.sum())
        return cls.from_counts(weights, **options)

    @classmethod
    def from_graph(cls, G: Any, weight: str | None = "weight", **options: Any) -> MarkovChain:
        """Random walk on a graph of networkx or igraph; node names are kept.

        A node without an outgoing edge is an error, unless ``restart`` is given: then it restarts with probability 1.
        """
        from klump.sources.adapters.graphs import random_walk

        return cls(random_walk(G, weight), **options)

    @classmethod
    def from_anndata(cls, adata: Any, key: str = "T_fwd", **options: Any) -> MarkovChain:
        """Chain of the matrix ``adata.obsp[key]``; the states have the names of the cells.

        ``"T_fwd"`` and ``"T_bwd"`` are CellRank's transition matrices. Any other matrix holds weights, like
        ``"connectivities"``, the neighbourhood graph of scanpy: its chain is the random walk on the graph.
        """
        from klump.sources.adapters.anndata_objects import matrix_between_cells

        return cls(matrix_between_cells(adata, key), **options)

    @classmethod
    def from_generator(
        cls,
        rates: Any,
        states: Iterable[Hashable] | None = None,
        lag: float | None = None,
        **options: Any,
    ) -> MarkovChain:
        """Discrete-time chain of a continuous-time one, with the same stationary distribution.

        ``rates`` holds the rates off the diagonal; the diagonal is zero or minus the row sum. With ``lag``, a
        positive time, P = exp(lag G). Without, P is the uniformised chain.

        >>> MarkovChain.from_generator([[-3.0, 3.0], [1.0, -1.0]], lag=0.5).transition_matrix.round(4)
        array([[0.3515, 0.6485], [0.2162, 0.7838]])
        """
        from klump.sources.rates import transition_matrix, uniformize

        found = _unwrap(rates)
        matrix = uniformize(found.matrix) if lag is None else transition_matrix(found.matrix, lag)
        return cls(found._replace(matrix=matrix, normalize=False, dead_ends=None), states, **options)


def as_chain(given: ChainLike) -> MarkovChain:
    """Return a MarkovChain as it is, or build one from any other input of its constructor."""
    return given if isinstance(given, MarkovChain) else MarkovChain(given)


def _restart_distribution(states: Sequence[Hashable], options: dict[str, Any]) -> NDArray[np.float64] | None:
    """Distribution of the restart in ``options``, or None."""
    if options.get("restart") is None:
        return None
    if options.get("initial") is None:
        return np.full(len(states), 1.0 / len(states))
    return initial_distribution(options["initial"], states)


def _unwrap(given: Any) -> Adapted:
    """Matrix, and what comes with it."""
    from klump.sources.adapters import Adapted, adapt

    if isinstance(given, Adapted):
        return given
    if isinstance(given, MarkovChain):
        return Adapted(given.transition_matrix, given.states if given.has_names else None)
    found = adapt(given)
    return Adapted(given) if found is None else found


def _fill_dead_ends(
    found: Adapted, states: Iterable[Hashable] | None, restart: float | None, initial: Any
) -> Any:
    """Matrix in which an adapter's dead ends are replaced by the restart distribution, or an error without one."""
    if found.dead_ends is None:
        return found.matrix
    from klump.sources.dead_ends import fill_dead_ends

    names = range(found.matrix.shape[0]) if states is None else tuple(states)
    goal = _restart_distribution(names, {"restart": restart, "initial": initial})
    return fill_dead_ends(found.matrix, names, goal, **found.dead_ends._asdict())


def _read_only(matrix: Any) -> Any:
    arrays = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    for array in arrays:
        array.flags.writeable = False
    return matrix
