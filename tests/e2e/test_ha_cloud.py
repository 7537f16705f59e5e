"""`inventories/ha` as shipped: three of everything on plain machines, to an instance that answers; then what it loses."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import HA

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SHIPPED = Path(__file__).resolve().parents[2] / "inventories/ha/site.yml"
NAMES = (
    "seed-1", "control-1", "control-2", "control-3", "storage-1", "storage-2", "storage-3", "hypervisor-1",
    "hypervisor-2",
)  # fmt: skip
MACHINES = dict(zip(NAMES, HA.machines, strict=True))
# This machine's own. They are containers: they share its kernel, which may have control groups of version 1 alone, its
# disk and its memory.
KUBELET = {
    "failCgroupV1": False,
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
    "imageGCHighThresholdPercent": 100,
}
KERNEL = {"kernel.yama.ptrace_scope": None, "net.netfilter.nf_conntrack_max": None}
CEPH = {"mon_data_avail_warn": "3", "mon_data_avail_crit": "1", "osd_mclock_skip_benchmark": "true"}
BOX = {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False}
COMPUTE = {
    "datapath": "netdev", "virt_type": "qemu", "cpu_mode": "custom", "cpu_model": "Nehalem", "machine_type": "pc",
    "reserved_cores": 0, "reserved_memory_gb": 4, "cpu_allocation_ratio": 8.0, "stop_seconds": 5, "disks": "ceph",
}  # fmt: skip


def site() -> dict[str, object]:
    """Return the site file that is shipped, with the hardware and the kernel of this machine."""
    found = yaml.safe_load(SHIPPED.read_text())
    found["kubernetes"] |= {"kubelet": KUBELET, "ignore_preflight": ["SystemVerification"]}
    found["hosts"] = {"sysctl": KERNEL, "kernel_modules": [], "ntp_servers": [HA.gateway]}
    found["storage"]["settings"] = CEPH
    found["hardware"] = {
        "box": BOX, "osd-box": {**BOX, "osds": [{"file": "osd", "size_gb": 8}]}, "guest-box": {**BOX, "compute": COMPUTE},
    }  # fmt: skip
    for group, hardware in {"storage": "osd-box", "hypervisor": "guest-box"}.items():
        found["machines"][group]["hardware"] = hardware
    for group in ("seed", "control"):
        found["machines"][group]["hardware"] = "box"
    return dict(found)


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """Nine machines, fresh from the installer."""
    HA.install()
    yield Operator(HA, site(), MACHINES)
    HA.destroy()


def test_one_run_leads_from_plain_machines_to_an_instance_that_answers(operator: Operator) -> None:
    started = time.monotonic()
    operator.play()  # it ends with an instance that answered, and before it each new hypervisor had one
    print(json.dumps({"case": "first run", "seconds": round(time.monotonic() - started)}), flush=True)
    operator.run("ci/lab", "memory")


def test_another_run_changes_nothing(operator: Operator) -> None:
    operator.run("ci/lab", "unchanged")
