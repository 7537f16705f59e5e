"""A retirement: only of an empty host, out of everything the cloud keeps of it, and again after it was killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection, retire
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import retire as verb

from .hypervisors import HERE, PROVIDER, THERE, Hypervisors
from .test_drain import verb_step

SITE = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


@pytest.fixture
def step(operator: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do one step of the action."""
    monkeypatch.setattr(connection, "of_site", lambda _: operator)
    monkeypatch.setattr(retire, "_PAUSE", 0)
    monkeypatch.setattr(verb, "compute_id", lambda _site, name: PROVIDER if name == HERE else "another")

    def run(which: str, *, stopped: bool = False, name: str = HERE, **options: Any) -> dict[str, Any]:
        return verb_step("retire", which, machine=name, seen={"stopped": stopped}, **options)

    return run


def writes(nova: Hypervisors) -> list[str]:
    return [one for one in nova.asked if one.split()[0] != "GET" and "auth" not in one]


def test_all_that_the_cloud_keeps_of_it_goes(nova: Hypervisors, step: Any) -> None:
    found = step("check")
    assert found["changes"] == [
        f"disable nova-compute of {HERE}: groundup.cloud.retire",
        f"take {HERE} out of aggregate rack-a",
        f"delete service nova-compute of {HERE}",
        f"delete resource provider {HERE}.test",
        f"delete agent OVN Controller Gateway agent of {HERE}",
        f"delete agent OVN Neutron agent of {HERE}",
    ]
    assert found["address"] == "192.0.2.1"
    plan = make_plan(load_site(SITE))
    other = replace(plan.hosts["control-1"], address="192.0.2.1")
    taken = replace(plan, hosts={**plan.hosts, "control-1": other})
    assert step("check", plan=taken)["address"] == "", "another machine has it now"
    assert writes(nova) == []
    assert step("close")["changes"] == found["changes"][:1]
    assert nova.service()["disabled_reason"] == compute_host.RETIRE
    assert step("remove", stopped=True)["changed"]
    step("verify")
    assert [one["host"] for one in nova.of("services")] == [THERE]
    assert [one["hosts"] for one in nova.of("aggregates")] == [[THERE], [THERE]]
    assert {one["host"] for one in nova.of("agents")} == {THERE}
    assert [one["id"] for one in nova.of("resource_providers")] == [f"uuid-{THERE}"]
    before = writes(nova)
    assert step("check")["changes"] == []
    assert step("remove", stopped=True)["changes"] == []
    assert writes(nova) == before


@pytest.mark.parametrize(("reason", "found"), [(compute_host.DRAIN, compute_host.RETIRE), ("broken fan", "broken fan")])
def test_a_drained_ones_reason_is_ours_to_change(nova: Hypervisors, step: Any, reason: str, found: str) -> None:
    nova.service().update(status="disabled", disabled_reason=reason)
    predicted = [line for line in step("check")["changes"] if line.startswith("disable")]
    assert step("close")["changes"] == predicted
    assert nova.service()["disabled_reason"] == found


def test_aggregates_go_before_the_service_that_nova_knows_them_by(nova: Hypervisors, step: Any) -> None:
    step("remove", stopped=True)
    order = [one.split("/")[0].split()[-1] for one in writes(nova)]
    assert order.index("os-aggregates") < order.index("os-services") < order.index("agents")


@pytest.mark.parametrize("name", ["check", "close", "remove"])
def test_a_host_with_an_instance_stays(nova: Hypervisors, step: Any, name: str) -> None:
    nova.server("web")
    with pytest.raises(GroundupError, match="not empty: instances web") as caught:
        step(name, stopped=True, force=["allocations", "domains"])
    assert f"groundup.cloud.drain -e machine={HERE}" in str(caught.value)
    assert writes(nova) == []
    with pytest.raises(GroundupError, match="the cloud has its"):
        step("verify")


def test_a_disk_that_waits_for_its_confirmation_stays(nova: Hypervisors, step: Any) -> None:
    nova.migration(nova.server("web", host=THERE, status="VERIFY_RESIZE"))
    with pytest.raises(GroundupError, match="migrations not ended"):
        step("check")


def test_what_comes_while_it_waits_for_a_dead_one_stays(
    nova: Hypervisors, step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retire, "settle", lambda *_, **__: nova.server("late"))
    with pytest.raises(GroundupError, match="not empty: instances late"):
        step("remove")
    assert writes(nova) == []


def test_one_that_comes_is_no_reason_to_take_its_claim_away(nova: Hypervisors, step: Any) -> None:
    server = nova.server("late", host=THERE)
    arriving = {"source_compute": THERE, "dest_compute": HERE, "left": 1000}
    nova.migration(server, kind="live-migration", status="running").update(arriving)
    nova.add("allocations", {"id": server["id"], "of": PROVIDER}, "")
    with pytest.raises(GroundupError, match="migrations not ended") as caught:
        step("close")
    assert "allocation unset" not in str(caught.value)


def test_allocations_of_nobody_go_with_consent(nova: Hypervisors, step: Any) -> None:
    nova.add("allocations", {"id": "nobody", "of": PROVIDER}, "")
    with pytest.raises(GroundupError, match="nobody, which Nova does not know") as caught:
        step("check")
    assert '{"retire_force": [allocations]}' in caught.value.remedy
    step("remove", stopped=True, force=["allocations"])
    assert nova.of("allocations") == []


def test_allocations_of_an_instance_elsewhere_are_never_deleted(nova: Hypervisors, step: Any) -> None:
    server = nova.server("web", host=THERE)
    nova.add("allocations", {"id": server["id"], "of": PROVIDER}, "")
    with pytest.raises(GroundupError, match="which Nova has elsewhere"):
        step("remove", stopped=True, force=["allocations"])
    assert writes(nova) == []


def evacuated(nova: Hypervisors, *providers: str, host: str = THERE) -> Any:
    """Return an instance evacuated from a host that never came back, with allocations on ``providers``."""
    nova.service().update(state="down", forced_down=True)
    server = nova.server("web", host=host)
    nova.migration(server, kind="evacuation", status="done")
    for one in providers:
        nova.add("allocations", {"id": server["id"], "of": one}, "")
    return server


def test_what_a_host_that_never_came_back_holds_of_evacuated_instances_goes_with_it(
    nova: Hypervisors, step: Any
) -> None:
    server = evacuated(nova, PROVIDER, f"uuid-{THERE}")
    line = f"delete the allocation on {HERE} of {server['id']}, which was evacuated"
    assert line in step("check")["changes"]
    assert writes(nova) == []
    assert line in step("remove", stopped=True)["changes"]
    assert [one["of"] for one in nova.of("allocations")] == [f"uuid-{THERE}"]
    step("verify")


def test_an_evacuated_instance_without_an_allocation_elsewhere_keeps_its_only_one(nova: Hypervisors, step: Any) -> None:
    evacuated(nova, PROVIDER)
    with pytest.raises(GroundupError, match="which Nova has elsewhere"):
        step("remove", stopped=True, force=["allocations"])
    assert writes(nova) == []


def test_the_provider_that_nova_has_is_asked_before_one_that_was_left(nova: Hypervisors, step: Any) -> None:
    known = next(one for one in nova.of("hypervisors") if one["id"] == PROVIDER)
    known["id"] = "of-nova"
    nova.add("resource_providers", {"id": "of-nova", "uuid": "of-nova", "name": f"{HERE}.test"}, "")
    nova.add("allocations", {"id": "nobody", "of": "of-nova"}, "")
    with pytest.raises(GroundupError, match="nobody, which Nova does not know"):
        step("check")


def test_what_a_killed_one_left_is_found_by_the_next(nova: Hypervisors, step: Any) -> None:
    nova.kinds["services"] = [nova.service(THERE)]
    nova.kinds["hypervisors"] = [one for one in nova.of("hypervisors") if one["id"] != PROVIDER]
    assert step("check")["address"] == ""
    done = step("remove", stopped=True)["changes"]
    assert f"delete resource provider {HERE}.test" in done
    step("verify")


def test_agents_that_seem_alive_are_asked_again(nova: Hypervisors, step: Any) -> None:
    nova.agent_alive = 3
    step("remove", stopped=True)
    step("verify")
    nova.agent_alive = 1000
    with pytest.raises(GroundupError, match="Neutron keeps its agents"):
        step("remove", stopped=True, timeout=0.01, name=THERE)


def test_one_that_nobody_could_stop_must_be_down(nova: Hypervisors, step: Any) -> None:
    with pytest.raises(GroundupError, match="cannot be reached, and its nova-compute reports"):
        step("remove", timeout=0.01)
    assert writes(nova) == []
    nova.service()["state"] = "down"
    step("remove", timeout=0.01)
    step("verify")


def test_one_that_the_cloud_does_not_know(step: Any) -> None:
    assert step("check", name="nobody")["changes"] == []
    with pytest.raises(GroundupError, match="no machine is named"):
        step("check", name="")
    with pytest.raises(GroundupError, match="control-1 is neither hypervisor nor storage host"):
        step("check", name="control-1")


@pytest.mark.parametrize("reports", [True, False])
def test_a_host_that_is_forced_down_and_reports_is_not_taken_for_off(
    nova: Hypervisors, operator: Any, monkeypatch: pytest.MonkeyPatch, *, reports: bool
) -> None:
    monkeypatch.setattr(retire, "_REPORTS", 0.2)
    monkeypatch.setattr(retire, "_PAUSE", 0.01)
    nova.service().update(state="down", status="disabled", forced_down=True, updated_at="12:00:00")
    asked, of = [0], nova.of

    def sees(kind: str) -> Any:
        asked[0] += 1
        if reports and kind == "services" and asked[0] > 9:
            of(kind)[0]["updated_at"] = f"12:00:{asked[0]}"
        return of(kind)

    monkeypatch.setattr(nova, "of", sees)
    assert retire.settle(operator.compute, HERE, timeout=0) is not reports
