# The two commands a newcomer needs are `make lab` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export SITE ?= inventories/cloud/site.yml

.PHONY: help bootstrap lab lab-metal lab-destroy lab-shell plan precheck check apply verify status drift supply unit test test-long lint docs bench

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

bootstrap:
	@ci/bootstrap > /dev/null

lab: bootstrap ## from the site file to a running cloud on this machine
	@ci/lab up

lab-metal: bootstrap ## two emulated dark machines, one of them discovered, installed by Ironic; they join a cluster
	@ci/bootstrap machine > /dev/null
	@SITE=inventories/lab-metal/site.yml ci/lab metal
	@SITE=inventories/lab-metal/site.yml ci/lab up

lab-destroy: bootstrap ## remove the lab and restore the settings of this machine
	@ci/lab destroy

lab-shell: bootstrap ## a shell for the lab: its names, kubectl, helm, openstack
	@ci/lab shell

# Verbs for any site: each prints the command and runs it. ARGS are further arguments, such as --limit or -e.
play = @echo 'ansible-playbook -i "$(SITE)" $(1) $(ARGS)' >&2; ci/run ansible-playbook -i "$(SITE)" $(1) $(ARGS)

plan: bootstrap ## plan a site: findings, plan.json and the topology picture; SITE=path/site.yml names it, here and below
	$(call play,groundup.cloud.plan)

precheck: bootstrap ## what can be known before the first change: plan, hosts, what would be built
	$(call play,groundup.cloud.precheck)

check: bootstrap ## what a run would change; changes nothing
	$(call play,groundup.cloud.site --check --diff)

apply: bootstrap ## make the site what its file says
	@[ "$(origin SITE)" != file ] || { echo 'name the site: make apply SITE=path/site.yml (the lab: make lab)'; exit 1; }
	$(call play,groundup.cloud.site)

verify: bootstrap ## whether every layer works; changes nothing
	$(call play,groundup.cloud.site --tags verify)

status: bootstrap ## the state of a site in one table, in seconds; changes nothing
	$(call play,groundup.cloud.status)

drift: bootstrap ## what differs from the site file on a site that runs; changes nothing
	$(call play,groundup.cloud.drift)

supply: bootstrap ## build every artifact that the cache lacks
	@ci/lab supply

unit: bootstrap ## the tests for the inner loop: no root, no built artifact, two minutes
	@ci/run pytest -q -n 3 tests/unit

test: bootstrap ## every test tier that fits this machine
	@env -u SITE ci/run python ci/tiers.py

test-long: bootstrap ## the tests that take too long for CI: ten kills, emulated machines, three control hosts, storage, benchmarks, conformance
	@env -u SITE ci/run python ci/tiers.py --long

lint: bootstrap ## every static check
	@ci/lint

docs: bootstrap ## build the documentation
	@ci/docs

bench: bootstrap ## the benchmarks that need no cloud, each with its target (the others: tiers cloud and cost)
	@for bench in cluster monitoring plan_inventory preflight supply unchanged; do ci/run python ci/bench/$$bench.py; done
