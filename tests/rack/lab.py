"""The rack of a lab: an emulated machine for each dark one of its site, on the lab's bridges."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.run import attempt, run
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_alias, link_name
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import boot_port, node_id
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import HostPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import open_store
from ansible_collections.groundup.cloud.tests.rack.machine import RackMachine


def machine(plan: Plan, host: HostPlan, *, password: str) -> RackMachine:
    """Return the emulated machine of ``host``."""
    port, bmc = boot_port(host), host.bmc or {}
    tap = link_name(plan.site, host.name, port.name)
    return RackMachine(
        home=_home(plan) / host.name,
        name=host.name,
        uuid=node_id(plan.site, host.name),
        mac=str(port.mac),
        address=str(bmc["address"]),
        password=password,
        network=("-netdev", f"tap,id=lan,ifname={tap},script=no,downscript=no"),
    )


def up(plan: Plan) -> None:
    """Start the controllers; the machines are off."""
    store = open_store(plan.site, write=False)
    for host in _dark(plan):
        bmc, port = host.bmc or {}, boot_port(host)
        # The controllers are on the lab's own machine, which the hosts reach as their router.
        oob = next(network.name for network in plan.networks.values() if network.purpose == "oob")
        run(["ip", "address", "replace", f"{bmc['address']}/32", "dev", link_name(plan.site, oob)])
        tap = link_name(plan.site, host.name, port.name)
        if attempt(["ip", "link", "show", "dev", tap]).returncode:
            run(["ip", "tuntap", "add", tap, "mode", "tap"])
        alias = link_alias(plan.site, host.name, port.name)
        run(["ip", "link", "set", tap, "master", link_name(plan.site, port.network), "alias", alias, "up"])
        machine(plan, host, password=store.get(str(bmc["credentials"]))).start()


def down(plan: Plan) -> None:
    """End machines and controllers, and remove their disks and journals."""
    for host in _dark(plan):
        machine(plan, host, password="").stop()
        tap = link_name(plan.site, host.name, boot_port(host).name)
        subprocess.run(["ip", "link", "delete", "dev", tap], check=False, capture_output=True)
        if (home := _home(plan) / host.name).exists():  # not a real machine, whose journal stays
            shutil.rmtree(home, ignore_errors=True)
            file_of(home_of(plan.site), host.name).unlink(missing_ok=True)


def _home(plan: Plan) -> Path:
    return state_dir(plan.site) / "rack"


def _dark(plan: Plan) -> list[HostPlan]:
    return [
        host
        for host in plan.hosts.values()
        if host.provisioner == "ironic" and any(port.mac for port in host.interfaces)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("up", "down"))
    parser.add_argument("site")
    given = parser.parse_args()
    {"up": up, "down": down}[given.verb](make_plan(load_site(given.site)))
