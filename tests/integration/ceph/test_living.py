"""What a site file may no longer change on a real Ceph with data in it: refused, and the remedy's commands do it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.ceph.host import GLANCE, PLAN

from .loopback import FSID, PATIENCE, Loopback

MONITORS, OSDS = 3, 2
HOSTS, MONITOR_HOSTS = ("storage-1", "storage-2"), ("m1", "m2", "m3")


@pytest.fixture(scope="module")
def keys(ceph: Loopback) -> dict[str, str]:
    """Two hosts with an OSD each; return the keys of the store."""
    (kind,) = ceph.ask("osd", "crush", "class", "ls")
    assert kind == "hdd"
    places = (f"osd crush set osd.{number} 1.0 root=default host={host}" for number, host in enumerate(HOSTS))
    ceph.run("exec ceph", given="\n".join([*places, "osd crush rm vm"]))
    found = {f"ceph/{user}": ceph.key(user) for user in ("client.admin", "client.bootstrap-osd")}
    return {**found, "ceph/client.cinder": generate("ceph/client.cinder")}


def planned(
    *, pool: str = "volumes", racks: bool = False, domain: str = "host", monitors: int = MONITORS
) -> dict[str, Any]:
    """Return ``groundup_site.ceph`` of the cluster."""
    rule = {"name": f"{domain}-hdd", "failure_domain": domain, "device_class": "hdd"}
    volumes = {"name": pool, "application": "rbd", "replicas": 2, "min_size": 2, "pg_num": 8, "rule": rule["name"]}
    places: dict[str, dict[str, str]] = {name: {"host": name} for name in (*HOSTS, *MONITOR_HOSTS)}
    if racks:
        places |= {host: {"host": host, "rack": f"a{host[-1]}", "room": "east"} for host in HOSTS}
    caps = {"mon": "profile rbd", "osd": f"profile rbd pool={pool}", "mgr": f"profile rbd pool={pool}"}
    return PLAN | {
        "fsid": FSID,
        "monitors": [{"name": one, "address": f"127.0.0.{one[1:]}"} for one in MONITOR_HOSTS[:monitors]],
        "managers": [],
        "locations": places,
        "rules": [rule],
        "pools": {"volumes": volumes},
        "clients": {"cinder": GLANCE | {"name": "client.cinder", "caps": caps}},
    }


def converge(ceph: Loopback, keys: dict[str, str], plan: dict[str, Any]) -> dict[str, Any]:
    return ceph.call("_ceph.whole.converge", ceph=plan, keys=keys, osds=OSDS, timeout=PATIENCE)


def refused(ceph: Loopback, keys: dict[str, str], plan: dict[str, Any]) -> str:
    said = converge(ceph, keys, plan)
    assert said["changes"] == []
    return str(said.get("error", "nothing"))


def test_a_living_cluster_keeps_disks_racks_monitors_and_names(ceph: Loopback, keys: dict[str, str]) -> None:
    made = converge(ceph, keys, planned())
    assert "error" not in made, made["error"]
    assert converge(ceph, keys, planned())["changes"] == []
    ceph.run("echo data | rados --pool volumes put kept -")
    until(
        lambda: any(one["stats"]["objects"] for one in ceph.ask("df")["pools"] if one["name"] == "volumes"),
        seconds=PATIENCE,
    )

    instance = "457eb676-33da-42ec-9a8c-9293d545c337_disk"
    ceph.run('exec rbd create --size 1 "volumes/$1"', instance)
    assert ceph.administered("_ceph.verbs.images", pool="volumes")["result"] == [instance]
    assert "pool nowhere cannot be listed" in ceph.administered("_ceph.verbs.images", pool="nowhere")["error"]
    assert "osd.0" in ceph.administered("_ceph.members.unsafe", numbers=[0, 1])["result"], "it has data"
    assert ceph.administered("_ceph.members.unsafe", numbers=[99])["result"] == "", "none of that number: named as safe"

    said = refused(ceph, keys, planned(domain="osd"))
    assert "volumes (host-hdd, planned osd-hdd)" in said
    said = refused(ceph, keys, planned(pool="fast"))
    assert said.endswith("ceph osd pool rename volumes fast")
    wrong = deepcopy(planned())
    wrong["monitors"][2]["address"] = "127.0.0.9"
    assert "m3 at 127.0.0.3, planned 127.0.0.9" in refused(ceph, keys, wrong)

    said = refused(ceph, keys, planned(racks=True))
    assert "ceph osd crush move storage-1 root=default rack=a1" in said
    ceph.run(said.rpartition("(data move): ")[2])
    racked = converge(ceph, keys, planned(racks=True))
    assert racked.get("error", "") == ""
    assert {one["name"] for one in ceph.ask("osd", "tree")["nodes"] if one["type"] == "room"} == {"east"}

    said = refused(ceph, keys, planned(racks=True, domain="rack"))
    ceph.run(said.rpartition("monitor host: ")[2])
    assert converge(ceph, keys, planned(racks=True, domain="rack")).get("error", "") == ""

    said = refused(ceph, keys, planned(racks=True, domain="rack", monitors=1))
    assert "m2 at 127.0.0.2, planned none there, m3" in said
    until(lambda: len(ceph.ask("quorum_status")["quorum_names"]) == MONITORS, seconds=PATIENCE)  # busy, one may leave
    ceph.run(said[said.index("ceph mon ok-to-rm") : said.index(" says that it is safe")])
    stop, remove = said.index("ceph-mon@m2"), said.index("ceph mon rm m2")
    assert stop < remove, "stopped first, as Ceph's manual has it"
    ceph.run("ceph mon ok-to-stop m2")  # what `retire` asks
    ceph.run('kill -KILL $(pgrep -f "^ceph-mon -i m2")')
    ceph.run(said[remove : remove + len("ceph mon rm m2")])

    said = refused(ceph, keys, planned(racks=True, domain="rack", monitors=1))
    stop, remove = said.index("ceph-mon@m3"), said.index("ceph mon rm m3")
    assert remove < stop, "m1 is no quorum while both count"
    ceph.run("! ceph mon ok-to-stop m3")
    ceph.run(said[remove : remove + len("ceph mon rm m3")])
    assert converge(ceph, keys, planned(racks=True, domain="rack", monitors=1)).get("error", "") == ""
    assert ceph.run("rados --pool volumes get kept -").strip() == "data"
