"""A whole cloud of OpenStack-Helm's own charts, once `ci/lab up` has made it: releases, and what hypervisors run by.

Needs tests/e2e/real/site.yml; test_cloud.py asks the same cloud what it asks one of built-in charts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor.services import AGENT, NOVA
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

pytestmark = pytest.mark.lab


def secret(plan: Plan, state: Path, name: str) -> Any:
    """Return the Secret ``name`` of the releases."""
    return Api(state / "kubeconfig").get(resource_path("v1", "secrets", namespace=plan.openstack.namespace, name=name))


def test_every_release_is_of_the_real_charts(plan: Plan, state: Path) -> None:
    path = resource_path("batch/v1", "jobs", namespace=plan.openstack.namespace)
    jobs = {item["metadata"]["name"] for item in Api(state / "kubeconfig").get(path)["items"]}
    accounts = set(plan.openstack.services) - {"keystone", "horizon", "ceph-rgw"} | {"ceph"}
    assert {f"{name}-ks-user" for name in accounts} <= jobs
    assert not [name for name in jobs if "-identity-" in name], "made by built-in charts"


def test_hypervisors_run_by_what_the_real_charts_rendered(
    plan: Plan, state: Path, connect: Callable[[str], Any]
) -> None:
    nova = configuration.secret_file(
        secret(plan, state, configuration.NOVA_SECRET), configuration.NOVA_FILES, where="nova"
    ) + configuration.every_file(secret(plan, state, configuration.NOVA_ACCOUNTS))
    agent = configuration.secret_file(
        secret(plan, state, configuration.NEUTRON_SECRET), configuration.AGENT_FILES, where="neutron"
    )
    wanted = {NOVA[0]: configuration.for_hosts(nova), AGENT[0]: configuration.for_hosts(agent)}
    for name in (name for name, host in plan.hosts.items() if "hypervisor" in host.roles):
        host = connect(name)
        for path, text in wanted.items():
            assert host.run(f"sudo cat {path}").stdout == text, f"{name}: {path}"
