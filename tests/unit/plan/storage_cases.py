"""Mistakes in what a site file says of storage, each with the finding it is."""

from __future__ import annotations

from typing import Any

NATIVE = {"storage/backend": "native"}
FILES = {
    "hardware/files": {
        "cores": 32, "memory_gb": 256, "nic_gbps": 25, "nvme": True, "osds": [{"file": "osd", "size_gb": 9}],
    },
    "machines/storage/hardware": "files",
}  # fmt: skip

OTHERS = {
    "storage/backend": "external",
    "storage/external/fsid": "5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11",
    "storage/external/monitors": ["10.9.0.1"],
    "openstack/services": ["keystone", "glance", "cinder"],
}  # fmt: skip

IN_CEPH = {
    "hardware/own": {
        "cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False,
        "compute": {"virt_type": "qemu", "datapath": "netdev", "reserved_cores": 0, "disks": "ceph"},
    },
    "machines/hypervisor/hardware": "own",
}  # fmt: skip

LOCAL = {"storage/volumes": "local"}
IMAGES = {"storage": {"backend": "native", "volumes": "ceph-rbd"}, "machines/storage": {"count": 3}}

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("hostpath-in-production", "info", "region", {"storage": {"backend": "none"}}, "storage.volumes"),
    ("hostpath-in-production", "info", "region", {"storage/volumes": "local"}, "storage.volumes"),
    ("hostpath-in-production", "error", "region", {**LOCAL, "openstack/replicas": {"mariadb": 1}}, "storage.volumes"),
    ("hostpath-in-production", "error", "region", {**LOCAL, "openstack/replicas": {"rabbitmq": 1}}, "storage.volumes"),
    (
        "hostpath-in-production",
        "error",
        "region",
        {"storage": {"backend": "none"}, "openstack/services": ["keystone", "glance"]},
        "storage.volumes",
    ),
    ("hostpath-in-production", "info", "ha", {"profile": "rack"}, "storage.volumes"),
    ("hostpath-in-production", "error", "ha", {"profile": "rack", "openstack/replicas": {"mariadb": 1}}, "mariadb"),
    ("osd-in-a-file", "warning", "ha", {"profile": "rack", **FILES}, "hardware.files.osds"),
    ("laptop-ceph", "error", "ha", {"profile": "rack", "machines/storage/names": ["storage-1"]}, "machines.storage"),
    ("volumes-without-backend", "error", "lab", {"storage/volumes": "ceph-rbd"}, "storage.backend"),
    (
        "volumes-without-backend",
        "error",
        "lab",
        {"storage/backend": "native", "storage/volumes": "ceph-rbd"},
        "storage.volumes",
    ),
    (
        "volumes-without-backend",
        "error",
        "lab",
        {"storage": {"backend": "external", "volumes": "ceph-rbd"}},
        "storage.volumes",
    ),
    ("volumes-not-seen", "warning", "region", {"storage/backend": "cephadm"}, "storage.volumes"),
    ("volumes-not-seen", "warning", "lab", IMAGES, "storage.volumes"),
    (
        "node-without-storage-network",
        "error",
        "lab",
        {
            **IMAGES,
            "networks/storage": {"cidr": "10.90.2.0/24", "racks": {"r2": {"cidr": "10.90.2.0/25"}}},
            "machines/storage/rack": "r2",
        },
        "networks.storage",
    ),
    (
        "one-pool-for-everything",
        "error",
        "region",
        {"storage/pools": {"volumes": {"name": "rbd"}, "images": {"name": "rbd"}, "vms": {"name": "rbd"}}},
        "storage.pools.images",
    ),
    (
        "one-pool-for-everything",
        "error",
        "region",
        {"storage/pools": {"images": {"name": "volumes"}}},
        "storage.pools.volumes",
    ),
    (
        "one-pool-for-everything",
        "warning",
        "lab",
        {**OTHERS, "storage/pools": {"images": {"name": "volumes"}}},
        "storage.pools.images",
    ),
    ("laptop-ceph", "error", "region", {"machines/storage/count": 1}, "machines.storage"),
    ("too-few-replicas", "error", "region", {"storage/replicas": 1}, "storage.replicas"),
    (
        "too-few-replicas",
        "warning",
        "region",
        {"storage/pools": {"vms": {"replicas": 2}}},
        "storage.pools.vms.replicas",
    ),
    # a Ceph of the site's own
    ("no-osds", "error", "region", {"machines/storage/hardware": "region-storage"}, "hardware.region-storage.osds"),
    (
        "same-osd-twice",
        "error",
        "region",
        {"hardware/region-osd/osds": [{"device": "/dev/disk/by-path/a"}, {"device": "/dev/disk/by-path/a"}]},
        "hardware.region-osd.osds",
    ),
    (
        "same-disk-twice",
        "error",
        "region",
        {"hardware/region-osd/osds": [{"device": "/dev/disk/by-path/a"}, {"device": "/dev/disk/by-path/a-part1"}]},
        "hardware.region-osd.osds",
    ),
    (
        "device-that-moves",
        "warning",
        "region",
        {"hardware/region-osd/osds": [{"device": "/dev/sdb"}]},
        "hardware.region-osd.osds",
    ),
    ("external-without-backend", "error", "lab", {**OTHERS, "storage/backend": "none"}, "storage.external"),
    (
        "unknown-ceph-client",
        "error",
        "lab",
        {**OTHERS, "storage/external/clients": {"glanec": "x"}},
        "storage.external.clients.glanec",
    ),
    (
        "shared-ceph-user",
        "error",
        "lab",
        {**OTHERS, "storage/external/clients": {"cinder": "openstack", "glance": "openstack"}},
        "storage.external.clients",
    ),
    (
        "administrator-as-client",
        "error",
        "lab",
        {**OTHERS, "storage/external/clients": {"glance": "admin"}},
        "storage.external.clients.glance",
    ),
    (
        "ceph-of-others",
        "warning",
        "lab",
        {**OTHERS, "storage/pools": {"images": {"device_class": "ssd"}}, "storage/monitors": 3},
        "storage.pools.images",
    ),
    ("objects-without-ceph", "error", "lab", {**OTHERS, "openstack/services": ["ceph-rgw"]}, "openstack.services"),
    ("osd-in-a-file", "error", "region", {**FILES, **NATIVE}, "hardware.files.osds"),
    (
        "osd-in-a-file",
        "error",
        "lab",
        {"storage/backend": "rook", "machines/storage/count": 3},
        "hardware.lab-container.osds",
    ),
    (
        "pool-without-devices",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"vms": {"device_class": "nvme"}}},
        "storage.pools.vms",
    ),
    (
        "monitor-without-host",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/monitors": ["storage-1", "storage-2", "store-3"]},
        "storage.monitors",
    ),
    (
        "monitor-without-host",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/monitors": ["storage-1", "storage-1", "storage-2"]},
        "storage.monitors",
    ),
    (
        "one-copy",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"vms": {"replicas": 1}}},
        "storage.pools.vms.replicas",
    ),
    (
        "pool-name-fixed",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "storage/pools": {"objects": {"name": "mine"}}},
        "storage.pools.objects.name",
    ),
    (
        "ceph-needs-debian",
        "error",
        "lab",
        {**NATIVE, "machines/storage": {"count": 3}, "hosts/debian_releases": ["12"]},
        "hosts.debian_releases",
    ),
    (
        "backups-without-objects",
        "error",
        "lab",
        {
            **NATIVE,
            "machines/storage": {"count": 3},
            "storage/backups": "objects",
            "openstack/services": ["keystone", "cinder"],
        },
        "storage.backups",
    ),
    # disks of instances
    (
        "disks-without-ceph",
        "error",
        "cloud",
        {**IN_CEPH, "storage/backend": "none"},
        "hardware.own.compute.disks",
    ),
    (
        "mixed-disks",
        "warning",
        "cloud",
        {
            **IN_CEPH,
            **NATIVE,
            "machines/storage": {"count": 3},
            "machines/hypervisor/hardware": None,
            "machines/hypervisor/machines": {"hypervisor-1": {"hardware": "own"}},
        },
        "hardware.own.compute.disks",
    ),
]
