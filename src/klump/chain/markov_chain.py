"""The Markov chain: a validated, immutable transition matrix and the quantities that follow from it."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from klump.arguments import check_count
from klump.chain import validation
from klump.chain.attributes import NO_ATTRIBUTES, Attributes, build_attributes
from klump.chain.dynamics import ChainDynamics
from klump.chain.parts import Parts
from klump.chain.quantities import read_only
from klump.chain.restart import restart as add_restart
from klump.chain.restriction import restrict as apply_restriction
from klump.chain.validation import Matrix
from klump.chain.wording import Change, format_count
from klump.choices import Restriction
from klump.errors import InvalidArgumentError, Setting

if TYPE_CHECKING:
    from klump.sources.adapters import Adapted

ChainLike = Any  # a MarkovChain, an array, a sparse matrix, or an object that an adapter knows


class MarkovChain(ChainDynamics):
    """A finite, time-homogeneous Markov chain.

    Parameters
    ----------
    P
        Transition matrix: an array, any SciPy sparse matrix (which stays sparse), a DataFrame whose
        columns name the states, or an object of another package that holds a chain (see
        ``klump.sources.adapters``): a graph, a Markov state model, a kernel, a verification model.
    states
        Names of the states, any hashable values; ``0 .. n-1`` if left out.
    stationary_distribution
        The stationary distribution, if it is known; it is checked.
    normalize
        Divide each row by its sum instead of insisting that it is 1.
    restrict
        Part of a chain that is not irreducible to keep: ``"connected"``, the largest strongly connected set, by counts
        if ``normalize`` and by states otherwise, for chains from data (transitions out of it are dropped, and rows
        divided by their sums); or ``"closed"``, the largest closed class. ``"largest"`` is the old name of that.
    restart
        Return to ``initial`` with this probability at every step: makes absorbing chains irreducible. Where that would
        store many more transitions than the chain has, it goes through one more state, ``"(restart)"``.
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

    def __init__(
        self,
        P: ChainLike,
        states: Iterable[Hashable] | None = None,
        *,
        stationary_distribution: Any = None,
        normalize: bool = False,
        restrict: Restriction | None = None,
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
        # The matrix of a MarkovChain is validated already, and immutable.
        known = next((chain for chain in (P, found.matrix) if isinstance(chain, MarkovChain)), None)
        given = known.transition_matrix if known else found.matrix
        counted, matrix = known._counted if known else None, given
        if known is None:
            normalize = normalize or found.normalize
            matrix, precision = validation.square_matrix(given)
            counted = validation.row_sums(matrix) if normalize else None
        n = matrix.shape[0]
        names = None if states is None else validation.state_names(states, n)
        if known is None:
            _require_successors(found, matrix, names, restart=restart, restrict=restrict)
            mended = restart is not None or restrict is not None
            matrix = validation.make_stochastic(matrix, precision, normalize=normalize, allow_empty=mended)
        parts = Parts(
            matrix,
            names,
            known.original_index if known else np.arange(n),
            build_attributes(
                _known_attributes(known, found),
                range(n) if names is None else names,
                labels=labels,
                initial=initial,
                rewards=rewards,
            ),
            counted,
            known.applied if known else (),
        )
        if restart is not None:
            parts = add_restart(parts, restart)
        if restrict is not None:
            parts = apply_restriction(parts, restrict)
        matrix = parts.matrix
        if stationary_distribution is not None:
            from klump.chain.supplied import check_stationary_distribution

            self.__dict__["_supplied"] = read_only(
                check_stationary_distribution(stationary_distribution, matrix)
            )
        elif known and matrix is given:
            facts = ("stationary_distribution", "_supplied", "classes")
            self.__dict__.update({name: known.__dict__[name] for name in facts if name in known.__dict__})
        self.__dict__["transition_matrix"] = read_only(matrix)
        self.__dict__["original_index"] = read_only(parts.original_index)
        self.__dict__["applied"] = parts.applied
        self.__dict__["_names"] = parts.names
        self.__dict__["_attributes"] = parts.attributes
        self.__dict__["_counted"] = parts.counted

    @classmethod
    def _from_parts(
        cls,
        matrix: Matrix,
        stationary_distribution: NDArray[np.float64] | None,
        names: Sequence[Hashable] | None,
        original_index: NDArray[np.intp],
        applied: tuple[str, ...],
        attributes: Attributes = NO_ATTRIBUTES,
    ) -> MarkovChain:
        """Chain from validated parts, bit for bit; no checks."""
        chain = cls.__new__(cls)
        chain.__dict__["transition_matrix"] = read_only(matrix)
        if stationary_distribution is not None:
            chain.__dict__["stationary_distribution"] = read_only(stationary_distribution)
        chain.__dict__["original_index"] = read_only(original_index)
        chain.__dict__["applied"] = applied
        chain.__dict__["_names"] = names
        chain.__dict__["_attributes"] = attributes
        return chain

    def _with_counts(self, counted: NDArray[np.float64]) -> MarkovChain:
        """The same chain, with the number of observed transitions out of each state."""
        chain = copy.copy(self)
        chain.__dict__["_counted"] = counted
        return chain

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a MarkovChain is immutable: {name} cannot be set; build a new chain")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a MarkovChain is immutable: {name} cannot be deleted")

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():  # copies and pickles of read-only arrays are writeable
            if isinstance(value, np.ndarray) or sparse.issparse(value):
                read_only(value)
        self.__dict__.update(state)

    def __repr__(self) -> str:
        changes = "".join(f", {change}" for change in self.applied)
        size = f"{format_count(self.n_states, 'state')}, {format_count(self.n_transitions, 'transition')}"
        return f"MarkovChain({size}{changes})"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from klump import notebooks

        return notebooks.chain_html(self)

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
        chain = self._with_power(matrix, steps)
        if not chain.is_irreducible:
            raise InvalidArgumentError(
                f"gives a power with {chain.classes.n_classes} communicating classes, because the chain is periodic or "
                "small probabilities underflow",
                argument="steps",
                value=steps,
                remedy="take another number of steps",
            )
        return chain

    def _with_power(self, matrix: Matrix, steps: int) -> MarkovChain:
        """Chain of a power of the transition matrix; no checks."""
        return MarkovChain._from_parts(
            matrix,
            self.stationary_distribution,
            self.__dict__["_names"],
            self.original_index,
            (*self.applied, Change(f"every {steps} steps taken as one", "power")),
            self._attributes.with_restart(None).with_rate(None),
        )

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
    def from_sequences(
        cls, sequences: Any, lag: int = 1, *, ends: Literal["join"] | None = None, **options: Any
    ) -> MarkovChain:
        """Maximum-likelihood chain of sequences of symbols: normalised counts of transitions at distance ``lag``.

        A symbol without a successor is an error, unless ``restrict`` drops it, or ``restart`` is given: then it
        restarts with probability 1. A restart leads to the first symbols of the sequences, as often as they are
        observed, unless ``initial`` is given. With ``ends="join"`` a state ``(start/end)`` is between the last symbol
        of a sequence and the first of any other.

        >>> MarkovChain.from_sequences([["a", "b", "a", "a"], ["b", "a"]]).transition_matrix
        array([[0.5, 0.5], [1. , 0. ]])
        >>> MarkovChain.from_sequences([["home", "cart"], ["home"]], ends="join").states
        ('cart', 'home', '(start/end)')
        """
        from klump.sources.dead_ends import require_successors
        from klump.sources.sequences import count_sequences

        counts, states, initial = count_sequences(sequences, lag, ends)
        if options.get("initial") is None:
            options["initial"] = initial
        join = (Setting("ends", "join"), " to return to the first symbols, ") if lag == 1 else ()
        words = f"symbol {{}} has no successor at lag={lag}"
        require_successors(counts, states, options, problem=words, remedy=("pass ", *join))
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
        successor is an error, unless ``restrict`` drops it, or ``restart`` is given: then it restarts with
        probability 1.

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

        Examples
        --------
        >>> import klump
        >>> import numpy as np
        >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
        >>> klump.MarkovChain.from_points(X, 2, walk="neighbors").n_transitions
        20
        """
        from klump.sources.points import neighbor_graph, similarities

        if walk == "similarity":
            return cls.from_counts(similarities(X, n_neighbors), **options)
        if walk != "neighbors":
            raise InvalidArgumentError(
                "is not known", argument="walk", value=walk, remedy="choose 'similarity' or 'neighbors'"
            )
        weights = neighbor_graph(X, n_neighbors)
        if options.get("restart") is options.get("restrict") is None:  # symmetric weights: mu ~ degree
            degrees = weights.sum(axis=1)
            options.setdefault("stationary_distribution", degrees / degrees.sum())
        return cls.from_counts(weights, **options)

    @classmethod
    def from_graph(cls, G: Any, weight: str | None = "weight", **options: Any) -> MarkovChain:
        """Random walk on a graph of networkx or igraph; node names are kept.

        A node without an outgoing edge is an error, unless ``restrict`` drops it, or ``restart`` is given: then it
        restarts with probability 1.

        Examples
        --------
        >>> import klump
        >>> import networkx
        >>> klump.MarkovChain.from_graph(networkx.path_graph(4)).stationary_distribution.round(3)
        array([0.167, 0.333, 0.333, 0.167])
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
        from klump.sources.rates import transition_matrix, uniformize_with_rate

        found = _unwrap(rates)
        if lag is None:
            matrix, rate = uniformize_with_rate(found.matrix)
        else:
            matrix, rate = transition_matrix(found.matrix, lag), None
        return cls(
            found._replace(matrix=matrix, normalize=False, dead_ends=None, rate=rate), states, **options
        )


def as_chain(given: ChainLike) -> MarkovChain:
    """Return a MarkovChain as it is, or build one from any other input of its constructor."""
    return given if isinstance(given, MarkovChain) else MarkovChain(given)


def _unwrap(given: Any) -> Adapted:
    """Matrix, and what comes with it."""
    from klump.sources.adapters import Adapted, adapt

    if isinstance(given, Adapted):
        return given
    if isinstance(given, MarkovChain):
        return Adapted(given.transition_matrix, given.states if given.has_names else None)
    found = adapt(given)
    return Adapted(given) if found is None else found


def _known_attributes(known: MarkovChain | None, found: Adapted) -> Attributes:
    """Attributes of a chain that is given, and the restart and the uniformisation rate that come with a matrix."""
    attributes = known._attributes if known else NO_ATTRIBUTES
    if found.restart is not None:
        attributes = attributes.with_restart(found.restart)
    return attributes if found.rate is None else attributes.with_rate(found.rate)


def _require_successors(
    found: Adapted, matrix: Matrix, names: Sequence[Hashable] | None, **options: Any
) -> None:
    """Refuse an adapter's dead ends in its words, unless ``restart`` or ``restrict`` mends them."""
    if found.dead_ends is None:
        return
    from klump.sources.dead_ends import require_successors

    states = range(matrix.shape[0]) if names is None else names
    problem, remedy = found.dead_ends
    require_successors(matrix, states, options, problem=problem, remedy=f"{remedy}, or pass ")
