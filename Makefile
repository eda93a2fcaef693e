# Everything runs in a virtual environment of its own, made on first use and renewed when pyproject.toml changes.
#
#   make demo    train the first example and print its accuracy
#   make test    the whole test suite
#   make quick   the subset that takes less than three minutes
#   make lint    style, types, layers
#   make docs    the documentation, in build/docs
#   make bench   compare with a reference interpreter (see benchmarks/README.md)
#
# PYTHON chooses the interpreter the environment is made from, PYTEST_ARGS adds arguments to pytest.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
METADATA := pyproject.toml src/jax/version.py

.PHONY: demo test quick lint docs bench clean

demo: $(VENV)/.installed-examples
	$(BIN)/python examples/digits_cnn.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

quick: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) -m quick $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every warning is an error. The variable silences a notice about other products.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file docs/mkdocs.yml
	@echo "build/docs/index.html"

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# The version is checked first: an old interpreter would fail later with a less helpful message.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --version

$(VENV)/.installed-%: $(METADATA) | $(BIN)/python
	$(PIP) install --quiet --editable '.[$*]'
	@touch $@

clean:
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
