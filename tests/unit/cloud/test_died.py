"""Instances whose QEMU ended by itself are started again, and nothing that somebody stopped."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import failure
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, died
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

HOST = "hypervisor-1"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SAID = """\
Domain: 'instance-00000001'
  state.state=5
  state.reason=3

Domain: 'instance-00000002'
  state.state=5
  state.reason=1
"""
STOP = {"action": "stop", "user_id": None, "start_time": "2026-11-30T11:59:00.000000"}


class Compute:
    """Nova with one instance that died."""

    def __init__(self, actions: list[dict[str, Any]] | None = None, **server: Any) -> None:
        self.server = {
            "id": "s", "name": "web-1", "project_id": "p", "compute_host": HOST, "task_state": None,
            "instance_name": "instance-00000001", "vm_state": "stopped", "is_locked": False, **server,
        }  # fmt: skip
        self.actions = [STOP] if actions is None else actions
        self.service = {"host": HOST, "binary": "nova-compute", "state": "up", "is_forced_down": False}
        self.started: list[str] = []

    def services(self, **_: Any) -> list[dict[str, Any]]:
        return [self.service]

    def servers(self, **_: Any) -> list[dict[str, Any]]:
        return [self.server]

    def server_actions(self, _: str) -> list[dict[str, Any]]:
        return self.actions

    def start_server(self, identity: str) -> None:
        self.started.append(identity)


def looked(compute: Compute) -> list[str]:
    return [one.against for one in died.look(compute, {HOST: died.crashed(SAID)}, now=NOW)]


def begun(minute: int, user: str = "admin") -> dict[str, Any]:
    return {"action": "start", "user_id": user, "start_time": f"2026-11-30T11:{minute:02}:00.000000"}


def test_only_what_libvirt_calls_crashed_has_died() -> None:
    assert died.crashed(SAID) == ["instance-00000001"]
    assert died.crashed("") == []


def test_one_that_died_is_started() -> None:
    assert looked(Compute()) == [""]
    assert looked(Compute([begun(10), begun(20), STOP])) == [""]


@pytest.mark.parametrize(
    "compute",
    [
        Compute(vm_state="active"),  # Nova has not seen it yet
        Compute(task_state="powering-on"),
        Compute(instance_name="instance-00000002"),  # shut down from inside
        Compute(compute_host="hypervisor-2"),  # evacuated, and back
        Compute([{**STOP, "user_id": "owner"}]),
        Compute([STOP, begun(59)]),  # somebody started it since
        Compute([]),
    ],
)
def test_what_somebody_does_something_with_is_left_alone(compute: Compute) -> None:
    assert looked(compute) == []


@pytest.mark.parametrize("service", [{"state": "down"}, {"is_forced_down": True}])
def test_nothing_is_started_on_a_hypervisor_that_is_not_well(service: dict[str, Any]) -> None:
    compute = Compute()
    compute.service |= service
    assert looked(compute) == []


def test_one_that_is_locked_or_ends_again_and_again_stays_off_and_is_told() -> None:
    assert looked(Compute(is_locked=True)) == ["its owner or an administrator has locked it"]
    assert looked(Compute([begun(10), begun(20), begun(30), STOP])) == ["it was started 3 times in an hour"]


@pytest.mark.parametrize(("check", "locked"), [(False, False), (True, False), (False, True)])
def test_the_action_starts_what_died_tells_it_and_starts_nothing_in_a_dry_run(
    monkeypatch: pytest.MonkeyPatch, *, check: bool, locked: bool
) -> None:
    compute, warned = Compute([{**STOP, "start_time": "2020-01-01T00:00:00"}], is_locked=locked), list[str]()
    monkeypatch.setattr(connection, "of_site", lambda _: SimpleNamespace(compute=compute))
    monkeypatch.setattr(site_identity, "refuse_other", lambda *_: None)
    action: Any = object.__new__(failure.ActionModule)
    action._display, action.changes = SimpleNamespace(warning=warned.append), Changes(check=check)
    site = COLLECTION / "inventories/cloud/site.yml"
    hosts: dict[str, Any] = {name: {} for name in site_plan(site).hosts}
    hosts[HOST] = {"failure_guests": {"stdout": SAID}}
    action.variables = {"hostvars": hosts}
    done = action.work({"step": "start", "site_file": str(site), "result": "failure_guests", "found": {}})
    line = "web-1 (s) of project p on hypervisor-1: its QEMU ended by itself; "
    told = [] if locked else [f"{line}it is started"]
    assert (done["changes"], compute.started) == (told, [] if check or locked else ["s"])
    assert warned == ([f"{line}it stays off: its owner or an administrator has locked it"] if locked else [])
    action.variables = {"hostvars": {name: {"failure_guests": {"unreachable": True}} for name in hosts}}
    action.changes = Changes(check=check)
    done = action.work({"step": "start", "site_file": str(site), "result": "failure_guests", "found": {}})
    assert done["changes"] == []
