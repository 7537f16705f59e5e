"""The playbook groundup.cloud.patch says what it knows, and patches no host that it could not ask."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

SAME: dict[str, Any] = {
    "debian": "13", "snapshot": "", "offered": "", "changes": [], "removed": [], "kept": [], "held": [], "restarts": {},
    "reboot": [], "waiting": [], "reboot_waiting": [], "guests": 0, "boot": "a:1",
}  # fmt: skip


def change(package: str) -> dict[str, Any]:
    return {"package": package, "before": "1", "after": "2", "security": False, "step": ""}


LIGHTLY = {**SAME, "changes": [change("bash")]}
REBOOTS = {**SAME, "changes": [change("libc6")], "reboot": ["libc6"]}


def patch(state: Path, *arguments: str) -> Any:
    """Return the finished playbook, of a site that is not made."""
    site = ROOT / "inventories/cloud/site.yml"
    return run("ansible-playbook", "-i", site, "groundup.cloud.patch", *arguments, GROUNDUP_STATE=state)


def test_hosts_that_cannot_be_asked_are_unknown_and_the_document_is_all_of_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "patch.json"
    done = patch(tmp_path / "state", "--tags", "check", "-e", "output=json", "-e", f"patch_file={path}")
    assert done.returncode == 4, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads(path.read_text())
    assert (found["site"], found["order"]) == ("cloud", [])
    assert set(found["snapshots"].values()) == {"packages-ceph-13/13"}, "before the seed has one, the path of the plan"
    assert {"control-1", "hypervisor-2", "seed-1"} <= set(found["hosts"])
    assert all(one["not_there"] for one in found["hosts"].values())
    assert not (tmp_path / "state").exists()


def test_a_run_on_hosts_that_cannot_be_asked_patches_none_and_names_them(tmp_path: Path) -> None:
    done = patch(tmp_path / "state")
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].split() == ["host", "snapshot", "packages", "restarts", "reboot"]
    assert "could not be asked: " in done.stdout + done.stderr
    assert "changed=0" in done.stdout
    assert not (tmp_path / "state").exists()


def lost(home: Path, said: dict[str, dict[str, Any]], order: list[list[str]], *, workers: int) -> Any:
    """Return the finished second half of the playbook, on hosts that ``said`` that and do not answer any more.

    ``workers``: how many may be missing.
    """
    machines = {"seed": {"count": 1}, "control": {"count": 1}, "worker": {"count": 3, "max_unavailable": workers}}
    site, play = home / "site.yml", home / "play.yml"
    site.write_text(yaml.safe_dump({
        "plugin": "groundup.cloud.site", "site": "s", "domain": "s.test", "profile": "lab",
        "networks": {"management": {"cidr": "10.96.0.0/16"}},
        "machines": {name: {"provisioner": "existing", **one} for name, one in machines.items()},
    }))  # fmt: skip
    facts = {"patch_host": "{{ said[inventory_hostname] }}"}
    first = {"name": "Said", "hosts": ",".join(said), "gather_facts": False, "vars": {"said": said}}
    found = {"name": "Found", "hosts": "localhost", "gather_facts": False}
    play.write_text(yaml.safe_dump([
        {**first, "tasks": [{"name": "Say", "ansible.builtin.set_fact": facts}]},
        {**found, "tasks": [{"name": "Find", "ansible.builtin.set_fact": {"patch_found": {"order": order}}}]},
        {"name": "Patch", "ansible.builtin.import_playbook": "groundup.cloud.patch_hosts"},
    ]))  # fmt: skip
    with socket.socket() as bound:  # nobody listens at it
        bound.bind(("127.0.0.1", 0))
        variables = {"ansible_host": "127.0.0.1", "ansible_port": bound.getsockname()[1]}
        return run(
            "ansible-playbook", "-i", site, play, "-e", json.dumps(variables), GROUNDUP_STATE=home / "state"
        )  # fmt: skip


@pytest.mark.parametrize(("workers", "code"), [(2, 4), (1, 2)])
def test_hosts_that_are_lost_are_set_aside_each_with_its_reason_within_the_limit(
    tmp_path: Path, workers: int, code: int
) -> None:
    said = {"worker-1": LIGHTLY, "worker-2": REBOOTS, "worker-3": SAME, "control-1": SAME}
    done = lost(tmp_path, said, [["worker-1"], ["worker-2"]], workers=workers)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == code, text
    assert "worker-1 patch worker-1 is unreachable: " in text
    assert "worker-2 patch worker-2 is not well: unreachable: " in text
    assert "remedy: see groundup.cloud.status; put it right, then run this again" in text
    assert ("at most 1 may be" in text) is (workers == 1)
    assert not [*tmp_path.glob("state/s/patch/*")], "neither was in maintenance"


@pytest.mark.parametrize(("order", "code"), [([], 2), ([["worker-1"]], 4)])
def test_the_run_ends_with_the_names_of_hosts_that_were_left_out(
    tmp_path: Path, order: list[list[str]], code: int
) -> None:
    done = lost(tmp_path, {"worker-1": LIGHTLY, "control-1": REBOOTS}, order, workers=2)
    assert done.returncode == code, done.stdout + done.stderr
    assert "1 hosts were left out: control-1" in done.stdout + done.stderr
    assert ("The run stopped without: worker-1" in done.stdout) is bool(order)
