"""A machine that cannot carry a lab is told so as its first user would see it, and stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab.check import TOOLS

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces of its own")]

SITE = """\
plugin: groundup.cloud.site
site: labrefused
domain: refused.test
profile: lab
networks:
  management: {cidr: 10.95.129.0/24}
machines:
  seed: {count: 1}
  control: {count: 1}
"""
HUGE = "hardware: {huge: {cores: 1, memory_gb: 65536, nic_gbps: 1, nvme: false}}\n"
IN_A_NETWORK = (
    """exec unshare --net sh -c 'ip link add t0 type bridge && ip link set t0 up && {} && exec "$@"' sh "$@"\n"""
)
IN_A_MOUNT = """exec unshare --mount sh -c 'mount -t tmpfs -o size=64m none "$GROUNDUP_STATE" && exec "$@"' sh "$@"\n"""
# Around the same command, each in namespaces of its own: this machine's users, networks and mounts are not touched.
CASES = {
    "not root": (SITE, 'exec unshare --user "$@"', ["a lab needs root", "run it as root"]),
    "a network in use": (
        SITE,
        IN_A_NETWORK.format("ip addr add 10.95.0.7/16 dev t0"),
        ["10.95.129.0/24 overlaps", "10.95.0.0/16 (t0)", "networks.management.cidr"],
    ),
    "a route in use": (
        SITE,
        IN_A_NETWORK.format("ip route add 10.95.128.0/20 dev t0"),
        ["10.95.128.0/20 (route on t0)", "networks.management.cidr"],
    ),
    "too little disk": (
        SITE,
        IN_A_MOUNT,
        ["0.1 GiB of disk are free, and 2 new hosts need 6.0 GiB", "GROUNDUP_STATE"],
    ),
    "too little memory": (
        SITE.replace("seed: {count: 1}", "seed: {count: 1, hardware: huge}") + HUGE,
        'exec "$@"',
        ["GiB of memory are available, and 2 hosts need", "write fewer machines"],
    ),
    "no runc": (SITE, 'PATH="$TOOLS" exec "$@"', ["runc: not on this machine", "apt-get install runc"]),
}


@pytest.mark.parametrize(("site", "around", "said"), CASES.values(), ids=CASES.keys())
def test_what_is_in_the_way_of_a_lab_is_told_before_anything_is_changed(
    tmp_path: Path, site: str, around: str, said: list[str]
) -> None:
    file, state, tools = tmp_path / "site.yml", tmp_path / "state", tmp_path / "tools"
    file.write_text(site)
    state.mkdir()
    tools.mkdir()
    for tool in (TOOLS.keys() - {"runc"}) | {"sh"}:
        (tools / tool).symlink_to(subprocess.check_output(["which", tool], text=True).strip())

    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(file), "groundup.cloud.metal"]
    done = subprocess.run(
        ["sh", "-c", around, "sh", *command],
        env=os.environ | {"GROUNDUP_STATE": str(state), "TOOLS": str(tools)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    told = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    for words in said:
        assert words in told
    assert "Traceback" not in done.stdout + done.stderr
    assert list(state.iterdir()) == []
