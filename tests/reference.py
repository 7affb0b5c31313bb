"""Slow textbook versions of everything that klump computes cleverly.

Nothing here imports klump, and nothing here is clever: definitions become loops, sums run over all states,
searches over all partitions. ``P`` is a transition matrix, ``mu`` its stationary law, ``W`` a stochastic map
(states x groups) and ``labels`` a deterministic one; all are dense. Everything is in bits.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize

TIE = 1e-12  # costs that differ by less are the same cost, written down in another order


# Chains


def reachable(P):
    """reach[x, y]: whether y can be reached from x in no step, one or more."""
    n = len(P)
    reach = np.eye(n, dtype=bool) | (np.asarray(P) > 0)
    for z in range(n):  # Warshall's algorithm
        for x in range(n):
            for y in range(n):
                reach[x, y] = reach[x, y] or (reach[x, z] and reach[z, y])
    return reach


def connected_sets(counts):
    """All strongly connected sets with a transition inside, with the counts inside: (counts, states) each."""
    reach = reachable(counts)
    sets = {tuple(y for y in range(len(counts)) if reach[x, y] and reach[y, x]) for x in range(len(counts))}
    found = [(sum(counts[x][y] for x in members for y in members), members) for members in sorted(sets)]
    return [(inside, members) for inside, members in found if inside > 0]


def restart_through_state(P, p, initial):
    """Chain with one more state, to which every state goes with probability p (1 without transitions)."""
    n = len(P)
    larger = np.zeros((n + 1, n + 1))
    for x in range(n):
        leaves = p if np.asarray(P)[x].sum() > 0 else 1.0
        for y in range(n):
            larger[x, y] = (1 - leaves) * P[x][y]
        larger[x, n] = leaves
        larger[n, x] = initial[x]
    return larger


def stationary_law(P):
    """The law mu with mu P = mu, by Gaussian elimination on exact fractions.

    Floating-point rows hardly ever sum to exactly 1, so the balance of each state is written with what leaves
    it: the sum over x of mu[x] P[x, y] for x other than y equals mu[y] times the sum of P[y, z] for z other
    than y.
    """
    n = len(P)
    exact = [[Fraction(float(P[x][y])) for y in range(n)] for x in range(n)]
    rows = []
    for y in range(n - 1):  # the balance of the last state follows from the others
        leaves = sum(exact[y][z] for z in range(n) if z != y)
        rows.append([-leaves if x == y else exact[x][y] for x in range(n)] + [Fraction(0)])
    rows.append([Fraction(1)] * n + [Fraction(1)])
    for column in range(n):
        pivot = next(row for row in range(column, n) if rows[row][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        divisor = rows[column][column]
        rows[column] = [value / divisor for value in rows[column]]
        for row in range(n):
            if row != column and rows[row][column] != 0:
                factor = rows[row][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return np.array([float(rows[x][n]) for x in range(n)])


def stationary_law_by_censoring(P):
    """The law mu with mu P = mu, state by state in extended precision, for chains too large for fractions.

    Leaving out state k, the chain steps from x to y with probability P[x, y] + P[x, k] P[k, y] / (1 - P[k, k]), where
    1 - P[k, k] is the sum of the other entries of row k. The visits to k per visit to the others follow at the end.
    """
    n = len(P)
    weight = np.array(P, dtype=np.longdouble)
    leaves = np.zeros(n, dtype=np.longdouble)
    for k in range(n - 1, 0, -1):  # the last state first
        leaves[k] = weight[k, :k].sum()
        weight[:k, :k] += np.outer(weight[:k, k], weight[k, :k] / leaves[k])
    mu = np.ones(n, dtype=np.longdouble)
    for k in range(1, n):
        mu[k] = (mu[:k] * weight[:k, k]).sum() / leaves[k]
    return (mu / mu.sum()).astype(float)


def is_reversible(P, mu, tolerance=1e-12):
    """Detailed balance: mu[x] P[x, y] = mu[y] P[y, x] for all pairs."""
    n = len(mu)
    return all(
        abs(mu[x] * P[x][y] - mu[y] * P[y][x]) <= tolerance for x, y in itertools.product(range(n), repeat=2)
    )


# Information


def entropy(p):
    """H(Z): minus the sum of p(z) log2 p(z) over all z with p(z) > 0."""
    return -math.fsum(mass * math.log2(mass) for mass in np.ravel(p) if mass > 0)


def conditional_entropy(joint):
    """H(B|A): the sum over a of p(a) times the entropy of the law of B given a; ``joint[a, b]``."""
    total = []
    for row in np.asarray(joint):
        mass = math.fsum(row)
        if mass > 0:
            total.append(mass * entropy([value / mass for value in row]))
    return math.fsum(total)


def mutual_information(joint):
    """I(A;B): the sum over a, b of p(a, b) log2 [p(a, b) / (p(a) p(b))]."""
    joint = np.asarray(joint)
    left = [math.fsum(row) for row in joint]
    right = [math.fsum(column) for column in joint.T]
    return math.fsum(
        joint[a][b] * (math.log2(joint[a][b]) - math.log2(left[a]) - math.log2(right[b]))
        for a in range(len(left))
        for b in range(len(right))
        if joint[a][b] > 0
    )


def divergence(p, q):
    """D(p||q): the sum of p(z) log2 [p(z) / q(z)] over all z with p(z) > 0."""
    return math.fsum(a * (math.log2(a) - math.log2(b)) for a, b in zip(p, q, strict=True) if a > 0)


def total_variation(p, q):
    """The largest difference between the probabilities that two laws give to one event, over all events."""
    outcomes = range(len(p))
    return max(math.fsum(p[z] - q[z] for z in event) for event in subsets(outcomes))


def subsets(items):
    """All subsets, the empty one included."""
    items = list(items)
    for size in range(len(items) + 1):
        yield from itertools.combinations(items, size)


# Maps, and the laws of what is seen through them


def indicator(labels, k):
    """The deterministic map as a matrix: W[x, y] = 1 if and only if y = g(x)."""
    W = np.zeros((len(labels), k))
    for x, y in enumerate(labels):
        W[x, y] = 1.0
    return W


def joint_of_states(P, mu):
    """p(X1 = x1, X2 = x2) = mu[x1] P[x1, x2]."""
    n = len(mu)
    return np.array([[mu[x1] * P[x1][x2] for x2 in range(n)] for x1 in range(n)])


def joint_of_state_and_group(P, mu, W):
    """p(X1 = x1, Y2 = y): the sum over x2 of p(x1, x2) W[x2, y]."""
    J, n, k = joint_of_states(P, mu), len(mu), W.shape[1]
    return np.array(
        [[math.fsum(J[x1, x2] * W[x2, y] for x2 in range(n)) for y in range(k)] for x1 in range(n)]
    )


def joint_of_groups(P, mu, W):
    """p(Y1 = y, Y2 = z): the sum over x1, x2 of W[x1, y] p(x1, x2) W[x2, z]."""
    J, n, k = joint_of_states(P, mu), len(mu), W.shape[1]
    pairs = list(itertools.product(range(n), repeat=2))
    return np.array(
        [[math.fsum(W[x1, y] * J[x1, x2] * W[x2, z] for x1, x2 in pairs) for z in range(k)] for y in range(k)]
    )


def group_law(mu, W):
    """nu[y]: the sum over x of mu[x] W[x, y]."""
    return np.array([math.fsum(mu[x] * W[x, y] for x in range(len(mu))) for y in range(W.shape[1])])


def aggregated_matrix(P, mu, W):
    """Q[y, z] = p(Y2 = z | Y1 = y) = p(y, z) / p(y), the best Markov approximation (Corollary 1)."""
    joint = joint_of_groups(P, mu, W)
    return np.array([[value / math.fsum(row) for value in row] for row in joint])


def divergence_rate_to(P, mu, W, Q):
    """Between the pairs (Y1, Y2) and a Markov chain with matrix Q: sum of p(y, z) log2 [p(z|y) / Q[y, z]].

    The divergence rate of Y from that chain is this plus H(Y2|Y1) minus the entropy rate of Y, which does not
    depend on Q.
    """
    joint, best = joint_of_groups(P, mu, W), aggregated_matrix(P, mu, W)
    k = len(joint)
    return math.fsum(
        joint[y, z] * (math.log2(best[y, z]) - math.log2(Q[y][z]))
        for y, z in itertools.product(range(k), repeat=2)
        if joint[y, z] > 0
    )


# Costs


def lumpability(P, mu, W):
    """C_L = H(Y2|Y1) - H(Y2|X1)."""
    return conditional_entropy(joint_of_groups(P, mu, W)) - conditional_entropy(
        joint_of_state_and_group(P, mu, W)
    )


def predictability(P, mu, W):
    """C_P = I(X1;X2) - I(Y1;Y2)."""
    return mutual_information(joint_of_states(P, mu)) - mutual_information(joint_of_groups(P, mu, W))


def bottleneck(P, mu, W):
    """C_IB = I(X1;X2|Y2): the sum of p(x1, x2, y) log2 [p(x1, x2|y) / (p(x1|y) p(x2|y))], y seen for x2."""
    J, n, k = joint_of_states(P, mu), len(mu), W.shape[1]
    total = []
    for y in range(k):
        law = np.array([[J[x1, x2] * W[x2, y] for x2 in range(n)] for x1 in range(n)])
        mass = math.fsum(law.ravel())
        if mass > 0:
            total.append(mass * mutual_information(law / mass))
    return math.fsum(total)


def generated(P, mu, W):
    """C_G = H(X2|X1) - H(Y2|X1)."""
    return conditional_entropy(joint_of_states(P, mu)) - conditional_entropy(
        joint_of_state_and_group(P, mu, W)
    )


def cost(P, mu, W, beta, gamma=0.0):
    """C_beta + gamma C_G, with C_beta = (1 - 2 beta) C_L + beta C_P."""
    value = (1 - 2 * beta) * lumpability(P, mu, W) + beta * predictability(P, mu, W)
    return value + gamma * generated(P, mu, W) if gamma else value


def cost_of_labels(P, mu, labels, k, beta, gamma=0.0):
    """C_beta + gamma C_G of a deterministic map; groups may be empty."""
    return cost(P, mu, indicator(labels, k), beta, gamma)


# Guarantees


def exact_epsilon(P, mu, labels, k):
    """Least epsilon of Definition 3 for the relation of the map (proof of Proposition 1).

    The largest value, over all states x and all sets B of groups, of the sum over y in B of Q[g(x), y] minus
    the sum of P[x, x'] over all x' whose group is in B.
    """
    Q = aggregated_matrix(P, mu, indicator(labels, k))
    worst = 0.0
    for x in range(len(mu)):
        for chosen in subsets(range(k)):
            there = math.fsum(P[x][other] for other in range(len(mu)) if labels[other] in chosen)
            worst = max(worst, math.fsum(Q[labels[x], y] for y in chosen) - there)
    return worst


def epsilon_bound(P, mu, labels, k):
    """Proposition 1: the square root of ln(2) C_L / (2 min mu)."""
    return math.sqrt(math.log(2) * max(lumpability(P, mu, indicator(labels, k)), 0.0) / (2 * min(mu)))


def is_lumpable(P, labels, tolerance=1e-12):
    """All states of a group go to each group with the same probability."""
    labels = list(labels)
    n, k = len(labels), max(labels) + 1
    to_group = [[math.fsum(P[x][z] for z in range(n) if labels[z] == y) for y in range(k)] for x in range(n)]
    return all(
        abs(to_group[a][y] - to_group[b][y]) <= tolerance
        for a, b in itertools.product(range(n), repeat=2)
        if labels[a] == labels[b]
        for y in range(k)
    )


def coarsest_lumping(P, initial, tolerance=1e-9):
    """Split groups by where their states lead until nothing changes."""
    labels = list(initial)
    n = len(labels)
    while True:
        groups = set(labels)
        to_group = [
            [math.fsum(P[x][z] for z in range(n) if labels[z] == y) for y in groups] for x in range(n)
        ]
        kinds = []  # the first state of each
        kind = []
        for x in range(n):
            for number, other in enumerate(kinds):
                alike = max(abs(a - b) for a, b in zip(to_group[x], to_group[other], strict=True))
                if labels[x] == labels[other] and alike <= tolerance:
                    kind.append(number)
                    break
            else:
                kind.append(len(kinds))
                kinds.append(x)
        labels = kind
        if len(kinds) == len(groups):
            return np.array(labels)


def coarsest_lumpings(P, initial):
    """All lumpable partitions that are finer than the initial one and have the fewest groups, of all there are."""
    n = len(initial)
    for k in range(len(set(initial)), n + 1):
        found = [
            labels
            for labels in partitions(n, k)
            if all(initial[a] == initial[b] for a in range(n) for b in range(n) if labels[a] == labels[b])
            and is_lumpable(P, labels)
        ]
        if found:
            return found
    raise AssertionError("every state by itself is lumpable")


def law_of_paths(P, initial, labels, steps):
    """Probability of every sequence g(X_0), ..., g(X_steps), by adding up all sequences of states."""
    n = len(initial)
    law = {}
    for states in itertools.product(range(n), repeat=steps + 1):
        probability = initial[states[0]]
        for here, there in itertools.pairwise(states):
            probability *= P[here][there]
        seen = tuple(int(labels[x]) for x in states)
        law[seen] = law.get(seen, 0.0) + probability
    return law


def law_of_words(P, initial, W, length):
    """Probability of every sequence Y_1, ..., Y_length, by adding up all sequences of states that may show it."""
    n, k = W.shape
    law = {}
    for states in itertools.product(range(n), repeat=length):
        probability = initial[states[0]]
        for here, there in itertools.pairwise(states):
            probability *= P[here][there]
        for seen in itertools.product(range(k), repeat=length):
            shown = math.prod(W[x, y] for x, y in zip(states, seen, strict=True))
            if probability * shown > 0:
                law[seen] = law.get(seen, 0.0) + probability * shown
    return law


def entropy_rate_bounds(P, mu, W, m):
    """H(Y_m|Y_1..m-1, X_1) and H(Y_m|Y_1..m-1), between which the entropy rate of Y lies."""

    def of_last_given_others(law):
        without_last = {}
        for seen, mass in law.items():
            without_last[seen[:-1]] = without_last.get(seen[:-1], 0.0) + mass
        return entropy(list(law.values())) - entropy(list(without_last.values()))

    n = len(mu)
    from_each = [law_of_words(P, np.eye(n)[x], W, m) for x in range(n)]
    lower = math.fsum(mu[x] * of_last_given_others(from_each[x]) for x in range(n))
    return lower, of_last_given_others(law_of_words(P, mu, W, m))


def delta(P, mu, W, beta, entropy_rate):
    """(1 - beta) D(Y||Y~) + beta (R(X) - R(Y)), if this were the entropy rate of Y."""
    divergence_rate = conditional_entropy(joint_of_groups(P, mu, W)) - entropy_rate
    redundancy_rate = entropy(group_law(mu, W)) - entropy_rate
    lost = mutual_information(joint_of_states(P, mu)) - redundancy_rate
    return (1 - beta) * divergence_rate + beta * lost


# Searches


def partitions(n, k):
    """All ways to put n states into exactly k groups, each once: the first states seen number the groups."""

    def extend(labels, used):
        left = n - len(labels)
        if used + left < k:
            return
        if left == 0:
            yield tuple(labels)
            return
        for group in range(min(used + 1, k)):
            yield from extend([*labels, group], max(used, group + 1))

    yield from extend([], 0)


def costs_of_all_partitions(P, mu, k):
    """Labels, C_L, C_P and C_G of every partition into exactly k groups.

    By C_L = I(X1;Y2) - I(Y1;Y2) and H(Y2|X1) = H(Y2) - I(X1;Y2), all partitions at once: nine states have thousands
    of partitions.
    """
    labels = np.array(list(partitions(len(mu), k)))
    W = np.eye(k)[labels]
    J = joint_of_states(P, mu)
    state_and_group = J @ W
    groups = np.swapaxes(W, 1, 2) @ state_and_group

    def information(joint):
        independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        some = joint > 0
        ratio = np.divide(joint, independent, out=np.ones_like(joint), where=some)
        return (joint * np.log2(ratio)).sum(axis=(1, 2))

    kept = information(groups)
    from_states = information(state_and_group)
    of_groups = np.array([entropy(law) for law in groups.sum(axis=1)])
    of_generation = conditional_entropy(J) - of_groups + from_states
    return labels, from_states - kept, information(J[None])[0] - kept, of_generation


def exhaustive(P, mu, k, beta, gamma=0.0):
    """The cheapest of all partitions into exactly k groups, and its cost."""
    labels, of_lumping, of_prediction, of_generation = costs_of_all_partitions(P, mu, k)
    costs = (1 - 2 * beta) * of_lumping + beta * of_prediction + gamma * of_generation
    best = int(np.argmin(costs))
    return labels[best], float(costs[best])


def algorithm_1_step(P, mu, labels, k, beta, x, allow_empty=True, gamma=0.0):
    """One state of Algorithm 1: put x into each group, evaluate the whole cost, keep the cheapest.

    Ties: the state stays if its own group is among the cheapest, else it goes to the one with the lowest
    number. Unless groups may run empty, the only member of a group stays.
    """
    labels = [int(y) for y in labels]
    home = labels[x]
    if not allow_empty and labels.count(home) == 1:
        return labels
    costs = [cost_of_labels(P, mu, [*labels[:x], y, *labels[x + 1 :]], k, beta, gamma) for y in range(k)]
    if costs[home] <= min(costs) + TIE:
        return labels
    labels[x] = next(y for y in range(k) if costs[y] <= min(costs) + TIE)
    return labels


def algorithm_1(P, mu, labels, k, beta, n_sweeps, allow_empty=True, gamma=0.0):
    """sGITMA: sweeps over all states, in their order, until nothing moves or the limit is reached."""
    labels = [int(y) for y in labels]
    for _ in range(n_sweeps):
        before = labels
        for x in range(len(mu)):
            labels = algorithm_1_step(P, mu, labels, k, beta, x, allow_empty, gamma)
        if labels == before:
            break
    return labels


def algorithm_2(P, mu, labels, k, beta_target, step, n_sweeps, allow_empty=True, gamma=0.0):
    """AnnITMA: Algorithm 1 at beta = 1, then from its result at ever smaller beta; all intermediate maps."""
    beta = 1.0
    labels = algorithm_1(P, mu, labels, k, beta, n_sweeps, allow_empty, gamma)
    found = [(beta, labels)]
    while beta > beta_target:
        beta = max(beta - step, beta_target)
        labels = algorithm_1(P, mu, labels, k, beta, n_sweeps, allow_empty, gamma)
        found.append((beta, labels))
    return found


def second_eigenvector(P, mu, members):
    """Of the additive reversibilisation, without the steps that leave the members, as seen from each of them."""
    J = joint_of_states(P, mu)
    inside = np.array([[(J[x, z] + J[z, x]) / 2 for z in members] for x in members])
    walk = inside / inside.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(walk)
    return vectors[:, np.argsort(-values.real)[1]].real


def recursive_bisection(P, mu, k, beta):
    """Cut groups in two until there are k: of all groups, at the sign and at every place of the sorted eigenvector.

    The whole cost is evaluated for each cut, and the cheapest partition is kept. Only for chains without ties.
    """
    labels = [0] * len(mu)
    for new in range(1, k):
        trials = []
        for group in range(new):
            members = [x for x in range(len(mu)) if labels[x] == group]
            if len(members) < 2:
                continue
            vector = second_eigenvector(P, mu, members)
            order = np.argsort(vector)
            cuts = [[members[i] for i in order[:place]] for place in range(1, len(members))]
            cuts.append([x for x, entry in zip(members, vector, strict=True) if entry < 0])
            trials += [[new if x in cut else labels[x] for x in range(len(mu))] for cut in cuts]
        labels = min(trials, key=lambda trial: cost_of_labels(P, mu, trial, new + 1, beta))
    return labels


def laws_of_groups(P, mu, W):
    """p(X2 = x2 | Y1 = y): the sum over x1 of mu[x1] W[x1, y] P[x1, x2], divided by p(Y1 = y)."""
    n, k = W.shape
    nu = group_law(mu, W)
    return np.array(
        [[math.fsum(mu[x] * W[x, y] * P[x][z] for x in range(n)) / nu[y] for z in range(n)] for y in range(k)]
    )


def relaxed_cost(P, mu, W, temperature):
    """I(X1;X2) - I(X2;Y1) less the temperature times H(Y1|X1): what deterministic annealing minimises."""
    nu = group_law(mu, W)
    kept = mutual_information([[nu[y] * p for p in law] for y, law in enumerate(laws_of_groups(P, mu, W))])
    softness = math.fsum(mu[x] * entropy(W[x]) for x in range(len(mu)))
    return mutual_information(joint_of_states(P, mu)) - kept - temperature * softness


def deterministic_annealing_round(P, mu, W, temperature):
    """W[x, y] in proportion to 2 to the power of minus D(P[x, :] || p(X2|y)) / temperature."""
    laws = laws_of_groups(P, mu, W)
    distances = np.array([[divergence(row, law) for law in laws] for row in P])
    new = 2.0 ** (-(distances - distances.min(axis=1, keepdims=True)) / temperature)
    return new / new.sum(axis=1, keepdims=True)


def critical_temperatures(P, mu):
    """Squares of all but the first singular value of diag(mu)^(-1/2) J diag(mu)^(-1/2), falling."""
    root = np.sqrt(mu)
    return np.linalg.svd(joint_of_states(P, mu) / np.outer(root, root), compute_uv=False)[1:] ** 2


def best_stochastic_map(P, mu, k, beta, starts, rng, gamma=0.0):
    """The cheapest stochastic map that a general optimiser finds from random starts, and its cost."""
    J, n = joint_of_states(P, mu), len(mu)

    def information(joint):
        independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        return np.sum(joint * np.log2(joint / independent, out=np.zeros_like(joint), where=joint > 0))

    def softmax(logits):
        W = np.exp(logits.reshape(n, k) - logits.reshape(n, k).max(axis=1, keepdims=True))
        return W / W.sum(axis=1, keepdims=True)

    def of_logits(logits):
        W = softmax(logits)
        value = (1 - 2 * beta) * information(J @ W) - (1 - beta) * information(W.T @ J @ W)
        return value + gamma * (information(J @ W) - entropy(mu @ W))

    found = [minimize(of_logits, rng.normal(scale=2.0, size=n * k)) for _ in range(starts)]
    best = softmax(min(found, key=lambda each: each.fun).x)
    return best, cost(P, mu, best, beta, gamma)


# Comparing partitions


def same_partition(a, b):
    """Whether two labellings put the same pairs of states together."""
    pairs = itertools.combinations(range(len(a)), 2)
    return len(a) == len(b) and all((a[i] == a[j]) == (b[i] == b[j]) for i, j in pairs)


def adjusted_rand_index(a, b):
    """Hubert and Arabie's index from the four kinds of pairs: together in both, in a, in b, in neither."""
    both = only_a = only_b = none = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        in_a, in_b = a[i] == a[j], b[i] == b[j]
        both += in_a and in_b
        only_a += in_a and not in_b
        only_b += in_b and not in_a
        none += not in_a and not in_b
    if only_a == only_b == 0:
        return 1.0
    expected = (both + only_a) * (only_a + none) + (both + only_b) * (only_b + none)
    return 2.0 * (both * none - only_a * only_b) / expected


def greedy_merging(P, mu, beta, *, relaxed=False, gamma=0.0):
    """Merge the cheapest pair, found by trying all: what each merger adds, and the partition after it."""

    def value(labels):
        W = np.eye(labels.max() + 1)[labels]
        if not relaxed:
            return cost(P, mu, W, beta, gamma)
        return -mutual_information(W.T @ (mu[:, None] * P))

    labels = np.arange(len(mu))
    current, costs, partitions = value(labels), [], []
    while labels.max() > 0:
        options = []
        for a in range(labels.max() + 1):
            for b in range(a + 1, labels.max() + 1):
                merged = np.where(labels == b, a, labels)
                options.append(merged - (merged > b))
        values = [value(option) for option in options]
        labels = options[int(np.argmin(values))]
        costs.append(min(values) - current)
        partitions.append(labels)
        current = min(values)
    return np.array(costs), partitions


# k-means


def seed_centres(points, weight, draws):
    """k-means++: the first point at which the cumulative weight times squared distance exceeds the draw."""
    chosen = []
    for draw in draws:
        near = [min([sum((x - points[c]) ** 2) for c in chosen], default=1.0) for x in points]
        cumulative = np.cumsum(weight * np.array(near))
        chosen.append(np.flatnonzero(cumulative > draw * cumulative[-1])[0])
    return points[chosen]


# Liftings


def divergence_rate(P, other):
    """Sum over i of mu[i] D(P[i, :] || other[i, :])."""
    mu = stationary_law(P)
    return math.fsum(mu[i] * divergence(P[i], other[i]) for i in range(len(mu)))


def stationary_lifting(P, mu, W):
    """W Q U: the entry (i, j) is the sum over y, z of W[i, y] Q[y, z] W[j, z] mu[j] / nu[z]."""
    n, k = W.shape
    Q, nu = aggregated_matrix(P, mu, W), group_law(mu, W)
    pairs = list(itertools.product(range(k), repeat=2))
    return np.array(
        [
            [math.fsum(W[i, y] * Q[y, z] * W[j, z] * mu[j] / nu[z] for y, z in pairs) for j in range(n)]
            for i in range(n)
        ]
    )


def transition_lifting(P, mu, W):
    """Within a group z a state i leads to j in proportion to P[i, j] W[j, z]; to the heaviest state if all are 0."""
    n, k = W.shape
    Q, lifted = aggregated_matrix(P, mu, W), np.zeros((n, n))
    for i, z in itertools.product(range(n), range(k)):
        wanted = math.fsum(W[i, y] * Q[y, z] for y in range(k))
        reached = math.fsum(P[i][j] * W[j, z] for j in range(n))
        if reached == 0:
            lifted[i, max(range(n), key=lambda j: mu[j] * W[j, z])] += wanted
            continue
        for j in range(n):
            lifted[i, j] += wanted * P[i][j] * W[j, z] / reached
    return lifted


# Laws of paths


def laws_of_stationary_paths(P, mu, W, length):
    """The laws of so many successive letters of Y, and of the aggregated chain that starts with nu."""
    k = W.shape[1]
    seen = law_of_words(P, mu, W, length)
    model = law_of_words(aggregated_matrix(P, mu, W), group_law(mu, W), np.eye(k), length)
    return seen, model


def total_variation_of_paths(one, other):
    """Half of the sum of |p(w) - q(w)| over all words w of either law."""
    return math.fsum(abs(one.get(word, 0.0) - other.get(word, 0.0)) for word in {*one, *other}) / 2


def divergence_of_paths(one, other):
    """The sum of p(w) log2 [p(w) / q(w)] over all words w with p(w) > 0."""
    return math.fsum(p * (math.log2(p) - math.log2(other[word])) for word, p in one.items() if p > 0)


def recursive_sign_bisection(P, mu, k, beta):
    """Deng, Mehta and Meyn: cut each group at the sign of its second eigenvector, keep the cheapest of these cuts.

    The whole cost is evaluated for the cut of each group. Only for chains without ties, whose groups stay connected.
    """
    labels = [0] * len(mu)
    for new in range(1, k):
        trials = []
        for group in range(new):
            members = [x for x in range(len(mu)) if labels[x] == group]
            if len(members) < 2:
                continue
            vector = second_eigenvector(P, mu, members)
            negative = [x for x, entry in zip(members, vector, strict=True) if entry < 0]
            trials.append([new if x in negative else labels[x] for x in range(len(mu))])
        labels = min(trials, key=lambda trial: cost_of_labels(P, mu, trial, new + 1, beta))
    return labels


def transition_matrix_of_rates(rates, lag, digits=80):
    """exp(lag G) with 80 decimal digits: Taylor series of lag G / 2^s, then s squarings. The diagonal is ignored."""
    n = len(rates)

    def product(A, B):
        return [[sum(A[x][z] * B[z][y] for z in range(n)) for y in range(n)] for x in range(n)]

    with localcontext() as context:
        context.prec = digits
        G = [[Decimal(float(rates[x][y])) if x != y else Decimal(0) for y in range(n)] for x in range(n)]
        for x in range(n):
            G[x][x] = -sum(G[x])
        largest, squarings = max(-G[x][x] for x in range(n)) * Decimal(float(lag)), 0
        while largest > 1:
            largest, squarings = largest / 2, squarings + 1
        G = [[entry * Decimal(float(lag)) / 2**squarings for entry in row] for row in G]
        total = term = [[Decimal(int(x == y)) for y in range(n)] for x in range(n)]
        for j in range(1, digits):
            term = [[entry / j for entry in row] for row in product(term, G)]
            total = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, term, strict=True)]
        for _ in range(squarings):
            total = product(total, total)
        return np.array([[float(entry) for entry in row] for row in total])


def critical_temperature_of_group(P, mu, members):
    """Square of the second singular value of diag(p)^(1/2) P diag(q)^(-1/2): p the law of the members, q that of X2."""
    p = mu[members] / math.fsum(mu[members])
    rows = P[members]
    return np.linalg.svd(np.sqrt(p)[:, None] * rows / np.sqrt(p @ rows), compute_uv=False)[1] ** 2


def reach_within(P, target, steps):
    """Probability from each state that one of the states of ``target`` is reached within a number of steps."""
    n = len(P)
    value = [1.0 if x in target else 0.0 for x in range(n)]
    for _ in range(steps):
        value = [1.0 if x in target else sum(float(P[x][y]) * value[y] for y in range(n)) for x in range(n)]
    return np.array(value)


def reach_ever(P, target):
    """Probability from each state that one of the states of ``target`` is ever reached."""
    P = np.asarray(P, dtype=float)
    n, able = len(P), reachable(P)
    unknown = [x for x in range(n) if x not in target and any(able[x][y] for y in target)]
    value = np.array([1.0 if x in target else 0.0 for x in range(n)])
    if unknown:
        inner = P[np.ix_(unknown, unknown)]
        gain = P[np.ix_(unknown, sorted(target))].sum(axis=1)
        value[unknown] = np.clip(np.linalg.solve(np.eye(len(unknown)) - inner, gain), 0.0, 1.0)
    return value


def reach_bounds_within(P, labels, k, target, steps):
    """Smallest and largest probability of reaching groups within a number of steps, if any member may stand for it."""
    flows = np.asarray(P, dtype=float) @ indicator(labels, k)
    lower = upper = np.array([1.0 if y in target else 0.0 for y in range(k)])
    for _ in range(steps):
        members = [[x for x in range(len(P)) if labels[x] == y] for y in range(k)]
        lower, upper = (
            np.array(
                [1.0 if y in target else best(float(flows[x] @ value) for x in members[y]) for y in range(k)]
            )
            for best, value in ((min, lower), (max, upper))
        )
    return lower, upper


def reach_bounds_ever(P, labels, k, target):
    """The same without a limit of steps, by trying every choice of one member per group."""
    flows = np.asarray(P, dtype=float) @ indicator(labels, k)
    members = [[x for x in range(len(P)) if labels[x] == y] for y in range(k)]
    values = [reach_ever(flows[list(choice)], target) for choice in itertools.product(*members)]
    return np.min(values, axis=0), np.max(values, axis=0)


# Dynamics


def _solve_exactly(rows, rhs):
    """Gauss-Jordan elimination on fractions; ``rhs`` has a list per row."""
    n = len(rows)
    table = [list(row) + list(right) for row, right in zip(rows, rhs, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if table[i][k] != 0)
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for i in range(n):
            if i != k and table[i][k] != 0:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[n:] for row in table]


def _leaving(P, x):
    """Probability to leave x, as the exact sum of the transitions to other states."""
    return sum(Fraction(float(P[x][y])) for y in range(len(P)) if y != x)


def first_passage_times_to(P, target):
    """Expected steps from each state to the set, by elimination on exact fractions; the diagonal of P is not used."""
    free = [x for x in range(len(P)) if x not in target]
    rows = [[_leaving(P, x) if x == y else -Fraction(float(P[x][y])) for y in free] for x in free]
    solved = _solve_exactly(rows, [[Fraction(1)] for _ in free])
    times = np.zeros(len(P))
    for x, (time,) in zip(free, solved, strict=True):
        times[x] = float(time)
    return times


def hitting_probabilities(P, targets):
    """Per state and target set the probability to get there first; every state must get to one of them."""
    union = [x for target in targets for x in target]
    free = [x for x in range(len(P)) if x not in union]
    rows = [[_leaving(P, x) if x == y else -Fraction(float(P[x][y])) for y in free] for x in free]
    rhs = [[sum(Fraction(float(P[x][y])) for y in target) for target in targets] for x in free]
    found = np.zeros((len(P), len(targets)))
    for x, row in zip(free, _solve_exactly(rows, rhs), strict=True):
        found[x] = [float(p) for p in row]
    for column, target in enumerate(targets):
        found[list(target), column] = 1.0
    return found


def long_time_matrix(P, mu, W):
    """Hummer-Szabo projection: I + 1 nu^T - (W^T diag(mu) Z W)^-1 diag(nu) with Z = (I - P + 1 mu^T)^-1."""
    nu = mu @ W
    Z = np.linalg.inv(np.eye(len(P)) - P + np.outer(np.ones(len(P)), mu))
    inner = W.T @ np.diag(mu) @ Z @ W
    return np.eye(len(nu)) + np.outer(np.ones(len(nu)), nu) - np.linalg.inv(inner) @ np.diag(nu)


def weighted_passage_times(times, mu, W):
    """Mean first-passage times between states drawn from groups, less those within the target group."""
    nu = mu @ W
    k = len(nu)
    mean = np.zeros((k, k))
    for y in range(k):
        for z in range(k):
            for i in range(len(mu)):
                for j in range(len(mu)):
                    mean[y, z] += mu[i] * W[i, y] / nu[y] * mu[j] * W[j, z] / nu[z] * times[i, j]
    return mean - mean.diagonal()
