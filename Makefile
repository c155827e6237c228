# Every target works from a bare clone: .venv is made first and again whenever the dependencies change.
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help install repro test pytest lint browser bench clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP)  ## make .venv and install the project into it

# Compiled code is built by the install, where there is a compiler.
$(STAMP): pyproject.toml setup.py constraints.txt $(shell find fsgc -name '*.cpp' -o -name '*.h')
	@command -v $(PYTHON) >/dev/null || { echo "make: '$(PYTHON)' not found; name a Python 3.11 or 3.12 with: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[pipeline,dev]'
	@touch $@

repro: $(STAMP)  ## run the default experiment of params.yaml end to end
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dvc repro
	@$(BIN)/fsgc results

test: $(STAMP) browser  ## lint, types and tests; the longest only with pytest --full-reliability
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

# Two files of tests at a time, each on one core; the tests of a file share what they have computed. In the order of
# their names: by the number of their tests, the few that take minutes would all come last.
pytest: $(STAMP)  ## the tests alone
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

# A Chromium that CHROMIUM names or the path has is used; root on Debian installs one; elsewhere its tests are skipped.
browser:  ## make sure there is a Chromium for the tests of the report page
	@if [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; then :; \
	else echo "make: no Chromium, the tests of the report page in a browser will be skipped; install chromium or set CHROMIUM to its path"; fi

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  ## speed against plain implementations, as ratios; on a GPU with DEVICE=cuda
	DEVICE="$(DEVICE)" $(BIN)/python -m benchmarks

clean:  ## remove .venv, caches and everything computed (downloads included)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .dvc/cache .dvc/tmp *.egg-info
	find data -mindepth 1 -maxdepth 1 ! -name README.md ! -name .gitignore -exec rm -rf {} +
