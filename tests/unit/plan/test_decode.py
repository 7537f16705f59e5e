"""Types of the plan on hosts: what a module is handed becomes what the controller has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import OptionError
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.module_utils._plan.container import NetworkPlan, WiredHost
from ansible_collections.groundup.cloud.plugins.module_utils._plan.decode import from_dict
from ansible_collections.groundup.cloud.plugins.module_utils._plan.kubernetes import KubernetesPlan, NodeSupply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, to_json

CEPH = {"storage/backend": "native", "openstack/services": ["keystone", "glance", "cinder", "ceph-rgw"]}


def test_a_module_reads_the_plan_as_the_controller_wrote_it(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", CEPH | {"machines/storage": {"count": 3}})
    plain = json.loads(to_json(plan))
    assert plan.ceph
    assert plan.ceph.gateway
    assert from_dict(CephPlan, plain["ceph"], "ceph") == plan.ceph
    assert from_dict(KubernetesPlan, plain["kubernetes"], "kubernetes") == plan.kubernetes
    assert from_dict(NodeSupply, plain["supply"], "supply").registry == plan.supply.registry
    host = next(iter(plan.hosts.values()))
    assert from_dict(WiredHost, plain["hosts"][host.name], "host").interfaces == host.interfaces
    assert {name: from_dict(NetworkPlan, one, name) for name, one in plain["networks"].items()} == plan.networks


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a", "fqdn": "a.test", "address": "10.0.0.1"}, "^host lacks interfaces: give the plan as it is$"),
        ({"name": "a", "fqdn": "a.test", "address": "", "interfaces": [{}]}, "^host.interfaces lacks name: "),
        (
            {"name": "a", "fqdn": "a.test", "address": "", "interfaces": ["mgmt0"]},
            "^host.interfaces is no dictionary: ",
        ),
        (None, "^host is no dictionary: "),
    ],
)
def test_a_missing_field_is_named_with_its_place(given: object, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        from_dict(WiredHost, given, "host")
