"""Control hosts restart one after the other, and no request fails: of three control hosts (inventories/lab-ha)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.failover import root
from ansible_collections.groundup.cloud.tests.e2e.probing import EVERY
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import explained

pytestmark = [pytest.mark.lab, pytest.mark.long]
# What every static pod of a control host reads at its start: touched, they restart.
FILES = "/etc/kubernetes/pki/etcd/server.crt /etc/kubernetes/pki/apiserver.crt"
WATCH_GAP = 3.0  # seconds
TELLS = """
import socket, sys
with socket.socket(socket.AF_UNIX) as admin:
    admin.connect("/run/haproxy/admin.sock")
    admin.sendall(sys.argv[1].encode() + b"\\n")
    sys.stdout.write(admin.recv(65536).decode())
"""


@pytest.fixture
def control(plan: Plan) -> tuple[str, ...]:
    """The control hosts, if there are three."""
    if len(plan.edge.hosts) < 3:
        pytest.skip("nobody takes the place of the only control host: see inventories/lab-ha")
    return plan.edge.hosts


@contextmanager
def probed(state: Path, *, every: float = EVERY, cloud: float | None = None) -> Iterator[dict[str, Any]]:
    """Ask Kubernetes and the cloud while the block runs; fill what is yielded with the figures, and print them.

    ``every``: seconds between two requests of a lane; ``cloud``: of one that asks the cloud.
    """
    figures: dict[str, Any] = {}
    serving = ["python", "tests/e2e/serving.py", "--kubernetes", str(state / "kubeconfig"), "--openstack"]
    serving += ["--every", str(every), *(["--every-cloud", str(cloud)] if cloud else [])]
    with subprocess.Popen(
        [ROOT / "ci/lab", "shell", *serving], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as prober:
        assert prober.stdin
        assert prober.stdout
        assert prober.stdout.readline() == "ready\n"
        try:
            yield figures
        finally:
            prober.stdin.close()
            figures |= json.loads(prober.stdout.readline() or "{}")
    print(json.dumps({"rolling restart": figures}), flush=True)


def test_no_request_fails_while_every_control_host_restarts(
    control: tuple[str, ...], connect: Callable[[str], Any], state: Path
) -> None:
    for name in control:
        root(connect(name), f"touch {FILES}")
    with probed(state) as figures:
        said = play("kubernetes", site=SITE_FILE)
    assert said.count("restart etcd, kube-apiserver, with the files that are there now") >= len(control), said[-4000:]
    watch = figures.pop("watch")
    assert (watch["failed"], watch["gap"] <= WATCH_GAP) == ([], True), watch
    assert figures
    # The prober is not told what is done to which host.
    faults = {
        name: lane for name, lane in figures.items() if not explained(name, lane, servers=len(control), told=False)
    }
    assert faults == {}
    late = {name: lane for name, lane in figures.items() if lane["not_measured"] * 10 > lane["sent"]}
    assert late == {}, "the prober itself got no processor"


def test_a_server_that_a_killed_run_left_out_is_named_and_put_back_by_the_next(
    control: tuple[str, ...], connect: Callable[[str], Any]
) -> None:
    first, other = control[:2]
    assert connect(first).run("sudo python3 -c %s %s", TELLS, f"set server kubernetes/{other} state drain").rc == 0
    said = play("kubernetes", "--tags", "verify", site=SITE_FILE, code=2)
    assert f"edge-server-out: HAProxy of {first} sends nothing to the API server of {other}" in said
    assert f"put {other} back in HAProxy" in play("kubernetes", site=SITE_FILE)
    assert "edge-server-out" not in play("kubernetes", "--tags", "verify", site=SITE_FILE)
