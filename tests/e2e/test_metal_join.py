"""Machines that Ironic installed are nodes of the site's cluster, with Debian's own kernel, and run pods.

Needs inventories/lab-metal after `ci/lab metal` and `ci/lab up`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import NODES
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.test_kernel import GROUPS, LIMIT, start

pytestmark = pytest.mark.lab


def test_machines_from_power_off_run_pods_on_a_kernel_of_their_own(
    plan: Plan, state: Path, connect: Callable[[str], Any]
) -> None:
    api = Api(state / "kubeconfig")
    (proxy, *_) = api.get("/api/v1/namespaces/kube-system/pods", labelSelector="k8s-app=kube-proxy")["items"]
    image = proxy["spec"]["containers"][0]["image"]
    dark = [host.name for host in plan.hosts.values() if host.provisioner == "ironic"]
    assert dark, "the site has machines from power-off"
    for name in dark:
        node = api.get(f"{NODES}/{name}")
        assert is_ready(node)
        assert node["status"]["nodeInfo"]["kernelVersion"] == connect(name).check_output("uname -r")
        assert node["status"]["nodeInfo"]["kernelVersion"] != os.uname().release
        pod = f"on-{name}"
        start(api, pod, image=image, command="sleep infinity", node=name)
        seen = api.execute("default", pod, ["cat", f"{GROUPS}/memory.max"], timeout=60)
        assert seen.stdout.split() == [str(LIMIT)], seen
