"""The rack of a lab: an emulated machine for each dark one of its site, on the lab's bridges."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.run import attempt, run
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_alias, link_name
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import boot_port, node_id
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity, identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.metal import to_discover
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import HostPlan, InterfacePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.rack.machine import RackMachine


def ports(plan: Plan, host: HostPlan) -> list[InterfacePlan]:
    """Return its ports: those with a MAC address, or of a machine that nobody knows all, that it boots from first."""
    if not to_discover(host, plan.networks):
        return [boot_port(host)]
    found = sorted(host.interfaces, key=lambda port: plan.networks[port.network].purpose != "provisioning")
    return [replace(port, mac=_mac(plan, host, port)) for port in found]


def _mac(plan: Plan, host: HostPlan, port: InterfacePlan) -> str:
    """Return a MAC address that is written nowhere."""
    digest = hashlib.sha256(f"{plan.site}/{host.name}/{port.name}".encode()).hexdigest()
    return ":".join(("52:54:00", digest[:2], digest[2:4], digest[4:6]))


def machine(plan: Plan, host: HostPlan, *, password: str) -> RackMachine:
    """Return the emulated machine of ``host``."""
    (port, *more), bmc = ports(plan, host), host.bmc or {}
    tap = link_name(plan.site, host.name, port.name)
    others: list[str] = []
    for number, other in enumerate(more):
        name = link_name(plan.site, host.name, other.name)
        others += ["-netdev", f"tap,id=lan{number},ifname={name},script=no,downscript=no"]
        others += ["-device", f"virtio-net-pci,netdev=lan{number},mac={other.mac},romfile="]
    return RackMachine(
        home=_home(plan) / host.name,
        name=host.name,
        uuid=node_id(plan.site, host.name),
        mac=str(port.mac),
        address=str(bmc["address"]),
        password=password,
        decoy=bool(host.system_disk),
        network=("-netdev", f"tap,id=lan,ifname={tap},script=no,downscript=no", *others),
    )


def up(plan: Plan) -> None:
    """Start the controllers; the machines are off."""
    store = open_store(plan.site, write=False)
    for host in _dark(plan):
        bmc = host.bmc or {}
        for port in ports(plan, host):
            tap = link_name(plan.site, host.name, port.name)
            if attempt(["ip", "link", "show", "dev", tap]).returncode:
                run(["ip", "tuntap", "add", tap, "mode", "tap"])
            alias = link_alias(plan.site, host.name, port.name)
            run(["ip", "link", "set", tap, "master", link_name(plan.site, port.network), "alias", alias, "up"])
        # The controllers are on the lab's own machine, which the hosts reach as their router. Their addresses are on a
        # link of ours: the layer metal removes what it did not plan from its bridges.
        run(["ip", "address", "replace", f"{bmc['address']}/32", "dev", tap])
        machine(plan, host, password=store.get(str(bmc["credentials"]))).start()


def on(plan: Plan) -> None:
    """Switch on those that nobody knows, unless they were found: the seed must answer them now."""
    store = open_store(plan.site, write=False)
    for host in _dark(plan):
        if to_discover(host, plan.networks) and not identity(home_of(plan.site), host.name):
            machine(plan, host, password=store.get(str((host.bmc or {})["credentials"]))).switch_on()


def down(plan: Plan) -> None:
    """End machines and controllers, remove their disks and journals, and print the consent to remove the rest."""
    if _dark(plan) and (_home(plan).exists() or not state_dir(plan.site).exists()):
        print(json.dumps({"lab_force": ["machines"]}))
    for host in _dark(plan):
        machine(plan, host, password="").stop()
        for port in ports(plan, host):
            tap = link_name(plan.site, host.name, port.name)
            subprocess.run(["ip", "link", "delete", "dev", tap], check=False, capture_output=True)
        if (home := _home(plan) / host.name).exists():  # not a real machine, whose journal stays
            shutil.rmtree(home, ignore_errors=True)
            file_of(home_of(plan.site), host.name).unlink(missing_ok=True)
            identity_file(home_of(plan.site), host.name).unlink(missing_ok=True)
            shutil.rmtree(home_of(plan.site) / "discovered", ignore_errors=True)


def _home(plan: Plan) -> Path:
    return state_dir(plan.site) / "rack"


def _dark(plan: Plan) -> list[HostPlan]:
    return [
        host
        for host in plan.hosts.values()
        if host.provisioner == "ironic"
        and (to_discover(host, plan.networks) or any(port.mac for port in host.interfaces))
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("up", "on", "down"))
    parser.add_argument("site")
    given = parser.parse_args()
    {"up": up, "on": on, "down": down}[given.verb](make_plan(load_site(given.site)))
