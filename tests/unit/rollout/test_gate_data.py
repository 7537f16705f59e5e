"""What the gate says of data that a change removes, or leaves where their service looks no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import FieldChange, LiveRelease, ObjectChange
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Ref
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate import data
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.ownership import NAME, claim
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.reasons import reasons_against
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, cinder, glance, sizes

Edit = Callable[[Plan], Plan]


def live(name: str, values: Any, *objects: Any) -> LiveRelease:
    return LiveRelease(
        name=name, namespace="openstack", revision=1, status="deployed", chart=name, chart_version="2026.1.0",
        deployed_before=True, digest="d", objects=objects, hooks=(), values=values,
    )  # fmt: skip


def release(name: str, values: Any) -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=name, version="2026.1.0", namespace="openstack", needs=(), verify=name, values=values
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return site_plan(str(COLLECTION / "inventories/cloud/site.yml"))


def with_pool(purpose: str) -> Edit:
    def edit(plan: Plan) -> Plan:
        assert plan.ceph
        pools = {**plan.ceph.pools, purpose: replace(plan.ceph.pools[purpose], name="other")}
        return replace(plan, ceph=replace(plan.ceph, pools=pools))

    return edit


def another_ceph(plan: Plan) -> Plan:
    assert plan.ceph
    return replace(plan, ceph=replace(plan.ceph, fsid="11111111-2222-3333-4444-555555555555"))


def backups_as_objects(plan: Plan) -> Plan:
    assert plan.ceph
    return replace(plan, ceph=replace(plan.ceph, backups="objects"))


@pytest.mark.parametrize(
    ("service", "edit", "said"),
    [
        ("glance", lambda plan: replace(plan, ceph=None), "storage is rbd in the live release, and would be pvc"),
        ("glance", with_pool("images"), "would be other"),
        ("glance", another_ceph, "would be 11111111-2222-3333-4444-555555555555"),
        ("cinder", another_ceph, "its Ceph (fsid) is "),
        ("cinder", with_pool("volumes"), "conf.backends.rbd1.rbd_pool is volumes in the live release"),
        ("cinder", with_pool("backups"), "backup_ceph_pool is backups in the live release, and would be other"),
        ("cinder", backups_as_objects, "would be cinder.backup.drivers.swift.SwiftBackupDriver"),
    ],
)
def test_a_site_file_that_has_a_service_look_for_its_data_elsewhere_is_told(
    plan: Plan, service: str, edit: Edit, said: str
) -> None:
    values = {"glance": glance.values, "cinder": cinder.values}[service]
    size = sizes.sizes(plan)
    before, after = values(plan, size), values(edit(plan), size)
    assert list(data.moved(release(service, before), live(service, before))) == []
    assert list(data.moved(release(service, after), None)) == [], "a first installation"
    found = list(data.moved(release(service, after), live(service, before)))
    assert {reason.code for reason in found} == {"data-elsewhere"}
    assert [reason for reason in found if said in reason.what], found


def test_another_database_is_told_for_every_service_that_has_one() -> None:
    assert data.places("nova", {"endpoints": {"oslo_db_cell0": {"path": "/nova_cell0"}}})
    for name, record in RECORDS.items():
        for endpoint in record.schemas:
            before = {"endpoints": {endpoint: {"path": "/old", "hosts": {"default": "mariadb"}}}}
            for part in ({"path": "/new"}, {"hosts": {"default": "elsewhere"}}):
                after = {"endpoints": {endpoint: before["endpoints"][endpoint] | part}}
                (reason,) = data.moved(release(name, after), live(name, before))
                assert reason.code == "data-elsewhere"


def test_the_gate_asks_for_moved_data(plan: Plan) -> None:
    one = next(one for one in plan.openstack.releases if one.name == "glance")
    assert data.places("glance", one.values), "the plan's own values say where images are"
    before = live("glance", {"storage": "pvc"})
    preview: Any = SimpleNamespace(live={"glance": before}, rendered={}, diffs={})
    found = reasons_against(replace(plan, openstack=replace(plan.openstack, releases=(one,))), preview, {})
    assert "data-elsewhere" in {reason.code for reason in found}


@pytest.mark.parametrize(
    "kind", ["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "StatefulSet"]
)
def test_what_takes_data_along_is_not_removed_in_passing(kind: str) -> None:
    change = ObjectChange(ref=Ref(kind, "", "x"), kind="remove")
    assert [reason.code for reason in data.removed("own", change)] == ["removes-data"]
    assert not list(data.removed("own", replace(change, ref=Ref("Deployment", "", "x"))))
    item = {"kind": kind, "metadata": {"name": "x"}}
    kept = {"kind": kind, "metadata": {"name": "x", "annotations": {"helm.sh/resource-policy": "keep"}}}
    assert len(list(data.uninstalled(live("own", {}, item)))) == (kind != "StatefulSet"), "its claims stay"
    assert not list(data.uninstalled(live("own", {}, kept)))


def members(when: str) -> dict[str, Any]:
    spec = {"replicas": 3, "persistentVolumeClaimRetentionPolicy": {when: "Delete"}}
    return {"kind": "StatefulSet", "metadata": {"name": "s"}, "spec": spec}


def test_claims_that_go_with_their_statefulset_are_told() -> None:
    (reason,) = data.uninstalled(live("own", {}, members("whenDeleted")))
    assert "with its volume claims" in reason.what
    assert not list(data.uninstalled(live("own", {}, members("whenScaled"))))


@pytest.mark.parametrize(("before", "after", "told"), [(3, 1, True), (3, None, True), (1, 3, False)])
def test_claims_that_go_with_members_are_told(before: int, after: int | None, told: bool) -> None:
    fields = (FieldChange(path="spec.replicas", before=before, after=after),)
    change = ObjectChange(ref=Ref("StatefulSet", "space", "s"), kind="change", fields=fields)
    found = data.scaled("own", split("own", "space", [members("whenScaled")]), change)
    assert bool(list(found)) is told
    assert not list(data.scaled("own", split("own", "space", [members("whenDeleted")]), change))


@pytest.mark.parametrize(("identity", "refused"), [("mine", True), ("another's", False)])
def test_a_cloud_is_not_made_a_second_time_in_another_namespace(identity: str, refused: bool) -> None:
    item = {"metadata": {"namespace": "openstack"}, "data": {"identity": identity}}

    def get(path: str, **query: str) -> dict[str, Any]:
        assert (path, query) == ("/api/v1/configmaps", {"fieldSelector": f"metadata.name={NAME}"})
        return {"items": [item]}

    api: Any = SimpleNamespace(find=lambda _path: None, get=get)
    given: Any = {
        "namespace": "osh",
        "identity": "mine",
        "prints": {"a": "b"},
        "given": (),
        "replaced": {},
        "store": "s",
        "write": False,
    }
    if refused:
        with pytest.raises(RolloutError, match="is in namespace openstack, and is to be in osh"):
            claim(api, **given)
    else:
        assert claim(api, **given) == ("a",)
