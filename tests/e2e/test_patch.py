"""Packages of hosts are upgraded while an instance is used, killed in the middle; a control host is left out by name.

Needs inventories/cloud/site.yml. The package is one of this test's own, whose process is a unit. The seed gets a second
snapshot, in which that package is newer; afterwards every host has the former snapshot, and the package is gone.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.debian_packages import index
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import snapshots
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.snapshots import Snapshot
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, hypervisors, root
from ansible_collections.groundup.cloud.tests.e2e.test_evacuate import LOOK, SERVES
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
NAME, OLD, NEW = "groundup-dummy", "1.0-1", "1.0-2"
CONTROL, WORKER, STORAGE = "control-1", "worker-1", "storage-2"
NEXT = Snapshot(name="2099-01-01-dddddddd", sha256="d" * 64)
RESTS = "Keep its data where they are"  # a task of playbooks/patch_hosts.yml
UNIT = f"[Service]\nExecStart=/usr/sbin/{NAME} infinity\n[Install]\nWantedBy=multi-user.target\n"


def package(directory: Path, version: str) -> Path:
    """Build the package in ``directory``."""
    tree = directory / version
    for name in ("DEBIAN", "usr/sbin", "usr/lib/systemd/system"):
        (tree / name).mkdir(parents=True)
    fields = {"Package": NAME, "Version": version, "Architecture": "amd64", "Maintainer": "t <t@t>", "Description": "t"}
    (tree / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    shutil.copy2("/usr/bin/sleep", tree / "usr/sbin" / NAME)
    (tree / f"usr/lib/systemd/system/{NAME}.service").write_text(UNIT)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, directory], check=True, capture_output=True)
    (found,) = directory.glob(f"*_{version}_*.deb")
    return found


def send(host: Any, content: bytes, command: str) -> None:
    """Have ``command`` read ``content`` on a host."""
    root(host, f"echo {base64.b64encode(content).decode()} | base64 --decode | {command}")


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
    made, before = tmp_path_factory.mktemp("packages"), snapshots.load(plan.site)
    former, newer = package(made, OLD).read_bytes(), package(made, NEW)
    (path,) = plan.supply.packages.values()
    assert plan.supply.seed
    seed, place = connect(plan.supply.seed), f"{plan.supply.files_root}/{snapshots.place(path, NEXT)}"
    suite = root(seed, f"ls {plan.supply.files_root}/{snapshots.place(path, before[path][0])}/dists").strip()
    tree = made / "tree"
    tree.mkdir()
    index(tree, [newer], suite=suite, epoch=0)
    release = tree / f"dists/{suite}/Release"
    signed = openpgp.sign_release(open_store(plan.site), made, "signed", release.read_text())
    release.with_name("InRelease").write_text(signed)
    archive = subprocess.run(["tar", "--create", "--gzip", "--directory", tree, "."], check=True, capture_output=True)
    try:
        for name in having:
            send(connect(name), former, f"cat > /root/{NAME}.deb && dpkg --install /root/{NAME}.deb")
            if name != WORKER:
                root(connect(name), f"systemctl daemon-reload && systemctl start {NAME}")
        send(seed, archive.stdout, f"(mkdir -p {place} && tar --extract --gzip --no-same-owner --directory {place})")
        snapshots.save(plan.site, {**before, path: [NEXT, before[path][0]]})
        yield
    finally:
        snapshots.save(plan.site, before)
        root(seed, f"rm -rf {place}")
        for name in having:
            root(connect(name), f"systemctl stop {NAME} || true; dpkg --purge {NAME}; rm -f /root/{NAME}.deb")
            root(connect(name), "systemctl daemon-reload")
        play("host")


def versions(connect: Connect, having: tuple[str, ...]) -> dict[str, str]:
    """Return the version of the package on each host."""
    return {name: root(connect(name), f"dpkg-query -W -f '${{Version}}' {NAME}") for name in having}


def since(connect: Connect, name: str) -> str:
    """Return since when the unit runs, and the file of its program."""
    pid = root(connect(name), f"systemctl show --property MainPID --value {NAME}").strip()
    return root(connect(name), f"stat --format %Y /proc/{pid}; readlink /proc/{pid}/exe")


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
