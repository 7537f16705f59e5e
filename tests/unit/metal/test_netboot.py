"""Boots from the network: who is answered what, and what is laid under the ramdisk."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, netboot, ramdisk, rogue
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import NetbootPlan

API = "https://10.77.0.8:6385"
SITE = {"domain": "lab.test", "names": {"registry.lab.test": "10.77.0.8"}, "dns_servers": [], "ntp_servers": []}
KNOWN = [{"mac": "52:54:00:00:00:01", "address": "10.77.2.72", "name": "found-1"}]


@pytest.fixture(scope="module")
def network() -> NetbootPlan:
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    assert plan.metal
    assert plan.metal.netboot
    return plan.metal.netboot


def values(network: NetbootPlan) -> dict[str, Any]:
    return netboot.values({**asdict(network), **SITE}, interface="prov0", api_url=API, addresses=KNOWN)


def test_addresses_are_given_on_one_interface_planned_ones_to_those_that_are_known(network: NetbootPlan) -> None:
    texts = netboot.texts(values(network))
    lines = texts[netboot.CONF].splitlines()
    assert "interface=prov0" in lines
    assert "except-interface=lo" in lines
    assert "dhcp-range=10.77.2.0,static,255.255.255.0,1h" in lines
    assert "dhcp-range=tag:!known,10.77.2.224,10.77.2.254,255.255.255.0,10m" in lines
    assert texts[netboot.HOSTS].splitlines()[1:] == ["52:54:00:00:00:01,10.77.2.72,found-1,1h"]


def test_names_and_time_are_the_seed_s_own_where_the_site_names_nobody_else(network: NetbootPlan) -> None:
    texts = {**netboot.texts(values(network)), **netboot.clock_texts(values(network))}
    lines = texts[netboot.CONF].splitlines()
    assert {"no-resolv", "no-hosts", "local=/lab.test/"} <= set(lines)
    assert {"dhcp-option=option:dns-server,10.77.2.8", "dhcp-option=option:ntp-server,10.77.2.8"} <= set(lines)
    assert not [line for line in lines if line.startswith("server=")]
    assert texts[netboot.NAMES].splitlines()[1:] == ["10.77.0.8 registry.lab.test"]
    clock = texts[netboot.CLOCK].splitlines()
    assert {"bindaddress 10.77.2.8", "allow 10.77.2.0/24", "local stratum 10", "cmdport 0"} <= set(clock)
    assert " -x " in texts[netboot.CLOCK_UNIT], "the seed's clock is not its to set"
    found = values(network) | netboot.values(
        {**asdict(network), **SITE, "dns_servers": ["10.77.0.1"], "ntp_servers": ["ntp.lab.test"]},
        interface="prov0", api_url=API, addresses=KNOWN,
    )  # fmt: skip
    assert "server=10.77.0.1" in netboot.texts(found)[netboot.CONF].splitlines()
    assert "server ntp.lab.test iburst" in netboot.clock_texts(found)[netboot.CLOCK].splitlines()


def test_the_seed_s_other_address_is_reached_through_the_seed_itself(network: NetbootPlan) -> None:
    found = netboot.texts(values(network))[netboot.CONF]
    assert "dhcp-option=option:classless-static-route,10.77.0.8/32,10.77.2.8,0.0.0.0/0,10.77.2.1\n" in found
    alone = netboot.texts(values(replace(network, seed_address=network.address, gateway=None)))[netboot.CONF]
    assert "classless" not in alone
    assert "dhcp-option=option:router\n" in alone, "and no router that is none"


def test_who_is_not_of_the_site_gets_no_answer_where_nobody_is_discovered(network: NetbootPlan) -> None:
    found = values(replace(network, pool=None))
    assert "dhcp-ignore=tag:!known\n" in netboot.texts(found)[netboot.CONF]
    assert netboot.scripts(found)[netboot.SCRIPTS / "unknown.ipxe"] == "#!ipxe\nexit 0\n"


def test_a_known_machine_boots_what_was_prepared_for_it_or_its_own_disk(network: NetbootPlan) -> None:
    scripts = netboot.scripts(values(network))
    assert scripts[netboot.SCRIPTS / "known.ipxe"].rstrip().endswith("|| exit 0")
    assert "continue_inspection" not in scripts[netboot.SCRIPTS / "known.ipxe"]
    assert f"ipa-inspection-callback-url={API}/v1/continue_inspection" in scripts[netboot.SCRIPTS / "unknown.ipxe"]


def test_nothing_but_boot_files_is_given_in_the_clear(network: NetbootPlan) -> None:
    text = netboot.web(values(network))
    assert "allow 10.77.2.0/24;\n    deny all;" in text
    assert "location / {\n        return 404;" in text
    assert "redfish" not in text, "boot media carry tokens"


def test_dhcp_runs_with_no_account_that_reads_ironic_s_passwords(network: NetbootPlan) -> None:
    unit = netboot.texts(values(network))[netboot.UNIT]
    assert "User=groundup-netboot" in unit
    assert f"InaccessiblePaths=-{configuration.STATE} -/etc/ironic" in unit
    assert "ProtectSystem=strict" in unit


LEAF_SITE = """\
plugin: groundup.cloud.site
site: leaf
domain: leaf.test
profile: lab
networks:
  management: {cidr: 10.20.0.0/20}
  oob: {cidr: 10.30.0.0/16}
  provisioning:
    cidr: 10.40.0.0/20
    racks: {r1: {cidr: 10.40.0.0/24}, r2: {cidr: 10.40.1.0/24, gateway: 10.40.1.254}}
racks: {r1: {}, r2: {}}
machines:
  seed: {count: 1, rack: r1, provisioner: existing}
  control: {count: 1, rack: r1, provisioner: existing}
  worker: {count: 4, racks: [r1, r2], bmc: {protocol: redfish}}
kubernetes: {version: 1.36.3, cni: flannel}
storage: {backend: none}
supply: {source: build}
"""


def test_a_rack_with_a_subnet_has_its_own_addresses_pool_and_router_and_is_served_like_the_seed_s(
    tmp_path: Path,
) -> None:
    (tmp_path / "site.yml").write_text(LEAF_SITE)
    plan = make_plan(load_site(tmp_path / "site.yml"))
    assert plan.metal
    network = plan.metal.netboot
    assert network
    assert (network.plane, network.cidr, network.gateway) == ("10.40.0.0/20", "10.40.0.0/24", "10.40.0.1")
    assert network.pool == ("10.40.0.224", "10.40.0.254")
    found = values(network)
    lines = netboot.texts(found)[netboot.CONF].splitlines()
    assert "dhcp-range=10.40.0.0,static,255.255.255.0,1h" in lines
    assert "dhcp-range=set:leaf-r2,10.40.1.0,static,255.255.255.0,1h" in lines
    lent = "dhcp-range=set:leaf-r2,tag:!known,10.40.1.224,10.40.1.253,255.255.255.0,10m"
    assert lent in lines, "not the router's address"
    assert "dhcp-option=tag:leaf-r2,option:router,10.40.1.254" in lines
    assert "allow 10.40.0.0/20;" in netboot.web(found)
    assert "allow 10.40.0.0/20" in netboot.clock_texts(found)[netboot.CLOCK].splitlines()


def test_the_site_s_ca_and_collector_are_laid_under_the_ramdisk() -> None:
    data = ramdisk.archive(ramdisk.entries({"ca_certificate": "CA\n", "agent": "collect = 1\n"}))
    assert len(data) % 512 == 0
    found = entries(data)
    assert found["etc/groundup/site-ca.crt"] == b"CA\n"
    assert (
        b"groundup-disks = groundup_agent:collect"
        in found[f"{ramdisk._AGENT}/groundup_agent-1.dist-info/entry_points.txt"]
    )
    names = list(found)
    assert all(str(Path(name).parent) in names[: names.index(name)] for name in names if "/" in name), (
        "directories first"
    )


def entries(data: bytes) -> dict[str, bytes]:
    """Return what an archive of the format `newc` has, as a kernel reads it."""
    found: dict[str, bytes] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name = data[at + 110 : at + 109 + fields[11]].decode()
        start = at + (110 + fields[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = data[start : start + fields[6]]
        at = start + (fields[6] + 3) // 4 * 4


def test_the_seed_s_own_answer_is_no_other_server_s_but_its_address_with_another_port_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Path("/sys/class/net/lo/address").read_text().strip()
    said = [["10.77.2.8", own], ["10.77.2.8", "52:54:00:00:00:66"], ["10.77.2.9", "52:54:00:00:00:67"]] * 2
    monkeypatch.setattr(rogue, "run", lambda *_, **__: f"a warning\n{json.dumps(said[:2])}\n")
    with pytest.raises(GroundupError, match=r"answers: 10\.77\.2\.8 \(52:54:00:00:00:66\)"):
        rogue.refuse("lo", "10.77.2.8")
    monkeypatch.setattr(rogue, "run", lambda *_, **__: json.dumps(said))
    assert rogue.others("lo", "10.77.2.8") == ["10.77.2.8 (52:54:00:00:00:66)", "10.77.2.9 (52:54:00:00:00:67)"]
    monkeypatch.setattr(rogue, "run", lambda *_, **__: json.dumps(said[:1]))
    rogue.refuse("lo", "10.77.2.8")
