"""Every program that the services' wheels name in a call is installed where they run, or nothing of ours calls it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.runtime import HYPERVISOR

from .conftest import Image

PACKAGES = ("nova", "cinder", "glance", "glance_store", "neutron", "os_brick", "os_vif")
CALLS = {"execute", "_execute", "trycmd", "Popen", "check_output", "check_call", "run", "execute_root"}
# Of drivers that the plan has no option for, and of agents that OVN replaces.
OTHERS = (
    "cinder/volume/drivers/", "cinder/volume/targets/", "cinder/privsep/targets/", "cinder/zonemanager/",
    "nova/virt/ironic/", "nova/virt/vmwareapi/", "nova/virt/zvm/", "nova/virt/libvirt/volume/",
    "os_brick/initiator/connectors/", "os_brick/initiator/windows/", "os_brick/remotefs/",
    "neutron/plugins/ml2/drivers/openvswitch/", "neutron/plugins/ml2/drivers/linuxbridge/",
    "neutron/plugins/ml2/drivers/macvtap/", "neutron/plugins/ml2/drivers/mech_sriov/", "neutron/agent/linux/dhcp",
    "neutron/agent/l3/",
)  # fmt: skip
OURS = ("cinder/volume/drivers/rbd.py", "os_brick/initiator/connectors/rbd.py", "nova/virt/libvirt/volume/net.py")
# What the services' own code calls, by where that is: a program that a wheel calls is here or in HYPERVISOR.
# On each Debian: coreutils, util-linux, mount.
EVERYWHERE = "blockdev chgrp chmod chown cp dd df fallocate ln losetup mkfs mkswap mount mv shred tee umount"
ON_HYPERVISORS = (
    "e2fsck e2label genisoimage ip iptables iptables-save kill pgrep qemu-img rbd resize2fs ssh "
    "sysctl systemd-run tune2fs uptime"
)
IN_PODS = "openssl ovsdb-client qemu-img rbd"  # image `openstack`
# Why nothing of ours calls it -> programs. Who asks for it is refused by its API, or has no option for it.
NOT_CALLED: dict[str, str] = {
    "volumes are in Ceph: no iSCSI, Fibre Channel, NVMe, LVM or NFS": (
        "/lib/udev/scsi_id grep iscsiadm lsblk lsscsi lvchange lvconvert lvcreate lvremove lvrename lvs "
        "multipath multipathd udevadm vgcreate vgs"
    ),
    "encrypted volumes are opened by QEMU itself": "cryptsetup",
    "files are not put into images (inject_partition)": "kpartx parted qemu-nbd",
    "OVN does the work of these agents": (
        "arping conntrack conntrackd dhcp_release6 dnsmasq ebtables filter ip6tables ipset keepalived modinfo "
        "ovn-nbctl ovn-sbctl ovs-ofctl ovs-vsctl"
    ),
    "no driver of a site's interfaces, caches or memory": (
        "casadm daxio ebrctl ifc_ctl mm-ctl mount.quobyte ndctl ploop prl_disk_tool tunctl"
    ),
    "no cgroups or compression for copies of volumes, no images of Xen": (
        "cgcreate cgset gzip qzip tar vhd-util which"
    ),
    "rbd does it; ceph is asked for mirrors alone": "ceph",
    "Kubernetes starts and watches Glance": "/usr/bin/pgrep start",
}


def leading(items: list[ast.expr]) -> str:
    """Return the program of a command's first words, "" when the code makes it up."""
    words = []
    for item in items:
        if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
            break
        words.append(item.value)
    return next((word for word in words if word != "env" and "=" not in word), "")


def commands(tree: ast.AST) -> Iterator[str]:
    """Yield the program of every call that runs one, and of every list that is called a command."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CALLS:
                first = node.args[0]
                yield leading(first.elts if isinstance(first, ast.List | ast.Tuple) else node.args)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple):
            target = node.targets[0]
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            if any(word in name.lower() for word in ("cmd", "command", "args")):
                yield leading(node.value.elts)


@pytest.fixture(scope="module")
def found(image: Callable[[str], Image]) -> dict[str, str]:
    """Programs that the wheels in the image call, each with one file that does."""
    (place,) = (image("openstack").root / "var/lib/openstack/lib").glob("python3*/site-packages")
    files = {str(path.relative_to(place)): path for name in PACKAGES for path in (place / name).rglob("*.py")}
    kept = {name: path for name, path in files.items() if name in OURS or not name.startswith(OTHERS)}
    assert len(kept) > 1000
    return {
        word: name
        for name, path in sorted(kept.items())
        for word in commands(ast.parse(path.read_bytes()))
        if word and not word.startswith("-") and (word.islower() or "/" in word) and " " not in word.strip()
    }


def test_every_program_that_a_service_calls_has_a_place_or_a_reason(found: dict[str, str]) -> None:
    known = set(" ".join((EVERYWHERE, ON_HYPERVISORS, IN_PODS, *NOT_CALLED.values())).split())
    assert {word: file for word, file in found.items() if word not in known} == {}, (
        "into this file, or plugin_utils/layers/runtime.py"
    )
    assert known - set(found) - {Path(path).name for path in HYPERVISOR} == set(), "nothing calls these any more"


def test_what_is_called_in_pods_is_in_their_image(image: Callable[[str], Image]) -> None:
    root = image("openstack").root
    places = ("usr/bin", "usr/sbin", "var/lib/openstack/bin")
    missing = [
        name
        for name in f"{IN_PODS} {EVERYWHERE}".split()
        if not any((root / place / name).exists() for place in places)
    ]
    assert missing == []
