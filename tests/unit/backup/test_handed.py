"""Parts that hosts hand over: of the first that has one, whole or not at all; restores that take them from a set."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tarfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import backup as ceph
from ansible_collections.groundup.cloud.plugins.plugin_utils import backup
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import handed, parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.ovn.test_snapshot import dump

FSID = "3f2b1c4d-0000-4000-8000-00000000000a"
NOW = datetime(2026, 11, 28, 2, 0, tzinfo=UTC)
NB = {"leader": True, "cluster": "c1", "schema": "7.11.0", "counts": {}, "changed": True}


def of_ceph(**other: bytes) -> dict[str, bytes]:
    mark = b"map" + uuid.UUID(FSID).bytes + b"end"
    files = dict.fromkeys(ceph.PARSED, b"{}")
    files |= {"monmap": mark, "osdmap": mark, "crushmap": b"crush", "osd.json": b'{"osds": [{"osd": 0}, {"osd": 1}]}'}
    keyring = "".join(f"[{name}]\n\tkey = x\n" for name in ("client.admin", "osd.0", "osd.1", "client.glance"))
    return {**files, "auth.keyring": keyring.encode(), **{name.replace("_", "."): data for name, data in other.items()}}


def packed(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def cloud(plan: Plan) -> Plan:
    del plan  # its state and password
    found = make_plan(load_site(COLLECTION / "inventories/cloud/site.yml"))
    open_store(found.site).ensure(["pki/ca-key", "ceph/client.admin"])
    return found


def test_a_site_says_which_parts_it_lacks_and_why(plan: Plan, cloud: Plan) -> None:
    assert parts.lacking(plan)["ceph"] == "no Ceph"
    assert parts.lacking(cloud) == {"seed": "no seed that installs machines"}
    assert parts.parts(cloud) == ("kubernetes-keys", "state", "ovn", "ceph", "rabbitmq", "openstack-keys", "mariadb",
                                  "etcd")  # fmt: skip
    assert cloud.ceph
    rook = replace(cloud, ceph=replace(cloud.ceph, backend="rook"))
    assert parts.lacking(rook)["ceph"] == "Ceph is rook: its own operator saves it"
    assert parts.of_host(cloud, "control-1") == ("kubernetes-keys", "ovn")
    assert parts.of_host(cloud, "storage-1") == ("ceph",)
    assert parts.of_host(cloud, "worker-1") == ()


def test_a_host_hands_over_what_it_has_and_says_what_it_cannot(cloud: Plan) -> None:
    asked = dict[str, Any]()

    def on_host(part: str, options: dict[str, Any]) -> dict[str, Any]:
        asked[part] = options
        return {"failed": True, "msg": "no quorum"} if part == "ceph" else {"leader": part != "ovn"}

    assert handed.hand(cloud, "control-1", on_host) == {
        "changed": False, "parts": {"kubernetes-keys": {"leader": True}}, "refused": {}
    }  # fmt: skip
    assert handed.hand(cloud, "storage-1", on_host)["refused"] == {"ceph": "no quorum"}
    assert asked["ovn"]["clusters"] == {}
    assert asked["ceph"]["key"] == open_store(cloud.site).get("ceph/client.admin")


def test_a_part_that_nobody_hands_over_ends_the_backup_with_each_hosts_reason(cloud: Plan) -> None:
    said: dict[str, dict[str, Any]] = {
        "control-1": {
            "parts": {"kubernetes-keys": {"files": [], "content": ""}},
            "refused": {"ovn": "another cluster"},
        },
        "storage-1": {"unreachable": True, "msg": "timed out"},
        "storage-2": {"parts": {}, "refused": {"ceph": "no quorum"}},
    }
    reasons = "control-1, ovn: another cluster | storage-1: timed out | storage-2, ceph: no quorum"
    with pytest.raises(GroundupError, match=re.escape(f"no host hands over ovn, ceph: {reasons}")):
        handed.collect(cloud, said)
    said["control-1"]["parts"]["ovn"] = {**NB, "content": b64(b"x")}
    said["storage-3"] = {"parts": {"ceph": {"fsid": FSID, "content": b64(packed(of_ceph()))}}}
    found = handed.collect(cloud, said)
    assert {part: one.source for part, one in found.items()} == {
        "kubernetes-keys": "host control-1", "ovn": "host control-1", "ceph": "host storage-3"
    }  # fmt: skip
    assert found["ceph"].about(cloud) == {"fsid": FSID, "counts": {"keys": 4, "osds": 2}}


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({}, ""),
        ({"monmap": b"map of another"}, "monmap is of another cluster"),
        ({"config_json": b"{"}, "config.json is no JSON"),
        ({"auth_keyring": b"[client.admin]\n[osd.0]\n[client.glance]\n"}, "the key of osd.1 is missing"),
        ({"crushmap": b""}, "crushmap is missing"),
    ],
)
def test_cephs_part_is_whole_or_names_what_it_lacks(plan: Plan, files: dict[str, bytes], fault: str) -> None:
    about = {"fsid": FSID, "counts": {"keys": 4, "osds": 2}}
    faults, told = handed.judge(plan, "ceph", about, [packed(of_ceph(**files))])
    assert faults[0].startswith(fault) if fault else (faults, told) == ([], "4 keys, 2 osds")


def ovn_of(*switches: str, plan: Plan) -> handed.Handed:
    said = {**NB, "content": b64(gzip.compress(dump(*switches)))}
    return handed.collect(replace(plan, ceph=None), {"control-1": {"parts": {
        "ovn": said, "kubernetes-keys": {"files": [], "content": ""}}}})["ovn"]  # fmt: skip


@pytest.fixture
def with_ovn(plan: Plan, shelf: SetShelf) -> Callable[..., SetBackup]:
    def make(*switches: str, now: datetime) -> SetBackup:
        one = ovn_of(*switches, plan=plan)
        about = one.about(plan)
        with writing(shelf, site=plan.site, store=open_store(plan.site, write=False), now=now) as writer:
            writer.part("ovn", lambda write: (write(one.content), about)[1], source=one.source)
            return writer.finish(versions={}, heads={}, counts={}, fingerprints={})

    return make


def test_ovns_part_is_read_record_by_record_and_counted(plan: Plan) -> None:
    one = ovn_of("a", "b", plan=plan)
    about = one.about(plan)
    faults, told = handed.judge(plan, "ovn", about, [one.content])
    assert (faults, told.partition(",")[0]) == ([], "2 Logical_Switch")
    fewer = gzip.compress(dump("a"))
    assert handed.judge(plan, "ovn", about, [fewer])[0][0].startswith("it has 1 Logical_Switch")
    with pytest.raises(GroundupError, match="not what was written"):
        handed.judge(plan, "ovn", about, [gzip.compress(dump("aaaa").replace(b"aaaa", b"aaab"))])


def test_networks_are_restored_from_a_set_and_the_youngest_backup_counts(
    plan: Plan, shelf: SetShelf, with_ovn: Callable[..., SetBackup]
) -> None:
    done = list[tuple[str, Any]]()

    def on_host(step: str, **options: Any) -> dict[str, Any]:
        done.append((step, options.get("content")))
        content = {"content": b64(gzip.compress(dump("now")))} if step == "take" else {}
        return {**NB, "changes": [], "counts": {"Logical_Switch": 0}, **content}

    part = backup.find("ovn")(plan, on_host)
    made = with_ovn("a", now=NOW)
    restored, content, data = part.load("newest")
    assert (restored.name, restored.cluster, content.counts["Logical_Switch"]) == (made.name, "c1", 1)
    assert part.restore(source="newest", force=[], go=True)["backup"]["file"] == str(
        shelf.home / made.name / "ovn.sealed"
    )
    assert done[-1] == ("restore", b64(data))
    assert part.load("newest")[0].name == made.name, "what the restore replaced is no backup"
    assert part.load(made.name)[0] == part.load(str(shelf.home / made.name))[0] == restored
    with_ovn("a", "b", now=datetime.now(UTC) + timedelta(minutes=2))
    assert part.load("newest")[1].counts["Logical_Switch"] == 2
    assert part.verify(days=1)["backup"]["counts"]["Logical_Switch"] == 2
    late = with_ovn("a", now=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(GroundupError, match=rf"{late.name}: .*backup-of-the-future"):
        part.load("newest")
    assert part.load(made.name)[0] == restored, "by its name it is to be had"


def test_a_set_from_before_this_part_is_not_the_newest_backup(plan: Plan, made: Callable[..., SetBackup]) -> None:
    made(parts=("state", "etcd"))
    with pytest.raises(GroundupError, match="there is no backup newest"):
        backup.find("ovn")(plan, dict).load("newest")


def test_definitions_of_no_queue_are_no_part(plan: Plan) -> None:
    del plan
    from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import rabbitmq

    found: dict[str, Any] = {kind: [] for kind in rabbitmq.COUNTED}
    found |= {"users": [{"name": "nova", "password_hash": "x"}], "rabbitmq_version": "4.0.5"}
    about = rabbitmq.parse(json.dumps(found).encode())
    assert (about["version"], about["counts"]["users"]) == ("4.0.5", 1)
    assert rabbitmq.judge(about, json.dumps(found).encode())[0] == []
    fewer = {**found, "users": [{"name": "nova"}]}
    for text in (b"[]", b"{}", b"<html>", json.dumps(fewer).encode()):
        assert rabbitmq.judge(about, text)[0]
    more = {**found, "vhosts": [{}]}
    assert "it has 1 users, 1 vhosts" in rabbitmq.judge(about, json.dumps(more).encode())[0][0]
