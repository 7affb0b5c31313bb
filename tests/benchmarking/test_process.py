"""A process that answers, fails, crashes or takes too long."""

import pytest
from benchmarks import process
from benchmarks.process import Outcome, ask

PROGRAMS = {
    "answers": "import sys\nopen(sys.argv[2], 'w').write('{\"twice\": %d}' % (2 * int(sys.argv[1])))",
    "fails": "raise ValueError('no such chain')",
    "leaves": "import sys\nsys.exit(3)",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "spins": "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.01)\nwhile True:\n    pass",
}


@pytest.mark.parametrize(
    ("module", "outcome"),
    [
        ("answers", Outcome({"twice": 14})),
        ("fails", Outcome(error="ValueError: no such chain")),
        ("leaves", Outcome(error="left with code 3")),
        ("crashes", Outcome(error="killed by SIGSEGV")),
        ("spins", Outcome(timed_out=True)),
    ],
)
def test_whatever_a_process_does_is_an_outcome(monkeypatch, tmp_path, module, outcome):
    (tmp_path / f"{module}.py").write_text(PROGRAMS[module])
    monkeypatch.setattr(process, "ROOT", tmp_path)
    answer = tmp_path / "answer.json"
    answer.write_text('{"of": "an earlier process"}')
    assert ask(module, (7,), answer, timeout=100.0) == outcome
