"""What the layer `hypervisor` brings to plain Debian 12 and 13: packages from a seed, and on them the environment.

No unit runs here: what systemd and a network are needed for is `tests/e2e/test_existing_hypervisors.py`.
"""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.chassis import Chassis, ChassisBridge
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS

from .plain import Host

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="mounts")]

RELEASE = "2026.1"
PROGRAMS = ["nova-compute", "neutron-ovn-agent", "neutron-sriov-nic-agent", "privsep-helper"]
CHASSIS = Chassis(
    system_id="hypervisor-1",
    tunnel="192.0.2.1",
    external_ids={"hostname": "hypervisor-1", "ovn-encap-type": "geneve", "ovn-encap-ip": "192.0.2.1"},
    other_config={"userspace-tso-enable": "true"},
    bridges=(ChassisBridge(name="br-ex", port="lo-ext", datapath="netdev"),),
)
# The module's own code, piece by piece, where its units would begin what they need.
_PROGRAM = """
import json, subprocess, sys
sys.path.insert(0, "/opt/ours")
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import environment, openvswitch
given = json.load(open("/opt/given.json"))
exec(given["before"])
changes, told = Changes(check=False), {}
name, _ = environment.place(
    changes, release=given["release"], url="http://127.0.0.1:8000/environment.tar.gz", sha256=given["sha256"], ca=None
)
environment.switch(changes, name)
told["environment"] = environment.current()
for program in given["programs"]:
    said = subprocess.run([f"/opt/groundup/openstack/current/bin/{program}", "--help"], capture_output=True, text=True)
    told[program] = said.stdout[:40] or said.stderr[-400:]

run(["/usr/share/openvswitch/scripts/ovs-ctl", "start", "--system-id=hypervisor-1", "--no-monitor"])
commands = openvswitch.differences(openvswitch.read(changes), given["chassis"])
run(["ovs-vsctl", "--no-wait", *(word for _, command in commands for word in ("--", *command))])
known = openvswitch.read(changes)
told["openvswitch"] = {
    "again": [line for line, _ in openvswitch.differences(known, given["chassis"])],
    "managers": run(["ovs-vsctl", "get-manager"]).split(),
}
told["ovn"] = run(["ovn-controller", "--version"]).splitlines()[0]

told["libvirt"] = run(["libvirtd", "--version"]).strip()
told["cpu"] = "Nehalem" in run(["qemu-system-x86_64", "-cpu", "help"]).split()
run(["ovs-appctl", "-t", "ovs-vswitchd", "exit"])
json.dump(told, open("/opt/told.json", "w"))
"""


def test_a_plain_host_becomes_a_hypervisor_of_its_release(host: Host) -> None:
    packages, *_ = LAYERS["hypervisor"].installs
    assert host.install(*packages.packages)["lacking"] == []
    name = f"hypervisor-{host.release}"
    if supply.missing((name,)):
        pytest.skip(f"not built on this machine: {name}")
    (archive,) = supply.ensure((name,))[name].path.rglob("environment.tar.gz")
    shutil.copy(archive, host.root.upper / "srv/groundup/environment.tar.gz")
    given = {"release": RELEASE, "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}
    told = host.told(_PROGRAM, given | {"programs": PROGRAMS, "chassis": CHASSIS.options()})
    assert told["environment"].startswith(f"{RELEASE}-")
    assert {program: told[program][:5] for program in PROGRAMS} == dict.fromkeys(PROGRAMS, "usage")
    assert told["openvswitch"] == {"again": [], "managers": []}
    assert told["ovn"].startswith(f"ovn-controller {'23.03' if host.release == '12' else '25.03'}.")
    assert told["libvirt"].startswith(f"libvirtd (libvirt) {'9.0' if host.release == '12' else '11.3'}.")
    assert told["cpu"], "the lab's model"
