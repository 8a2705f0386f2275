# Everything runs in .venv, which is made from pyproject.toml when it is missing or older than it.
# Needed beforehand: make and Python 3.11, 3.12 or 3.13 (`make PYTHON=python3.12 test` picks one).

WANTED := import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	if $$p -c '$(WANTED)' >/dev/null 2>&1; then echo $$p; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from-pyproject
JOBS ?= 2
CASES ?= 5000
MINUTES ?= 30
SCHEDULES ?= 20000
LAYOUTS ?= 2000
KERNELS ?= 1000

.PHONY: help venv demo test test-long test-arguments test-interop test-browser fuzz fuzz-schedules fuzz-layouts fuzz-native fuzz-proofs fuzz-parse bench bench-kernels lint format types pyright coverage examples stubs docs ci clean
.DEFAULT_GOAL := help

help:  ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo "tirscript needs Python 3.11, 3.12 or 3.13 with the venv module"; exit 1; fi
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@$(BIN)/python -m compileall -q src/tirscript/*  # where bytecode is not written, every process would compile all it loads
	@touch $@

venv: $(STAMP)  ## make the environment

demo: $(STAMP)  ## run every example: parsed, round trip, verified, interpreted, native, timed
	@$(BIN)/tirscript demo

test: $(STAMP)  ## run the tests, but for those that take long
	$(BIN)/python -m pytest -n $(JOBS) -q -m "not long"

test-long: $(STAMP)  ## run the tests that take long: random programs, whole models, every size
	$(BIN)/python -m pytest -n $(JOBS) -q -m long

test-arguments: $(STAMP)  ## run those of `make test` with the arguments of every function checked by typeguard, which takes more than twice as long
	TIRSCRIPT_CHECK=arguments $(BIN)/python -m pytest -n $(JOBS) -q -m "not long" --ignore tests/property --ignore tests/interop

test-interop: $(STAMP)  ## read and print TVM's dialect against apache-tvm itself, in an environment of its own
	TIRSCRIPT_TVM_PYTHON=$$($(BIN)/python -c 'import sys; sys.path.insert(0, "benchmarks"); import tvm_process; print(tvm_process.python() or "")') \
	sh -c 'test -n "$$TIRSCRIPT_TVM_PYTHON" && exec $(BIN)/python -m pytest -q -p no:xdist tests/interop'

test-browser: $(STAMP)  ## click through the viewer in Chromium (chromium and chromedriver are on the PATH)
	@$(BIN)/python -m pip install --quiet --editable '.[test,browser]'
	TIRSCRIPT_BROWSER=required $(BIN)/python -m pytest -q -p no:xdist tests/cli/test_viewer_browser.py tests/cli/test_viewer_graph_browser.py tests/cli/test_viewer_layouts.py

fuzz: $(STAMP)  ## run the property tests over CASES random programs (5000)
	HYPOTHESIS_PROFILE=fuzz TIRSCRIPT_CHECK=0 TIRSCRIPT_CASES=$(CASES) $(BIN)/python -m pytest -n $(JOBS) -q tests/property

fuzz-schedules: $(STAMP)  ## SCHEDULES random sequences of schedule primitives (20000)
	HYPOTHESIS_PROFILE=fuzz TIRSCRIPT_CHECK=0 TIRSCRIPT_CASES=$(SCHEDULES) $(BIN)/python -m pytest -p no:xdist -q tests/property/test_schedules.py

fuzz-layouts: $(STAMP)  ## LAYOUTS random graphs with random layouts: moved and not, interpreted and native (2000)
	HYPOTHESIS_PROFILE=fuzz TIRSCRIPT_CHECK=0 TIRSCRIPT_CASES=$(LAYOUTS) $(BIN)/python -m pytest -p no:xdist -q tests/property/test_layouts.py tests/property/test_layouts_symbolic.py

fuzz-native: $(STAMP)  ## KERNELS random kernels with the default schedule, native against interpreted, in each way of calling (1000)
	HYPOTHESIS_PROFILE=fuzz TIRSCRIPT_CHECK=0 TIRSCRIPT_CASES=$(KERNELS) $(BIN)/python -m pytest -n $(JOBS) -q \
		tests/property/test_native_kernels.py tests/property/test_default_schedule.py tests/property/test_random_histograms.py \
		tests/property/test_random_nests.py

fuzz-proofs: $(STAMP)  ## 20,000 programs with facts, and 16,000 others, through the passes that prove
	HYPOTHESIS_PROFILE=fuzz TIRSCRIPT_CHECK=0 TIRSCRIPT_CASES=1350 $(BIN)/python -m pytest -n $(JOBS) -q \
		tests/passes/test_facts_property.py tests/passes/test_rewrites_property.py

fuzz-parse: $(STAMP)  ## fuzz tirscript.parse for MINUTES (30), led by coverage
	@$(BIN)/python -m pip install --quiet --editable '.[test,fuzz]'
	@PYTHONPATH=src $(BIN)/python tests/fuzz/parse_fuzzer.py --minutes $(MINUTES)

bench: $(STAMP)  ## measure: parse, print, equality and kernels, beside apache-tvm and numba where they install
	@$(BIN)/python -m pip install --quiet --editable '.[bench]' || echo "numba cannot be installed here; its columns stay empty"
	@$(BIN)/python benchmarks

bench-kernels: $(STAMP)  ## 26 kernels beside numpy, numba, torch, onnxruntime and apache-tvm (BENCH_OPTIONS=--quick tries it)
	@$(BIN)/python benchmarks kernels --json benchmarks/results/kernels.json --picture benchmarks/results/kernels.svg $(BENCH_OPTIONS)

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)  ## let ruff format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)  ## mypy
	$(BIN)/mypy

pyright: $(STAMP)  ## pyright over the stubs, printed programs and the examples
	@$(BIN)/python -m pip install --quiet --editable '.[types]'
	$(BIN)/python -m pytest -q -p no:xdist tests/script/test_type_checkers.py

coverage: $(STAMP)  ## lines of ir, script and printer that the tests reach; fails under 95 %
	$(BIN)/python -m pytest -n $(JOBS) -q --cov --cov-report=
	$(BIN)/coverage report
	$(BIN)/coverage report --include='ir/*,script/*,printer/*' --fail-under=95 --format=total

examples: $(STAMP)  ## run each example by itself
	@for file in examples/[a-z]*.py examples/graph/[a-z]*.py $$(command -v cc >/dev/null && ls examples/c/[a-z]*.py); do $(BIN)/python $$file || exit 1; done

stubs: $(STAMP)  ## write what type checkers know of T and I again
	$(BIN)/python .ci/stubs.py

docs: $(STAMP)  ## write again what programs make of docs/
	$(BIN)/python docs/make_errors.py
	$(BIN)/python docs/make_codes.py
	$(BIN)/python docs/make_language.py
	$(BIN)/python docs/make_schedules.py
	$(BIN)/python docs/make_operators.py
	$(BIN)/python docs/make_targets.py

ci:  ## all that .ci/run checks
	.ci/run

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build dist benchmarks/.venv-tvm benchmarks/.venv-peers benchmarks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info
