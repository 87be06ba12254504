# make demo   own environment, install, run the main job on the CPU and print a table
# make test   own environment, install with the test extra, lint, types, tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint install install-test test-reference clean

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	touch $@

install: $(VENV)/.made
	$(BIN)/python -m pip install -q .

install-test: $(VENV)/.made
	$(BIN)/python -m pip install -q ".[test]"
	$(BIN)/python -m pip install -q --no-deps liger-kernel==0.8.5 conch-triton-kernels triton-kernels

demo: install-test
	cd examples && ../$(BIN)/python train.py

lint: install-test
	$(BIN)/ruff check .

test: lint
	cd tests && ../$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider .

clean:
	rm -rf build dist $(VENV) .venv-*
