"""What a killed run left half done is not taken for whole, nor for somebody else's; and two runs do not meet."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import alone, engine
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.cloud import CloudResources
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.resources import of_cloud

from .resources_api import Apis, Killed
from .test_resources import CLOUD, plan, run


@pytest.fixture(scope="module")
def base() -> Plan:
    found = plan({})
    return replace(found, openstack=replace(found.openstack, services=(*found.openstack.services, "designate")))


def planned(base: Plan, written: dict[str, Any]) -> Plan:
    return replace(base, resources=of_cloud(CloudResources.model_validate(written)))


@pytest.fixture
def images(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "disk").write_bytes(b"a disk")
    return {"debian": {"source": str(tmp_path / "disk"), "sha256": hashlib.sha256(b"a disk").hexdigest()}}


@pytest.mark.parametrize("status", ["saving", "uploading", "importing", "killed"])
def test_an_image_that_never_became_whole_is_made_anew(base: Plan, images: dict[str, Any], status: str) -> None:
    apis, written = Apis(), planned(base, {"images": images})
    run(apis, written)
    former = apis.named("image", "debian")
    former["status"] = status
    line = f"create image debian of domain Default anew: a killed run left it {status}"
    assert run(apis, written, check=True).done == [line]
    assert run(apis, written).done == [line]
    (image,) = apis.objects["image"]
    assert (image["status"], image["id"] != former["id"], apis.uploads) == ("active", True, [b"a disk"] * 2)
    assert run(apis, written).done == []


def test_an_image_that_is_about_to_go_is_not_there(base: Plan, images: dict[str, Any]) -> None:
    apis, written = Apis(), planned(base, {"images": images})
    run(apis, written)
    apis.named("image", "debian")["status"] = "pending_delete"
    assert run(apis, written).done == ["create image debian of domain Default"]


@pytest.mark.parametrize("after", range(4))
def test_an_aggregate_with_a_zone_is_gone_on_with_after_each_request(base: Plan, after: int) -> None:
    written = {"aggregates": {"ssd": {"zone": "east", "hosts": ["compute-1"], "metadata": {"disk": "ssd"}}}}
    apis = Apis(dies_after=after)
    if after < 3:
        with pytest.raises(Killed):
            run(apis, planned(base, written))
    apis.dies_after = -1
    run(apis, planned(base, written))
    (made,) = apis.objects["aggregate"]
    assert made["hosts"] == ["compute-1"]
    assert made["metadata"] == {"availability_zone": "east", "disk": "ssd", "groundup_resources": "cloud"}
    assert run(apis, planned(base, written)).done == []


@pytest.mark.parametrize(
    "theirs", [{"hosts": ["compute-1"]}, {"metadata": {"availability_zone": "east", "ssd": "true"}}]
)
def test_an_aggregate_that_somebody_uses_is_not_taken_for_a_half_made_one(base: Plan, theirs: dict[str, Any]) -> None:
    apis = Apis()
    apis.objects["aggregate"].append({"id": 1, "name": "ssd", "availability_zone": "east", "hosts": [],
                                      "metadata": {"availability_zone": "east"}, **theirs})  # fmt: skip
    with pytest.raises(GroundupError, match="aggregate ssd is there, and not from this site file"):
        run(apis, planned(base, {"aggregates": {"ssd": {"zone": "east"}}}))


@pytest.mark.parametrize(
    ("kind", "status", "minutes", "begun"),
    [
        ("dns_zone", "ERROR", 0, False),
        ("dns_zone", "PENDING", 1, True),
        ("dns_zone", "PENDING", 60, False),
        ("network", "BUILD", 60, False),
        ("router", "DOWN", 0, False),
        ("router", "ERROR", 0, False),
    ],
)
def test_what_is_there_and_does_not_work_is_told(
    base: Plan, kind: str, status: str, minutes: int, *, begun: bool
) -> None:
    cloud = copy.deepcopy(CLOUD)
    cloud["projects"]["web"]["dns_zones"] = {"a.example.test": {"email": "ops@example.test"}}
    apis, written = Apis(), planned(base, cloud)
    run(apis, written)
    found = next(one for one in apis.objects[kind] if "created_at" in one)
    found |= {"status": status, "updated_at": (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()[:19] + "Z"}
    converge = converging(apis, written)
    left = converge.converge()
    assert [f"is {status} in the cloud" in line for line in converge.changes.warnings] == [True]
    assert left == ([] if begun else converge.changes.warnings)


def test_a_router_that_is_switched_off_is_not_told_twice(base: Plan) -> None:
    apis, written = Apis(), planned(base, CLOUD)
    run(apis, written)
    apis.objects["router"][0] |= {"status": "DOWN", "admin_state_up": False}
    converge = converging(apis, written)
    assert converge.converge() == []
    assert len(converge.changes.warnings) == 1


def converging(apis: Apis, written: Plan) -> engine.Resources:
    return engine.Resources(api=apis.api(), plan=written, changes=Changes(check=False))


class Cluster:
    """Leases of a cluster, in memory."""

    def __init__(self) -> None:
        self.leases: dict[str, Any] = {}
        self.version = 0

    def find(self, path: str) -> Any:
        return copy.deepcopy(self.leases.get(path))

    def request(self, method: str, path: str, *, body: Any = None, **_more: Any) -> Any:
        if method == "GET":
            if path not in self.leases:
                raise ApiError("no lease", where=path, status=404)
            return self.find(path)
        self.version += 1
        at = path if method == "PUT" else f"{path}/{body['metadata']['name']}"
        self.leases[at] = json.loads(json.dumps(body))
        self.leases[at]["metadata"]["resourceVersion"] = str(self.version)
        return self.find(at)

    def delete(self, path: str, **_more: Any) -> None:
        del self.leases[path]


@pytest.fixture
def cluster(base: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    (tmp_path / base.site).mkdir()
    (tmp_path / base.site / "kubeconfig").touch()
    monkeypatch.setattr(alone, "Api", lambda _: found)
    return found


def test_a_second_run_is_refused_with_the_name_of_the_first_and_goes_when_that_ended(
    base: Plan, cluster: Cluster
) -> None:
    with alone.alone(base, say=print, seconds=3) as go_on:
        refused = pytest.raises(alone.AnotherRunError, match="another run of resources is under way: process ")
        with refused, alone.alone(base, say=print, seconds=3):
            raise AssertionError
        go_on()
    assert cluster.leases == {}
    with alone.alone(base, say=print, seconds=3):
        assert [path.rpartition("/")[2] for path in cluster.leases] == ["groundup-resources"]


def test_a_run_whose_lease_another_one_took_makes_no_further_change(base: Plan, cluster: Cluster) -> None:
    def lose(go_on: Any) -> None:
        next(iter(cluster.leases.values()))["spec"]["holderIdentity"] = "other/boot/1:5:9"
        deadline = datetime.now(UTC) + timedelta(seconds=30)
        while datetime.now(UTC) < deadline:
            go_on()

    lost = pytest.raises(alone.AnotherRunError, match="was lost: process 5 on other has taken it")
    with lost, alone.alone(base, say=print, seconds=3) as go_on:
        lose(go_on)
    assert len(cluster.leases) == 1


def test_what_former_runs_made_is_read_from_the_same_cluster(base: Plan, cluster: Cluster, tmp_path: Path) -> None:
    assert not alone.kept(base).known
    text = json.dumps({"made": ["n"], "making": {}, "lent": []})
    cluster.leases["/api/v1/namespaces/openstack/configmaps/groundup-resources"] = {"data": {"ledger": text}}
    assert alone.kept(base).made == {"n"}
    (tmp_path / base.site / "kubeconfig").unlink()
    assert not alone.kept(base).known


def test_a_control_node_that_cannot_ask_for_other_runs_is_refused(base: Plan, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    with pytest.raises(alone.AnotherRunError, match="no login to the site's cluster"), alone.alone(base, say=print):
        raise AssertionError
