"""What is done on a hypervisor that leaves, and who of the cloud is not in the site file."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import ownership, units
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import leave
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.leftover import look

NAME = "hypervisor-1"


class Host:
    """Programs of a host, by the first word of their command."""

    def __init__(self) -> None:
        self.domains = ""
        self.virsh = 0
        self.remote = '"ssl:192.0.2.9:6642"\n'
        self.ran: list[str] = []
        self.off: list[str] = []

    def attempt(self, argv: Any, **_: Any) -> subprocess.CompletedProcess[str]:
        text, code = (self.domains, self.virsh) if argv[0] == "virsh" else (self.remote, 0)
        return subprocess.CompletedProcess(argv, code, text, "no connection")

    def run(self, argv: Any, **_: Any) -> str:
        self.ran.append(" ".join(argv))
        self.remote = "\n"
        return ""

    def stop(self, changes: Changes, names: Any) -> None:
        for name in names:
            if name not in self.off and changes.add(f"stop and disable {name}"):
                self.off.append(name)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr(leave, "attempt", made.attempt)
    monkeypatch.setattr(leave, "run", made.run)
    monkeypatch.setattr(units, "off", made.stop)
    monkeypatch.setattr(ownership, "refuse_other", lambda _: None)
    return made


def left(mark: Path, *, check: bool = False, **options: Any) -> Changes:
    changes = Changes(check=check)
    leave.leave(changes, site="lab", name=NAME, mark=mark, **options)
    return changes


def test_it_stops_for_good_once(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "retired"
    predicted = left(mark, check=True).done
    assert (host.off, host.ran, mark.exists()) == ([], [], False)
    assert left(mark).done == predicted
    assert set(host.off) == {
        "nova-compute.service", "nova-ssh.service", "neutron-ovn-agent.service", "neutron-sriov-nic-agent.service",
        "ovn-host.service", "ovn-controller.service",
    }  # fmt: skip
    assert any("remove Open_vSwitch . external_ids ovn-remote" in one for one in host.ran)
    assert left(mark).done == []


def test_domains_need_consent(host: Host, tmp_path: Path) -> None:
    host.domains = "instance-00000007\n\n"
    with pytest.raises(GroundupError, match="instance-00000007"):
        left(tmp_path / "retired")
    assert host.off == []
    left(tmp_path / "retired", force=["domains"])
    assert host.off


@pytest.mark.parametrize("missing", [True, False])
def test_a_libvirt_that_does_not_answer_is_no_consent(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, missing: bool
) -> None:
    host.virsh = 1

    def attempt(argv: Any, **more: Any) -> subprocess.CompletedProcess[str]:
        if missing and argv[0] == "virsh":
            raise GroundupError("no connection: no such program", where="", why="", remedy="")
        return host.attempt(argv, **more)

    monkeypatch.setattr(leave, "attempt", attempt)
    for check in (True, False):
        with pytest.raises(GroundupError, match="does not say whether it has domains: no connection"):
            left(tmp_path / "retired", check=check)
    assert host.off == []
    changes = left(tmp_path / "retired", force=["domains"])
    assert host.off
    assert "domains are not known: no connection" in changes.warnings[0]


@pytest.mark.usefixtures("host")
def test_a_site_run_says_that_it_joins_again(tmp_path: Path) -> None:
    mark = tmp_path / "retired"
    left(mark)
    changes = Changes(check=False)
    leave.joins_again(changes, mark=mark)
    assert "join the cloud again" in changes.warnings[0]
    again = Changes(check=False)
    leave.joins_again(again, mark=mark)
    assert (again.done, again.warnings) == ([], [])


def ask(kind: str, _path: str) -> Mapping[str, Any]:
    services = [
        {"host": NAME, "state": "up", "status": "enabled"},
        {"host": "gone", "state": "up", "status": "enabled"},
        {"host": "drained", "state": "down", "status": "disabled", "disabled_reason": "groundup.cloud.drain"},
    ]
    agents = [{"host": name, "agent_type": "OVN Controller agent"} for name in (NAME, "control-1", "half", "gone")]
    return {"services": services} if kind == "compute" else {"agents": agents}


def test_who_is_not_in_the_site_file_is_named_with_the_verb() -> None:
    seen = look(ask, hypervisors=[NAME], machines=[NAME, "control-1"])
    found = {one.host: one for one in seen.leftover}
    assert seen.disabled == []
    assert sorted(found) == ["drained", "gone", "half"]
    assert "up and enabled" in found["gone"].reason
    assert "groundup.cloud.drain" in found["drained"].reason
    assert "groundup.cloud.retire -e machine=gone" in found["gone"].remedy


def test_a_machine_that_lost_the_role_is_named_too() -> None:
    found = look(ask, hypervisors=[], machines=[NAME, "control-1", "half", "gone", "drained"]).leftover
    assert [one.host for one in found] == ["drained", "gone", NAME]


def test_one_of_the_site_file_that_was_drained_is_said() -> None:
    (one,) = look(ask, hypervisors=[NAME, "drained", "gone"], machines=[NAME]).disabled
    assert one.host == "drained"
    assert "undrain -e machine=drained" in one.remedy
