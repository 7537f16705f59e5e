"""An unknown machine with a bond reports to the real Ironic: its ports are found by the names that Ironic kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import network_data
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.metal import ironic as seed
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import metal_of
from ansible_collections.groundup.cloud.tests.integration.metal.inside import Inside, site
from ansible_collections.groundup.cloud.tests.integration.metal.test_storm import tell
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

__all__ = ["site"]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"),
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]
MACS = {"eno1": "52:54:0b:00:00:01", "ens1f0np0": "52:54:0b:00:00:02", "ens1f1np1": "52:54:0b:00:00:03"}


def bonded() -> Plan:
    """Return a site whose unknown machine has a bond."""
    data = yaml.safe_load((COLLECTION / "inventories/lab-metal/site.yml").read_text())
    bond = {"members": ["ens1f0np0", "ens1f1np1"]}
    data["machines"]["found"]["wiring"] = {"bonds": {"bond0": bond}, "networks": {"management": "bond0"}}
    return make_plan(build_site(data))


def test_a_discovered_machine_is_installed_with_its_bond(site: tuple[Plan, Inside], tmp_path: Path) -> None:
    (real, inside), plan = site, bonded()
    metal = metal_of(real)
    nics = [{"name": name, "mac_address": mac, "has_carrier": True} for name, mac in MACS.items()]
    body = told(0x71, inventory={"interfaces": nics, "boot": {"pxe_interface": MACS["eno1"]}})
    said = {"inventory": body["inventory"], **body["plugin_data"]}
    answers = inside(lambda: tell(f"{metal.api_url}/v1/continue_inspection", "10.0.2.9", said))
    assert answers[-1] == 202

    ca = state_dir(real.site) / "ca.crt"
    found = inside(
        lambda: MachineDiscovery(
            ironic=Ironic(api=metal.api_url, media=metal.media_url, password=seed.PASSWORD, ca=ca),
            plan=plan, home=tmp_path, say=print, seconds=120, password=lambda _name: "",
        ).identified(plan.hosts["found-1"])
    )  # fmt: skip
    assert {link.name: link.mac for link in found.links if link.kind == "port"} == {
        "ens1f0np0": MACS["ens1f0np0"], "ens1f1np1": MACS["ens1f1np1"], "prov0": MACS["eno1"],
    }  # fmt: skip
    files = network_data(plan, found)["networkd"]
    assert f"PermanentMACAddress={MACS['ens1f1np1']}" in files["10-groundup-ens1f1np1.network"]
    assert f"Address={plan.hosts['found-1'].address}/24" in files["10-groundup-bond0.network"]
