"""What systemd-networkd is told of a host's links."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host import networkd
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LinkPlan

MACS = ("52:54:00:4d:00:01", "52:54:00:4d:00:02")
DEFAULT = (("0.0.0.0/0", "10.0.0.1"),)


def texts(*links: LinkPlan, dns: tuple[str, ...] = ()) -> dict[str, str]:
    found = networkd.files([asdict(link) for link in links], dns=dns)
    assert all(name.startswith(networkd.PREFIX) for name in found)
    return {name.removeprefix(networkd.PREFIX): text.removeprefix(networkd.HEADER) for name, text in found.items()}


def port(name: str, **more: Any) -> LinkPlan:
    return LinkPlan(name=name, kind="port", **{"mtu": 1500, **more})


def test_a_port_is_found_by_its_permanent_address_and_named_by_the_plan() -> None:
    mine = port("mgmt0", mac=MACS[0], rename=True, network="management", address="10.0.0.64/24", routes=DEFAULT)
    assert texts(mine, dns=("10.0.0.53",)) == {
        "mgmt0.link": "[Match]\nPermanentMACAddress=52:54:00:4d:00:01\n\n"
        "[Link]\nName=mgmt0\nAlternativeNamesPolicy=database onboard slot path\n",
        "mgmt0.network": "[Match]\nPermanentMACAddress=52:54:00:4d:00:01\n\n[Link]\nMTUBytes=1500\n\n"
        "[Network]\nLinkLocalAddressing=no\nIPv6AcceptRA=no\nAddress=10.0.0.64/24\nDNS=10.0.0.53\n"
        "KeepConfiguration=static\n\n[Route]\nDestination=0.0.0.0/0\nGateway=10.0.0.1\n",
    }


def test_a_port_without_a_known_address_is_found_by_its_name() -> None:
    found = texts(port("eno1", network="management", address="10.0.0.64/24"))
    assert found["eno1.network"].startswith("[Match]\nName=eno1\n")
    assert list(found) == ["eno1.network"]


def test_a_bond_has_its_members_and_speaks_lacp() -> None:
    bond = LinkPlan(
        name="bond0", kind="bond", mtu=9000, mac=MACS[0], members=("nic1", "nic2"), mode="802.3ad", lacp_rate="fast"
    )
    found = texts(port("nic1", mac=MACS[0]), port("nic2", mac=MACS[1]), bond)
    assert found["bond0.netdev"] == (
        "[NetDev]\nName=bond0\nKind=bond\nMTUBytes=9000\nMACAddress=52:54:00:4d:00:01\n\n"
        "[Bond]\nMode=802.3ad\nTransmitHashPolicy=layer3+4\nLACPTransmitRate=fast\nMIIMonitorSec=100ms\n"
    )
    assert all("\nBond=bond0\n" in found[f"{name}.network"] for name in ("nic1", "nic2"))
    assert "RequiredForOnline=no" in found["bond0.network"]  # nobody waits for a bond that only carries VLANs


def test_the_primary_of_an_active_backup_bond_is_said_at_its_member() -> None:
    bond = LinkPlan(name="bond0", kind="bond", mtu=1500, members=("nic1", "nic2"), mode="active-backup", primary="nic2")
    found = texts(port("nic1"), port("nic2"), bond)
    assert "PrimarySlave=yes" in found["nic2.network"]
    assert "PrimarySlave" not in found["nic1.network"]
    assert "LACP" not in found["bond0.netdev"]


def test_a_vlan_is_named_at_its_parent_and_has_its_own_address() -> None:
    stor = LinkPlan(
        name="stor0", kind="vlan", mtu=1500, vlan=120, parent="mgmt0", network="storage", address="10.8.0.2/24",
        routes=(("10.8.0.0/16", "10.8.0.1"),),
    )  # fmt: skip
    found = texts(port("mgmt0", network="management", address="10.0.0.64/24", routes=DEFAULT), stor, dns=("10.0.0.53",))
    assert "\nVLAN=stor0\n" in found["mgmt0.network"]
    assert found["stor0.netdev"].endswith("[VLAN]\nId=120\n")
    assert "Destination=10.8.0.0/16\nGateway=10.8.0.1" in found["stor0.network"]
    assert "DNS" not in found["stor0.network"]  # resolvers are asked by the way out


def test_an_untagged_network_of_less_than_its_link_is_bound_by_its_routes() -> None:
    """A file that networkd 252 and its kernel were seen to follow, and to give up again."""
    text = texts(port("mgmt0", mtu=9000, network="management", address="10.0.0.64/24", routes=DEFAULT, route_mtu=1500))[
        "mgmt0.network"
    ]
    assert text == (
        "[Match]\nName=mgmt0\n\n[Link]\nMTUBytes=9000\n\n"
        "[Network]\nLinkLocalAddressing=no\nIPv6AcceptRA=no\nKeepConfiguration=static\n\n"
        "[Address]\nAddress=10.0.0.64/24\nRouteMetric=4096\n\n"
        "[Route]\nDestination=10.0.0.0/24\nScope=link\nPreferredSource=10.0.0.64\nMTUBytes=1500\n\n"
        "[Route]\nDestination=0.0.0.0/0\nGateway=10.0.0.1\nMTUBytes=1500\n"
    )


def test_without_a_default_route_resolvers_are_asked_where_they_are_and_services_are_on_the_link() -> None:
    mgmt = port("mgmt0", network="management", address="10.0.0.64/24", routes=(("10.233.0.0/18", ""),))
    stor = port("stor0", network="storage", address="10.8.0.2/24")
    found = texts(stor, mgmt, dns=("10.0.0.53",))
    assert "DNS=10.0.0.53\n" in found["mgmt0.network"]
    assert found["mgmt0.network"].endswith("[Route]\nDestination=10.233.0.0/18\nScope=link\n")
    assert "DNS" not in found["stor0.network"]


def test_a_bridge_has_its_members() -> None:
    bridge = LinkPlan(name="br0", kind="bridge", mtu=1500, members=("nic1",), network="m", address="10.0.0.64/24")
    found = texts(port("nic1"), bridge)
    assert found["br0.netdev"].endswith("[Bridge]\nSTP=no\n")
    assert "\nBridge=br0\n" in found["nic1.network"]


def test_networkd_leaves_a_provider_s_port_in_the_bridge_of_open_vswitch() -> None:
    found = texts(port("ext0", network="provider"))
    assert "KeepMaster=yes" in found["ext0.network"]


def test_a_device_is_one_that_a_file_makes() -> None:
    made = networkd.files([asdict(port("nic1")), asdict(LinkPlan(name="br0", kind="bridge", mtu=1, members=("nic1",)))])
    assert list(networkd.devices(made)) == ["br0"]
