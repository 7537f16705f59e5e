"""Erase and reprovision: an old record, an empty answer and a changed site file are no word that nothing is there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.erase import refuse_serving

from .test_erase import WANTED, nodes, plan

__all__ = ["nodes", "plan"]  # fixtures
WORKER = replace(WANTED, name="worker-1")


@pytest.fixture
def record(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the store's password here, too; return the record of the cluster."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / plan.site / "cluster.json"
    path.parent.mkdir()
    return path


def test_a_node_of_the_record_that_the_api_lacks_is_one_until_that_is_accepted(plan: Plan, record: Path) -> None:
    record.write_text(json.dumps({"ca": "c", "nodes": ["control-1", "worker-1"]}))
    with pytest.raises(GroundupError, match=r"the cluster does not say .*\(by this controller's record") as refused:
        refuse_serving(plan, WORKER)
    assert "it names control-1" in refused.value.what
    refuse_serving(plan, replace(WORKER, force=frozenset({"disks", "cluster-silent"})))
    record.write_text(json.dumps({"ca": "c", "nodes": ["control-1"]}))
    refuse_serving(plan, WORKER)


def test_a_damaged_record_is_no_word_either(plan: Plan, record: Path) -> None:
    record.write_text("{")
    with pytest.raises(GroundupError, match="record of the cluster of site cloud cannot be read"):
        refuse_serving(plan, WORKER)
    refuse_serving(plan, replace(WORKER, force=frozenset({"disks", "cluster-silent"})))


def test_a_nova_that_names_no_hypervisor_at_all_does_not_know(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service=None, hypervisors=()))
    with pytest.raises(GroundupError, match=r"the cloud does not say .*: Nova names no nova-compute"):
        refuse_serving(plan, WORKER)
    refuse_serving(plan, replace(WORKER, force=frozenset({"disks", "cloud-silent"})))
    hosts = {name: host for name, host in plan.hosts.items() if "hypervisor" not in host.roles}
    refuse_serving(replace(plan, hosts=hosts), WORKER)


@pytest.mark.usefixtures("record")
def test_a_nova_that_left_the_site_file_is_asked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = tuple(one for one in plan.openstack.releases if one.name != "nova")
    without = replace(plan, openstack=replace(plan.openstack, releases=releases))
    service = SimpleNamespace(service={"host": "worker-1"}, hypervisors=("worker-1",))
    monkeypatch.setattr(compute_host, "look", lambda *_: service)
    refuse_serving(without, WORKER)  # a site that never had one
    open_store(plan.site).ensure(["nova/keystone"])
    with pytest.raises(GroundupError, match="worker-1 is a hypervisor of the cloud"):
        refuse_serving(without, WORKER)

    def silent(*_: object) -> None:
        raise GroundupError("the site has no Keystone of its own", where="", why="", remedy="")

    monkeypatch.setattr(connection, "of_site", silent)
    with pytest.raises(GroundupError, match="the cloud does not say whether it uses worker-1"):
        refuse_serving(without, WORKER)


@pytest.mark.usefixtures("record")
def test_the_osds_of_a_ceph_that_left_the_site_file_are_given_up_by_consent_alone(plan: Plan) -> None:
    without = replace(plan, ceph=None)
    refuse_serving(without, WANTED)  # a site that never had one
    open_store(plan.site).ensure(["ceph/client.bootstrap-osd"])
    refuse_serving(plan, WORKER)
    assert plan.ceph
    for now in (without, replace(plan, ceph=replace(plan.ceph, backend="external", locations={}))):
        with pytest.raises(GroundupError, match="may be a storage host of the Ceph that this site has run") as refused:
            refuse_serving(now, WORKER)
        assert '"reprovision_force": [disks, osds]' in refused.value.remedy
        refuse_serving(now, replace(WORKER, force=frozenset({"disks", "osds"})))
