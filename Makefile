# The project's verbs. `make` alone lists them; each sets up what it needs.

PY := .venv/bin/python
PYTEST := $(PY) -m pytest
# Two workers; tests/conftest.py keeps all tests of hosts in one of them.
PARALLEL := -n 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-small servers fuzz scale faults check test-all format format-check lint types imports sizes docs bench bench-against goldens doctor clean java

help: ## list the targets
	@echo "spaseq: complex event processing over streams of RDF graphs. The targets:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

setup: ## create .venv and install the project with pinned dependencies (quick when done)
	@sh scripts/setup.sh

demo: java setup ## play the bundled example and show its matches
	@.venv/bin/spaseq demo

test: java setup ## run the whole test suite, then specs and properties with small settings
	@$(PYTEST) $(PARALLEL)
	@$(MAKE) --no-print-directory test-small

# Every size at which behaviour switches is tiny and kernels check their indexes, so a few events cross all of them.
SMALL := tests/unit/test_specs.py tests/unit/test_interval_specs.py tests/properties/test_intervals.py tests/unit/operators/test_windows.py tests/properties/test_windows.py tests/properties/test_engine.py tests/properties/test_spark_state.py tests/hosts/test_batch_specs.py tests/hosts/test_random.py tests/hosts/test_schedule.py
test-small: java setup ## run specs, properties and random queries with small settings, on both hosts
	@SPASEQ_SETTINGS=small HYPOTHESIS_PROFILE=small $(PYTEST) -q $(PARALLEL) $(SMALL)

SERVERS := $(or $(SPASEQ_CACHE_DIR),$(HOME)/.cache/spaseq)/tests/servers
servers: ## fetch Kafka and HDFS for the tests that talk to real ones (needs Maven; quick when done)
	@for each in hadoop kafka kafka-connector; do \
	  [ -e "$(SERVERS)/$$each/.complete" ] && continue; \
	  mvn -q -f tests/servers/$$each.xml dependency:copy-dependencies -DoutputDirectory="$(SERVERS)/$$each" && touch "$(SERVERS)/$$each/.complete" || exit 1; \
	done

SECONDS := 600
fuzz: java setup ## run the properties with fresh seeds: make fuzz SECONDS=600
	@$(PY) scripts/fuzz.py $(SECONDS)

scale: java setup ## run the scale job, for hours: make scale SCALE="--events 100000 --kills-local 5"
	@PYTHONPATH=tests $(PY) tests/scale/run.py --json scale-report.json $(SCALE)

faults: java setup ## run the fault job, for an hour or two: make faults FAULTS="--runs 100 --seed 2"
	@PYTHONPATH=tests $(PY) tests/faults/run.py --json faults-report.json $(FAULTS)

check: setup format-check lint types imports sizes ## the gate before a commit: format, lint, types, imports, sizes, unit and spec tests
	@$(PYTEST) -q $(PARALLEL) -m "not slow and not spark" --ignore=tests/properties --ignore=tests/hosts

test-all: java setup docs ## everything, with the CI budget for properties
	@CI=true $(PYTEST) $(PARALLEL)

format: setup ## rewrite the code in the project's format
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format .

format-check: setup ## say whether the code is in the project's format
	@$(PY) -m ruff format --check .

lint: setup ## find likely mistakes
	@$(PY) -m ruff check .

types: setup ## check types, strictly
	@$(PY) -m mypy

imports: setup ## check that imports point down
	@.venv/bin/lint-imports --no-logo

sizes: setup ## check that no module is too long
	@$(PY) scripts/sizes.py

docs: setup ## rewrite the generated pages, check links, run the examples in the documentation
	@$(PYTEST) -q --update-goldens tests/unit/test_error_catalogue.py tests/unit/test_operator_page.py tests/unit/test_windows_page.py tests/unit/test_python_page.py tests/unit/test_settings.py
	@$(PYTEST) -q tests/unit/test_docs.py
	@git diff --stat -- docs

bench: setup ## run all benchmarks in the quick profile and write the report
	@.venv/bin/spaseq-bench run
	@.venv/bin/spaseq-bench report

bench-against: setup ## run benchmarks in turn with another commit: COMMIT=… [NAMES="limit v-shape fig15"]
	@.venv/bin/spaseq-bench run $(or $(NAMES),limit v-shape fig15) --against $(COMMIT) --out against.json

goldens: setup ## rewrite the golden files; review the diff as behaviour
	@$(PYTEST) -q $(PARALLEL) --update-goldens tests
	@git diff --stat -- tests

doctor: ## say what this machine has and lacks
	@sh scripts/doctor.sh

clean: ## remove .venv, caches and build output
	rm -rf .venv build dist src/*.egg-info benchmarks/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Spark is the only thing that needs Java, so ask for it only where Spark is used, and before a long set-up.
java:
	@if [ -d src/spaseq/spark ]; then sh scripts/doctor.sh java >/dev/null; fi
