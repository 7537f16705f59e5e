"""Example sites with monitoring, as plans."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example


def planned(name: str, **changes: Any) -> Plan:
    """Return the plan of the example site ``name``, with monitoring; ``__`` in a key of ``changes`` goes down."""
    keys = {path.replace("__", "/"): value for path, value in changes.items()}
    return make_plan(build_site(changed(example(name), {"monitoring/enabled": True, **keys})))


_CONTROLLERS = {"hypervisor-1": "10.87.18.131", "hypervisor-2": "10.87.18.132"}
# Of the site `ha`: every alert has its place there.
WHOLE = {
    "backups__schedule": "daily", "backups__logs_every": 5, "monitoring__drift": "daily",
    "monitoring__logs__enabled": True, "machines__storage__rack": "r1",
    "monitoring__remote_write": {"url": "https://metrics.corp.test/api/v1/write"},
    "openstack__hypervisor_failure": {"action": "tell"},
    **{f"machines__hypervisor__machines__{name}__bmc": {"address": address} for name, address in _CONTROLLERS.items()},
    "monitoring__capacity": {}, "monitoring__heal": {"layers": ["host"], "window": "02:00-05:00"},
}  # fmt: skip
