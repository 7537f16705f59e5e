"""Disks of instances and backups are in the site's own Ceph: what moves is not copied, a lost volume comes back.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.ceph import address_on
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import command
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors, root

pytestmark = pytest.mark.lab

INSTANCES = "/var/lib/nova/instances"


@pytest.fixture(scope="module")
def ceph(plan: Plan) -> CephPlan:
    """The plan's Ceph."""
    if not plan.ceph or not plan.hypervisor.disks or len(hypervisors(plan)) < 2:
        pytest.skip("a Ceph with disks of two hypervisors' instances is needed: see inventories/cloud/site.yml")
    return plan.ceph


@pytest.fixture(scope="module")
def see(plan: Plan, ceph: CephPlan, outside: Callable[..., Any], ssh_config: Path) -> Callable[[str], Any]:
    """Return a function that says what a tenant saw, and what Ceph and the hypervisors said meanwhile."""
    ssh = f"ssh -F {ssh_config}"
    asked = f"{ssh} {plan.hosts[ceph.monitors[0].name].address}"
    rbd = "sudo rbd --format json"
    vms, volumes = ceph.pools["vms"].name, ceph.pools["volumes"].name
    hosts = "".join(
        f"{ssh} {plan.hosts[name].address} 'sudo find {INSTANCES}/'$2' -type f -size +1M 2>/dev/null | wc -l; "
        f"sudo test -d {INSTANCES}/'$2' && echo true || echo false'; "
        for name in hypervisors(plan)
    )
    disk = f"{asked} '{rbd} info {vms}/'$2'_disk; echo; {rbd} status {vms}/'$2'_disk; echo'; {hosts}"
    volume = f"{asked} '{rbd} info {volumes}/volume-'$2"
    script = f'case "$1" in disk) {disk} ;; volume) {volume} ;; esac | jq -s .'
    image = guest_image(None, progress=lambda _: None)

    def run(what: str) -> Any:
        found = outside("disks.py", what, *hypervisors(plan)[:2], str(image), "sh", "-euc", script, "sh")
        print(f"\n{json.dumps({'case': f'{what}: seconds until', **found['seconds']})}", flush=True)
        return found

    return run


@pytest.fixture(scope="module")
def moved(see: Callable[[str], Any]) -> Any:
    """An instance that was moved while it wrote."""
    return see("moved")


@pytest.fixture(scope="module")
def backup(see: Callable[[str], Any]) -> Any:
    """A volume that was deleted and restored."""
    return see("backup")


def test_a_disk_is_a_clone_of_the_image_and_the_hypervisor_has_none_of_it(moved: Any, ceph: CephPlan) -> None:
    info, _, *files = moved["before"]
    assert (info["parent"]["pool"], info["parent"]["image"]) == (ceph.pools["images"].name, moved["image"])
    assert info["size"] == 1024**3, "the flavor's"
    assert files == [0, True, 0, False], "a console's log, and no disk"


def test_a_live_migration_copies_no_disk_and_loses_no_block(moved: Any, plan: Plan, ceph: CephPlan) -> None:
    (before, opened, *_), (after, reopened, *files) = (moved[when] for when in ("before", "after"))
    assert after["block_name_prefix"] == before["block_name_prefix"], "it is the same image"
    network = next(one.name for one in plan.networks.values() if one.cidr == ceph.public_network)
    by = [[one["address"].partition(":")[0] for one in status["watchers"]] for status in (opened, reopened)]
    assert by == [[address_on(plan.hosts[name], network)] for name in hypervisors(plan)[:2]]
    assert files == [0, False, 0, True]
    assert set(moved["copied"]) <= {0}
    assert len(moved["blocks"]) > 1
    assert set(moved["blocks"]) == {"same"}


def test_clones_are_of_what_they_were_made_of(backup: Any) -> None:
    assert [one["parent"]["image"] for (one,) in backup["looked"].values()] == [f"volume-{backup['source']}"] * 2
    first, second = backup["sent"]
    assert (backup["found"]["snapshot"], backup["found"]["volume"]) == (first, second)


def test_a_backup_of_a_volume_that_is_gone_restores_it(backup: Any) -> None:
    assert [backup["found"][name] for name in ("full", "incremental")] == backup["sent"]


@pytest.mark.usefixtures("moved")
def test_nothing_stays_in_the_pools_but_what_cinder_forgets(
    backup: Any, ceph: CephPlan, connect: Callable[[str], Any]
) -> None:
    """Cinder 2026.1 keeps the image of a deleted volume of which there was a clone (docs/volumes.md)."""
    host = connect(ceph.monitors[0].name)
    found = {pool.name: json.loads(root(host, f"rbd -p {pool.name} --format json ls")) for pool in ceph.pools.values()}
    kept = f"volume-{backup['source']}.deleted"
    assert {name: images for name, images in found.items() if images} == {ceph.pools["volumes"].name: [kept]}
    told = json.loads(root(host, f"rbd -p {ceph.pools['volumes'].name} --format json snap ls {kept}"))
    assert [one["name"].endswith(".clone_snap") for one in told] == [True], "the snapshot that its clone was made of"


def test_another_place_for_disks_is_refused_while_a_host_has_an_instance(
    plan: Plan, ceph: CephPlan, connect: Callable[[str], Any]
) -> None:
    """The directory of an instance is all that says so: the site file asks for what the host does not have."""
    assert ceph
    name = hypervisors(plan)[0]
    host, directory = connect(name), f"{INSTANCES}/457eb676-33da-42ec-9a8c-9293d545c337"
    root(host, f"mkdir {directory}; sed -i 's/^images_type = rbd$/images_type = qcow2/' /etc/nova/host.conf")
    try:
        done = subprocess.run(
            command("hypervisor", "--limit", f"{name},localhost"), capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert "files of the host" in done.stdout
        assert "hardware.diskless.compute.disks" in done.stdout
        assert "active" in root(host, "systemctl is-active nova-compute"), "nothing was changed"
    finally:
        root(host, f"rmdir {directory}; sed -i 's/^images_type = qcow2$/images_type = rbd/' /etc/nova/host.conf")
