# Everything sets itself up on a machine that has Python 3.11 or 3.12, make and a C compiler.
PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

.PHONY: help install browser demo test test-fast check format bench clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## create .venv, install the pinned set, compile kernels

$(STAMP): pyproject.toml requirements/constraints.txt
	$(PYTHON) requirements/check_python.py
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt -r requirements/first.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt -e '.[all,dev]'
	$(PY) -m gemel.services.render.warm_up
	touch $@

browser:  ## what the browser test needs beside chromium and node (else it is skipped)
	npm install --prefix tests/browser --no-package-lock --no-audit --no-fund

demo: install  ## the whole loop on a small capture; ends with runs/demo/report.html
	$(VENV)/bin/gemel demo --out runs/demo

test: install  ## all tests (minutes, two cores, no GPU, no network)
	$(PY) -m pytest -n 2 --dist loadfile

test-fast: install  ## the tests that take seconds
	$(PY) -m pytest -n 2 --dist loadfile -m "not slow"

check: install  ## lint, types, import contracts, budgets, paths named in the docs
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache
	$(PY) tests/repository_rules.py

format: install  ## let ruff rewrite what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:  ## remove what `make install` made
	rm -rf $(VENV)
