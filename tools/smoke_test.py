"""Check an installed klump, from an environment that has nothing else: ``python -I tools/smoke_test.py``.

Imports the package, looks whether it is the installed one, and runs its commands on the letters that it brings along.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path


def run(*arguments: str) -> str:
    """Run the klump command of this environment and return what it prints."""
    klump = Path(sys.executable).with_name("klump")
    return subprocess.run([str(klump), *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Fail with an error, or say what works."""
    import klump

    place = Path(klump.__file__).resolve()
    assert place.is_relative_to(Path(sys.prefix).resolve()), f"{place} is not in the environment {sys.prefix}"
    assert (place.parent / "py.typed").is_file(), "py.typed is missing: types would not be seen"
    missing = [name for name in klump.__all__ if not hasattr(klump, name)]
    assert not missing, f"names that cannot be imported: {missing}"

    version = run("--version")
    assert klump.__version__ in version, version
    letters = str(files("klump") / "data" / "letter_bigrams.csv")
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder, "letters.npz"))
        options = ("--normalize", "-k", "4", "--beta", "0.8", "--method", "sequential", "--json", "-o", saved)
        found = json.loads(run("aggregate", letters, *options))
        answer = klump.load(saved)
    assert isinstance(answer, klump.Aggregation)
    assert len(found["groups"]) == 4
    assert abs(answer.cost - found["cost"]) < 1e-12
    sys.stdout.write(f"klump {klump.__version__} works: 76 letters in 4 groups, {answer.cost:.4f} bits\n")


if __name__ == "__main__":
    main()
