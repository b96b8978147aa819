# ojs-aws: every command of the project. `make` alone explains them.
#
# Needs Python 3.11 or newer; Node 18 or newer only for what uses the AWS CDK. Everything else is
# installed into the checkout: .venv, .venv-emulator, .venv-audit, .venv-dist and node_modules. Each is installed again only
# when its lock file changed, so that a second run starts at once.

.DEFAULT_GOAL := help
.SILENT:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

VENV := .venv
EMULATOR_VENV := .venv-emulator
AUDIT_VENV := .venv-audit
DIST_VENV := .venv-dist
BIN := $(VENV)/bin
SETUP = python="$$(sh scripts/find-python)" && "$$python" scripts/setup_venv.py

# Named so that the end-to-end tests and the deploy script find what `make` installed.
export MINISTACK ?= $(CURDIR)/$(EMULATOR_VENV)/bin/ministack
export CDK ?= $(CURDIR)/node_modules/.bin/cdk
# The CDK's notices about the Node in use repeat in every process; the README says what it needs.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 18,19,20,21,22,23
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
# An endpoint left over in the shell would send the tests and the local server somewhere else.
unexport AWS_ENDPOINT_URL
# Where Python may not keep what it has compiled, each worker and each server that a test starts
# compiles the libraries again: minutes of a run.
unexport PYTHONDONTWRITEBYTECODE

CODE := $(foreach d,ojs_aws functions infra tests scripts benchmarks examples docs,$(if $(wildcard $d/*.py $d/*/*.py),$d))
TEST_ARGS ?= -n auto --maxprocesses 4 --dist worksteal
E2E_ARGS ?=
# These deploy to emulators of their own, so they may run beside the others.
E2E_APART := $(addprefix tests/e2e/test_,adopted_queues.py deploy_command.py installed.py verify.py)
BROWSER_ARGS ?=
WEB := ojs_aws/dashboard/web
RUN_ARGS ?=

# ------------------------------------------------------------------------------ the two commands

.PHONY: run
run: $(VENV)/.ready-run ## Start a complete backend on http://127.0.0.1:8080 (RUN_ARGS="--port 9000")
	exec $(BIN)/ojs-aws local $(RUN_ARGS)

.PHONY: test
test: setup ## Run the tests, but those of other targets: templates, thorough ones, deployments (TEST_ARGS="-k retry" to choose)
	echo "test: running pytest; left out: templates ('make test-infra'), thorough tests ('make test-slow'), deployments ('make e2e')"
	$(BIN)/python -m pytest -m "not e2e and not slow and not thorough and not browser" --ignore=tests/infra $(TEST_ARGS)

# -------------------------------------------------------------------------------------- building

.PHONY: setup
setup: $(VENV)/.ready-dev ## Install everything into .venv (the others do this by themselves)

.PHONY: fmt
fmt: setup ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix --quiet $(CODE) || true
	$(BIN)/ruff format $(CODE)

.PHONY: lint
lint: setup ## Check style and format (ruff), and which module may import which (import-linter)
	echo "lint: ruff"
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	echo "lint: import contracts"
	PYTHONPATH=. $(BIN)/lint-imports --no-logo

.PHONY: types
types: setup ## Check the types (mypy --strict)
	echo "types: mypy --strict"
	$(BIN)/mypy $(CODE)

.PHONY: pyright
pyright: node setup ## Check the public types of typed jobs with a second type checker (pyright, strict)
	echo "pyright: tests/typing"
	node_modules/.bin/pyright -p tests/typing --pythonpath $(BIN)/python

.PHONY: test-infra
test-infra: setup ## Run the tests of the constructs and their templates, which 'make test' leaves out (Node 18 or newer)
	command -v node >/dev/null 2>&1 || { echo "test-infra: this needs Node 18 or newer, which the AWS CDK runs on" >&2; exit 1; }
	echo "test-infra: running pytest; each synthesis takes most of a second"
	$(BIN)/python -m pytest -m "not e2e and not slow and not browser" $(TEST_ARGS) tests/infra

.PHONY: test-slow
test-slow: setup ## Run the tests that 'make test' leaves out: every fault, processes and servers, searches (TEST_ARGS="-k fuzz" to choose)
	echo "test-slow: running pytest; this takes minutes"
	$(BIN)/python -m pytest -m "(slow or thorough) and not e2e and not browser" $(TEST_ARGS)

.PHONY: e2e
e2e: node setup emulator $(VENV)/.ready-browser ## Deploy with the real CDK to an emulator and test what was deployed
	echo "e2e: deploying to the emulator with the real CDK; this takes minutes"
	$(BIN)/python -m pytest -m e2e $(E2E_ARGS)

.PHONY: e2e-shared
e2e-shared: ## Of these, those that share one deployment
	$(MAKE) e2e E2E_ARGS="$(addprefix --ignore=,$(E2E_APART)) $(E2E_ARGS)"

.PHONY: e2e-apart
e2e-apart: ## Of these, those that deploy to emulators of their own
	$(MAKE) e2e E2E_ARGS="$(E2E_APART) $(E2E_ARGS)"

.PHONY: e2e-installed
e2e-installed: setup emulator ## Of these, only the upgrade of a stack of version 0.1.0 with live jobs, from the wheel alone (OJS_UPGRADE_JOBS=1000)
	$(BIN)/python -m pytest -m installed tests/e2e

.PHONY: browser
browser: setup $(VENV)/.ready-browser ## Drive the dashboard in a real browser (Chromium; CHROMIUM=/path names another one)
	if command -v npm >/dev/null 2>&1; then $(MAKE) $(WEB)/node_modules/.ready; \
		else echo "browser: no Node here, so the built files are not compared with their sources"; fi
	$(BIN)/python -m pytest -m browser $(BROWSER_ARGS) tests/dashboard

.PHONY: screenshots
screenshots: setup $(VENV)/.ready-browser ## Take the screenshots of README and docs again (Chromium)
	$(BIN)/python -m tests.dashboard.screenshots
	echo "screenshots: docs/images; commit what changed there"

.PHONY: clients
clients: node setup emulator ## Drive the official clients, whose check-outs are named by OJS_PYTHON_SDK, OJS_JS_SDK ... (CLIENT_ARGS="--write")
	$(BIN)/python -m tests.clients $(CLIENT_ARGS)

.PHONY: transcript
transcript: setup ## Record again what the API answers to every operation (FEATURES="jobs cron": only these)
	$(BIN)/python -m tests.transcript --write $(FEATURES)

.PHONY: measure
measure: setup ## Print how large and how plain the code is: modules, names, hops, circles of imports
	$(BIN)/python scripts/measure.py

.PHONY: check
check: ## Do what CI does: test, test-infra, test-slow, lint, types, e2e and more
	bash .ci/run

.PHONY: dashboard
dashboard: ## Build the dashboard's page again from ojs_aws/dashboard/web (Node 18 or newer)
	$(MAKE) $(WEB)/node_modules/.ready
	cd $(WEB) && npm run --silent types && npm run --silent build
	echo "dashboard: $(WEB:web=static); commit what changed there"

.PHONY: docs
docs: setup ## Build the documentation's site into build/docs; every warning is an error
	JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1 $(BIN)/python -m sphinx -W --keep-going -q -j auto docs build/docs
	echo "docs: open build/docs/index.html"

.PHONY: bench
bench: setup ## Run every benchmark, an hour or two (QUICK=1: each once, in minutes); results in build/benchmarks
	$(BIN)/python -m benchmarks

.PHONY: simulate
simulate: setup ## Look for broken promises with faults everywhere (QUICK=1: minutes; SEED=7 STEPS=1000000)
	$(BIN)/python -m tests.simulation --seed $(or $(SEED),1) --steps $(or $(STEPS),$(if $(QUICK),300000,3000000))
	$(BIN)/python -m tests.simulation.mutations
	$(BIN)/python -m tests.faults --sample $(if $(QUICK),6,30)

.PHONY: mutate
mutate: setup ## Remove or change each guard and decision once; a test has to notice (QUICK=1: a hundred; BASE=main: in changed files; ALSO=50: so many others)
	$(BIN)/python -m tests.mutation $(if $(QUICK),--sample 100) $(if $(BASE),--base $(BASE)) $(if $(ALSO),--also $(ALSO)) \
		$(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES))

# ------------------------------------------------------------------------------------- deploying

.PHONY: deploy-local
deploy-local: node setup emulator ## Deploy to an emulator, without Docker or an account (ONCE=1: run a job, tear down; AUTH=1: with API keys; QUEUES=default,email)
	ONCE="$(ONCE)" AUTH="$(AUTH)" QUEUES="$(QUEUES)" $(BIN)/python -m infra.deploy_local

.PHONY: emulator
emulator: $(EMULATOR_VENV)/.ready ## Install the AWS emulator into .venv-emulator

.PHONY: dynamodb-local
dynamodb-local: .dynamodb-local/.ready ## Install Amazon's DynamoDB Local into .dynamodb-local (Java 17 and Maven)

.PHONY: test-dynamodb-local
test-dynamodb-local: setup emulator dynamodb-local ## Run stores, functions and conformance cases over Amazon's DynamoDB Local
	$(BIN)/python -m pytest --dynamodb-local -m "not e2e and not emulator" $(TEST_ARGS) \
		$(or $(TESTS),tests/contract tests/functions tests/conformance)

.PHONY: test-moto
test-moto: setup ## Run stores and functions over moto, in place of the AWS in memory that `make test` uses
	$(BIN)/python -m pytest --moto -m "not e2e and not emulator" $(TEST_ARGS) $(or $(TESTS),tests/contract tests/functions)

.PHONY: node
node: ## Install the CDK's command line and pyright into node_modules
	command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || \
		{ echo "This needs Node 18 or newer with npm, which the AWS CDK runs on; install it and try again." >&2; exit 1; }
	$(MAKE) node_modules/.ready

# --------------------------------------------------------------------------------- housekeeping

UV_COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-annotate --no-header $(if $(UPGRADE),--upgrade)

UV_GROUP = $(subst pip compile pyproject.toml,pip compile --group pyproject.toml:$(1),$(UV_COMPILE))

.PHONY: lock
lock: setup ## Write the lock files again from pyproject.toml (UPGRADE=1: to the newest versions)
	echo "lock: requirements.lock"
	$(UV_COMPILE) --all-extras --group setup -o requirements.lock >/dev/null
	echo "lock: requirements-run.lock and both requirements-lambda*.lock, the same versions"
	$(UV_COMPILE) --extra local --extra testing --group setup -c requirements.lock -o requirements-run.lock >/dev/null
	$(call UV_GROUP,lambda) -c requirements.lock -o requirements-lambda.lock >/dev/null
	$(call UV_GROUP,lambda-tracing) -c requirements.lock -o requirements-lambda-tracing.lock >/dev/null
	echo "lock: requirements-emulator.lock"
	$(call UV_GROUP,emulator) -o requirements-emulator.lock >/dev/null
	echo "lock: requirements-audit.lock"
	$(call UV_GROUP,audit) -o requirements-audit.lock >/dev/null
	echo "lock: requirements-dist.lock"
	$(call UV_GROUP,dist) -o requirements-dist.lock >/dev/null
	echo "lock: requirements-browser.lock"
	$(call UV_GROUP,browser) -c requirements.lock -o requirements-browser.lock >/dev/null
	if command -v npm >/dev/null 2>&1; then \
		echo "lock: package-lock.json, here and in $(WEB)"; npm install --package-lock-only --silent; \
		npm install --prefix $(WEB) --package-lock-only --silent; \
	else echo "lock: no npm here, package-lock.json left as it is"; fi

.PHONY: audit
audit: $(AUDIT_VENV)/.ready ## Ask whether a locked package has a known vulnerability
	$(AUDIT_VENV)/bin/python scripts/audit.py --tool $(AUDIT_VENV)/bin/pip-audit \
		requirements-lambda.lock requirements-lambda-tracing.lock requirements.lock

.PHONY: sbom
sbom: $(AUDIT_VENV)/.ready ## Write what the Lambda functions carry to build/sbom.json (CycloneDX)
	mkdir -p build
	PYTHONWARNINGS=ignore::UserWarning $(AUDIT_VENV)/bin/cyclonedx-py requirements --output-reproducible --of JSON -o build/sbom.json \
		--pyproject pyproject.toml --mc-type application requirements-lambda.lock
	echo "sbom: build/sbom.json"

.PHONY: dist
dist: setup $(DIST_VENV)/.ready ## Build wheel and sdist into dist/, check them with twine, and use them in an empty environment
	rm -rf dist build/dist-source
	mkdir -p build/dist-source
	$(BIN)/python -m hatchling build -t sdist -d dist
	tar -xzf dist/*.tar.gz -C build/dist-source
	cd build/dist-source/* && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist
	$(DIST_VENV)/bin/twine check --strict dist/*
	$(BIN)/python scripts/check_dist.py dist

.PHONY: template
template: setup ## Write the CloudFormation template of `ojs-aws deploy` again, from the constructs
	$(BIN)/python -m infra.template

.PHONY: release
release: dist sbom ## Make what a release consists of in dist/ (VERSION=0.2.0; TAG=1: tag the commit)
	$(BIN)/python -m scripts.release $(VERSION) $(if $(TAG),--tag)

.PHONY: clean
clean: ## Remove what builds and tests leave behind; .venv and node_modules stay
	rm -rf build dist cdk.out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv*' -not -path './node_modules/*' -prune -exec rm -rf {} +

.PHONY: help
help:
	echo "ojs-aws: an Open Job Spec backend made of AWS primitives."
	echo
	echo "Start here:  make run    then, in another terminal, the curl line that it prints"
	echo "             make test   to see that everything works on this machine"
	echo
	sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

# ----------------------------------------------------------------- what gets installed, and when

$(VENV)/.ready-run: requirements-run.lock
	$(SETUP) requirements-run.lock --venv $(VENV) --editable --stamp .ready-run

$(VENV)/.ready-dev: requirements.lock requirements-run.lock
	$(SETUP) requirements.lock --venv $(VENV) --editable --stamp .ready-run --stamp .ready-dev

$(EMULATOR_VENV)/.ready: requirements-emulator.lock
	$(SETUP) requirements-emulator.lock --venv $(EMULATOR_VENV) --stamp .ready

$(AUDIT_VENV)/.ready: requirements-audit.lock
	$(SETUP) requirements-audit.lock --venv $(AUDIT_VENV) --stamp .ready

$(DIST_VENV)/.ready: requirements-dist.lock
	$(SETUP) requirements-dist.lock --venv $(DIST_VENV) --stamp .ready

$(VENV)/.ready-browser: requirements-browser.lock $(VENV)/.ready-dev
	$(SETUP) requirements-browser.lock --venv $(VENV) --stamp .ready-browser

$(WEB)/node_modules/.ready: $(WEB)/package-lock.json
	echo "setup: installing what builds the dashboard ..."
	cd $(WEB) && npm ci --silent
	touch $@

.dynamodb-local/.ready: scripts/dynamodb_local/pom.xml
	command -v java >/dev/null 2>&1 && command -v mvn >/dev/null 2>&1 || \
		{ echo "This needs Java 17 or newer with Maven; install them and try again." >&2; exit 1; }
	echo "setup: copying DynamoDB Local into .dynamodb-local ..."
	mvn -q -B -f scripts/dynamodb_local/pom.xml dependency:copy-dependencies -DoutputDirectory="$(CURDIR)/.dynamodb-local/lib"
	touch $@

node_modules/.ready: package-lock.json
	echo "setup: installing the AWS CDK's command line and pyright ..."
	npm ci --silent
	touch $@
