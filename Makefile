# Everything a developer runs. `make help` lists it; every target sets up what it needs by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo recording bench test e2e kind node check lint types unit crds manifests reference lock audit cluster kubelet cluster-down clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "trainop needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@echo "==> setting up $(VENV) from requirements-dev.lock (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/pip install --disable-pip-version-check --no-deps --no-build-isolation --quiet --editable .
	@touch $@

demo: $(READY) ## train with TensorFlow and MXNet as processes here; one worker is killed on the way
	@$(BIN)/python -m tools.demo

recording: $(READY) ## the same, and docs/demo.svg with what is to be seen
	@$(BIN)/python -m tools.demo --record docs/demo.svg

bench: $(READY) ## what the operator costs beside one that only sends the creates; under 8 minutes
	@$(BIN)/python -m bench $(BENCH)

test: lint types ## lint, types and every test, on a real control plane
	@$(BIN)/python -m tests.cluster fetch
	@$(BIN)/python -m tests.takeover
	@$(BIN)/python -m tests.chart
	@$(BIN)/python -m tests.image
	@$(BIN)/python -m tests.examples
	@$(BIN)/pytest -n 4 --dist loadscope

e2e: $(READY) ## the whole product on a real node of its own, which needs root; with progress, under 15 minutes
	@$(BIN)/python -m tests.e2e

kind: $(READY) ## the same on a kind cluster, which needs Docker
	@deploy/kind/run $(BIN)/python

check: lint types unit ## the inner loop: lint, types, unit tests; no cluster, under a minute

lint: $(READY)
	@echo "==> ruff"
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(READY)
	@echo "==> mypy"
	@$(BIN)/mypy

unit: $(READY)
	@echo "==> unit tests"
	@$(BIN)/pytest -q -n 2 --dist loadscope -m "not cluster and not image and not training and not thorough"

crds: $(READY) ## print crds/ anew from the models
	@$(BIN)/trainop crds --output-dir crds

manifests: $(READY) ## write the chart's CRDs and deploy/manifests anew from crds/ and the chart
	@$(BIN)/python -m tools.manifests

reference: $(READY) ## write docs/reference anew from the models
	@$(BIN)/python -m tools.reference

audit: $(READY) ## ask for known weaknesses of what requirements.lock names; needs a package index that knows them
	@$(BIN)/uv tool run pip-audit --disable-pip --require-hashes --strict -r requirements.lock

cluster: $(READY) ## a real control plane until Ctrl-C; prints the KUBECONFIG to export
	@$(BIN)/python -m tests.cluster up

node: $(READY) ## a real node until Ctrl-C; prints the KUBECONFIG to export
	@$(BIN)/python -m tests.e2e up

kubelet: $(READY) ## play the node for it: pods run, each job's leading member ends well
	@$(BIN)/python -m tests.kubelet

cluster-down: $(READY) ## end every control plane that `make cluster` started
	@$(BIN)/python -m tests.cluster down

lock: $(READY) ## pin the newest versions the ranges in pyproject.toml allow
	@$(BIN)/uv pip compile pyproject.toml $(LOCK) --extra fast --output-file requirements.lock
	@$(BIN)/uv pip compile pyproject.toml $(LOCK) --extra fast --group dev --output-file requirements-dev.lock
	@$(BIN)/uv pip compile --group build $(LOCK) --output-file requirements-build.lock
	@cd examples/tensorflow && ../../$(BIN)/uv pip compile requirements.in $(LOCK) --output-file requirements.lock
	@cd examples/mxnet && ../../$(BIN)/uv pip compile requirements.in $(LOCK) --output-file requirements.lock
	@cd examples/pytorch && ../../$(BIN)/uv pip compile requirements.in $(LOCK) --output-file requirements.lock
	@cd examples/xgboost && ../../$(BIN)/uv pip compile requirements.in $(LOCK) --output-file requirements.lock
LOCK := --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet

clean: ## remove what the targets made in this checkout
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
