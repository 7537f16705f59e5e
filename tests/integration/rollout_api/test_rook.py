"""The plan's Ceph as Rook's resources, held against Rook's own CustomResourceDefinitions on a real API server.

They are in no package: GROUNDUP_ROOK_CRDS names the file (`deploy/examples/crds.yaml` of a release). No operator runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.storage import apply, rook
from ansible_collections.groundup.cloud.plugins.plugin_utils.storage.rook import GROUP, NAMESPACE
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .control_plane import ControlPlane

PLACE = f"/apis/{GROUP}/namespaces/{NAMESPACE}"
CLUSTER = f"{PLACE}/cephclusters/rook-ceph"


def planned(**storage: Any) -> Plan:
    """Return the plan of a region whose Ceph is Rook's."""
    region = Path(__file__).resolve().parents[3] / "inventories/region/site.yml"
    data = yaml.safe_load(region.read_text())
    data["storage"] = {**data["storage"], "backend": "rook", **storage}
    return make_plan(build_site(data))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    source = PasswordSource(path=tmp_path / "password", ours=True)
    found = Store.open(tmp_path / "store", source)
    found.ensure(["ceph/mon", "ceph/client.admin"])
    return found


@pytest.fixture
def api(control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API server, as the site's own."""
    state = tmp_path / "state" / "region"
    state.mkdir(parents=True)
    (state / "kubeconfig").write_bytes(control_plane.kubeconfig.read_bytes())
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return Api(control_plane.kubeconfig)


@pytest.fixture
def _nodes(api: Api) -> Iterator[None]:
    """Storage hosts that have joined; removed with all that was applied."""
    ceph = planned().ceph
    assert ceph
    for name in ceph.locations:
        api.request("POST", "/api/v1/nodes", body={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    yield
    for name in ceph.locations:
        api.delete(f"/api/v1/nodes/{name}")
    for kind in ("cephblockpools", "cephclusters"):
        for item in (api.find(f"{PLACE}/{kind}") or {"items": []})["items"]:
            api.delete(f"{PLACE}/{kind}/{item['metadata']['name']}")


@pytest.fixture
def _crds(api: Api) -> None:
    """Rook's definitions; skips, with the reason, where they are not."""
    where = os.environ.get("GROUNDUP_ROOK_CRDS")
    if not where:
        pytest.skip("GROUNDUP_ROOK_CRDS is not set: Rook's definitions are in no package (docs/evidence.md)")
    path, kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", set[str]()
    for item in yaml.safe_load_all(Path(where).read_text()):
        if item and item["kind"] == "CustomResourceDefinition":
            kinds.add(item["spec"]["names"]["kind"])
            if not api.find(f"{path}/{item['metadata']['name']}"):
                api.request("POST", path, body=item)

    def pending() -> set[str]:
        return kinds - {kind for _, kind in api.discover().resources}

    assert not wait_until(pending, timeout=120)


def run(plan: Plan, store: Store, *, check: bool = False) -> tuple[list[str], str]:
    """Apply; return what changed, and the error."""
    changes = Changes(check=check)
    assert plan.ceph
    try:
        apply.rook(changes, plan, plan.ceph, store, timeout=0)
    except GroundupError as error:
        return changes.done, str(error)
    return changes.done, ""


def lost(declared: Any, stored: Any, where: str = "") -> list[str]:
    """Return what was declared and is not stored: an API server drops what its schema does not know."""
    if isinstance(declared, dict):
        there = stored if isinstance(stored, dict) else {}
        return [one for key, value in declared.items() for one in lost(value, there.get(key), f"{where}.{key}")]
    if isinstance(declared, list) and isinstance(stored, list) and len(declared) == len(stored):
        return [one for mine, other in zip(declared, stored, strict=True) for one in lost(mine, other, where)]
    return [] if declared == stored else [f"{where}: {declared!r} became {stored!r}"]


def test_without_rook_the_remedy_is_said_and_nothing_is_applied(api: Api, store: Store) -> None:
    if any(version == GROUP for version, _ in api.discover().resources):
        pytest.skip("another test has applied Rook's definitions")
    done, error = run(planned(), store)
    assert (done, api.find(f"/api/v1/namespaces/{NAMESPACE}")) == ([], None)
    assert f"the cluster does not know {GROUP}" in error
    assert "install its chart rook-ceph" in error


@pytest.mark.usefixtures("_crds")
def test_before_storage_hosts_have_joined_nothing_is_applied(api: Api, store: Store) -> None:
    done, error = run(planned(), store)
    assert (done, api.find(CLUSTER)) == ([], None)
    assert "the cluster has no node storage-1, storage-2, storage-3" in error


@pytest.mark.usefixtures("_crds", "_nodes")
def test_every_field_is_one_of_rook_s_and_a_second_run_changes_nothing(api: Api, store: Store) -> None:
    plan = planned()
    assert plan.ceph
    predicted, error = run(plan, store, check=True)
    assert error == ""
    done, error = run(plan, store)
    assert "Rook does not report the cluster as ready: no phase" in error
    assert done == predicted
    assert [one for one in done if "CephBlockPool" in one] == [
        f"CephBlockPool {NAMESPACE}/{pool.name}" for pool in plan.ceph.pools.values()
    ]
    served = api.discover()
    items = rook.objects(plan, plan.ceph, keys={name: store.get(name) for name in plan.ceph.secrets})
    assert [one for item in items for one in lost(item, api.get(str(served.path(item))))] == []
    assert run(plan, store)[0] == []
    body = {"status": {"phase": "Ready"}}  # what the operator says at its end
    api.request("PATCH", f"{CLUSTER}/status", body=body, content_type="application/merge-patch+json")
    assert run(plan, store) == ([], "")


@pytest.mark.usefixtures("_crds", "_nodes")
def test_another_replica_count_changes_the_pools_and_nothing_else(api: Api, store: Store) -> None:
    run(planned(), store)
    done, _ = run(planned(pools={"images": {"replicas": 2}}), store)
    assert done == [f"CephBlockPool {NAMESPACE}/images"]
    assert api.get(f"{PLACE}/cephblockpools/images")["spec"]["replicated"]["size"] == 2


@pytest.mark.usefixtures("_crds", "_nodes")
def test_a_field_that_rook_does_not_know_is_refused(api: Api, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above would see a field that another release of Rook dropped."""
    whole = rook.cluster
    monkeypatch.setattr(rook, "cluster", lambda *given: {**whole(*given), "monitors": 3})
    _, error = run(planned(), store)
    assert "monitors" in error
    assert api.find(CLUSTER) is None
