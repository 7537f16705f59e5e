"""A real node exporter with its unit's arguments tells of a host's links and file systems, bonds, RAID and memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import TEXTS
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.exporter import BESIDE, COLLECTORS, unit_text
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.monitoring.recorded import MADE, parsed

from .watched import command

POD = "/var/lib/kubelet/pods/7f/volumes"
# As kernels write it: whole, being rebuilt, with a failed disk for which a spare took over, of a controller's own kind.
RAID = """\
Personalities : [raid1] [raid6] [raid5] [raid4]
md0 : active raid1 sdb1[1] sda1[0]
      1048512 blocks super 1.2 [2/2] [UU]

md1 : active raid1 sdb2[2] sda2[0]
      1048512 blocks super 1.2 [2/1] [U_]
      [==>..................]  recovery = 12.6% (132112/1048512) finish=0.1min speed=132112K/sec

md2 : active raid5 sdd3[3](F) sdc3[4] sdb3[1] sda3[0]
      2097024 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]

md127 : inactive sde[0](S)
      2600 blocks super external:imsm

unused devices: <none>
"""
BOND, CONTROLLER = "sys/class/net/bond0", "sys/devices/system/edac/mc/mc0"
MACHINE = {
    "proc/mdstat": RAID,
    "sys/class/net/bonding_masters": "bond0\n",
    f"{BOND}/bonding/slaves": "eno1 eno2\n",
    f"{BOND}/lower_eno1/bonding_slave/mii_status": "up\n",
    f"{BOND}/lower_eno2/bonding_slave/mii_status": "down\n",
    **{
        f"{CONTROLLER}/{kind}_count": f"{number}\n"
        for number, kind in enumerate(("ce", "ue", "ce_noinfo", "ue_noinfo"), 7)
    },
}


def test_links_and_volumes_of_pods_are_not_told(tmp_path: Path, root: Callable[[str], Path]) -> None:
    with host_root(tmp_path) as host:
        shutil.copy(root("root-monitoring") / "usr/bin/prometheus-node-exporter", host.at("usr/bin"))
        host.at(TEXTS).mkdir(parents=True)
        for link in (("br-ex", "type", "bridge"), ("veth7", "type", "veth", "peer", "name", "cali7")):
            assert host.run("ip", "link", "add", *link).returncode == 0
        volumes = [f"{POD}/kubernetes.io~{kind}/one" for kind in ("projected", "local-volume")]
        for volume in volumes:
            host.at(volume).mkdir(parents=True)
            assert host.run("mount", "-t", "tmpfs", "tmpfs", volume).returncode == 0
        words = command(unit_text("127.0.0.1", clock=False))
        host.start(*(word for word in words if not word.startswith("--web.config.file")))
        until(lambda: bool(_said(host)), seconds=30)
        text = _said(host)
        assert set(re.findall(r'^node_network_receive_bytes_total{device="([^"]+)"', text, re.MULTILINE)) == {"br-ex"}
        told = set(re.findall(r'^node_filesystem_size_bytes{.*mountpoint="([^"]+)"', text, re.MULTILINE))
        assert told & {*volumes} == {volumes[1]}
        by = set(re.findall(r'^node_scrape_collector_success{collector="(\w+)"} ', text, re.MULTILINE))
        assert by == {*COLLECTORS, *BESIDE}


def test_bonds_raid_and_memory_errors_are_told_by_the_names_that_alerts_ask(
    tmp_path: Path, root: Callable[[str], Path]
) -> None:
    with host_root(tmp_path) as host:
        shutil.copy(root("root-monitoring") / "usr/bin/prometheus-node-exporter", host.at("usr/bin"))
        for path, text in MACHINE.items():
            host.at(f"srv/{path}").parent.mkdir(parents=True, exist_ok=True)
            host.at(f"srv/{path}").write_text(text)
        collectors = ("disable-defaults", "bonding", "edac", "mdadm")
        host.start(
            "prometheus-node-exporter", "--path.procfs=/srv/proc", "--path.sysfs=/srv/sys",
            *(f"--collector.{one}" for one in collectors),
        )  # fmt: skip
        until(lambda: bool(_said(host)), seconds=30)
        text = _said(host)
        kinds = ("node_bonding_", "node_edac_", "node_md_")
        asked = {name: labels for name, labels in MADE.items() if name.startswith(kinds)}
        assert {name: labels for name, labels in parsed(text).items() if name in asked} == asked
        told = dict(re.findall(r"^(node_(?:bonding|edac|md)_.+) (\S+)$", text, re.MULTILINE))
        disks = {
            name: [told[f'node_md_disks{{device="{name}",state="{state}"}}'] for state in ("active", "failed")]
            for name in ("md0", "md1", "md2", "md127")
        }
        assert disks == {"md0": ["2", "0"], "md1": ["1", "0"], "md2": ["3", "1"], "md127": ["0", "0"]}
        required = [told[f'node_md_disks_required{{device="{name}"}}'] for name in disks]
        assert required == ["2", "2", "3", "0"]
        assert [told[f'node_bonding_{one}{{master="bond0"}}'] for one in ("slaves", "active")] == ["2", "1"]
        errors = [told[f'node_edac_{kind}_errors_total{{controller="0"}}'] for kind in ("correctable", "uncorrectable")]
        assert errors == ["7", "8"]


def _said(host: HostRoot) -> str:
    return host.run("curl", "-sf", "http://127.0.0.1:9100/metrics").stdout
