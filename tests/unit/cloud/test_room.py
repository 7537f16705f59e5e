"""No valid host: which claim no hypervisor takes, or which filter takes out those that have room."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.room import Provider, Room, judge, look

ASKED = {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 1}


def count(total: int, *, reserved: int = 0, ratio: float = 1.0, most: int = 10**6) -> dict[str, float]:
    return {"total": total, "reserved": reserved, "allocation_ratio": ratio, "max_unit": most}


INVENTORY = {"VCPU": count(2, ratio=4), "MEMORY_MB": count(6000, reserved=4096), "DISK_GB": count(40)}
SMALL = Provider(name="hypervisor-1.lab.test", inventory=INVENTORY, used={"MEMORY_MB": 128})
LARGE = Provider(name="hypervisor-2.lab.test", inventory={**INVENTORY, "MEMORY_MB": count(9000)})
FULL = Room(asked=ASKED, providers=(SMALL,), candidates=frozenset(), hosts=frozenset(("hypervisor-1", "hypervisor-2")))
TAKEN = replace(FULL, providers=(SMALL, LARGE), candidates=frozenset((LARGE.name,)))


@pytest.mark.parametrize(
    ("room", "said", "remedy"),
    [
        (replace(FULL, providers=()), "knows no hypervisor", "groundup.cloud.hypervisor"),
        (FULL, "hypervisor-1.lab.test: MEMORY_MB 2048 asked, 1776 left of 1904 (6000 - 4096 reserved, x 1)", "flavor"),
        (replace(FULL, providers=(replace(SMALL, inventory={}),)), "no inventory", "nova-compute on hypervisor-1"),
        (replace(FULL, providers=(replace(SMALL, inventory={"VCPU": count(2)}),)), "no MEMORY_MB, no DISK", "flavor"),
        (
            replace(FULL, providers=(replace(LARGE, inventory={**LARGE.inventory, "VCPU": count(2, most=0)}),)),
            "one guest may have 0", "flavor",
        ),
        (replace(TAKEN, away={"hypervisor-2": "nova-compute is down"}), "is down (ComputeFilter)", "service list"),
        (replace(TAKEN, away={"hypervisor-2": "disabled (probe)"}), "disabled (probe)", "service list"),
        (replace(TAKEN, hosts=frozenset(("hypervisor-1",))), "no nova-compute of it", "service list"),
        (replace(TAKEN, aggregates={"hypervisor-2": ["gpu (isolated=true)"]}), "gpu (isolated=true)", "log"),
        (TAKEN, "aggregates: none", "Filter results"),
    ],
)  # fmt: skip
def test_who_says_no(room: Room, said: str, remedy: str) -> None:
    found = judge(room)
    assert said in found.what
    assert remedy in found.remedy


def test_what_is_asked_of_placement_is_what_the_flavor_claims() -> None:
    answers: dict[str, Any] = {
        "/resource_providers": {"resource_providers": [{"uuid": "u", "name": LARGE.name}]},
        "/allocation_candidates?resources=VCPU:1,MEMORY_MB:2048,DISK_GB:1": {"provider_summaries": {"u": {}}},
        "/resource_providers/u/inventories": {"inventories": LARGE.inventory},
        "/resource_providers/u/usages": {"usages": {"VCPU": 1}},
    }

    def get(path: str, *, microversion: str) -> Any:
        assert microversion
        return SimpleNamespace(status_code=200, content=b"{}", json=lambda: answers[path])

    service = {"host": "hypervisor-2", "state": "up", "status": "disabled", "disabled_reason": None}
    group = {"name": "rack-2", "hosts": ["hypervisor-2"], "metadata": {"availability_zone": "rack-2"}}
    compute = SimpleNamespace(services=lambda **_: [service], aggregates=lambda: [group])
    admin = SimpleNamespace(placement=SimpleNamespace(get=get), compute=compute)
    room = look(admin, {"vcpus": 1, "ram": 2048, "disk": 1, "name": "f"})
    assert (room.asked, set(room.hosts), set(room.candidates)) == (ASKED, {"hypervisor-2"}, {LARGE.name})
    assert room.aggregates == {"hypervisor-2": ["rack-2 (availability_zone=rack-2)"]}
    assert room.providers == [replace(LARGE, used={"VCPU": 1})]
    assert room.away == {"hypervisor-2": "disabled (no reason given)"}
