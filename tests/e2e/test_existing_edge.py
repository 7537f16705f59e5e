"""`inventories/edge` as shipped comes up on one plain machine of Debian 12."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import ONE

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SHIPPED = Path(__file__).resolve().parents[2] / "inventories/edge/site.yml"
# The machine's own: it is a container, whose kernel may have control groups of version 1 alone, and shares a disk.
ITS_KUBELET = {
    "failCgroupV1": False,
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
    "imageGCHighThresholdPercent": 100,
}
ITS_KERNEL = {"kernel.yama.ptrace_scope": None, "net.netfilter.nf_conntrack_max": None}
ITS_HARDWARE = {"cores": os.cpu_count(), "memory_gb": 8, "nic_gbps": 1, "nvme": False}


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """One machine, fresh from the installer, and the site file that is shipped."""
    ONE.install()
    site = yaml.safe_load(SHIPPED.read_text())
    site["kubernetes"] |= {"kubelet": ITS_KUBELET, "ignore_preflight": ["SystemVerification"]}
    site["hosts"]["sysctl"] = ITS_KERNEL
    site["hardware"] = {"box": ITS_HARDWARE}  # as preflight asks for where a machine is smaller than the profile says
    site["machines"]["node"]["hardware"] = "box"
    yield Operator(ONE, site, {"edge-1": ONE.machines[0]})
    ONE.destroy()


def test_the_edge_as_shipped_comes_up_on_one_plain_machine(operator: Operator) -> None:
    operator.play()
    assert operator.catalog() == {"identity": ["https://identity.edge.example.org/v3"]}
