"""Aggregates, zones and traits: as the plan says, only ours, hosts in no two zones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, places
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.administrator import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

from .fake import FakeCloud

SITE = """\
plugin: groundup.cloud.site
site: here
domain: here.test
profile: lab
networks:
  management: {cidr: 10.79.0.0/24}
  tunnel: {cidr: 10.79.1.0/24}
  provider: {cidr: 10.79.2.0/24}
racks:
  r1: {room: east}
  r2: {}
machines:
  seed: {count: 1, rack: r1}
  control: {count: 1, rack: r1}
  worker: {count: 1, rack: r1, labels: {gpu: none}}
  hypervisor: {count: 2, racks: [r1, r2], labels: {acme.test/gpu: a100, fast: ""}}
  big: {roles: [hypervisor], names: [big-1], rack: r2, offset: 10, labels: {groundup.cloud/zone: far}}
openstack: {services: [keystone, placement, glance, neutron, nova]}
"""
ALL = ("hypervisor-1", "hypervisor-2", "big-1")
LABELS = {"acme.test/gpu=a100": ["hypervisor-1", "hypervisor-2"], "fast": ["hypervisor-1", "hypervisor-2"]}
HOSTS = {"zone=east": ["hypervisor-1"], "zone=far": ["big-1"], "rack=r1": ["hypervisor-1"],
         "rack=r2": ["big-1", "hypervisor-2"], "room=east": ["hypervisor-1"], **LABELS}  # fmt: skip


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = tmp_path / "site.yml"
    file.write_text(SITE)
    return site_plan(file)


def run(admin: Any, plan: Plan, *, check: bool = False, presumed: tuple[str, ...] = ()) -> list[str]:
    changes = Changes(check=check)
    places.converge(admin, plan, changes, presumed=presumed)
    return changes.done


def join(fake: FakeCloud, *hosts: str) -> None:
    for host in hosts:
        fake.hosts.join(host)


def named(fake: FakeCloud) -> dict[str, dict[str, Any]]:
    return {one["name"]: {"metadata": one["metadata"], "hosts": one["hosts"]} for one in fake.of("aggregates")}


def members(fake: FakeCloud) -> dict[str, list[str]]:
    return {name: sorted(one["hosts"]) for name, one in named(fake).items()}


def test_the_plans_zones_and_aggregates(plan: Plan) -> None:
    assert [plan.hosts[name].zone for name in (*ALL, "worker-1")] == ["east", None, "far", None]
    assert plan.hosts["worker-1"].place_labels == {}
    found = places.wanted(plan)
    assert {name: sorted(one.hosts) for name, one in found.items()} == HOSTS
    assert found["zone=far"].metadata == {"availability_zone": "far", "groundup_site": "here"}
    assert found["acme.test/gpu=a100"].metadata == {"acme.test:gpu": "a100", "groundup_site": "here"}
    assert found["fast"].metadata["fast"] == "true"


def test_traits_are_words_of_placement(plan: Plan) -> None:
    assert places.traits(plan.hosts["hypervisor-1"]) == {
        f"CUSTOM_GROUNDUP_{one}" for one in ("RACK_R1", "ROOM_EAST", "ZONE_EAST", "ACME_TEST_GPU_A100", "FAST")
    }
    long = replace(plan.hosts["big-1"], place_labels={"k" * 253: "v" * 63})
    assert max(map(len, places.traits(long))) == 255


def test_it_is_made_once_and_then_nothing_is_written(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    assert len(run(admin, plan)) == len(HOSTS) + len(ALL)
    assert members(fake) == HOSTS
    assert fake.hosts.traits["uuid-big-1"] == {"HW_CPU_X86_AVX", "CUSTOM_GROUNDUP_RACK_R2", "CUSTOM_GROUNDUP_ZONE_FAR"}
    fake.hosts.written.clear()
    assert run(admin, plan) == []
    assert fake.hosts.written == []


def test_a_dry_run_foresees_the_same_and_writes_nothing(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, "hypervisor-1")
    foreseen = run(admin, plan, check=True, presumed=ALL)
    assert fake.hosts.written == []
    join(fake, *ALL)
    assert run(admin, plan) == foreseen
    changes = Changes(check=True)
    places.foresee(plan, changes)
    assert len(changes.done) == len(HOSTS)


def test_hosts_that_have_not_joined_come_later(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, "hypervisor-2")
    run(admin, plan)
    assert members(fake) == {"rack=r2": ["hypervisor-2"], **{name: ["hypervisor-2"] for name in LABELS}}
    join(fake, "big-1")
    done = run(admin, plan)
    assert "add big-1 to aggregate rack=r2" in done
    assert "create aggregate zone=far" in done


def test_a_host_changes_its_zone_and_what_is_empty_goes(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    run(admin, plan)
    moved = replace(plan.hosts["hypervisor-1"], zone="far", place_labels={"rack": "r2"})
    done = run(admin, replace(plan, hosts={**plan.hosts, "hypervisor-1": moved}))
    assert members(fake) == {
        "zone=far": ["big-1", "hypervisor-1"], "rack=r2": ["big-1", "hypervisor-1", "hypervisor-2"],
        **{name: ["hypervisor-2"] for name in LABELS},
    }  # fmt: skip
    assert "delete aggregate zone=east" in done
    assert "delete trait CUSTOM_GROUNDUP_ROOM_EAST" in done
    assert "CUSTOM_GROUNDUP_ROOM_EAST" not in fake.hosts.defined


def test_a_host_that_left_the_site_file_stays_where_it_is(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    run(admin, plan)
    hosts = {name: host for name, host in plan.hosts.items() if name != "big-1"}
    assert run(admin, replace(plan, hosts=hosts)) == []
    assert members(fake)["zone=far"] == ["big-1"]


def test_aggregates_and_traits_of_others_stay(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    fake.hosts.defined.add("CUSTOM_GOLD")
    fake.hosts.traits["uuid-big-1"].add("CUSTOM_GOLD")
    theirs = {"id": 1, "name": "gold", "hosts": ["big-1"], "metadata": {"gold": "yes"}}
    there = fake.add("aggregates", {**theirs, "hosts": ["big-1"]}, "")
    run(admin, plan)
    assert theirs.items() <= there.items()
    assert "CUSTOM_GOLD" in fake.hosts.traits["uuid-big-1"] & fake.hosts.defined


def test_somebody_elses_aggregate_of_our_name_is_refused(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    fake.add("aggregates", {"id": 1, "name": "rack=r1", "hosts": ["other"], "metadata": {}}, "")
    with pytest.raises(GroundupError, match="rack=r1 that is not the site's") as caught:
        run(admin, plan)
    assert "openstack aggregate set --property groundup_site=here 1" in caught.value.remedy
    assert fake.hosts.written == []


def test_one_without_metadata_of_a_killed_run_is_taken_up(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    there = fake.add("aggregates", {"id": 1, "name": "rack=r1", "hosts": [], "metadata": {}}, "")
    run(admin, plan)
    assert members(fake) == HOSTS
    assert there["metadata"] == {"rack": "r1", "groundup_site": "here"}


def test_metadata_that_an_operator_changed_are_corrected_and_more_stay(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    run(admin, plan)
    (one,) = (one for one in fake.of("aggregates") if one["name"] == "rack=r1")
    one["metadata"] |= {"rack": "r9", "more": "yes"}
    assert run(admin, plan) == ["change metadata of aggregate rack=r1"]
    assert one["metadata"] == {"rack": "r1", "groundup_site": "here", "more": "yes"}


def test_traits_that_nova_compute_writes_at_the_same_time(admin: Any, fake: FakeCloud, plan: Plan) -> None:
    join(fake, *ALL)
    fake.hosts.conflicts = 2
    run(admin, plan)
    assert "CUSTOM_GROUNDUP_RACK_R1" in fake.hosts.traits["uuid-hypervisor-1"]


def test_verify_says_what_is_not_as_the_plan_has_it(
    admin: Any, fake: FakeCloud, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "of_site", lambda _: admin)
    join(fake, *ALL)
    run(admin, plan)
    places.verify(plan, ALL)
    (one,) = (one for one in fake.of("aggregates") if one["name"] == "zone=far")
    one["hosts"].clear()
    fake.hosts.written.clear()
    with pytest.raises(GroundupError, match="add big-1 to aggregate zone=far"):
        places.verify(plan, ALL)
    assert fake.hosts.written == []


def test_a_dry_run_without_a_cloud_foresees_all_of_it(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    changes = Changes(check=True)
    places.apply(plan, ALL, changes)
    assert len(changes.done) == len(HOSTS) == len(places.wanted(plan))
    with pytest.raises(UnreachedError):
        places.apply(plan, ALL, Changes(check=False))
    with pytest.raises(UnreachedError):
        places.verify(plan, ALL)
