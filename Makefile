# Two commands for a newcomer: `make demo` and `make test`. Each does all of its set-up.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Tests start many processes and workers; none of them shall compile the package and rewrite assertions anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check test-slow lint types format docs bench claims clean

help:        ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 20

# pip would compile what it installs on one core.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -c constraints.txt -e ".[dev]"
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	touch $@

demo: $(STAMP) ## install everything and run the demo
	$(BIN)/tailwright demo

# Types are checked beside the tests, as they keep one core busy alone for a minute.
test: $(STAMP) lint ## install everything, lint, check types, run the tests
	$(MAKE) --no-print-directory --jobs 2 types tests

# Numba keeps compiled kernels beside their source. In a new checkout both workers would compile the same ones at
# the same moment, so their tests come first, a file of them to a worker; the suite runs these once more.
KERNELS := tailwright/kernels/__pycache__/.compiled
$(KERNELS): $(STAMP) $(wildcard tailwright/kernels/*.py)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/kernels || true
	mkdir -p $(@D)
	touch $@

.PHONY: tests
tests: $(KERNELS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

check: $(STAMP) lint types ## lint, types and the quick tests of what changed, in about a minute
	$(BIN)/python tools/changed_tests.py

test-slow: $(STAMP) ## the tests that run for minutes, and all properties with more examples
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or hypothesis" --hypothesis-profile thorough

lint: $(STAMP) ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## mypy
	$(BIN)/mypy

format: $(STAMP) ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) ## the documentation as a site, in site/; a broken link is an error
	$(BIN)/mkdocs build

bench: $(STAMP) ## every benchmark, JSON on stdout
	@for f in benchmarks/bench_*.py; do $(BIN)/python $$f || exit 1; done

STUDIES ?= label-texts text-augmenters long-texts mixups
claims: $(STAMP) ## judge the papers' claims by finished studies: STUDIES="DIR..."
	$(BIN)/python -m tools.claims $(STUDIES)

clean: ## remove the environment and the caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
