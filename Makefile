# Two commands matter to a newcomer: `make demo` and `make test`. Both set up .venv by themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements

.DEFAULT_GOAL := help
.PHONY: help demo serve test live check bench lock clean

help:  ## Show what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(VENV)/.local: $(LOCKS)/local.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKS)/local.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(LOCKS)/dev.txt $(VENV)/.local
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKS)/dev.txt
	@touch $@

demo: $(VENV)/.local  ## A real small model, bare and through rightcall (fetches about 0.5 GB once)
	$(BIN)/rightcall demo

test: $(VENV)/.dev  ## The tests
	$(BIN)/python -m pytest -q -n 2

live: $(VENV)/.dev  ## The tests that need a real model (fetches the small ones once)
	RIGHTCALL_LIVE=1 $(BIN)/python -m pytest -q -m live

check: $(VENV)/.dev  ## Lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## Benchmarks, as ratios against named peers in one run
	$(BIN)/python benchmarks/run.py

lock: $(VENV)/.dev  ## Renew the locked versions
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml --group build --extra local -o $(LOCKS)/local.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml --group build --extra local --extra search --extra eval --group test --group check --group bench -o $(LOCKS)/dev.txt

clean:  ## Remove what was set up
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
