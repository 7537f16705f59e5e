"""What cephadm is told, read by the manager of a real Ceph: its parser and its options. No container starts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.storage import cephadm
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate

from .loopback import FSID, Loopback


def planned(*, osds: list[dict[str, Any]] | None = None, **changes: Any) -> Plan:
    """Return the plan of a region, whose Ceph is cephadm's."""
    data = yaml.safe_load((Path(__file__).resolve().parents[3] / "inventories/region/site.yml").read_text())
    data["storage"] |= {"backend": "cephadm", **changes}
    data["hardware"]["region-osd"]["osds"] = osds or data["hardware"]["region-osd"]["osds"]
    data["openstack"]["services"] = ["keystone", "glance", "cinder"]
    return make_plan(build_site(data))


@pytest.fixture(scope="module")
def orchestrator(ceph: Loopback) -> Loopback:
    """The cluster with Ceph's own orchestrator for tests behind the same commands, and the plan's hosts in it."""
    plan = planned()
    assert plan.ceph
    for command in ("mgr module enable test_orchestrator", "orch set backend test_orchestrator", "orch status"):
        ceph.run(f"until ceph {command}; do sleep 0.5; done")  # the manager has begun, and knows its modules
    hosts = [
        {"name": name, "addr": plan.hosts[name].address, "labels": [], "devices": []} for name in plan.ceph.locations
    ]
    ceph.run("ceph test_orchestrator load_data -i -", given=json.dumps({"inventory": hosts, "daemons": []}))
    return ceph


def applied(ceph: Loopback, documents: list[dict[str, Any]]) -> str:
    """Return what `ceph orch apply` says of a specification, an error, too."""
    return ceph.run("ceph orch apply -i - 2>&1 || :", given=yaml.safe_dump_all(documents))


def specification(plan: Plan) -> list[dict[str, Any]]:
    assert plan.ceph
    return list(yaml.safe_load_all(cephadm.text(plan, plan.ceph)))


def lost(mine: Any, read: Any, where: str = "") -> list[str]:
    """Return what is said and not read: a parser passes over what it does not know."""
    if isinstance(mine, dict) and isinstance(read, dict):
        return [one for key, value in mine.items() for one in lost(value, read.get(key), f"{where}.{key}")]
    return [] if mine == read else [f"{where}: {mine!r} is read as {read!r}"]


def test_the_specification_is_taken_whole(orchestrator: Loopback) -> None:
    documents = specification(planned())
    # This orchestrator refuses managers on any hosts that are named; the parser, which is everybody's, does not.
    said = applied(orchestrator, [one for one in documents if one["service_type"] != "mgr"])
    assert said.startswith("<MONSpec for service_name=mon>"), said
    assert "Error" not in said
    parse = """
import json, sys
from ceph.deployment.hostspec import HostSpec
from ceph.deployment.service_spec import ServiceSpec
for one in json.load(sys.stdin):
    spec = (HostSpec if one["service_type"] == "host" else ServiceSpec).from_json(one)
    spec.validate()
    read = {"service_type": spec.service_type, "config": getattr(spec, "config", None), **spec.to_json()}
    print(json.dumps(read))
"""
    read = orchestrator.run('exec python3 -c "$1"', parse, given=json.dumps(documents)).splitlines()
    assert [one for mine, line in zip(documents, read, strict=True) for one in lost(mine, json.loads(line))] == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("osd_memory_target", "osd_memory_goal"), "Invalid config option osd_memory_goal in spec"),
        (("data_devices", "disks"), "Feature `disks` is not supported"),
        (("paths", "pathes"), "Filtering for `pathes` is not supported"),
    ],
)
def test_what_ceph_does_not_know_is_refused(orchestrator: Loopback, wrong: tuple[str, str], said: str) -> None:
    """So the test above would see what another release no longer knows."""
    text = json.dumps([one for one in specification(planned()) if one["service_type"] != "mgr"])
    assert said in applied(orchestrator, json.loads(text.replace(*wrong)))


def test_every_option_of_the_configuration_is_assimilated(ceph: Loopback) -> None:
    plan = planned(settings={"osd_max_backfills": "2"})
    assert plan.ceph
    left = ceph.run("ceph config assimilate-conf -i -", given=cephadm.configuration(plan.ceph))
    assert left.strip() == ""
    assert ceph.ask("config", "get", "osd", "osd_max_backfills") == 2


def test_pools_rules_and_keys_are_made_in_it_by_the_monitors_and_proven(ceph: Loopback) -> None:
    (kind,) = ceph.ask("osd", "crush", "class", "ls")
    osds = [{"device": "/dev/disk/by-path/one", "device_class": kind}]
    found = asdict(planned(osds=osds, failure_domain="osd", replicas=2).ceph)  # type: ignore[arg-type]  # it has one
    found |= {"fsid": FSID, "mon_host": "127.0.0.1", "monitors": [{"name": "m1", "address": "127.0.0.1"}]}
    keys = {one["secret"]: generate(one["secret"]) for one in found["clients"].values()}
    keys["ceph/client.admin"] = ceph.key("client.admin")

    def call(what: str) -> dict[str, Any]:
        said = ceph.call(f"_ceph.external.{what}", ceph=found, keys=keys, osds=0, timeout=60)
        assert "error" not in said, said["error"]
        return said

    made = call("converge")["changes"]
    assert made[0] == f"make rule osd-{kind}"
    assert len(made) == 1 + len(found["pools"]) + len(found["clients"])
    rules = {one["rule_id"]: one["rule_name"] for one in ceph.ask("osd", "crush", "rule", "dump")}
    pools = {one["pool_name"]: one for one in ceph.ask("osd", "pool", "ls", "detail")}
    for one in found["pools"].values():
        assert rules[pools[one["name"]]["crush_rule"]] == one["rule"]
        assert pools[one["name"]]["pg_num_target"] == one["pg_num"]
    assert call("converge")["changes"] == []
    assert call("verify")["result"]["proven"] == [one["name"] for one in found["clients"].values()]
