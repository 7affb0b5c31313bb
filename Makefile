# Everything a newcomer needs: `make demo` and `make test` set up their own environment.
PYTHON ?= python3
VENV ?= .venv
# Where an environment keeps its programs.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
STAMP := $(VENV)/.installed
JOBS ?= 2
PIP := -m pip install --quiet --disable-pip-version-check

# The environment with the oldest dependencies, and the oldest Python.
OLDEST_PYTHON ?= python3.11
OLDEST_VENV ?= .venv-oldest
OLDEST_BIN := $(OLDEST_VENV)/$(PROGRAMS)
OLDEST_TESTS ?= tests src

# The environment in which a wheel is tried.
SMOKE_VENV := build/smoke

.PHONY: demo test check check-minimum lint types tests long quick nojit coverage docs fuzz interruptions dist bench reproduce clean

demo: $(STAMP)
	$(BIN)/klump aggregate src/klump/data/letter_bigrams.csv --normalize -k 4 --beta 0.8

test: tests

check: lint types tests

# pyproject.toml names the dependencies: when it changes, or the environment's Python is gone, install again.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "klump needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python $(PIP) --editable '.[test]'
	@touch $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m 'not long'
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		echo "No Chromium was found: the tests of reports in a browser were SKIPPED. tools/install_system_packages.sh installs it."

# What takes longer than `make check` should: the kernels without the compiler, and tests of a minute or more each.
long: $(STAMP) nojit
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m long

quick: $(STAMP)
	$(BIN)/pytest -n $(JOBS) -m 'not slow and not long'

# The kernels as plain Python, so that what they do is checked without the compiler too.
nojit: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(JOBS) tests/search/test_kernels.py tests/search/test_merging.py tests/search/test_exact.py tests/search/test_exhaustive.py tests/search/test_units.py tests/chain/test_stationary.py tests/distributed/test_steps.py -m 'not slow and not long'

coverage: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m 'not slow and not long'
	$(BIN)/coverage report

# The site, in docs/_build/html: every example of the gallery runs, and every warning is an error.
docs: $(VENV)/.installed-docs
	rm -rf docs/_build docs/generated
	$(BIN)/sphinx-build -b html --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(VENV)/.installed-docs: $(STAMP)
	$(BIN)/python $(PIP) --editable '.[docs]'
	@touch $@

# Mutants of files of every format, each read in a process of its own; `make fuzz FUZZ="--seed 1 mtx"` for others.
fuzz: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m fuzzing --jobs $(JOBS) --time-limit 3600 $(FUZZ)

# Every command with signals at many moments, as a table; `make interruptions INTERRUPTIONS="--moments 3 info"` for a part.
interruptions: $(STAMP)
	$(BIN)/python tools/interruptions.py $(INTERRUPTIONS)

# The quick tests with the oldest versions that pyproject.toml admits; `OLDEST_TESTS=tests/search` for a part of them.
check-minimum: $(OLDEST_VENV)/.installed
	$(OLDEST_BIN)/pytest -n $(JOBS) -m 'not slow and not long' $(OLDEST_TESTS)

$(OLDEST_VENV)/.installed: pyproject.toml tools/oldest_versions.py
	rm -rf $(OLDEST_VENV) && $(OLDEST_PYTHON) -m venv $(OLDEST_VENV)
	$(OLDEST_BIN)/python tools/oldest_versions.py > $(OLDEST_VENV)/constraints.txt
	$(OLDEST_BIN)/python $(PIP) --constraint $(OLDEST_VENV)/constraints.txt --editable '.[test]'
	@touch $@

# An sdist, a wheel made from it, and a try of the wheel in an environment that has nothing else.
dist: $(STAMP)
	$(BIN)/python $(PIP) --editable '.[dev]'
	rm -rf dist $(SMOKE_VENV)
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(SMOKE_VENV)
	$(SMOKE_VENV)/$(PROGRAMS)/python $(PIP) dist/*.whl
	$(SMOKE_VENV)/$(PROGRAMS)/python -I tools/smoke_test.py

# All of it takes hours; `make bench BENCH="peers --quick"` takes minutes.
bench: $(STAMP)
	$(BIN)/python $(PIP) --editable '.[bench]'
	$(BIN)/python -m benchmarks $(BENCH)

reproduce: $(STAMP)
	$(BIN)/klump reproduce -o reproduction

clean:
	rm -rf $(VENV) $(OLDEST_VENV) build dist docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
