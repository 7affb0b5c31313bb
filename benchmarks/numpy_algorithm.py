"""Algorithm 1 as a careful NumPy programmer would write it: incremental sums, vectorised over states and groups."""

from __future__ import annotations

import numpy as np


def f(t):
    return t * np.log2(np.maximum(t, 1e-300))


def sweep(joint, labels, k, beta):
    """One pass over all states; ``labels`` is changed in place, and the number of moves returned."""
    n = len(labels)
    mu = joint.sum(axis=1)
    indicator = np.eye(k)[labels]
    into = joint @ indicator
    flow = indicator.T @ into
    nu = indicator.T @ mu
    into_f = f(into)
    moves = 0
    for x in range(n):
        home = labels[x]
        if np.count_nonzero(labels == home) == 1:
            continue
        column, loop = joint[:, x], joint[x, x]
        out = into[x].copy()
        out[home] -= loop
        back = np.bincount(labels, weights=column, minlength=k)
        back[home] -= loop
        into[:, home] -= column
        into_f[:, home] = f(into[:, home])
        flow[home, :] -= out
        flow[:, home] -= back
        flow[home, home] -= loop
        nu[home] -= mu[x]
        change = f(nu + mu[x]) - f(nu)
        if beta != 0.5:
            change += (1 - 2 * beta) * (f(into + column[:, None]) - into_f).sum(axis=0)
        if beta != 1.0:
            rows = f(flow + out[None, :]) - f(flow)
            columns = f(flow + back[:, None]) - f(flow)
            diagonal = np.diagonal(flow)
            both = f(diagonal + out + back + loop) - f(diagonal)
            both -= np.diagonal(rows) + np.diagonal(columns)
            change -= (1 - beta) * (rows.sum(axis=1) + columns.sum(axis=0) + both)
        best = int(np.argmin(change))
        if change[best] >= change[home] - 1e-14:
            best = home
        moves += best != home
        labels[x] = best
        into[:, best] += column
        into_f[:, best] = f(into[:, best])
        flow[best, :] += out
        flow[:, best] += back
        flow[best, best] += loop
        nu[best] += mu[x]
    return moves
