"""One machine from power-off to `serving`: what `ci/lab metal` left, as the table of machines and an ssh client see it.

Needs tests/e2e/metal/site.yml.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.conftest import SITE_FILE

pytestmark = pytest.mark.lab

MACHINE = "worker-1"
BEGINS, CALLED = "installation begins", "it called home"


@pytest.fixture(scope="module")
def way(plan: Plan) -> list[dict[str, Any]]:
    """Its way, by its journal."""
    return Journal(file_of(home_of(plan.site), MACHINE)).lines()


def table(site: Path = SITE_FILE) -> dict[str, Any]:
    """Return what `groundup.cloud.machines` says, by machine."""
    lines = play("machines", site=site, machines_output="json").splitlines()
    document = json.loads("\n".join(lines[lines.index("{") : lines.index("}") + 1]))
    return {row["machine"]: row for row in document["machines"]}


def test_it_serves() -> None:
    row = table()[MACHINE]
    assert (row["state"], row["provisioner"], row["card"], row["moving"]) == ("serving", "ironic", None, False)


def test_it_lets_its_operator_in_by_the_host_keys_of_its_call(
    plan: Plan, state: Path, connect: Callable[[str], Any]
) -> None:
    known = (state / "ssh/known_hosts").read_text().splitlines()
    assert [line for line in known if plan.hosts[MACHINE].address in line.split()[0].split(",")]
    machine = connect(MACHINE)  # asks nobody: StrictHostKeyChecking
    assert machine.check_output("hostname") == MACHINE
    assert machine.check_output("uname -r") != os.uname().release
    assert machine.check_output("systemctl list-units --failed --plain --no-legend") == ""
    assert int(machine.check_output("findmnt -bno SIZE /")) > 8 * 2**30, "its root was grown"


def test_its_system_is_on_the_disk_that_the_site_file_names(connect: Callable[[str], Any]) -> None:
    machine = connect(MACHINE)
    found = json.loads(machine.check_output("lsblk --json --bytes --nodeps --output NAME,SERIAL,SIZE"))["blockdevices"]
    disks = {disk["serial"]: disk for disk in found if disk["serial"]}
    system, decoy = disks[MACHINE], disks[f"{MACHINE}-decoy"]
    assert decoy["size"] < system["size"], "Ironic's own choice would have been the other"
    root = machine.check_output("findmnt -no SOURCE /")
    assert root.startswith(f"/dev/{system['name']}")
    empty = machine.check_output(f"lsblk --json --output NAME,PTTYPE,FSTYPE /dev/{decoy['name']}")
    assert json.loads(empty)["blockdevices"] == [{"name": decoy["name"], "pttype": None, "fstype": None}]


def test_its_way_began_at_power_off_and_took_one_attempt(
    way: list[dict[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    said = [line["doing"] for line in way]
    assert said.count(BEGINS) == 1
    assert [line["state"] for line in way if line["card"]] == []
    began, called = (next(line["time"] for line in way if line["doing"] == what) for what in (BEGINS, CALLED))
    phases = [[line["state"], line["doing"], round(after["time"] - line["time"], 1)] for line, after in pairwise(way)]
    figures = {"case": "seconds of a machine", "from active requested to its call": round(called - began, 1)}
    with capfd.disabled():
        print(f"\n{json.dumps(figures | {'phases': phases})}", flush=True)
