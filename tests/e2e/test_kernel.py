"""A worker with Debian's own kernel: systemd as its init, control groups of version 2 alone, modules to load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import NODES
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.tests.e2e.emulated import RACK, WORKER
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SITE = Path(__file__).parent / "kernel/site.yml"
NODE = "worker-1"
PODS = "/api/v1/namespaces/default/pods"
# Loaded because the site asks for them, and by what runs on a node.
MODULES = {"br_netfilter", "overlay", "nf_conntrack", "nf_tables", "veth", "vxlan"}
LIMIT = 64 * 2**20
GROUPS = "/sys/fs/cgroup"
PATIENCE = 300.0  # seconds: nothing here is quick


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """One run of the site over two machines, fresh from the installer."""
    WORKER.power_off()  # what a killed test left
    RACK.install()
    WORKER.install()
    WORKER.power_on()
    WORKER.await_login()
    operator = Operator(RACK, yaml.safe_load(SITE.read_text()), {"control-1": RACK.machines[0], NODE: WORKER.machine})
    operator.play()
    yield operator
    WORKER.power_off()
    RACK.destroy()


@pytest.fixture(scope="module")
def api(operator: Operator) -> Api:
    """The cluster's API."""
    return Api(operator.rack.home / "state/kernel/kubeconfig")


@pytest.fixture(scope="module")
def pod(api: Api) -> dict[str, Any]:
    """A pod on the machine, with a limit of memory."""
    (proxy, *_) = api.get("/api/v1/namespaces/kube-system/pods", labelSelector="k8s-app=kube-proxy")["items"]
    return start(api, "limited", image=proxy["spec"]["containers"][0]["image"], command="sleep infinity")


def start(api: Api, name: str, *, image: str, command: str, node: str = NODE) -> dict[str, Any]:
    """Start a pod on the machine and return it once it has begun."""
    container = {
        "name": "main",
        "image": image,
        "command": ["bash", "-c", command],
        "resources": {"limits": {"memory": str(LIMIT), "cpu": "500m"}},
    }
    spec = {"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    api.request("POST", PODS, body=body)
    until(lambda: api.get(f"{PODS}/{name}")["status"]["phase"] != "Pending", seconds=PATIENCE)
    return dict(api.get(f"{PODS}/{name}"))


def test_the_machine_is_a_node_with_a_kernel_of_its_own(api: Api) -> None:
    node = api.get(f"{NODES}/{NODE}")
    assert is_ready(node)
    assert node["status"]["nodeInfo"]["kernelVersion"] == WORKER.run("uname -r").strip() != os.uname().release
    assert WORKER.run("cat /proc/1/comm").strip() == "systemd"
    assert WORKER.run("systemctl list-units --failed --plain --no-legend") == ""


def test_modules_that_the_site_needs_are_loaded(operator: Operator) -> None:
    del operator
    assert WORKER.modules() >= MODULES


def test_a_pod_s_limits_are_those_of_its_control_group_of_version_2(api: Api, pod: dict[str, Any]) -> None:
    assert WORKER.run(f"stat -fc %T {GROUPS}").strip() == "cgroup2fs"
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    (group,) = WORKER.run(f"find {GROUPS}/kubepods.slice -type d -name 'cri-containerd-{container}.scope'").split()
    assert f"pod{pod['metadata']['uid'].replace('-', '_')}.slice/" in group  # systemd's names: its driver made it
    limits = WORKER.run(f"cat {group}/memory.max {group}/cpu.max").splitlines()
    assert limits == [str(LIMIT), "50000 100000"]
    seen = api.execute("default", "limited", ["cat", f"{GROUPS}/memory.max"], timeout=60)
    assert seen.stdout.split() == [str(LIMIT)], seen
    assert WORKER.run(f"systemctl show --value --property=MemoryMax {Path(group).name}").split() == [str(LIMIT)]


def test_a_container_that_wants_more_memory_is_ended(api: Api, pod: dict[str, Any]) -> None:
    image = pod["spec"]["containers"][0]["image"]
    start(api, "greedy", image=image, command="head -c 256M /dev/zero | tail > /dev/null")
    until(lambda: api.get(f"{PODS}/greedy")["status"]["phase"] == "Failed", seconds=PATIENCE)
    (status,) = api.get(f"{PODS}/greedy")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["reason"] == "OOMKilled"


def test_it_comes_back_from_a_restart(api: Api, operator: Operator, pod: dict[str, Any]) -> None:
    before = api.get(f"{NODES}/{NODE}")["status"]["nodeInfo"]["bootID"]
    WORKER.reboot()

    def back() -> bool:
        try:
            node = api.get(f"{NODES}/{NODE}")
        except ApiError:  # a busy machine
            return False
        return is_ready(node) and node["status"]["nodeInfo"]["bootID"] != before

    until(back, seconds=2 * PATIENCE)
    start(api, "after", image=pod["spec"]["containers"][0]["image"], command="sleep infinity")
    assert WORKER.modules() >= MODULES
    operator.run("ci/lab", "unchanged")
