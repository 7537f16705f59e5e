"""The cloud of `inventories/ha` on its nine machines, what happens to it, and who asks it meanwhile."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import ROOT, Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import HA

SITE = ROOT / "inventories/ha/site.yml"
CONTROL = ("control-1", "control-2", "control-3")
MACHINES = dict(
    zip(
        ("seed-1", *CONTROL, "storage-1", "storage-2", "storage-3", "hypervisor-1", "hypervisor-2"),
        HA.machines,
        strict=True,
    )
)
VIRTUAL_IP = "10.87.18.2"
KINDS = {"token", "images", "networks", "servers", "placement", "written", "kubernetes"}


# The machines are containers of this one: its kernel, its control groups, its swap, its disk; no module is loaded.
CONTAINERS: dict[str, Any] = {
    "hosts": {
        "sysctl": {"kernel.yama.ptrace_scope": None, "net.netfilter.nf_conntrack_max": None},
        "kernel_modules": [],
    },
    "kubernetes": {
        "kubelet": {
            "failSwapOn": False,
            "failCgroupV1": False,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
            "imageGCHighThresholdPercent": 100,
        },
        "ignore_preflight": ["SystemVerification"],
    },
    "storage": {
        "settings": {"mon_data_avail_warn": "3", "mon_data_avail_crit": "1", "osd_mclock_skip_benchmark": "true"}
    },
}


def operator() -> Operator:
    """Return the operator of the cloud, whose machines exist."""
    content = yaml.safe_load(SITE.read_text())
    for section, more in CONTAINERS.items():
        content[section] = content.get(section, {}) | more
    return Operator(HA, content, MACHINES)


def told(operator: Operator, *command: str | Path) -> Any:
    """Return the JSON that a client of the cloud prints."""
    shell = [ROOT / "ci/lab", "shell", *command]
    done = subprocess.run(shell, cwd=ROOT, env=operator.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def probed(operator: Operator, fault: str) -> Iterator[dict[str, Any]]:
    """Probe the cloud while the block runs; fill what is yielded with the figures, and print them."""
    figures: dict[str, Any] = {}
    with subprocess.Popen(
        [ROOT / "ci/lab", "shell", "python", "tests/e2e/clients/prober.py"],
        cwd=ROOT, env=operator.environment | {"PROBE_KUBERNETES": f"https://{VIRTUAL_IP}:6443"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as prober:  # fmt: skip
        assert prober.stdin
        assert prober.stdout
        assert prober.stdout.readline() == "ready\n"
        try:
            yield figures
        finally:
            prober.stdin.close()
            figures |= json.loads(prober.stdout.readline() or "{}")
    print(json.dumps({"fault": fault, **figures}), flush=True)
    assert set(figures) >= KINDS
    assert figures["written"]["lost"] == 0, "a write was acknowledged, and is gone"


def holder(operator: Operator) -> str:
    """Return the control node that has the virtual IP."""
    return next(name for name in CONTROL if VIRTUAL_IP in operator.rack.run(MACHINES[name], "ip", "-4", "address"))


def whole(operator: Operator) -> bool:
    """Return whether all control nodes are ready, and so is every pod of the cloud's services."""
    jsonpath = "{range .items[*]}{.status.conditions[?(@.type=='Ready')].status}{' '}{end}"
    unready = "{range .items[?(@.status.phase!='Succeeded')]}{.status.conditions[?(@.type=='Ready')].status}{' '}{end}"
    try:
        nodes = operator.kubectl("get", "nodes", "-o", f"jsonpath={jsonpath}").split()
        pods = operator.kubectl("get", "pods", "-n", "openstack", "-o", f"jsonpath={unready}").split()
    except subprocess.CalledProcessError:
        return False
    return nodes.count("True") >= len(CONTROL) and bool(pods) and "False" not in pods
