"""A mark that no run gave is a tenant's: it is told, never deleted, never in the way, and never taken for ours."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import engine, holds, ledger
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import Apis, Killed
from .test_resources import CLOUD, plan, run

MARK = "[groundup.cloud: cloud]"
CALLED = {"network": "network", "router": "router", "security_group": "security group", "project": "project"}


@pytest.fixture(autouse=True)
def _members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    disk = tmp_path_factory.mktemp("image") / "disk"
    disk.write_bytes(b"a disk")
    image = {"source": str(disk), "sha256": hashlib.sha256(b"a disk").hexdigest(), "project": "web"}
    return plan({**copy.deepcopy(CLOUD), "images": {"debian": image}})


@pytest.fixture
def made(planned: Plan) -> Apis:
    apis = Apis()
    run(apis, planned)
    return apis


def less(planned: Plan, *names: str) -> Plan:
    return replace(planned, resources=tuple(one for one in planned.resources if one.name not in names))


def forged(apis: Apis, kind: str, **fields: Any) -> dict[str, Any]:
    """Return what a member, or a domain's manager, made with a copy of the mark."""
    made_by_us = next(one for one in apis.objects[kind] if "created_at" in one)
    one = {**copy.deepcopy(made_by_us), "id": f"a-{kind}", "name": "theirs", "description": MARK, **fields}
    apis.objects[kind].insert(0, one)
    return one


@pytest.mark.parametrize("kind", CALLED)
def test_a_forged_mark_stops_no_deletion_is_told_and_stays(made: Apis, planned: Plan, kind: str) -> None:
    theirs = forged(made, kind, security_group_rules=[])
    made.ports.append({"id": "p", "network_id": f"a-{kind}", "device_id": "vm", "device_owner": "compute:nova"})
    made.held["compute", "/servers"] = [{"id": "vm"}]
    done = run(made, less(planned, "jump", "www"), force=("delete",))
    gone = ["delete security group jump of project web", "delete security group www of project web"]
    assert sorted(done.done) == gone
    assert theirs in made.objects[kind]
    assert [f"1 have this site's mark, and no run has kept that it made them: they stay, as what others make: "
            f"{CALLED[kind]} theirs" in one for one in done.warnings] == [True]  # fmt: skip


def test_a_project_with_something_that_has_a_forged_mark_stays(made: Apis, planned: Plan) -> None:
    forged(made, "network")
    with pytest.raises(GroundupError, match="project web still has 1 networks that are not from this site file"):
        run(made, replace(planned, resources=()), force=("delete",))


def test_a_subnet_with_a_forged_mark_on_our_router_stays_joined_and_keeps_it(made: Apis, planned: Plan) -> None:
    forged(made, "subnet")
    router = made.named("router", "out")
    joins = {"device_id": router["id"], "device_owner": "network:router_interface"}
    made.ports.append({**joins, "fixed_ips": [{"subnet_id": "a-subnet"}]})
    assert run(made, planned).done == []
    with pytest.raises(GroundupError, match="router out still joins 1 subnets that are not from this site file"):
        run(made, less(planned, "out"), force=("delete",))


def test_an_image_that_a_member_made_in_the_place_of_ours_is_not_published(made: Apis, planned: Plan) -> None:
    """It has every property of ours, and its own id in the mark."""
    ours = made.named("image", "debian")
    ours |= {"id": "forged", "groundup_image": "forged", "visibility": "private"}
    with pytest.raises(engine.ResourcesLeftError, match="image debian of project web is there, and not from this site"):
        run(made, planned)
    assert made.objects["image"] == [ours]


@pytest.mark.parametrize("after", range(4, 16))
def test_what_a_killed_run_made_is_ours(planned: Plan, after: int) -> None:
    apis = Apis()
    apis.ledger.known, apis.dies_after = True, after
    with pytest.raises(Killed):
        run(apis, planned)
    apis.dies_after = -1
    run(apis, planned)
    assert run(apis, planned).done == []
    assert run(apis, replace(planned, resources=()), force=("delete",)).warnings == []
    left = {kind: [one["name"] for one in every] for kind, every in apis.objects.items() if every}
    assert left == {"domain": ["Default"], "project": ["admin"], "network": ["provider"], "role": ["member"],
                    "address_scope": ["lan"]}  # fmt: skip


def test_without_a_ledger_marks_of_what_the_site_file_names_count_and_nothing_else_goes(
    made: Apis, planned: Plan
) -> None:
    made.ledger = ledger.Ledger()
    done = run(made, less(planned, "jump", "www"), force=("delete",))
    assert done.done == []
    assert "2 have this site's mark, and no run has kept that it made them" in done.warnings[0]
    assert run(made, planned, force=("adopt",)).done == []
    gone = ["delete security group jump of project web", "delete security group www of project web"]
    assert sorted(run(made, less(planned, "jump", "www"), force=("delete",)).done) == gone


class Cluster:
    """ConfigMaps of a cluster, in memory."""

    def __init__(self) -> None:
        self.items: dict[str, Any] = {}
        self.writes = 0

    def find(self, path: str) -> Any:
        return copy.deepcopy(self.items.get(path))

    def apply(self, path: str, item: Any, **_more: Any) -> None:
        self.items[path], self.writes = json.loads(json.dumps(item)), self.writes + 1


def test_it_is_kept_in_the_cluster_and_a_run_that_makes_nothing_writes_nothing(planned: Plan) -> None:
    apis, cluster = Apis(), Cluster()
    for writes in (2, 2):  # before the first change, and after the last
        apis.ledger = ledger.of_cluster(cluster, "openstack")  # type: ignore[arg-type]
        run(apis, planned)
        assert cluster.writes == writes
    assert [*cluster.items] == ["/api/v1/namespaces/openstack/configmaps/groundup-resources"]
    assert str(apis.named("network", "front")["id"]) in apis.ledger.made
    run(apis, less(planned, "www"), check=True, force=("delete",))
    assert cluster.writes == 2


def test_one_that_cannot_be_read_is_refused() -> None:
    broken = SimpleNamespace(find=lambda _: {"data": {"ledger": "no json"}})
    with pytest.raises(GroundupError, match="the list of what runs made cannot be read"):
        ledger.of_cluster(broken, "openstack")  # type: ignore[arg-type]
