"""A stack with an instance, a volume and a floating IP, from its template to its end.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors, root

pytestmark = [pytest.mark.lab, pytest.mark.long]
GIB = 2 * 1024**2  # in sectors


@pytest.fixture(scope="module")
def seen(plan: Plan, outside: Callable[..., Any]) -> Any:
    """What a tenant saw of a stack."""
    if not {"heat", "cinder"} <= set(plan.openstack.services) or not hypervisors(plan):
        pytest.skip("Heat, Cinder and a hypervisor are needed: see inventories/cloud/site.yml")
    found = outside("stack.py", str(guest_image(None, progress=lambda _: None)))
    print(f"\n{json.dumps({'case': 'stack: seconds until', **found['seconds']})}", flush=True)
    return found


def test_a_stacks_instance_answers_on_its_floating_ip_and_has_its_volume(seen: Any, plan: Plan) -> None:
    assert seen["made"]["address"].startswith(plan.networks["provider"].cidr.rpartition(".")[0])
    assert seen["before"] == {"sectors": GIB, "word": "first"}


def test_an_update_grows_the_volume_under_its_instance_and_loses_nothing(seen: Any) -> None:
    assert seen["after"] == {"sectors": 2 * GIB, "word": "second"}
    assert seen["again"] == seen["made"], "nothing was made anew"
    assert seen["read"] == seen["sent"]


def test_nothing_of_a_deleted_stack_is_left(seen: Any, plan: Plan, connect: Callable[[str], Any]) -> None:
    assert [kind for kind, ids in seen["left"].items() if ids] == []
    assert plan.ceph
    host = connect(plan.ceph.monitors[0].name)
    images = {
        image
        for pool in ("volumes", "vms")
        for image in json.loads(root(host, f"rbd -p {plan.ceph.pools[pool].name} --format json ls"))
    }
    assert not images & {f"volume-{seen['made']['volume']}", f"{seen['made']['server']}_disk"}
