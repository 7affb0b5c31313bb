"""An aggregation as objects of other packages, and as the plain values of a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from klump import __version__
from klump.documents import name, plain, versions
from klump.errors import InvalidArgumentError, MissingPackageError

if TYPE_CHECKING:
    from os import PathLike

    from klump.aggregation.aggregation import Aggregation
    from klump.aggregation.tree import AggregationTree
    from klump.chain import MarkovChain

# Schema of the document of one aggregation.
SCHEMA = "klump/aggregation/1"


class Exports:
    """The part of an :class:`klump.Aggregation` that makes objects of other packages, and documents."""

    def to_dict(self) -> dict[str, Any]:
        """The document of ``klump aggregate --json`` as plain Python values, without input file and settings.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> answer = klump.aggregate(P, 2)
        >>> sorted(answer.to_dict())[:3]
        ['beta', 'bisimulation', 'constraints']
        >>> answer.to_dict()["labels"]
        [0, 0, 1, 1]
        """
        return to_dict(cast("Aggregation", self))

    def report(self, path: str | PathLike[str], title: str | None = None) -> None:
        """Write an interactive report of this answer: one HTML file that needs no network; needs Bokeh.

        Parameters
        ----------
        path
            File to write; it must end in .html.
        title
            Heading of the page; the number of states if left out.

        Examples
        --------
        >>> from klump import Aggregation
        >>> answer = Aggregation.from_labels([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]], [0, 0, 1])
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     answer.report(f"{folder}/report.html", title="Three states")
        """
        from klump.report import write_report

        write_report([cast("Aggregation", self)], path, title=title)

    def to_frame(self) -> Any:
        """Pandas DataFrame with a row per state: ``state``, ``group``, ``mass``, ``membership`` and ``name``.

        ``mass`` is the stationary probability of the state, ``membership`` the probability of its group, 1 for a
        partition, and ``name`` the name of its group.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> answer = klump.aggregate(P, 2)
        >>> print(answer.to_frame().iloc[:2, :2])
           state  group
        0      0      0
        1      1      0
        """
        return to_frame(cast("Aggregation", self))

    def to_networkx(self) -> Any:
        """The aggregated chain as a networkx DiGraph.

        Nodes are the groups, with ``name``, ``mass``, ``members`` and ``n_members``; edges have the transition
        probability as ``weight``.

        Examples
        --------
        >>> import klump
        >>> P = [[0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1], [0.1, 0.0, 0.4, 0.5], [0.0, 0.1, 0.5, 0.4]]
        >>> answer = klump.aggregate(P, 2)
        >>> graph = answer.to_networkx()
        >>> graph.number_of_nodes(), graph.number_of_edges()
        (2, 4)
        """
        return to_networkx(cast("Aggregation", self))

    def to_anndata(self, adata: Any, key: str = "klump") -> None:
        """Write to an AnnData: the groups of the cells, the map, and the costs.

        ``obs[key]`` gets the groups as a categorical, of names if they were given and of numbers otherwise,
        ``obsm[key + "_memberships"]`` the n x k map, and ``uns[key]`` number and names of the groups, beta, gamma,
        method, seed, costs, masses and transition matrix. States are matched with
        cells by name; cells that the chain does not have, after ``restrict``, get missing values.
        """
        to_anndata(cast("Aggregation", self), adata, key)


def describe(agg: Aggregation) -> dict[str, Any]:
    """Describe one aggregation, without the names of all states; values may be arrays.

    None: ``mapping`` of a partition, which has ``labels``; costs and masses of a chain that is not irreducible;
    ``tree``, ``splits`` and ``effort`` of other methods; ``constraints`` if there are none; ``microstates`` unless
    P^lag was too large; ``interrupted_after`` unless a time limit interrupted the search. ``n_states`` is the old name
    of ``n_groups``, kept for one version.
    """
    stationary = agg.original.is_irreducible
    return {
        "beta": agg.beta,
        "gamma": agg.gamma,
        "lag": agg.lag,
        "microstates": agg.microstates,
        "n_groups": agg.n_states,
        "n_states": agg.n_states,
        "labels": agg.labels,
        "mapping": agg.mapping if agg.map.labels is None else None,
        "groups": [[name(state) for state in group] for group in agg.groups],
        "names": list(agg.names),
        "costs": agg.costs.to_dict(agg.beta, agg.gamma) if stationary else None,
        "cost": agg.cost if stationary else None,
        "transition_matrix": _matrix(agg.chain),
        "stationary_distribution": agg.masses if stationary else None,
        "bisimulation": _bisimulation(agg),
        "tree": _tree(agg.tree),
        "splits": [split._asdict() for split in agg.splits] or None,
        "notes": agg.notes,
        "effort": agg.effort,
        "constraints": agg.constraints.to_dict(agg.original) if agg.constraints else None,
        "interrupted": agg.interrupted,
        "interrupted_after": agg.interrupted_after,
    }


def to_dict(agg: Aggregation) -> dict[str, Any]:
    """Document of one aggregation, as ``klump aggregate --json`` prints it, without input file and settings."""
    return plain(
        {
            "schema": SCHEMA,
            "klump": __version__,
            "versions": versions("numpy", "scipy", "numba"),
            "seed": agg.random_state,
            "method": agg.method,
            "states": [name(state) for state in agg.original.states],
            **describe(agg),
        }
    )


def to_frame(agg: Aggregation) -> Any:
    """Return a pandas DataFrame with a row per state."""
    pandas = _import("pandas", "to_frame()")
    states, labels = agg.original.states, agg.labels
    mass = (
        agg.original.stationary_distribution if agg.original.is_irreducible else np.full(len(states), np.nan)
    )
    return pandas.DataFrame(
        {
            "state": pandas.Series(list(states), dtype=None if len(states) else object),
            "group": np.asarray(labels),
            "mass": np.array(mass),
            "membership": _memberships(agg),
            "name": pandas.Series([agg.names[label] for label in labels.tolist()], dtype=object),
        }
    )


def to_networkx(agg: Aggregation) -> Any:
    """Return the aggregated chain as a networkx DiGraph."""
    networkx = _import("networkx", "to_networkx()")
    from scipy import sparse

    graph = networkx.DiGraph(
        beta=agg.beta, gamma=agg.gamma, cost=agg.cost if agg.original.is_irreducible else None
    )
    masses = agg.masses.tolist() if agg.original.is_irreducible else [None] * agg.n_states
    for group, (mass, members) in enumerate(zip(masses, agg.groups, strict=True)):
        graph.add_node(group, name=agg.names[group], mass=mass, members=list(members), n_members=len(members))
    entries = sparse.coo_array(agg.chain.transition_matrix)
    graph.add_weighted_edges_from(
        zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    )
    return graph


def to_anndata(agg: Aggregation, adata: Any, key: str = "klump") -> None:
    """Write groups, soft map and costs to an AnnData."""
    pandas = _import("pandas", "to_anndata()")
    for attribute in ("obs", "obsm", "uns", "obs_names"):
        if not hasattr(adata, attribute):
            raise InvalidArgumentError(
                f"is a {type(adata).__name__}, which has no {attribute}",
                argument="adata",
                remedy="pass an AnnData",
            )
    place = _places_of_cells(agg, adata)
    known = place >= 0
    labels = np.where(known, agg.labels[place], -1)
    # Default names would be the names of some cells.
    categories = list(agg.group_names or map(str, range(agg.n_states)))
    adata.obs[key] = pandas.Categorical.from_codes(labels, categories)
    memberships = np.array(agg.mapping[place])
    memberships[~known] = np.nan
    adata.obsm[f"{key}_memberships"] = memberships
    stationary = agg.original.is_irreducible
    adata.uns[key] = {
        "n_groups": agg.n_states,
        "names": list(agg.names),
        "beta": agg.beta,
        "gamma": agg.gamma,
        "method": agg.method,
        # Files of AnnData have no None.
        **({} if agg.random_state is None else {"seed": agg.random_state}),
        **(
            {"costs": agg.costs.to_dict(agg.beta, agg.gamma), "masses": agg.masses.copy()}
            if stationary
            else {}
        ),
        "transition_matrix": _to_array(agg.chain.transition_matrix),
        "klump": __version__,
    }


def _places_of_cells(agg: Aggregation, adata: Any) -> Any:
    """Index of the state of each cell, by name; -1 for a cell that the chain does not have, after a restriction.

    The state ``(restart)`` is no cell.
    """
    cells, states = list(adata.obs_names), agg.original.states
    if agg.original.has_names:
        number = {str(state): i for i, state in enumerate(states)}
        place = np.array([number.get(str(cell), -1) for cell in cells], dtype=np.intp)
    elif len(cells) == len(states):
        place = np.arange(len(states))
    else:
        place = np.full(len(cells), -1)
    if np.count_nonzero(place >= 0) < np.count_nonzero(agg.original.original_index >= 0):
        raise InvalidArgumentError(
            f"has {len(cells)} cells, but the chain has {len(states)} states that are not all among them",
            argument="adata",
            remedy="pass the AnnData that the chain was made from",
        )
    return place


def _memberships(agg: Aggregation) -> Any:
    """Probability of the group of each state: 1 for a partition."""
    if agg.map.labels is not None:
        return np.ones(agg.original.n_states)
    return agg.mapping[np.arange(agg.original.n_states), agg.labels]


def _matrix(chain: MarkovChain) -> Any:
    """Return a dense matrix as rows, and a sparse one as its non-zero entries in coordinate format."""
    if not chain.is_sparse:
        return chain.transition_matrix
    stored: Any = chain.transition_matrix
    entries = stored.tocoo()
    return {"row": entries.row, "column": entries.col, "probability": entries.data}


def _bisimulation(agg: Aggregation) -> dict[str, float] | None:
    """Return the certificate of a partition; None for a stochastic map."""
    if agg.map.labels is None:
        return None
    found = agg.bisimulation
    return {"mean": found.mean, "epsilon": found.epsilon, "bound": found.bound}


def _tree(found: AggregationTree | None) -> dict[str, Any] | None:
    """Return the mergers of an agglomerative method; None for other methods."""
    if found is None:
        return None
    return {"leaves": found.leaves, "merges": found.merges, "merge_costs": found.merge_costs}


def _to_array(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.array(matrix)


def _import(package: str, what: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackageError(f"{what} needs {package}", remedy=f"pip install {package}") from error
