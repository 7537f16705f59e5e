"""Debian's systemd-networkd reads every file that we word, and does as they say, in a network namespace.

This machine's kernel has neither bonds nor VLANs: their files are read, and the kernel's refusal is all that is said of
them. An emulated machine makes them (tier `metal`).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import network, networkd
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
ROOTFS = "rootfs-plain-13"
# networkd waits for udev where /sys can be written.
ENTER = """
lower=$1 work=$2
mkdir -p "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mount --rbind /dev dev; mount -t proc proc proc; mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs run; mount -t tmpfs tmpfs tmp
ip link set lo up
for port in p1 p2; do ip link add $port type veth peer name $port-switch; ip link set $port-switch up; done
mkdir -p run/systemd/network
cp "$work"/files/* etc/systemd/network/
mkdir -p etc/systemd/networkd.conf.d
cp "$work/settings" etc/systemd/networkd.conf.d/10-groundup.conf
exec chroot . env SYSTEMD_LOG_TARGET=console SYSTEMD_IGNORE_CHROOT=1 /usr/lib/systemd/systemd-networkd 2> "$work/log"
"""
REAL = (
    LinkPlan(
        name="p1", kind="port", mtu=1400, network="management", address="10.5.0.2/24",
        routes=(("0.0.0.0/0", "10.5.0.1"),),
    ),
    LinkPlan(name="p2", kind="port", mtu=1300),
    LinkPlan(
        name="br0", kind="bridge", mtu=1300, members=("p2",), network="storage", address="10.6.0.2/24",
        routes=(("10.6.0.0/16", "10.6.0.1"),),
    ),
)  # fmt: skip
# Of ports that are not there, so that they disturb no other.
READ = (
    LinkPlan(name="n1", kind="port", mtu=9000, mac="52:54:00:4d:00:01", rename=True),
    LinkPlan(name="n2", kind="port", mtu=9000, mac="52:54:00:4d:00:02", network="provider"),
    LinkPlan(
        name="bond0", kind="bond", mtu=9000, members=("n1",), mode="802.3ad", lacp_rate="fast", mac="52:54:00:4d:00:01"
    ),
    LinkPlan(name="n3", kind="port", mtu=1500, mac="52:54:00:4d:00:03"),
    LinkPlan(name="bond1", kind="bond", mtu=1500, members=("n3",), mode="active-backup", primary="n3"),
    LinkPlan(name="stor0", kind="vlan", mtu=9000, vlan=120, parent="bond0", network="s", address="10.8.0.2/24"),
)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[int]:
    """A process in the namespace of a running networkd."""
    if supply.missing([ROOTFS]):
        pytest.skip(f"{ROOTFS} is not built on this machine")
    (tmp_path / "files").mkdir()
    for name, text in networkd.files([asdict(one) for one in (*REAL, *READ)], dns=["10.5.0.53"]).items():
        (tmp_path / "files" / name).write_text(text)
    (tmp_path / "settings").write_text(network.SETTINGS_TEXT)
    spaces = ["--mount", "--pid", "--net", "--fork", "--kill-child=KILL", "--propagation=private"]
    enter = ["sh", "-euc", ENTER, "sh", str(supply.unpacked(ROOTFS)), str(tmp_path)]
    with subprocess.Popen(["unshare", *spaces, "--", *enter]) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        end = time.monotonic() + 120
        while not children.read_text().strip():
            assert time.monotonic() < end
            time.sleep(0.1)
        child = int(children.read_text().split()[0])
        try:
            yield child
        finally:
            os.kill(child, signal.SIGKILL)  # networkd takes another user, and unshare's end is no longer its own
            process.wait()


def shown(space: int, *words: str) -> list[dict[str, Any]]:
    argv = ["nsenter", "--target", str(space), "--net", "--", "ip", "-json", *words, "show"]
    found: list[dict[str, Any]] = json.loads(
        subprocess.run(argv, capture_output=True, text=True, check=True).stdout or "[]"
    )
    return found


def test_networkd_understands_every_file_and_makes_what_the_kernel_has(space: int, tmp_path: Path) -> None:
    wanted = {"p1": (1400, ["10.5.0.2"], None), "p2": (1300, [], "br0"), "br0": (1300, ["10.6.0.2"], None)}
    end = time.monotonic() + 180
    while True:
        links = {link["ifname"]: link for link in shown(space, "address")}
        found = {
            name: (link["mtu"], [one["local"] for one in link["addr_info"]], link.get("master"))
            for name in wanted
            if (link := links.get(name))
        }
        routes = {(route["dst"], route.get("gateway")) for route in shown(space, "route")}
        if found == wanted and {("default", "10.5.0.1"), ("10.6.0.0/16", "10.6.0.1")} <= routes:
            break
        assert time.monotonic() < end, (found, routes, (tmp_path / "log").read_text())
        time.sleep(0.5)
    log = (tmp_path / "log").read_text()
    assert re.findall(r".*\.(?:network|netdev|conf):\d+:.*", log) == []
    assert "bond0: Failed to create netdev: Operation not supported" in log or "bond0" in links
