"""Dark machines wait, are approved, lose run and power, are installed anew and erased; a stranger is left alone.

Needs tests/e2e/metal/life.yml after `ci/lab dark`. Each test goes on where the one before it ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.e2e.cluster import command, play
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.test_metal import table
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.metal.test_plane import ASK
from ansible_collections.groundup.cloud.tests.rack import lab
from ansible_collections.groundup.cloud.tests.rack.machine import RackMachine

pytestmark = pytest.mark.lab

USED, FOUND, STRANGER = "worker-1", "found-1", "found-2"
RUNS = "/var/lib/groundup-runner/{site}/metal/runs/{name}/artifacts"
WRITES = "its ramdisk boots, or writes the system"
SILENT = "cluster-silent"  # no cluster was made here
ASIDE = 4  # the exit code of a run that went on without some hosts
PATIENCE = 600.0  # seconds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site file that the tests run: of the machines that are discovered it has one."""
    content = yaml.safe_load(SITE_FILE.read_text())
    content["machines"]["found"]["count"] = 1
    path = tmp_path_factory.mktemp("site") / "site.yml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def rack(plan: Plan) -> dict[str, RackMachine]:
    """The emulated machines, by name."""
    store = open_store(plan.site, write=False)
    dark = [host for host in plan.hosts.values() if host.provisioner == "ironic"]
    return {
        host.name: lab.machine(plan, host, password=store.get(str((host.bmc or {})["credentials"]))) for host in dark
    }


def content(machine: RackMachine) -> str:
    """Return the digest of the beginning of its disk, where an installation writes first."""
    with (machine.home / "disk.raw").open("rb") as disk:
        return hashlib.sha256(disk.read(64 * 2**20)).hexdigest()


def journal(plan: Plan, name: str) -> list[dict[str, Any]]:
    """Return a machine's way."""
    path = file_of(home_of(plan.site), name)
    return Journal(path).lines() if path.exists() else []


def unnamed(machine: RackMachine) -> str:
    """Return what a machine is called that nobody knows."""
    return machine.mac.replace(":", "-")


def deployments(plan: Plan, name: str) -> int:
    """Return how often a machine's installation began."""
    return sum(line["doing"] == "installation begins" for line in journal(plan, name))


def asked(plan: Plan, name: str) -> bool:
    """Say whether it waits for approval."""
    return bool((journal(plan, name)[-1]["card"] or {}).get("asks"))


def test_used_disks_and_a_found_machine_wait_and_a_stranger_is_left_alone(
    plan: Plan, site: Path, rack: dict[str, RackMachine]
) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", rack[USED].home / "disk.raw"], check=True)
    before = {name: content(machine) for name, machine in rack.items()}
    lab.on(plan)
    said = play("ironic", site=site, code=ASIDE)
    assert "its disks are in use and it waits for approval" in said
    assert f"it fits {FOUND} and waits for approval" in said
    assert [name for name in (USED, FOUND) if not asked(plan, name)] == []
    stranger = home_of(plan.site) / "discovered" / f"{unnamed(rack[STRANGER])}.jsonl"

    def seen() -> bool:
        play("approve", "--check", site=site, approve_machine=FOUND)  # looks at what was discovered
        return stranger.exists() and Journal(stranger).last.get("state") == "quarantined"

    until(seen, seconds=PATIENCE)
    assert "no machine of the site is waited for" in Journal(stranger).last["card"]["what"]
    assert asked(plan, FOUND), "a dry run approves nothing"
    assert {name: content(machine) for name, machine in rack.items()} == before, "nothing was written"


def test_a_run_is_killed_while_a_system_is_written(plan: Plan, site: Path, tmp_path: Path) -> None:
    for name in (USED, FOUND):
        play("approve", site=site, approve_machine=name)
    with (tmp_path / "killed.log").open("w+") as said:
        run = subprocess.Popen(
            command("ironic", site=site), cwd=ROOT, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            until(lambda: journal(plan, USED)[-1]["doing"] == WRITES, seconds=PATIENCE)
        finally:
            os.killpg(run.pid, signal.SIGKILL)  # nobody can clean up; the tests that follow go on with another run
            run.wait()
            said.seek(0)
            print(said.read()[-12000:])


def test_approved_machines_are_installed_even_when_one_loses_its_power_meanwhile(
    plan: Plan, site: Path, rack: dict[str, RackMachine], capfd: pytest.CaptureFixture[str]
) -> None:
    lost, over = threading.Event(), threading.Event()

    def pull() -> None:
        while not over.wait(1):
            if journal(plan, USED)[-1]["doing"] == WRITES:
                rack[USED].power("ForceOff")
                rack[USED].power("On")
                lost.set()
                return

    puller = threading.Thread(target=pull, daemon=True)
    puller.start()
    try:
        play("ironic", site=site, machine_timeout=900)
    finally:
        over.set()
        puller.join()
        with capfd.disabled():
            for line in journal(plan, USED):
                print(json.dumps(line), flush=True)
    assert lost.is_set(), f"it was never seen that {WRITES}"
    rows = table(site)
    assert {name: rows[name]["state"] for name in (USED, FOUND)} == {USED: "serving", FOUND: "serving"}
    assert rows[unnamed(rack[STRANGER])]["state"] == "quarantined"
    assert deployments(plan, FOUND) == 1, "the run after the killed one went on with what that had begun"


def test_the_seed_configured_them_and_they_have_the_firmware_of_the_site_s_choice(
    plan: Plan, connect: Callable[[str], Any]
) -> None:
    seed = connect("seed-1")
    for name in (USED, FOUND):
        assert seed.check_output(f"ls {RUNS.format(site=plan.site, name=name)}"), f"no run for {name}"
        assert connect(name).file("/lib/firmware/bnx2x").is_directory


def test_the_plane_tells_an_installed_machine_names_and_the_time(plan: Plan, connect: Callable[[str], Any]) -> None:
    machine = connect(FOUND)
    seed = next(port.address for port in plan.hosts["seed-1"].interfaces if port.network == "provisioning")
    known = plan.hosts["seed-1"].address
    asking = f"python3 -c {shlex.quote(ASK)} {seed}"
    assert machine.check_output(f"{asking} registry.{plan.domain}") == f"0 {known}"
    told, now = int(machine.check_output(f"{asking} time")), int(machine.check_output("date +%s"))
    assert abs(told - now) <= 30
    assert f"nameserver {seed}" in machine.file("/etc/resolv.conf").content_string.splitlines()
    assert seed in machine.check_output("cat /etc/chrony/sources.d/*.sources /etc/systemd/timesyncd.conf.d/* || true")


def test_a_machine_is_erased_and_installed_anew(plan: Plan, site: Path, connect: Callable[[str], Any]) -> None:
    # An installation's own; a machine-id is made of the firmware's UUID by systemd in QEMU.
    key = "cat /etc/ssh/ssh_host_ed25519_key.pub"
    before, kept = connect(USED).check_output(key), records(plan)
    play("reprovision", site=site, machine=USED, reprovision_force=["disks", SILENT])
    assert connect(USED).check_output(key) != before
    assert [record["machine"] for record in records(plan)[len(kept) :]] == [USED]


def test_an_erased_machine_has_a_record_and_empty_disks(plan: Plan, site: Path, rack: dict[str, RackMachine]) -> None:
    kept = records(plan)
    said = play("erase", site=site, code=2, machine=USED, erase_force=[SILENT])
    assert f"everything on the disks of {USED} would be lost" in said
    play("erase", site=site, machine=USED, erase_force=["disks", SILENT])
    (record,) = records(plan)[len(kept) :]
    assert (record["machine"], record["erased"]) == (USED, "metadata")
    found = subprocess.run(
        ["blkid", "--probe", rack[USED].home / "disk.raw"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (2, ""), "no partition table, no file system"
    assert journal(plan, USED)[-1]["state"] == "retired"


def records(plan: Plan) -> list[dict[str, Any]]:
    """Return the records of erasures, the oldest first. Those of earlier labs are kept, too."""
    return [json.loads(path.read_text()) for path in sorted((home_of(plan.site) / "erasures").glob("*.json"))]
