"""Actions of the metal layer: the site's key, and how faults of this machine are told."""

from __future__ import annotations

import errno
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import ironic, lab
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact import ssh_key
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import snapshots

LAB = Path(__file__).parents[3] / "inventories/lab/site.yml"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIl4ihn7CPPqL8ikWg4Zjy7gMq376PVX8z7nSORWMyX9"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    plan = make_plan(load_site(LAB))
    hosts = {**plan.hosts, "worker-1": replace(plan.hosts["worker-1"], host_key=HOST_KEY)}
    return replace(plan, hosts=hosts)


def converge(plan: Plan, *, check: bool = False) -> list[str]:
    changes: list[str] = ssh_key.converge(Changes(check=check), plan)["changes"]
    return changes


def test_the_key_of_a_site_is_made_once(plan: Plan, tmp_path: Path) -> None:
    key = tmp_path / "lab/ssh/id_ed25519"
    foreseen = converge(plan, check=True)
    assert not key.parent.exists()
    assert converge(plan) == foreseen
    found = subprocess.run(["ssh-keygen", "-y", "-f", key], capture_output=True, text=True, check=True).stdout
    assert (key.stat().st_mode & 0o777, key.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert key.with_suffix(".pub").read_text().split()[:2] == found.split()[:2]
    assert sorted(path.name for path in key.parent.iterdir()) == ["host_keys", "id_ed25519", "id_ed25519.pub"]
    before = key.read_bytes()
    assert converge(plan) == []
    assert key.read_bytes() == before


@pytest.mark.parametrize("stale", ["", "ssh-ed25519 AAAA another\n"])
def test_the_public_half_follows_the_key(plan: Plan, tmp_path: Path, stale: str) -> None:
    converge(plan)
    public = tmp_path / "lab/ssh/id_ed25519.pub"
    good = public.read_text()
    public.write_text(stale) if stale else public.unlink()
    assert converge(plan, check=True) == converge(plan) == [f"write {public}"]
    assert public.read_text() == good


def test_a_key_others_can_read_is_closed_to_them(plan: Plan, tmp_path: Path) -> None:
    converge(plan)
    key = tmp_path / "lab/ssh/id_ed25519"
    key.chmod(0o644)
    assert converge(plan, check=True) == converge(plan) == [f"set mode 600 of {key}"]
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_damaged_key_is_named_and_kept(plan: Plan, tmp_path: Path) -> None:
    converge(plan)
    key = tmp_path / "lab/ssh/id_ed25519"
    key.write_text("damaged\n")
    with pytest.raises(GroundupError, match="ssh-keygen -y") as caught:
        converge(plan)
    assert f"restore {key}" in caught.value.remedy
    assert key.read_text() == "damaged\n"


@pytest.mark.parametrize(("port", "name"), [(22, "10.90.0.24"), (2222, "[10.90.0.24]:2222")])
def test_keys_of_existing_hosts_are_listed_by_address_and_port(
    plan: Plan, tmp_path: Path, port: int, name: str
) -> None:
    plan = replace(plan, access=replace(plan.access, port=port))
    converge(plan)
    lines = (tmp_path / "lab/ssh/host_keys").read_text().splitlines()
    assert lines[1:] == [f"{name.replace('10.90.0.24', plan.hosts['worker-1'].address)} {HOST_KEY}"]


def test_the_runner_gets_no_record_of_snapshots_for_the_plans_path_leads_to_the_one_in_use(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots.save(plan.site, {"packages-13/13": [snapshots.Snapshot(name="2026-11-28-b", sha256="00")]})
    asked: list[dict[str, Any]] = []
    this = object.__new__(ironic.ActionModule)
    this.changes = Changes(check=True)

    def on_host(**given: Any) -> dict[str, Any]:
        asked.append(given)
        return {}

    monkeypatch.setattr(this, "on_host", on_host)
    this.work({"step": "runner", "site_file": str(LAB), "public": {"ca.crt": "CA"}})
    assert "packages.json" not in str(asked)
    assert (tmp_path / plan.site / "packages.json").exists()


def said(step: str, fails: OSError, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the message of a step of the lab that ``fails``."""

    def failing(*_: object) -> None:
        raise fails

    options = {"step": step}
    monkeypatch.setitem(lab.STEPS, step, failing)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    instance = object.__new__(lab.ActionModule)
    instance._task = SimpleNamespace(check_mode=True, args=options)
    monkeypatch.setattr(type(instance), "validate_argument_spec", lambda *_, **__: (None, options))
    result = instance.run()
    assert result["failed"]
    return str(result["msg"])


@pytest.mark.parametrize("step", ["hosts", "networks"])
def test_a_full_disk_is_told_with_the_file(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/state/lab/config.json")
    message = said(step, full, monkeypatch)
    assert message.startswith("No space left on device")
    for line in ("/state/lab/config.json", "why:", "remedy: see df -h"):
        assert line in message


def test_a_program_that_is_not_there_is_no_matter_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    message = said("networks", FileNotFoundError(errno.ENOENT, "No such file or directory", "ip"), monkeypatch)
    assert message.startswith("No such file or directory\n  where:  this machine, ip\n")
    assert "remedy: put that right, then run this again" in message


@pytest.mark.parametrize(
    ("status", "said", "what"),
    [
        (0, "running", None),
        (1, "degraded", "worker-1 is degraded, not running"),
        (1, "maintenance", "worker-1 is maintenance, not running"),
        (124, "starting", "the boot of worker-1 has not ended within 9 s"),
    ],
)
def test_only_a_boot_without_a_failed_unit_is_good(status: int, said: str, what: str | None) -> None:
    fault = ready.boot_fault("worker-1", status, said, within=9)
    assert (fault.what if fault else None) == what
