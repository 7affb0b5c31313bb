# Everything a newcomer needs: `make demo` and `make test` set up their own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2

.PHONY: demo test check lint types tests quick nojit coverage bench reproduce clean

demo: $(STAMP)
	$(BIN)/klump aggregate src/klump/data/letter_bigrams.csv --normalize -k 4 --beta 0.8

test: tests

check: lint types tests nojit

# pyproject.toml names the dependencies: when it changes, or the environment's Python is gone, install again.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "klump needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)
	$(BIN)/pytest -n $(JOBS) --dist worksteal

quick: $(STAMP)
	$(BIN)/pytest -n $(JOBS) -m 'not slow'

# The kernels as plain Python, so that what they do is checked without the compiler too.
nojit: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(JOBS) tests/search/test_kernels.py tests/search/test_merging.py tests/search/test_exact.py tests/search/test_exhaustive.py tests/chain/test_stationary.py tests/distributed/test_steps.py -m 'not slow'

coverage: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m 'not slow'
	$(BIN)/coverage report

# All of it takes hours; `make bench BENCH="peers --quick"` takes minutes.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks $(BENCH)

reproduce: $(STAMP)
	$(BIN)/klump reproduce -o reproduction

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
