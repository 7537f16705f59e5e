"""Packages of hosts are upgraded while an instance is used, killed in the middle; a control host is left out by name.

Needs inventories/cloud/site.yml. The package is one of this test's own, whose process is a unit. The seed gets a second
snapshot, in which that package is newer; afterwards every host has the former snapshot, and the package is gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, hypervisors, root
from ansible_collections.groundup.cloud.tests.e2e.patching import NAME, NEW, OLD, offering, since, versions
from ansible_collections.groundup.cloud.tests.e2e.test_evacuate import LOOK, SERVES
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
CONTROL, WORKER, STORAGE = "control-1", "worker-1", "storage-2"
RESTS = "Keep its data where they are"  # a task of playbooks/patch_hosts.yml


@pytest.fixture(scope="module")
def here(plan: Plan) -> str:
    """The hypervisor that has the package, and an instance."""
    if len(hypervisors(plan)) != 2 or not plan.ceph or not {CONTROL, WORKER, STORAGE} <= set(plan.hosts):
        pytest.skip("two hypervisors, a worker and storage hosts are needed: see inventories/cloud/site.yml")
    return hypervisors(plan)[1]


@pytest.fixture(scope="module")
def having(here: str) -> tuple[str, ...]:
    """The hosts that have the package; on all but the worker its unit runs."""
    return (WORKER, STORAGE, here, CONTROL)


@pytest.fixture(scope="module")
def offered(
    plan: Plan, having: tuple[str, ...], connect: Connect, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The package in its former version on hosts, the newer one in the snapshot that the site runs."""
    made = tmp_path_factory.mktemp("packages")
    with offering(plan, having, connect, made, runs=[one for one in having if one != WORKER]):
        yield


def resting(plan: Plan, connect: Connect) -> dict[str, list[str]]:
    """Return the flags that hosts have in Ceph."""
    assert plan.ceph
    said = json.loads(root(connect(plan.ceph.monitors[0].name), "ceph osd dump --format json"))
    return {name: flags for name, flags in said["crush_node_flags"].items() if flags}


@pytest.mark.usefixtures("offered")
def test_the_check_tells_who_is_emptied_and_who_is_left_out_and_changes_nothing(
    here: str, having: tuple[str, ...], connect: Connect, tmp_path: Path
) -> None:
    play("patch", "--tags", "check", patch_file=str(tmp_path / "patch.json"))
    found = json.loads((tmp_path / "patch.json").read_text())
    assert sorted(found["emptied"]) == sorted([here, STORAGE])
    assert [*found["left_out"]] == [CONTROL]
    assert f"it would restart {NAME}.service" in found["left_out"][CONTROL]
    order = [name for batch in found["order"] for name in batch]
    assert order.index(WORKER) < order.index(here) < order.index(STORAGE)
    assert CONTROL not in order
    assert versions(connect, having) == dict.fromkeys(having, OLD)


@pytest.mark.usefixtures("offered")
def test_a_run_that_is_killed_goes_on_and_instances_and_data_are_there_all_the_time(
    plan: Plan, having: tuple[str, ...], connect: Connect, outside: Callable[..., Any], tmp_path: Path
) -> None:
    here = having[2]
    (there,) = {*hypervisors(plan)} - {here}
    image, before = guest_image(None, progress=lambda _: None), {name: since(connect, name) for name in (here, STORAGE)}
    with ThreadPoolExecutor() as pool:
        look = ("sh", "-euc", LOOK, "sh", str(tmp_path))
        client = pool.submit(outside, "disks.py", "evacuated", here, there, str(image), *look)
        try:
            until(lambda: (tmp_path / "instance").exists() or client.done(), seconds=600)
            assert (tmp_path / "instance").exists(), client.result()
            killed("patch", at=f"TASK [{RESTS}]")
            assert journal.hosts(plan.site) == [STORAGE]
            assert resting(plan, connect) == {STORAGE: ["noout"]}
            said = play("patch", code=2)
        finally:
            (tmp_path / "done").touch()
        found = client.result()
    assert f"1 hosts were left out: {CONTROL}" in said
    assert (found["host"], found["blocks"]) == (there, ["same"] * 20), "it moved away, live, and kept its disk"
    assert versions(connect, having) == {**dict.fromkeys(having, NEW), CONTROL: OLD}
    for name in (here, STORAGE):
        assert since(connect, name) != before[name], f"the unit on {name} was restarted"
        assert "deleted" not in since(connect, name)
    assert (journal.hosts(plan.site), resting(plan, connect)) == ([], {})
    assert outside("cloud.py")["computes"] == {here: SERVES, there: SERVES}


@pytest.mark.usefixtures("offered")
def test_a_control_host_whose_upgrade_nobody_feels_is_patched_and_a_run_again_changes_nothing(
    plan: Plan, connect: Connect
) -> None:
    root(connect(CONTROL), f"systemctl stop {NAME}")
    play("patch")
    assert versions(connect, (CONTROL,)) == {CONTROL: NEW}
    said = play("patch")
    assert f"of {len(plan.hosts)} hosts {len(plan.hosts)} up to date" in said
    assert not re.search(r"changed=[1-9]", said)
