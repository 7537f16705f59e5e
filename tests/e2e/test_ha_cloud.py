"""Three of everything on hosts that are not ours: from plain machines to an instance that answers."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.e2e import ha
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import HA

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")

THRICE = (("mariadb", "server"), ("rabbitmq", "server"), ("keystone", "api"), ("glance", "api"), ("nova", "os-api"))


@pytest.fixture(scope="module")
def operator() -> Operator:
    """Nine machines, fresh from the installer. They stay, for the faults; the tier removes them."""
    HA.install()
    return ha.operator()


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
        assert len(places.get(key, ())) == len(ha.CONTROL), (key, places)


def test_what_one_keystone_revokes_all_of_them_refuse_at_once(operator: Operator) -> None:
    said = ha.told(operator, "python", "tests/e2e/clients/tokens.py")
    print(json.dumps(said))
    assert len(said["valid"]) == len(ha.CONTROL)
    assert {one[0] for one in said["valid"].values()} == {200}
    assert {one[0] for one in said["revoked"].values()} == {404}
    assert {one[0] for one in said["later"].values()} == {404}
    assert {tuple(one[1]) for one in said["full"].values()} == {("member", "reader")}
    # A token whose roles have changed is refused as a whole, or has what is left.
    assert all(one[0] == 404 or one[1] == ["reader"] for one in said["taken"].values())


def test_another_run_changes_nothing(operator: Operator) -> None:
    operator.run("ci/lab", "unchanged")
