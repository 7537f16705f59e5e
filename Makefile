# The two commands a newcomer needs are `make lab` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
SITE ?= inventories/lab/site.yml

RUN := ci/run

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: lint
lint: ## every static check
	@ci/lint
