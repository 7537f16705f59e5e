"""A cloud whose first hypervisor died, with witnesses of it, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import failure
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.failure import Suspect, Witness
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import FailurePlan

from .hypervisors import HERE, THERE, Hypervisors

SITES = Path(__file__).resolve().parents[3] / "inventories"
NOW = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
THIRD, VOLUMES = "hypervisor-3", "os-extended-volumes:volumes_attached"
SILENT = Witness(name="ssh", word="silent", said="ssh: connect to host 10.79.0.128 port 22: No route to host")
HEARD = Witness(name="ssh", word="answers", said="a login")


class FakeCeph:
    """Has the disks of all instances whose name says nothing else; ``open``: by whom."""

    def __init__(self, nova: Hypervisors) -> None:
        self.nova, self.open, self.asked, self.breaks = nova, dict[str, list[str]](), list[str](), set[str]()

    def __call__(self, step: str, *, name: str, **options: Any) -> dict[str, Any]:
        assert name
        self.asked.append(step)
        if step in self.breaks:
            raise GroundupError("no quorum of monitors", where="", why="", remedy="")
        own = {f"{one['id']}_disk" for one in self.nova.of("servers") if "local" not in one["name"]}
        own |= {f"volume-{each['id']}" for one in self.nova.of("servers") for each in one.get(VOLUMES, ())}
        if step == "images":
            return {"images": sorted(own)}
        assert set(options["disks"]) == {"vms", "volumes"}
        return {"watchers": {image: self.open.get(image, []) for image in options["disks"]["vms"] if image in own}}


@pytest.fixture
def plan() -> Plan:
    made = make_plan(load_site(SITES / "cloud/site.yml"))
    cloud = replace(made.openstack, hypervisor_failure=FailurePlan(action="evacuate", after=300))
    third = replace(made.hosts[THERE], name=THIRD)
    return replace(made, openstack=cloud, hosts={**made.hosts, THIRD: third})


@pytest.fixture
def dead(nova: Hypervisors) -> Hypervisors:
    """A cloud of three hypervisors; the first has been silent for seven minutes."""
    nova.hosts.join(THIRD)
    nova.add("agents", {"host": THIRD, "agent_type": "OVN Controller agent", "alive": True}, "")
    for name in (THERE, THIRD):
        beat(nova, name, ago=3)
    kill(nova, HERE)
    nova.server("web")["image"] = {"id": "an-image"}
    return nova


def beat(nova: Hypervisors, name: str, *, ago: float) -> None:
    nova.service(name)["updated_at"] = f"{NOW - timedelta(seconds=ago):%Y-%m-%dT%H:%M:%S.%f}"


def kill(nova: Hypervisors, name: str, *, ago: float = 420) -> None:
    nova.service(name)["state"] = "down"
    beat(nova, name, ago=ago)
    for one in nova.of("agents"):
        one["alive"] = one["alive"] and one["host"] != name


class Looking:
    """Looks at the cloud; ssh reaches all but the hosts ``silent``."""

    def __init__(self, plan: Plan, operator: Any, ceph: FakeCeph) -> None:
        self.plan, self.operator, self.ceph, self.silent = plan, operator, ceph, {HERE}
        self.ssh: dict[str, Witness] = {}

    def __call__(self) -> tuple[dict[str, Suspect], Mapping[str, list[str]]]:
        contacts = {name: SILENT if name in self.silent else HEARD for name in self.plan.hosts} | self.ssh
        found, against = failure.look(self.plan, self.operator, contacts, self.ceph, now=NOW)
        return {one.host.name: one for one in found}, against

    @property
    def evacuates(self) -> list[str]:
        return [name for name, why in self()[1].items() if not why]

    def why(self, name: str = HERE) -> str:
        return "; ".join(self()[1][name])


@pytest.fixture
def look(plan: Plan, operator: Any, dead: Hypervisors) -> Looking:
    return Looking(plan, operator, FakeCeph(dead))
