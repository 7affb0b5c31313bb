"""The table of selections, on few small chains."""

from benchmarks import selection

from klump.sources.random_chains import block_chain, random_chain


def test_outcomes_are_counted(monkeypatch, capsys):
    def planted():
        for right in (3, 4):
            yield selection.Question(block_chain((8, 9, 10), 0.9, 0.2)[0], frozenset({right}))

    def none():
        yield selection.Question(random_chain(20))

    families = (
        selection.Family("one", planted),
        selection.Family("two", planted),
        selection.Family("structureless", none),
    )
    recovered, refused = selection.run(families, n_states=range(2, 6), betas=[0.5], n_restarts=1)
    assert (recovered.measured, refused.measured) == (0.5, 1.0)
    assert not recovered.kept
    assert refused.kept
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| one | 2 | 1 | 0 | 1 | ")
    assert lines[4].startswith("| structureless | 1 | 0 | 1 | 0 | ")


def test_the_promised_chains_are_forty():
    chains = [question for alpha in selection.ALPHAS for question in selection.block_chains(alpha)]
    assert len(chains) == 40
    assert {question.chain.n_states for question in chains} <= set(range(98, 103))
