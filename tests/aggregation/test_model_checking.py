"""Storm checks the quotients that klump writes: the same values on exact ones, values within the bounds on others."""

import numpy as np
import pytest

import klump
import models
from klump import Aggregation, MarkovChain

stormpy = pytest.importorskip("stormpy", reason="Storm is not installed: pip install 'klump[oracle]'")
environments = pytest.importorskip("stormpy.environments")


def die_for_six():
    """The die with the labels of one outcome only: otherwise no two states are alike."""
    die = models.knuth_yao_die()
    return die._replace(labels={label: die.labels[label] for label in ("done", "six")})


MODELS = {
    "die": die_for_six,
    "retransmission": models.retransmission,
    "long retransmission": lambda: models.retransmission(packets=16, tries=4, loss=0.2),
    "crowds": models.crowds,
    "larger crowds": lambda: models.crowds(members=7, spies=2, runs=3),
}
SUFFIXES = [".storm.tra", ".drn", ".umb"]
TIMES = [1, 5, 50, None]


def build(model, **options):
    return MarkovChain(
        model.matrix,
        model.names,
        labels={label: [model.names[i] for i in states] for label, states in model.labels.items()},
        initial=model.names[model.initial],
        rewards=model.rewards,
        **options,
    )


def label_classes(chain):
    """Number of the set of labels of each state."""
    sets = [
        frozenset(label for label, members in chain.labels.items() if i in members)
        for i in range(chain.n_states)
    ]
    number = {labels: position for position, labels in enumerate(dict.fromkeys(sets))}
    return np.array([number[labels] for labels in sets])


def random_partition(chain, k, rng):
    """Partition into k groups that splits the classes of labels at random, and merges none."""
    labels = label_classes(chain)
    while labels.max() + 1 < k:
        sizes = np.bincount(labels)
        group = rng.choice(np.flatnonzero(sizes > 1))
        members = rng.permutation(np.flatnonzero(labels == group))
        labels[members[: rng.integers(1, len(members))]] = labels.max() + 1
    return labels


def storm_reads(path):
    if path.name.endswith(".tra"):
        return stormpy.build_model_from_explicit(path, path.with_suffix(".lab"))
    if path.suffix == ".umb":
        return stormpy.build_model_from_umb(str(path))
    return stormpy.build_model_from_drn(str(path))


def check(model, label, steps=None):
    """Storm's value of P=? [F label] in the initial state."""
    environment = stormpy.Environment()
    environment.solver().set_linear_equation_solver_type(environments.EquationSolverType.ELIMINATION)
    formula = stormpy.parse_properties(f'P=? [F{"" if steps is None else f"<={steps}"} "{label}"]')[0]
    result = stormpy.model_checking(model, formula, environment=environment)
    (start,) = model.initial_states
    return result.get_value(start)


def check_reward(model, name, label):
    formula = stormpy.parse_properties(f'R{{"{name}"}}=? [F "{label}"]')[0]
    environment = stormpy.Environment()
    environment.solver().set_linear_equation_solver_type(environments.EquationSolverType.ELIMINATION)
    (start,) = model.initial_states
    return stormpy.model_checking(model, formula, environment=environment).get_value(start)


def write(chain, folder, suffix=".drn"):
    path = folder / f"model{suffix}"
    klump.write_chain(chain, path)
    return storm_reads(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", MODELS)
def test_exact_quotients_have_the_values_of_the_model(name, suffix, tmp_path):
    chain = build(MODELS[name]())
    answer = klump.aggregate(chain, method="exact", respect_labels=True)
    assert answer.n_states < chain.n_states
    same = klump.aggregate(chain, method="exact", initial=label_classes(chain))
    assert np.array_equal(answer.labels, same.labels)
    original = write(chain, tmp_path, suffix)
    quotient = write(answer.quotient, tmp_path, suffix)
    assert quotient.nr_states == answer.n_states
    for label in chain.labels:
        for steps in TIMES:
            assert check(quotient, label, steps) == pytest.approx(check(original, label, steps), abs=1e-9)


def test_expected_rewards_of_exact_quotients(tmp_path):
    chain = build(die_for_six())
    answer = klump.aggregate(chain, method="exact", initial=label_classes(chain))
    for model in (write(chain, tmp_path), write(answer.quotient, tmp_path)):
        assert check_reward(model, "coin_flips", "done") == pytest.approx(11 / 3, abs=1e-9)


@pytest.mark.parametrize("restart", [None, 0.02])
@pytest.mark.parametrize("name", MODELS)
def test_the_values_of_the_model_are_within_the_bounds(name, restart, tmp_path, rng):
    """And so are those of approximate quotients, which klump writes and Storm reads."""
    chain = build(MODELS[name](), restart=restart)
    original = write(build(MODELS[name]()), tmp_path)
    n, classes = chain.n_states, label_classes(chain).max() + 1
    for k in sorted({classes, (classes + n) // 3, (classes + n) // 2, n - 2, n}):
        for _ in range(3):
            answer = Aggregation.from_labels(chain, random_partition(chain, k, rng))
            for label in list(chain.labels)[-2:]:
                for steps in TIMES:
                    found = answer.reachability(label, steps)
                    exact = check(original, label, steps)
                    assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
                    if k == n:
                        assert found.upper - found.lower < 1e-10
        if restart is not None:
            quotient = write(answer.quotient, tmp_path)
            for steps in TIMES:
                found = answer.reachability(label, steps)
                value = check(quotient, label, steps)
                assert found.lower - 1e-12 <= value <= found.upper + 1e-12
                assert found.estimate == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_groups_that_respect_labels_have_bounds_on_every_label(name, tmp_path):
    """The groups of the search, with the labels of the model apart."""
    chain = build(MODELS[name](), restart=0.02)
    original = write(build(MODELS[name]()), tmp_path)
    n, classes = chain.n_states, label_classes(chain).max() + 1
    for k in sorted({classes, (classes + n) // 2}):
        answer = klump.aggregate(chain, int(k), respect_labels=True, effort="quick")
        quotient = write(answer.quotient, tmp_path)
        assert list(answer.quotient.labels) == list(chain.labels)
        for label in chain.labels:
            for steps in TIMES:
                found = answer.reachability(label, steps)
                assert found.lower - 1e-12 <= check(original, label, steps) <= found.upper + 1e-12
                assert found.estimate == pytest.approx(check(quotient, label, steps), abs=1e-10)


def machines(count=3, fails=0.3, repairs=2.0):
    """Identical machines that fail and are repaired one by one, until all are down: rates."""

    def steps(state):
        if not any(state):
            return []
        rate = [fails if up else repairs / state.count(0) for up in state]
        return [((*state[:i], 1 - state[i], *state[i + 1 :]), rate[i]) for i in range(count)]

    return models.explore(
        (1,) * count,
        steps,
        str,
        {"down": lambda state: not any(state), "half": lambda state: sum(state) == 1},
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_quotients_of_models_in_continuous_time(suffix, tmp_path):
    """Time-bounded probabilities: both are written with rates."""
    model = machines()
    chain = MarkovChain.from_generator(model.matrix, labels=model.labels, initial=0)
    answer = klump.aggregate(chain, method="exact", initial=label_classes(chain))
    assert (chain.n_states, answer.n_states) == (8, 4)
    for name, which in (("original", chain), ("quotient", answer.quotient)):
        klump.write_chain(which, tmp_path / f"{name}{suffix}", ctmc=True)
    original, quotient = (storm_reads(tmp_path / f"{name}{suffix}") for name in ("original", "quotient"))
    assert quotient.model_type.name == "CTMC"
    for label in chain.labels:
        for time in (0.5, 4.0, None):
            # Storm computes time-bounded probabilities to within 1e-6.
            expected = check(original, label, time)
            assert check(quotient, label, time) == pytest.approx(expected, abs=1e-9 if time is None else 2e-6)
    assert 0.001 < check(quotient, "down", 4.0) < 0.5
    assert answer.reachability("down").estimate == pytest.approx(check(original, "down"), abs=1e-9)


def test_a_searched_partition_with_a_state_for_the_restart(tmp_path):
    """The model has no initial state, so that the restart goes through a state, which the quotient does not have."""
    model = models.crowds(members=9, spies=1, runs=6)
    chain = MarkovChain(
        model.matrix,
        model.names,
        labels={label: [model.names[i] for i in states] for label, states in model.labels.items()},
        restart=0.05,
    )
    assert chain.states[-1] == "(restart)"
    labels = np.append(label_classes(chain)[:-1], label_classes(chain).max() + 1)
    answer = Aggregation.from_labels(chain, labels)
    assert answer.quotient.n_states == answer.n_states - 1
    assert write(answer.quotient, tmp_path).nr_states == answer.n_states - 1
