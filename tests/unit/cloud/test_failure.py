"""Dead hypervisors: all witnesses must agree on one and on no other host, else somebody is told and nothing touched."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import FailurePlan

from .dying import SILENT, THIRD, VOLUMES, Looking, beat, dead, kill, look, plan
from .hypervisors import HERE, THERE, Hypervisors
from .test_drain import writes

__all__ = ["dead", "look", "plan"]  # fixtures


def test_one_that_nobody_hears_is_evacuated(look: Looking, dead: Hypervisors) -> None:
    found, against = look()
    assert against == {HERE: []}
    assert [(one.name, one.word) for one in found[HERE].witnesses] == [
        ("nova-compute", "silent"), ("ssh", "silent"), ("OVN", "silent"), ("Ceph", "silent"),
    ]  # fmt: skip
    assert [one["name"] for one in found[HERE].leaving] == ["web"]
    assert writes(dead) == [], "a look changes nothing"


@pytest.mark.parametrize("also", [(THERE, THIRD), (THERE,), ("storage-1",), ("worker-1", "control-1")])
def test_several_silent_hosts_are_a_rack_or_a_network_and_nothing_is_touched(
    look: Looking, dead: Hypervisors, also: tuple[str, ...]
) -> None:
    look.silent |= {*also}
    for name in {THERE, THIRD} & {*also}:
        kill(dead, name)
    assert look.evacuates == []
    assert f"{sorted(also)[0]}" in look.why()
    assert "a rack or a network is likelier" in look.why()
    assert "watchers" not in look.ceph.asked


def test_two_that_nova_alone_does_not_hear_are_a_queue_that_fails(look: Looking, dead: Hypervisors) -> None:
    kill(dead, THERE)
    assert look.evacuates == []
    assert f"{THERE} cannot be reached either" in look.why()


def test_heartbeats_that_are_all_late_are_no_death(look: Looking, dead: Hypervisors) -> None:
    """The clock of this machine is ahead, or the database stands still: the others are as late."""
    for name in (THERE, THIRD):
        beat(dead, name, ago=400)
    assert "its record changed at" in look.why()
    assert look.evacuates == []


def test_one_that_is_silent_for_less_than_the_policy_says_may_only_reboot(look: Looking, dead: Hypervisors) -> None:
    beat(dead, HERE, ago=299)
    assert "it was heard 296 s ago: less than 300" in look.why()
    assert look.evacuates == []


def test_any_witness_that_hears_it_keeps_it(look: Looking, dead: Hypervisors) -> None:
    look.ssh = {HERE: replace(SILENT, word="answers", said="Permission denied")}
    assert "ssh hears it: Permission denied" in look.why()
    look.ssh = {HERE: replace(SILENT, word="unknown", said="Could not resolve hostname")}
    assert "ssh does not know" in look.why()
    look.ssh = {}
    (agent, *_) = (one for one in dead.of("agents") if one["host"] == HERE)
    agent["alive"] = True
    assert "OVN hears it: OVN Controller" in look.why()
    agent["alive"] = False
    for address in ("10.79.3.128", "10.79.3.129"):  # its own, and that of a host that a migration may have left it on
        look.ceph.open = {f"{one['id']}_disk": [address] for one in dead.of("servers")}
        assert f"_disk at {address}" in look.why(), "its guests run: only the management network is cut"
    dead.of("servers")[0]["status"] = "REBUILD"
    assert look.evacuates == [HERE], "an evacuation that was killed has begun it there"


def test_a_witness_that_cannot_be_asked_is_no_word_for_a_death(look: Looking, dead: Hypervisors) -> None:
    look.ceph.breaks = {"watchers"}
    assert "Ceph does not know: no quorum of monitors" in look.why()
    look.ceph.breaks = {"images"}
    assert "no instance on it has a disk that outlives it" in look.why()
    assert not look()[0][HERE].sure
    look.ceph.breaks = set()
    dead.kinds["agents"] = [one for one in dead.of("agents") if one["host"] != HERE]
    assert "OVN does not know: it has no chassis of it" in look.why()
    dead.service()["updated_at"] = None
    assert "nova-compute does not know" in look.why()


def test_a_host_that_answers_again_between_two_looks_is_left_alone(look: Looking, dead: Hypervisors) -> None:
    assert look.evacuates == [HERE]
    look.silent = set()
    assert look.evacuates == []
    assert "ssh hears it" in look.why()
    dead.service()["state"] = "up"
    assert look() == ({}, {})


def test_an_evacuation_that_was_killed_in_the_middle_goes_on_unless_the_host_answers(
    look: Looking, dead: Hypervisors
) -> None:
    dead.server("came back", host=THERE)
    dead.service().update(status="disabled", disabled_reason=compute_host.EVACUATE, forced_down=True)
    beat(dead, HERE, ago=70)  # that was this update
    assert look.evacuates == [HERE]
    beat(dead, HERE, ago=5)
    assert "its record changed at" in look.why(), "nova-compute reports, though Nova has it forced down"
    beat(dead, HERE, ago=70)
    look.silent = set()
    assert "ssh hears it" in look.why()


@pytest.mark.parametrize("reason", [compute_host.DRAIN, compute_host.RETIRE, "a new board", "", None])
def test_one_that_somebody_disabled_or_forced_down_is_theirs(
    look: Looking, dead: Hypervisors, reason: str | None
) -> None:
    state = {"forced_down": True} if reason is None else {"status": "disabled", "disabled_reason": reason}
    dead.service().update(state)
    assert "somebody is at work there" in look.why()
    assert look.evacuates == []


def test_an_evacuated_one_stops_the_next_evacuation_until_somebody_has_looked_and_an_empty_one_does_not(
    look: Looking, dead: Hypervisors
) -> None:
    for server in dead.of("servers"):
        server["OS-EXT-SRV-ATTR:host"] = THIRD
    dead.service().update(status="disabled", disabled_reason=compute_host.EVACUATE, forced_down=True)
    kill(dead, THERE)
    dead.service(THERE).update(status="disabled", disabled_reason="a new board")
    dead.hosts.join("hypervisor-4")
    look.plan.hosts["hypervisor-4"] = replace(look.plan.hosts[THERE], name="hypervisor-4")
    beat(dead, "hypervisor-4", ago=1)
    kill(dead, THIRD)
    look.silent = {HERE, THERE, THIRD}
    found, against = look()
    assert set(found) == {HERE, THIRD}, "an empty one that somebody disabled is no failure"
    assert against[HERE] == ["what could leave it has left"]
    (why,) = against[THIRD]
    assert why.startswith(f"{HERE} cannot be reached either"), "one after the other is what a dying rack looks like"


def test_what_an_evacuation_would_refuse_is_not_begun(look: Looking, dead: Hypervisors) -> None:
    web = dead.of("servers")[0]
    dead.migration(web, kind="live-migration", status="running").update(dest_compute=THERE, left=99)
    assert "migrated live when it died" in look.why()
    dead.kinds["migrations"] = []
    for name in (THERE, THIRD):
        dead.service(name)["status"] = "disabled"
    assert "no other hypervisor is up and enabled" in look.why()


def test_without_a_fence_or_beside_another_role_it_only_tells(look: Looking, plan: Plan) -> None:
    assert plan.ceph
    look.plan = replace(plan, ceph=replace(plan.ceph, backend="external"))
    assert look.evacuates == []
    both = replace(plan.hosts[HERE], roles=("hypervisor", "storage"))
    look.plan = replace(plan, hosts={**plan.hosts, HERE: both})
    assert "it is storage, too, which the fence would cut from Ceph" in look.why()


def test_by_the_policy_tell_nothing_is_asked_of_ceph_but_which_disks_it_has(look: Looking, plan: Plan) -> None:
    for policy in (FailurePlan(action="tell", after=300), None):
        look.plan = replace(plan, openstack=replace(plan.openstack, hypervisor_failure=policy))
        assert look.why() == "the site's policy is to tell"
    assert set(look.ceph.asked) == {"images"}


def test_instances_whose_disks_are_on_it_stay_and_alone_are_no_reason_to_evacuate(
    look: Looking, dead: Hypervisors
) -> None:
    dead.server("local")["image"] = {"id": "an-image"}
    found, against = look()
    assert against == {HERE: []}
    assert [one["name"] for one in found[HERE].staying] == ["local"]
    dead.kinds["servers"] = [one for one in dead.of("servers") if one["name"] == "local"]
    assert look.why() == "no instance on it has a disk that outlives it"
    dead.kinds["servers"] = []
    assert look.why() == "no instance is on it"


def test_a_volume_that_ceph_does_not_have_is_a_doubt(look: Looking, dead: Hypervisors) -> None:
    dead.of("servers")[0].update({"image": "", VOLUMES: []})
    assert "Ceph does not know: it has no disk of servers-" in look.why()
    dead.of("servers")[0][VOLUMES] = [{"id": "v1"}]
    assert look.evacuates == [HERE]
    look.ceph.open = {"volume-v1": ["10.79.0.128"]}
    assert "Ceph hears it: open are volume-v1 at 10.79.0.128" in look.why()
