"""Every program that a module calls on a host is in a package that a layer installs, or on any Debian we take over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import ALERTMANAGER, LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.runtime import HYPERVISOR, TPM
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, load_site, make_plan

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
# The lab's hosts are made on the controller, where these run (meta/bindep.txt).
ON_THE_CONTROLLER = ("_container/",)
DOWNLOADED = {"crictl", "kubeadm", "kubectl", "kubelet"}  # from the seed's file tree
# Debian's essential packages, and what a host must have before its first run: systemd, openssh-server, sudo, python3.
EVERY_DEBIAN = {
    "apt-config": "apt", "apt-get": "apt",
    "blkid": "util-linux", "dpkg": "dpkg", "dpkg-query": "dpkg", "install": "coreutils",
    "journalctl": "systemd", "lsblk": "util-linux", "runuser": "util-linux", "setpriv": "util-linux",
    "ssh-keygen": "openssh-client",  # sshd needs it
    "sshd": "openssh-server", "systemctl": "systemd", "systemd-run": "systemd", "tar": "tar", "timedatectl": "systemd",
    "unshare": "util-linux", "useradd": "passwd", "usermod": "passwd", "visudo": "sudo",
}  # fmt: skip
INSTALLED = {  # or in one that it needs
    "amtool": "prometheus-alertmanager",
    "ceph-authtool": "ceph-common", "ceph-mon": "ceph-mon", "ceph-osd": "ceph-osd", "monmaptool": "ceph-mon",
    "haproxy": "haproxy", "ip": "iproute2", "keepalived": "keepalived", "modprobe": "kmod", "nft": "nftables",
    "openssl": "openssl", "ovn-appctl": "ovn-common", "ovn-sbctl": "ovn-common", "ovsdb-client": "openvswitch-common",
    "ovsdb-tool": "openvswitch-common", "ovs-vsctl": "openvswitch-switch",
    "update-ca-certificates": "ca-certificates", "virsh": "libvirt-clients",
}  # fmt: skip


def called() -> Iterator[tuple[str, str]]:
    """Yield program and file of every list that is run, where its first word is written there."""
    for path in sorted([*(PLUGINS / "module_utils").rglob("*.py"), *(PLUGINS / "modules").glob("*.py")]):
        if any(part in str(path) for part in ON_THE_CONTROLLER):
            continue
        for call in (
            node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        ):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in ("run", "attempt") and call.args and isinstance(call.args[0], ast.List) and call.args[0].elts:
                first = call.args[0].elts[0]
                if isinstance(first, ast.Constant):
                    yield Path(str(first.value)).name, path.name


def test_programs_come_from_packages_of_the_tables() -> None:
    packages = {
        name for layer in LAYERS.values() for one in layer.installs for name in (*one.packages, *one.substitutes)
    } | {ALERTMANAGER}
    assert set(INSTALLED.values()) <= packages
    found = dict(called())
    assert len(found) > 10
    unknown = {
        program: file for program, file in found.items() if program not in {*DOWNLOADED, *EVERY_DEBIAN, *INSTALLED}
    }
    assert not unknown, "name the package of each in a table of plugin_utils/layers, and here"


@pytest.mark.parametrize("path", [Path(path).name for path in HYPERVISOR])
def test_what_novas_and_neutrons_services_call_at_run_time_is_installed_and_verified(path: str) -> None:
    ((package, what),) = (said for place, said in HYPERVISOR.items() if Path(place).name == path)
    installed = {name for one in LAYERS["hypervisor"].installs for name in one.packages}
    assert package in installed
    plan = make_plan(load_site(PLUGINS.parent / "inventories/cloud/site.yml"))
    assert what in plan.hypervisor.programs.values()
    assert package in plan.hosts["hypervisor-1"].packages["hypervisor"]
    role = (PLUGINS.parent / "roles/hypervisor/vars/main.yml").read_text(encoding="utf-8")
    assert 'programs: "{{ groundup_site.hypervisor.programs }}"' in role


@pytest.mark.parametrize("kept", [False, True])
def test_a_tpm_is_offered_where_barbican_keeps_what_unlocks_it(kept: bool) -> None:
    data = yaml.safe_load((PLUGINS.parent / "inventories/cloud/site.yml").read_text(encoding="utf-8"))
    data["openstack"]["services"] += ["barbican"] if kept else []
    plan = with_values(make_plan(build_site(data)))
    assert ("swtpm-tools" in plan.hosts["hypervisor-1"].packages["hypervisor"]) == kept
    assert (set(TPM) <= set(plan.hypervisor.programs)) == kept
    (nova,) = (one.values["conf"]["nova"] for one in plan.openstack.releases if one.name == "nova")
    offered = nova.get("libvirt", {})
    assert offered.get("swtpm_enabled", False) == kept
    # Nova's own account may store no secret: Nova's default offers its policy, too.
    assert offered.get("supported_tpm_secret_security") == ("user,host" if kept else None)
