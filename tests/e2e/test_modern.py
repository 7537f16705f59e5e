"""What clients of these days ask for works, and an image that was deleted under its instance leaves nothing behind.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.failover import root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def tried(plan: Plan, outside: Callable[..., Any]) -> Any:
    """What a tenant saw."""
    if not plan.ceph or not plan.ovn.subnet_pool:
        pytest.skip("a Ceph and a default subnet pool are needed: see inventories/cloud/site.yml")
    return outside("modern.py", str(guest_image(None, progress=lambda _: None)))


def test_an_instance_has_an_automatic_network_and_a_config_drive(tried: Any) -> None:
    assert tried["drive"]["uuid"] == tried["server"]
    assert "1 packets received" in tried["gateway"]


def test_an_image_is_gone_while_its_instance_goes_on(tried: Any) -> None:
    assert tried["images"] == []
    assert tried["after"].strip() == "65536"


def test_ports_have_limits_trunks_subports_and_floating_ips_forwarded_ports(tried: Any) -> None:
    assert (tried["limited"], tried["carried"], tried["forwarded"]) == (True, [101], 2222)


def test_a_limit_of_bandwidth_slows_what_leaves_the_instance_until_it_is_gone(tried: Any) -> None:
    seconds, slow = tried["seconds"], tried["slow"]
    assert seconds["before"] < slow
    assert seconds["limited"] >= slow
    assert seconds["after"] < slow


def test_a_forwarded_port_leads_to_the_instance(tried: Any) -> None:
    assert tried["through"].partition(".")[0] == tried["name"]


def test_an_instance_has_a_tpm_that_a_hard_reboot_unlocks_again(plan: Plan, outside: Callable[..., Any]) -> None:
    if "barbican" not in plan.openstack.services:
        pytest.skip("Barbican keeps what unlocks a TPM: see tests/e2e/objects/site.yml")
    seen = outside("trusted.py", str(guest_image(None, progress=lambda _: None)))
    assert seen["versions"] == ["2", "2"]


def test_the_trash_is_emptied_once_the_last_clone_is_gone(
    plan: Plan, tried: Any, connect: Callable[[str], Any]
) -> None:
    assert plan.ceph
    host, pool = connect(plan.ceph.monitors[0].name), plan.ceph.pools["images"].name

    def trash() -> list[str]:
        return [one["name"] for one in json.loads(root(host, f"rbd trash ls --format json {pool}"))]

    api = Api(kubeconfig_path(plan.site))
    place = {"namespace": plan.openstack.namespace}
    template = api.get(resource_path("batch/v1", "cronjobs", name="glance-trash", **place))["spec"]["jobTemplate"]
    path = resource_path("batch/v1", "jobs", name="glance-trash-now", **place)
    body = {**template, "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "glance-trash-now"}}
    api.request("POST", path.rpartition("/")[0], body=body)
    try:
        until(lambda: api.get(path)["status"].get("succeeded") == 1, seconds=300)
    finally:
        api.request("DELETE", f"{path}?propagationPolicy=Background")
    assert tried["image"] not in trash()
