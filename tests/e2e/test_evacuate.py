"""A hypervisor dies: its instances come back on another, with what they had written, and it comes back empty.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import link_name
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play, power_off
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors, root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab

# Tells the test which instance is on the host that is to die, and waits until the test has done what is to be done.
LOOK = 'echo "$3" > "$1/instance"; until [ -e "$1/done" ]; do sleep 1; done; echo "[]"'
SERVES = ["enabled", "up"]
NOTICED = 240  # seconds; Nova takes a service for down after 60


@pytest.fixture(scope="module")
def names(plan: Plan) -> tuple[str, str]:
    """Return the hypervisor that dies, and the other one."""
    if not plan.ceph or not plan.hypervisor.disks or len(hypervisors(plan)) != 2:
        pytest.skip("two hypervisors with disks in Ceph are needed: see inventories/cloud/site.yml")
    return hypervisors(plan)[1], hypervisors(plan)[0]


def cables(plan: Plan, name: str, *, state: str) -> None:
    """Pull or plug all cables of a host."""
    for port in plan.hosts[name].interfaces:
        link = link_name(plan.site, name, port.name)
        subprocess.run(["ip", "link", "set", "dev", link, state], check=True, capture_output=True)


@pytest.fixture(scope="module")
def died(plan: Plan, names: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return where the tests and the client that has an instance on the dead host meet."""
    yield tmp_path_factory.mktemp("died")
    cables(plan, names[0], state="up")


def forbidden(plan: Plan, connect: Callable[[str], Any]) -> set[str]:
    """Return the addresses that Ceph refuses."""
    assert plan.ceph
    said = root(connect(plan.ceph.monitors[0].name), "ceph osd dump --format json")
    return {one.removeprefix("cidr:").removesuffix(":0/32") for one in json.loads(said)["range_blocklist"]}


def test_its_instances_come_back_elsewhere_with_what_they_had_written(
    plan: Plan, names: tuple[str, str], died: Path, outside: Callable[..., Any], connect: Callable[[str], Any]
) -> None:
    here, there = names
    image = guest_image(None, progress=lambda _: None)
    with ThreadPoolExecutor() as pool:
        look = ("sh", "-euc", LOOK, "sh", str(died))
        client = pool.submit(outside, "disks.py", "evacuated", here, there, str(image), *look)
        try:
            until(lambda: (died / "instance").exists() or client.done(), seconds=600)
            assert (died / "instance").exists(), client.result()
            cables(plan, here, state="down")
            power_off(plan.site, here)
            until(lambda: outside("cloud.py")["computes"][here][1] == "down", seconds=NOTICED)
            said = play("evacuate", "--check", machine=here)
            assert (died / "instance").read_text().strip() in said
            assert forbidden(plan, connect) == set(), "a dry run changes nothing"
            said = play("evacuate", machine=here)
            assert f"to {there}" in said
        finally:
            (died / "done").touch()
        found = client.result()
    print(f"\n{json.dumps({'case': 'a hypervisor died: seconds until', **found['seconds']})}", flush=True)
    assert found["host"] == there
    assert found["blocks"] == ["same"] * 20
    assert forbidden(plan, connect) == {str(one.address) for one in plan.hosts[here].interfaces if one.address}


def test_evacuated_again_nothing_changes(names: tuple[str, str]) -> None:
    said = play("evacuate", machine=names[0])
    assert "changed=0" in said


def test_it_comes_back_empty_and_takes_instances_again(
    plan: Plan, names: tuple[str, str], outside: Callable[..., Any], connect: Callable[[str], Any]
) -> None:
    here, there = names
    cables(plan, here, state="up")
    play("metal")
    play("undrain", "--check", machine=here)
    assert outside("cloud.py")["computes"][here][0] == "disabled", "a dry run changes nothing"
    play("undrain", machine=here)
    assert forbidden(plan, connect) == set()
    assert root(connect(here), "virsh --connect qemu:///system list --name").strip() == ""
    until(lambda: outside("cloud.py")["computes"] == {here: SERVES, there: SERVES}, seconds=NOTICED)
    said = play("tenant_smoke", tenant_smoke_host=here, tenant_smoke_thorough=False)
    assert "answered at" in said
