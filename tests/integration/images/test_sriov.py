"""What is written for virtual functions, read by the real Nova and the real agent of Neutron. No card is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.machines import Compute
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import sriov

from .conftest import Image

CARDS = [{"card": card, "functions": 8, "physical_network": "physnet1", "mtu": 1500} for card in ("ens2f0", "ens2f1")]
_NOVA = """
import json, sys
from nova.conf import CONF
CONF(["--config-file", sys.argv[1]], project="nova", default_config_files=[])
from nova.pci import whitelist
from nova.scheduler.filters import pci_passthrough_filter
specs = whitelist.Whitelist(CONF.pci.device_spec).specs
print(json.dumps({
    "specs": [[one.dev_name, one.get_tags()["physical_network"]] for one in specs],
    "filters": CONF.filter_scheduler.enabled_filters,
    "filter": pci_passthrough_filter.PciPassthroughFilter.__name__,
}))
"""
_NEUTRON = """
import json, sys
from importlib.metadata import entry_points
from neutron.plugins.ml2.drivers.mech_sriov.agent import sriov_nic_agent as agent
agent.common_config.register_common_config_options()
agent.common_config.init([word for file in sys.argv[1:] for word in ("--config-file", file)])
agent.agent_config.setup_privsep()
parser = agent.SriovNicAgentConfigParser()
parser.parse()
from neutron.plugins.ml2.drivers.mech_sriov.mech_driver import mech_driver
from oslo_config import cfg
print(json.dumps({
    "mappings": parser.device_mappings,
    "host": cfg.CONF.host,
    "helper": cfg.CONF.privsep_link.helper_command.split()[0],
    "prohibited": "direct-physical" in mech_driver.SRIOV_SUPPORTED_VNIC_TYPES,
    "driver": "sriovnicswitch" in entry_points(group="neutron.ml2.mechanism_drivers").names,
}))
"""


@pytest.mark.long
@pytest.mark.parametrize("release", ["", "-2026.2"])
def test_nova_and_neutrons_agent_read_what_is_written_for_cards(
    image: Callable[[str], Image], tmp_path: Path, release: str
) -> None:
    host = configuration.Host(
        name="hypervisor-1", address="192.0.2.1", compute=Compute().model_dump(), southbound=(), cards=CARDS
    )
    cloud = configuration.CloudAccess(
        nova="", agent="", transport_url="rabbit://nova:pw@192.0.2.2:5671/", queue_tls=True, auth_url="https://i/v3",
        agents="[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\n", agents_url="rabbit://neutron:pw@192.0.2.2:5671/",
    )  # fmt: skip
    texts = {
        "nova.conf": configuration.nova_host(cloud, host),
        "agent.ini": cloud.agents,
        "host.conf": configuration.sriov_host(cloud, host),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    tmp_path.chmod(0o755)

    def told(program: str, *files: str) -> object:
        words = ["python3", "-c", program, *(f"/mnt/{name}" for name in files)]
        done = image("openstack" + release).run(*words, uid=42424, mounts={"/mnt": tmp_path})
        assert done.returncode == 0, done.stdout[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    assert told(_NOVA, "nova.conf") == {
        "specs": [["ens2f0", "physnet1"], ["ens2f1", "physnet1"]],
        "filters": list(sriov.FILTERS),
        "filter": "PciPassthroughFilter",
    }
    assert told(_NEUTRON, "agent.ini", "host.conf") == {
        "mappings": {"physnet1": ["ens2f0", "ens2f1"]},
        "host": "hypervisor-1",
        "helper": "/opt/groundup/openstack/current/bin/privsep-helper",
        "prohibited": True,
        "driver": True,
    }
