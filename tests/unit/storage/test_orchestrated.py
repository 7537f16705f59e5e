"""What the orchestrators of Ceph are told, and what is said while there is no cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action.ceph import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils import vault
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.storage import BACKENDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.storage import apply, cephadm, rook
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

ADMIN = "ceph/client.admin"


def written(backend: str) -> dict[str, Any]:
    """Return the site file of a region by ``backend``."""
    data = yaml.safe_load((Path(__file__).resolve().parents[3] / "inventories/region/site.yml").read_text())
    return {**data, "storage": {**data["storage"], "backend": backend}}


def planned(backend: str) -> tuple[Plan, CephPlan]:
    """Return the plan of a region by ``backend``, and its Ceph."""
    found = make_plan(build_site(written(backend)))
    assert found.ceph
    return found, found.ceph


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return Store.open(tmp_path / "store", PasswordSource(path=tmp_path / "password", ours=True))


def test_cephadm_has_its_files_and_the_operator_the_commands_until_the_administrators_key_is_known(
    store: Store, tmp_path: Path
) -> None:
    plan, ceph = planned("cephadm")
    place = tmp_path / "state" / "region" / "ceph"
    predicted = Changes(check=True)
    apply.cephadm(predicted, plan, ceph, store, timeout=0)
    assert "the cluster is not there yet" in predicted.warnings[0]
    assert not place.exists()
    done = Changes(check=False)
    with pytest.raises(GroundupError, match=f"bootstrap --fsid {ceph.fsid} --mon-ip {ceph.monitors[0].address}"):
        apply.cephadm(done, plan, ceph, store, timeout=0)
    assert done.done == predicted.done
    assert len(list(yaml.safe_load_all((place / cephadm.SPEC).read_text()))) == 6
    assert "osd_pool_default_pg_autoscale_mode = off" in (place / cephadm.CONF).read_text()
    store.take({ADMIN: "AQkey=="})
    again = Changes(check=False)
    apply.cephadm(again, plan, ceph, store, timeout=0)
    assert (again.done, again.warnings) == ([], [])
    grown = replace(ceph, settings={**ceph.settings, "osd_max_backfills": "2"}, managers=ceph.managers[:1])
    for check in (True, False):
        told = Changes(check=check)
        apply.cephadm(told, plan, grown, store, timeout=0)
        spec, conf = told.warnings
        assert f"{cephadm.SPEC} is another than cephadm was told" in spec
        assert f"ceph orch apply -i /mnt/{cephadm.SPEC}" in spec
        assert "ceph config assimilate-conf" in conf


def test_disks_are_the_written_ones_and_no_filter_takes_another() -> None:
    plan, ceph = planned("cephadm")
    (osds,) = [one for one in cephadm.specification(plan, ceph) if one["service_type"] == "osd"]
    written = [one.device for one in ceph.osds["region-osd"]]
    assert osds["spec"] == {"data_devices": {"paths": written}, "crush_device_class": "nvme"}
    spec = rook.cluster(*planned("rook"))["storage"]
    assert (spec["useAllNodes"], spec["useAllDevices"]) == (False, False)
    assert {tuple(one["name"] for one in node["devices"]) for node in spec["nodes"]} == {tuple(written)}


def test_nodes_tell_rook_the_rack_of_their_osds_and_the_address_of_their_monitor() -> None:
    plan, ceph = planned("rook")
    items = rook.objects(plan, ceph, keys=dict.fromkeys(ceph.secrets, "AQkey=="))
    nodes = {one["metadata"]["name"]: one["metadata"] for one in items if one["kind"] == "Node"}
    assert nodes["storage-2"]["labels"] == {"topology.rook.io/rack": "c2", "topology.rook.io/room": "middle"}
    assert nodes["storage-2"]["annotations"] == {rook.MON_ADDRESS: ceph.monitors[1].address}


def test_keys_that_the_layer_makes_are_those_that_the_backend_takes() -> None:
    assert planned("cephadm")[1].secrets == ()  # it makes its own
    assert planned("rook")[1].secrets == ("ceph/mon", ADMIN)


def test_every_orchestrated_backend_is_told_by_its_own() -> None:
    assert set(apply.ORCHESTRATORS) == {name for name, record in BACKENDS.items() if record.orchestrated}


@pytest.mark.parametrize("backend", ["cephadm", "rook"])
def test_the_action_tells_it_with_the_sites_store(
    backend: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tells(changes: Changes, plan: Plan, ceph: CephPlan, given: Store, *, timeout: float) -> None:
        assert (plan.site, ceph.backend, given, timeout) == ("region", backend, store, 7)
        changes.add("tell it")

    (tmp_path / "site.yml").write_text(yaml.safe_dump(written(backend)))
    monkeypatch.setattr(vault, "open_store", lambda *_, **__: store)
    monkeypatch.setattr(apply, "ORCHESTRATORS", {backend: tells})
    action = object.__new__(ActionModule)
    action.changes = Changes(check=True)
    done = action.work({"step": "orchestrate", "site_file": str(tmp_path / "site.yml"), "timeout": 7})
    assert done["changes"] == ["tell it"]
