"""Hypervisors by Nova and Neutron: one that is down, one that a verb disabled, one that the site file lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.compute_host import DRAIN, EVACUATE
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.hypervisors import hypervisor_rows


def service(host: str, state: str = "up", reason: str = "") -> dict[str, Any]:
    return {"host": host, "state": state, "status": "disabled" if reason else "enabled", "disabled_reason": reason}


def agent(host: str, *, alive: bool = True) -> dict[str, Any]:
    return {"host": host, "agent_type": "OVN Controller agent", "alive": alive}


def rows(plan: Plan, services: list[dict[str, Any]], agents: list[dict[str, Any]]) -> dict[str, Any]:
    asked: list[str] = []

    def ask(kind: str, path: str) -> Mapping[str, Any]:
        del kind
        asked.append(path)
        guests = [{"service": {"host": one["host"]}, "running_vms": 2} for one in services]
        return {"services": services, "hypervisors": guests, "agents": agents}

    found = {row.name: row for row in hypervisor_rows(plan, ask)}
    assert len(asked) == len(set(asked)) == 3, "each once"
    return found


def test_enabled_hypervisors_tell_their_instances(plan: Plan) -> None:
    both = ["hypervisor-1", "hypervisor-2"]
    found = rows(plan, [service(name) for name in both], [agent(name) for name in both])
    assert {name: (row.state, row.what) for name, row in found.items()} == dict.fromkeys(
        both, ("ok", "up, enabled, 2 instances")
    )


def test_what_is_down_disabled_missing_or_too_much_is_told(plan: Plan) -> None:
    services = [service("hypervisor-1", reason=DRAIN), service("hypervisor-9", "down")]
    found = rows(plan, services, [agent("hypervisor-1")])
    assert found["hypervisor-1"].state == "warning"
    assert "undrain -e machine=hypervisor-1" in found["hypervisor-1"].remedy
    assert found["hypervisor-2"].state == "not made"
    assert found["hypervisor-9"].state == "warning"
    down = rows(
        plan, [service("hypervisor-1", "down"), service("hypervisor-2", reason="mine")], [agent("hypervisor-1")]
    )
    assert down["hypervisor-1"].state == "broken"
    assert (down["hypervisor-2"].state, "no chassis" in down["hypervisor-2"].what) == ("broken", True)
    dead = rows(plan, [service("hypervisor-1")], [agent("hypervisor-1", alive=False)])
    assert dead["hypervisor-1"].what.endswith("not alive: OVN Controller agent")


def test_an_evacuated_one_is_taken_back_by_an_undrain_and_by_no_run_of_the_layer(plan: Plan) -> None:
    """Nova has it down for as long as nobody undrains it, also when it is back."""
    found = rows(plan, [service("hypervisor-1", "down", EVACUATE)], [agent("hypervisor-1")])["hypervisor-1"]
    assert found.state == "broken"
    assert found.remedy == "when it is back: ansible-playbook groundup.cloud.undrain -e machine=hypervisor-1"
