# `make check` is what CI runs. PYTHON chooses the interpreter with the test extra installed.
PYTHON ?= python

.PHONY: help check format lint types test bench gold

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

check: lint types test ## format, lint, types and tests, as CI runs them

format: ## write the code in one style
	$(PYTHON) -m ruff format attnx tests
	$(PYTHON) -m ruff check --fix attnx tests

lint: ## check style
	$(PYTHON) -m ruff format --check attnx tests
	$(PYTHON) -m ruff check attnx tests

types: ## check types, strictly
	$(PYTHON) -m mypy

test: ## run the tests
	$(PYTHON) -m pytest -n 2

bench: ## run the benchmarks by hand; they print ratios
	$(PYTHON) tests/benchmarks/startup.py
	$(PYTHON) tests/benchmarks/report.py
	$(PYTHON) tests/benchmarks/heatmaps.py
	$(PYTHON) tests/benchmarks/corpus.py
	$(PYTHON) tests/benchmarks/cluster.py
