# Everything runs through .venv, which `make setup` makes; the other targets call it first (instant when done).
SHELL := /bin/sh
.DEFAULT_GOAL := help
# SPARK=3.5 or SPARK=4.1: another version of Spark, in an environment of its own
SPARK ?= 4.0
ENV := .venv$(if $(filter-out 4.0,$(SPARK)),-$(SPARK))
BIN := $(ENV)/bin
PORT ?= 3000
ARGS ?=
# Tests run in three processes, each with a Spark session of its own: they wait most of the time. PARALLEL= runs them in one.
PARALLEL ?= -n 3 --dist worksteal
# What a new class owes, and the house rules: seconds, without Spark.
OWED := tests/transforms tests/effects tests/authoring tests/test_project.py tests/test_problem_codes.py tests/test_benchmarks.py
# What an edit of a page owes: the tests that read pages.
PAGES = $(filter-out $(OWED) $(addsuffix /%,$(OWED)),$(shell grep -l -r -E '"docs"|docs/' tests --include='test_*.py'))

# Spark's Python workers must be this environment's; the JVM needs no other interface than the local one.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/$(ENV)
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(BIN)/python
export SPARK_LOCAL_IP := 127.0.0.1
export DAGSTER_DISABLE_TELEMETRY := 1
export DAGSTER_DG_CLI_DISABLE_TELEMETRY := 1
unexport PYTHONHOME PYTHONPATH SPARK_HOME

KAFKA ?=
CDC ?=
POLICY ?=
# Runs, schedules and logs of the example; `make demo` and `make dev` share them, and with KAFKA=1 others.
DEMO := $(ENV:.venv%=.demo%)
INSTANCE := $(DEMO)/dagster_home$(if $(KAFKA),-kafka)
ifneq ($(DEMO),.demo)
export SMT_DEMO_FOLDER := $(CURDIR)/$(DEMO)
endif
ifneq ($(KAFKA),)
DEMO_KAFKA := --kafka
dev: kafka
dev: export SMT_DEMO_KAFKA = $(shell cat .kafka/servers)
endif
demo dev check: export DAGSTER_HOME := $(CURDIR)/$(INSTANCE)
# dg looks at every component there is, and warns of one that dagster-spark brings along
dev check: export PYTHONWARNINGS := ignore:Class `SparkDeclarativePipelineScaffolder`

.PHONY: help setup demo dev kafka kafka-stop test test-versions test-long test-ui test-fast check bench docs docs-site dist clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

setup: ## Check Java, make .venv and install the pinned packages (SPARK=3.5 or 4.1: .venv-3.5, .venv-4.1; so for all targets)
	@SPARK=$(SPARK) sh .ci/setup.sh >&2

$(INSTANCE)/dagster.yaml:
	@mkdir -p $(INSTANCE)
	@cp definitions/demo/dagster.yaml $@

demo: setup $(INSTANCE)/dagster.yaml ## Run the example: topics in, tables and a report out (KAFKA=1: from a Kafka broker; CDC=1: changes of a database; POLICY=1: a new personal field)
	@$(BIN)/python -m definitions.demo $(DEMO_KAFKA) $(if $(CDC),--cdc) $(if $(POLICY),--policy) $(ARGS)

dev: setup $(INSTANCE)/dagster.yaml ## Dagster's web interface on 127.0.0.1, port 3000 (PORT=3001 for another)
	@$(BIN)/dg dev -h 127.0.0.1 -p $(PORT) $(ARGS)

kafka: setup ## Start a Kafka broker on a free port of 127.0.0.1 (`make demo KAFKA=1` and `make dev KAFKA=1` use it)
	@$(BIN)/python -m dagster_smt.testing

kafka-stop: setup ## Stop that broker
	@$(BIN)/python -m dagster_smt.testing --stop

test: setup ## Run all tests
	@$(BIN)/python -m pytest -q $(PARALLEL) $(ARGS)

test-versions: setup ## Run a core of the tests on the oldest and the newest version of Spark
	@sh .ci/versions.sh

test-long: setup ## Run the tests that take minutes: clusters, kills, two writers at every step
	@$(BIN)/python -m pytest -q -m long $(ARGS)

test-ui: setup ## Drive Dagster's web interface with a browser (Chromium, or CHROMIUM=/path/of/one)
	@$(BIN)/python -m pip install -q -c constraints.txt playwright
	@$(BIN)/python -m pytest -q -m ui tests/ui $(ARGS)

test-fast: setup ## Run the tests that need no Spark
	@$(BIN)/python -m pytest -q $(PARALLEL) -m "not spark and not ui and not long" $(ARGS)

check: setup $(INSTANCE)/dagster.yaml ## Lint, format, types, import rules, definitions, generated pages, the site, what a class or a page owes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/dg check defs
	$(BIN)/python -m dagster_smt.tools.reference --check
	@$(MAKE) -s docs-site
	$(if $(OWED),$(BIN)/python -m pytest -q -n 2 -m "not spark and not ui and not long" $(OWED) $(PAGES))

bench: setup ## Measure against bare Spark (ARGS="--records 100000 --only lazy"; CONNECT=1: beside Kafka Connect, with targets; KAFKA=1: from a broker)
	@$(BIN)/python -m benchmarks $(DEMO_KAFKA) $(if $(CONNECT),--connect) $(ARGS)

docs: setup ## Write the generated reference pages again
	@$(BIN)/python -m dagster_smt.tools.reference

docs-site: setup ## Build the documentation as a site in build/site; a broken link or a missing docstring is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q

dist: setup ## Build wheel and sdist in dist, install each into an empty environment, and run the documented lines there
	@$(BIN)/python .ci/dist.py

clean: ## Remove everything that is not source, .venv included
	rm -rf .venv .venv-* .demo .demo-* .kafka .bench .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf build dist spark-warehouse metastore_db derby.log setup*.log *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
