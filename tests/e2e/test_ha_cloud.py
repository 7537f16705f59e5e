"""Three of everything on hosts that are not ours: a whole cloud that outlives a control host (A2, H1 to H6)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import ROOT, Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import HA
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")

SITE = ROOT / "inventories/ha/site.yml"
CONTROL = ("control-1", "control-2", "control-3")
MACHINES = dict(
    zip(
        ("seed-1", *CONTROL, "storage-1", "storage-2", "storage-3", "hypervisor-1", "hypervisor-2"),
        HA.machines,
        strict=True,
    )
)
THRICE = (("mariadb", "server"), ("rabbitmq", "server"), ("keystone", "api"), ("glance", "api"), ("nova", "os-api"))
VIRTUAL_IP = "10.87.18.2"
OBSERVED = 90.0  # seconds after a fault: kube-proxy sends requests to a dead node for 40


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """Nine machines, fresh from the installer. They stay when GROUNDUP_KEEP says so."""
    HA.install()
    yield Operator(HA, yaml.safe_load(SITE.read_text()), MACHINES)
    if not os.environ.get("GROUNDUP_KEEP"):
        HA.destroy()


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


def ready(operator: Operator) -> bool:
    """Return whether all three control nodes are ready."""
    jsonpath = "{range .items[*]}{.status.conditions[?(@.type=='Ready')].status}{' '}{end}"
    try:
        said = operator.kubectl("get", "nodes", "-o", f"jsonpath={jsonpath}").split()
    except subprocess.CalledProcessError:
        return False
    return said.count("True") >= len(CONTROL)


def test_one_run_leads_from_plain_machines_to_an_instance_that_answers(operator: Operator) -> None:
    begin = time.monotonic()
    operator.play()
    lines = Path("/proc/meminfo").read_text().splitlines()
    used = {name: int(size) for name, size, *_ in map(str.split, lines)}
    gib = (used["MemTotal:"] - used["MemAvailable:"]) / 2**20
    print(json.dumps({"seconds": round(time.monotonic() - begin), "memory_gib": round(gib, 1)}), flush=True)


def test_each_member_is_there_three_times(operator: Operator) -> None:
    pods = json.loads(operator.kubectl("get", "pods", "-n", "openstack", "-o", "json"))["items"]
    running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
    places: dict[tuple[str, str], set[str]] = {}
    for pod in running:
        labels = pod["metadata"]["labels"]
        key = labels.get("application", ""), labels.get("component", "")
        places.setdefault(key, set()).add(pod["spec"]["nodeName"])
    for key in THRICE:
        assert len(places.get(key, ())) == len(CONTROL), (key, places)


def test_what_one_keystone_revokes_all_of_them_refuse_at_once(operator: Operator) -> None:
    said = told(operator, "python", "tests/e2e/clients/tokens.py")
    print(json.dumps(said))
    assert len(said["valid"]) == len(CONTROL)
    assert {one[0] for one in said["valid"].values()} == {200}
    assert {one[0] for one in said["revoked"].values()} == {404}
    assert {one[0] for one in said["later"].values()} == {404}
    assert {tuple(one[1]) for one in said["full"].values()} == {("member", "reader")}
    # A token whose roles have changed is refused as a whole, or has what is left.
    assert all(one[0] == 404 or one[1] == ["reader"] for one in said["taken"].values())


def test_another_run_changes_nothing(operator: Operator) -> None:
    operator.run("ci/lab", "unchanged")


def test_a_control_host_without_power_costs_little(operator: Operator) -> None:
    holder = next(name for name in CONTROL if VIRTUAL_IP in operator.rack.run(MACHINES[name], "ip", "-4", "address"))
    other = next(name for name in CONTROL if name != holder)
    for name in (other, holder):
        with probed(
            operator, f"power of {name} cut" + (", which had the virtual IP" if name == holder else "")
        ) as seen:
            operator.rack.power_off(MACHINES[name])
            time.sleep(OBSERVED)
        assert set(seen) >= {"token", "images", "networks", "servers", "placement", "kubernetes"}
        operator.rack.power_on(MACHINES[name])
        until(lambda: ready(operator), seconds=300)
    operator.play()  # it goes through, and the instance answers again
