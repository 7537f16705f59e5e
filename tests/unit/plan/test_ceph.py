"""What the plan decides about a Ceph of the site's own."""

from __future__ import annotations

import base64
import json
import struct
import uuid
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.ceph import placement_groups
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate, required


def plan(
    hosts: int = 3, *, machines: dict[str, Any] | None = None, groups: dict[str, Any] | None = None, **keys: Any
) -> Plan:
    """Return the plan of a lab with storage hosts, or of ``groups`` of machines."""
    some: dict[str, Any] = {name: {"count": 1} for name in ("seed", "control", "worker")}
    some["storage"] = {"count": hosts, **(machines or {})}
    content = {"plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab"}
    return make_plan(build_site({**content, "machines": groups or some, "storage": {"backend": "native"}, **keys}))


def ceph(hosts: int = 3, **keys: Any) -> CephPlan:
    """Return its Ceph."""
    found = plan(hosts, **keys).ceph
    assert found
    return found


def test_a_site_has_one_ceph_that_is_the_same_whenever_it_is_planned() -> None:
    assert uuid.UUID(ceph().fsid).version == 5
    assert ceph() == ceph()
    assert ceph().fsid != ceph(domain="other.test").fsid
    assert plan(storage={"backend": "none"}).ceph is None
    assert plan(storage={"backend": "external"}).ceph is None


def test_volumes_of_the_control_plane_stay_local_unless_written() -> None:
    found = plan()
    assert found.kubernetes.storage_backend == "local"
    assert (found.kubernetes.storage_charts, found.kubernetes.storage_releases) == (None, ())
    assert "ceph/client.kubernetes" not in required(found)
    assert {"cephcsi", "csi-ceph"}.isdisjoint((*found.supply.images, *found.supply.chosen))
    assert "rbd" not in found.preflight.by_roles["worker"].kernel_modules


@pytest.mark.parametrize("backend", ["native", "cephadm", "rook"])
def test_volumes_in_ceph_have_a_pool_a_key_and_a_driver_of_their_own(backend: str) -> None:
    found = plan(
        storage={"backend": backend, "volumes": "ceph-rbd", "pools": {"kubernetes": {"name": "claims"}}},
        domain="rbd.test",
    )
    assert found.ceph
    key = found.ceph.clients["kubernetes"]
    assert key.caps == {"mon": "profile rbd", "osd": "profile rbd pool=claims"}, "no tasks of managers: they would die"
    assert key.secret in required(found)
    (release,) = found.kubernetes.storage_releases
    assert (release.name, release.namespace, release.version) == ("ceph-csi-rbd", "ceph-csi-rbd", "3.12.2")
    values = release.values
    monitors = [one.address for one in found.ceph.monitors]
    assert values["csiConfig"] == [{"clusterID": found.ceph.fsid, "monitors": monitors}]
    written = {name: values["storageClass"][name] for name in ("name", "clusterID", "pool", "allowVolumeExpansion")}
    assert written == {"name": "general", "clusterID": found.ceph.fsid, "pool": "claims", "allowVolumeExpansion": True}
    assert values["secret"]["userID"] == "kubernetes"
    assert values["secret"]["userKey"] == {"$secret": "ceph/client.kubernetes"}, "the key itself is in no plan"
    assert found.supply.registry in values["nodeplugin"]["plugin"]["image"]["repository"]
    assert not [name for name in ("quay.io", "registry.k8s.io") if name in json.dumps(values)]
    assert "csi-ceph" in found.supply.chosen
    assert "rbd" in found.preflight.by_roles["worker"].kernel_modules


def test_only_nodes_with_a_kernel_of_their_own_load_the_module_that_maps_volumes() -> None:
    groups = {name: {"count": 1, "provisioner": "existing"} for name in ("seed", "control", "storage")}
    groups["worker"] = {"count": 1}
    hosts = plan(groups=groups, storage={"backend": "native", "volumes": "ceph-rbd"}).hosts
    assert {name for name, host in hosts.items() if "rbd" in host.kernel_modules} == {"control-1"}


@pytest.mark.parametrize(("workers", "expected"), [(0, (1, "100%")), (1, (2, "50%")), (5, (2, "50%"))])
def test_a_lone_provisioner_may_go_before_its_successor_starts(workers: int, expected: tuple[int, str]) -> None:
    groups: dict[str, Any] = {"seed": {"count": 1}, "control": {"count": 1}, "storage": {"count": 3}}
    groups |= {"worker": {"count": workers}} if workers else {}
    found = plan(groups=groups, storage={"backend": "native", "volumes": "ceph-rbd"})
    values = found.kubernetes.storage_releases[0].values["provisioner"]
    assert (values["replicaCount"], values["strategy"]["rollingUpdate"]["maxUnavailable"]) == expected


def test_with_a_registry_of_the_sites_own_only_the_chart_of_the_driver_is_fetched() -> None:
    own = {"source": "registry", "registry": "r.test:5000", "files_url": "https://r.test"}
    found = plan(supply=own, storage={"backend": "native", "volumes": "ceph-rbd"})
    assert "ceph-csi-charts" in found.supply.chosen
    assert "csi-ceph" not in found.supply.chosen
    assert found.supply.cache_source == "build"


@pytest.mark.parametrize("source", ["build", "upstream"])
def test_the_cache_is_filled_from_where_the_artifacts_come(source: str) -> None:
    assert plan(supply={"source": source}).supply.cache_source == source


def test_monitors_are_on_storage_hosts_on_the_storage_network() -> None:
    found = ceph(5)
    assert [one.name for one in found.monitors] == ["storage-1", "storage-2", "storage-3"]
    assert found.mon_host == ",".join(one.address for one in found.monitors)
    assert all(one.address.startswith("10.90.2.") for one in found.monitors)
    assert found.public_network == "10.90.2.0/24"
    assert found.managers == ("storage-1", "storage-2")
    assert len(ceph(2).monitors) == 1, "an even number is no safer than one less"


def test_monitors_are_spread_over_racks() -> None:
    racks: dict[str, Any] = {"a1": {"room": "east"}, "a2": {"room": "east"}, "b1": {"room": "west"}}
    found = ceph(racks=racks, machines={"count": None, "per_rack": 2, "racks": list(racks)})
    assert [one.name for one in found.monitors] == ["storage-a1-1", "storage-a2-1", "storage-b1-1"]
    assert found.locations["storage-b1-2"] == {"host": "storage-b1-2", "rack": "b1", "room": "west"}


def test_named_monitors_stay_where_they_are_when_a_rack_is_new() -> None:
    names = ["storage-a1-3", "storage-a1-1", "storage-a1-2"]
    machines = {"count": None, "per_rack": 3, "racks": ["a1", "a2"]}
    found = ceph(racks={"a1": {}, "a2": {}}, machines=machines, storage={"backend": "native", "monitors": names})
    assert [one.name for one in found.monitors] == names
    assert found.managers == tuple(names[:2])


def test_pools_are_by_purpose_with_placement_groups_from_their_share_of_the_osds() -> None:
    pools = ceph().pools
    assert list(pools) == ["images", "volumes", "vms", "backups"]
    assert {name: pool.pg_num for name, pool in pools.items()} == {"images": 16, "volumes": 32, "vms": 32, "backups": 8}
    assert {(pool.replicas, pool.min_size) for pool in pools.values()} == {(3, 2)}
    copies = sum(pool.pg_num * pool.replicas for pool in pools.values())
    assert copies / 3 < 250, "more on one OSD are refused by Ceph itself"


@pytest.mark.parametrize(("osds", "expected"), [(0, 8), (3, 32), (30, 512), (300, 4096)])
def test_placement_groups_are_powers_of_two(osds: int, expected: int) -> None:
    assert placement_groups(osds, share=0.4, replicas=3) == expected


def test_a_pool_is_on_the_fastest_devices_unless_written() -> None:
    osds = [{"device": "/dev/disk/by-path/a"}, {"device": "/dev/disk/by-path/b", "device_class": "hdd"}]
    hardware = {"both": {"cores": 8, "memory_gb": 64, "nic_gbps": 10, "nvme": False, "osds": osds}}
    found = ceph(
        hardware=hardware,
        machines={"hardware": "both"},
        storage={"backend": "native", "pools": {"backups": {"device_class": "hdd", "replicas": 2}, "archive": {}}},
    )
    assert found.pools["volumes"].rule == "host-ssd"
    assert (found.pools["backups"].rule, found.pools["backups"].min_size) == ("host-hdd", 2)
    assert found.pools["archive"].name == "archive"
    assert {rule.name: rule.device_class for rule in found.rules} == {"host-ssd": "ssd", "host-hdd": "hdd"}
    assert {one.memory // 1024**3 for one in found.osds["both"]} == {16}


def test_a_key_reaches_what_its_service_needs_and_nothing_else() -> None:
    clients = ceph(storage={"backend": "native", "pools": {"images": {"name": "glance-images"}}}).clients
    assert clients["glance"].caps["osd"] == "profile rbd pool=glance-images"
    assert clients["cinder"].caps["osd"] == "profile rbd pool=volumes, profile rbd-read-only pool=glance-images"
    assert "backups" not in clients["cinder"].caps["osd"]
    # Volumes are opened with Cinder's key, whose disks they are.
    assert clients["nova"].caps["osd"] == "profile rbd pool=vms, profile rbd-read-only pool=glance-images"
    assert {one.caps["mon"] for one in clients.values()} == {"profile rbd"}, "it may fence a dead client (blocklist)"
    assert len({one.uuid for one in clients.values()}) == len(clients)


def test_every_key_comes_from_the_store_in_cephs_own_form() -> None:
    names = {name for name in required(plan()) if name.startswith("ceph/")}
    assert {"ceph/mon", "ceph/client.admin", "ceph/mgr.storage-1", "ceph/client.glance", "ceph/client.nova"} <= names
    assert not [name for name in required(plan(storage={"backend": "none"})) if name.startswith("ceph/")]
    key = base64.b64decode(generate("ceph/client.glance"))
    kind, _, _, length = struct.unpack("<HIIH", key[:12])
    assert (len(key), kind, length) == (28, 1, 16)


@pytest.mark.parametrize("written", [{}, {"device": "/dev/sdb", "file": "osd", "size_gb": 1}, {"file": "osd"}])
def test_an_osd_is_a_device_or_a_file_of_a_size(written: dict[str, Any]) -> None:
    hardware = {"own": {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False, "osds": [written]}}
    with pytest.raises(Exception, match="write either device, or file and size_gb"):
        plan(hardware=hardware)


EXTERNAL = {"fsid": "5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11", "monitors": ["10.9.0.1", "10.9.0.2"]}


def elsewhere(services: tuple[str, ...] = ("glance", "cinder"), **external: Any) -> Plan:
    """Return the plan of a cloud on a Ceph that somebody else runs."""
    storage = {"backend": "external", "external": {**EXTERNAL, **external}}
    return plan(0, storage=storage, openstack={"services": ["keystone", *services]})


def test_somebody_else_s_ceph_has_the_pools_and_users_of_the_services_that_the_site_has() -> None:
    found = elsewhere(clients={"cinder": "cloud-cinder"}).ceph
    assert found
    assert (found.fsid, found.mon_host) == (EXTERNAL["fsid"], "10.9.0.1,10.9.0.2")
    assert {name: one.name for name, one in found.clients.items()} == {
        "glance": "client.glance", "cinder": "client.cloud-cinder", "cinder-backup": "client.cinder-backup",
    }  # fmt: skip
    assert found.clients["cinder"].secret == "ceph/client.cinder"
    assert list(found.pools) == ["images", "volumes", "backups"]
    assert (found.osds, found.managers, found.rules) == ({}, (), ())
    assert "kubernetes" not in found.clients
    images = plan(0, storage={"backend": "external", "volumes": "ceph-rbd", "external": EXTERNAL})
    assert images.ceph
    assert (list(images.ceph.clients), list(images.ceph.pools)) == (["kubernetes"], ["kubernetes"])
    assert images.kubernetes.storage_releases[0].values["csiConfig"][0]["clusterID"] == EXTERNAL["fsid"]
    small = elsewhere(services=("glance",)).ceph
    assert small
    assert (list(small.clients), list(small.pools)) == (["glance"], ["images"])


@pytest.mark.parametrize("nova", [False, True])
def test_hypervisors_with_disks_in_somebody_else_s_ceph_are_told_of_them_where_there_is_nova(*, nova: bool) -> None:
    compute = {"disks": "ceph", "virt_type": "qemu", "datapath": "netdev", "reserved_cores": 0}
    diskless = {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False, "compute": compute}
    groups: dict[str, Any] = {name: {"count": 1} for name in ("seed", "control", "worker", "hypervisor")}
    groups["hypervisor"]["hardware"] = "diskless"
    site = {
        "plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab", "machines": groups,
        "hardware": {"diskless": diskless}, "storage": {"backend": "external", "external": EXTERNAL},
        "openstack": {"services": ["keystone", "glance", *(["placement", "neutron", "nova"] if nova else [])]},
    }  # fmt: skip
    assert (make_plan(build_site(site)).hypervisor.disks is not None) is nova


def test_keys_of_somebody_else_s_ceph_are_given_and_with_consent_the_administrator_s_alone() -> None:
    by_owner, by_us = elsewhere().ceph, elsewhere(make=True).ceph
    assert by_owner
    assert by_us
    assert set(by_owner.given) == {f"ceph/client.{name}" for name in ("glance", "cinder", "cinder-backup")}
    assert by_us.given == by_us.secrets == ("ceph/client.admin",)
    assert "ceph/client.admin" not in required(elsewhere())


def test_control_hosts_and_hypervisors_get_the_client_of_somebody_else_s_ceph_and_no_host_its_daemons() -> None:
    found = elsewhere()
    assert "ceph-common" in found.hosts["control-1"].packages["host"]
    assert not [
        name for host in found.hosts.values() for names in host.packages.values() for name in names if "osd" in name
    ]
    assert found.supply.packages["13"] == "packages-ceph-13/13"
    assert "rootfs-storage-13" not in found.supply.chosen
