"""Virtual functions of cards: refused, made at the host's start, configured, verified, and taken away."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import sriov as machine
from ansible_collections.groundup.cloud.plugins.module_utils._host import units
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import sriov
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration, ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.cluster import read_cluster

from .test_configuration import NOVA, Kubernetes, cluster, host

CARDS = [
    {"card": "ens2f0", "functions": 8, "physical_network": "physnet1", "mtu": 9000},
    {"card": "ens-3", "functions": 2, "physical_network": "physnet2", "mtu": 1500},
]
NEUTRON = """\
[DEFAULT]
transport_url = rabbit://neutron:its@rabbitmq-rabbitmq-0.rabbitmq.svc:5672/neutron

[oslo_messaging_rabbit]
rabbit_quorum_queue = true

[nova]
password = novapw
"""


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the root of a machine with both cards, and nothing made of them."""
    for one in CARDS:
        home = tmp_path / f"sys/class/net/{one['card']}/device"
        home.mkdir(parents=True)
        (home / "sriov_totalvfs").write_text("64\n")
        (home / "sriov_numvfs").write_text("0\n")
    for part in (machine, sriov):
        for name in ("lacking", "number"):
            own = getattr(machine, name)
            monkeypatch.setattr(part, name, lambda *given, own=own, root=tmp_path: own(*given, root=root))
    return tmp_path


def number(root: Path, card: str) -> str:
    return (root / f"sys/class/net/{card}/device/sriov_numvfs").read_text().strip()


def made(root: Path) -> list[str]:
    """Run the script on the machine; return what ip was told."""
    tools, said = root / "bin", root / "ip.log"
    tools.mkdir(exist_ok=True)
    (tools / "ip").write_text(f'#!/bin/sh\necho "$*" >> {said}\n')
    (tools / "ip").chmod(0o755)
    text = sriov.script(CARDS).replace("/sys/", f"{root}/sys/")
    subprocess.run(["/bin/sh", "-c", text], check=True, env={"PATH": f"{tools}:/usr/bin:/bin"})
    return said.read_text().splitlines()


def test_what_a_machine_lacks_is_refused_with_host_and_field(root: Path) -> None:
    with pytest.raises(GroundupError, match="no IOMMU") as caught:
        sriov.refuse(CARDS, hardware="own", host="hypervisor-1")
    assert "hypervisor-1; site file key hardware.own.sriov" in str(caught.value)
    (root / "sys/kernel/iommu_groups/0").mkdir(parents=True)
    sriov.refuse(CARDS, hardware="own", host="hypervisor-1")
    (root / "sys/class/net/ens2f0/device/sriov_totalvfs").write_text("7\n")
    with pytest.raises(GroundupError, match=r"sriov\.ens2f0\.functions: 8.*sriov_totalvfs: 7"):
        sriov.refuse(CARDS, hardware="own", host="hypervisor-1")


def test_a_start_makes_functions_and_takes_none_from_guests(root: Path) -> None:
    assert sriov.short(CARDS).startswith(
        "ens2f0 has 0 virtual functions, not 8: drain the host, then restart it; ens-3"
    )
    assert made(root) == ["link set dev ens2f0 mtu 9000 up", "link set dev ens-3 mtu 1500 up"]
    assert (number(root, "ens2f0"), number(root, "ens-3")) == ("8", "2")
    assert sriov.short(CARDS) == ""
    (root / "sys/class/net/ens2f0/device/sriov_numvfs").write_text("4\n")
    made(root)
    assert number(root, "ens2f0") == "4"
    assert sriov.short(CARDS).startswith("ens2f0 has 4 virtual functions, not 8")


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where files are placed in the place of the host's."""
    for name in ("UNITS", "SCRIPT"):
        monkeypatch.setattr(sriov, name, tmp_path / name)
    monkeypatch.setattr(sriov, "FILES", (tmp_path / "agent.ini", tmp_path / "host.conf"))
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    return tmp_path


def test_functions_come_before_nova_and_the_agents_password_is_nobodys_to_read(placed: Path) -> None:
    changes = Changes(check=False)
    assert len(sriov.place(changes, CARDS, {"cluster": "[a]\n", "host": "[b]\n"})) == 2
    unit = (placed / "UNITS" / sriov.FUNCTIONS).read_text()
    assert "After=sys-subsystem-net-devices-ens2f0.device sys-subsystem-net-devices-ens\\x2d3.device\n" in unit
    assert "Before=nova-compute.service\n" in unit
    assert f"After=network-online.target {sriov.FUNCTIONS}\n" in (placed / "UNITS" / sriov.AGENT).read_text()
    assert (placed / "host.conf").stat().st_mode & 0o777 == 0o640
    assert (placed / "SCRIPT").stat().st_mode & 0o777 == 0o755


def test_cards_that_left_the_site_file_leave_no_agent(placed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sriov.place(Changes(check=False), CARDS, {"cluster": "[a]\n", "host": "[b]\n"})
    off: list[str] = []
    monkeypatch.setattr(units, "off", lambda _changes, names: off.extend(names))
    assert sriov.place(Changes(check=False), [], {}) == ()
    assert off == [sriov.AGENT, sriov.FUNCTIONS]
    assert not [path for path in placed.rglob("*") if path.is_file() and "marks" not in path.parts]


def test_nova_offers_the_functions_of_each_card_on_its_physical_network() -> None:
    text = configuration.nova_host(cluster(), host(cards=CARDS))
    assert json.loads(ini.value(text, "pci", "device_spec") or "") == [
        {"devname": "ens2f0", "physical_network": "physnet1"},
        {"devname": "ens-3", "physical_network": "physnet2"},
    ]
    assert ini.value(configuration.nova_host(cluster(), host()), "pci", "device_spec") is None


def test_the_agent_speaks_to_neutron_by_its_own_account_and_gets_no_other_password() -> None:
    secrets = {
        "nova-etc": {"nova.conf": NOVA.replace(",nova:pw@rabbitmq-rabbitmq-1.rabbitmq.svc:5672", "")},
        "neutron-etc": {"ovn_agent.ini": "[DEFAULT]\nnova_metadata_host = m\n", "neutron.conf": NEUTRON},
    }
    found = read_cluster(
        Kubernetes(secrets), namespace="openstack", nodes=["10.90.0.16"], auth_url="https://i", with_agents=True
    )
    assert found.agents == "[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\n\n"
    assert "its" not in repr(found)
    text = configuration.sriov_host(found, host(cards=CARDS))
    assert ini.value(text, "DEFAULT", "transport_url") == "rabbit://neutron:its@10.90.0.16:30671/neutron"
    assert ini.value(text, "DEFAULT", "host") == "hypervisor-1"
    assert ini.value(text, "sriov_nic", "physical_device_mappings") == "physnet1:ens2f0,physnet2:ens-3"
    assert ini.value(text, "oslo_messaging_rabbit", "ssl") == "true"
