"""Whom the monitoring host asks for power supplies, fans and temperatures, with which password, and how it ends."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import asking
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.redfish import controller
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.redfish.parts import MachinePart, parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.redfish import REDFISH_ALERTS, controllers
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import alerts_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

from .conftest import MonitoringHost
from .sites import planned
from .test_action import converged

BMC = "machines__hypervisor__machines__hypervisor-1__bmc"
ONE = {"address": "10.0.0.9", "user": "admin", "credentials": "bmc/default"}
CHASSIS = "/redfish/v1/Chassis"


def test_those_that_speak_redfish_are_asked() -> None:
    plan = planned("ha", **{BMC: {"address": "10.87.18.131", "user": "root", "credentials": "bmc/new"}})
    assert controllers(plan) == {
        "hypervisor-1": {
            "address": "10.87.18.131", "user": "root", "credentials": "bmc/new",
        }
    }  # fmt: skip
    assert controllers(planned("ha", **{BMC: {"address": "10.87.18.131", "protocol": "ipmi"}})) == {}
    assert controllers(planned("lab")) == {}
    given = {BMC: {"address": "10.87.18.131"}, "monitoring__host": "storage-1"}
    assert controllers(planned("ha", **given)) == {}, "no host but the seed gets what switches every machine"


def test_a_site_without_them_has_no_such_alert() -> None:
    assert not {name for name, _ in alerts_of(planned("lab"))} & {*REDFISH_ALERTS}


@pytest.fixture
def place(host: MonitoringHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Have the program's files below a directory."""
    monkeypatch.setattr(watched, "HOME", tmp_path)
    monkeypatch.setattr(watched, "off", lambda *_: None)
    monkeypatch.setattr(watched, "LIBRARY", tmp_path / "lib")
    return host.home / "redfish/machines.json"


def run(machines: dict[str, Any], *, check: bool = False) -> Changes:
    changes = Changes(check=check)
    given = {"machines": machines, "passwords": {"bmc/default": "hush"}} if machines else None
    asking.converge(changes, watched.REDFISH, given)
    return changes


def test_logins_are_for_root_alone_and_all_of_it_leaves_with_the_last_machine(
    place: Path, host: MonitoringHost
) -> None:
    assert run({"worker-1": ONE}, check=True).done
    assert not place.exists()
    done = run({"worker-1": ONE})
    assert "hush" not in str(done.diffs)
    assert (json.loads(place.read_text())["passwords"], stat.S_IMODE(place.stat().st_mode)) == (
        {"bmc/default": "hush"}, 0o600,
    )  # fmt: skip
    assert host.systemd.calls == ["restart"]
    assert run({"worker-1": ONE}).done == []
    watched.REDFISH.metrics.parent.mkdir(exist_ok=True)
    watched.REDFISH.metrics.write_text("redfish_up 1\n")
    run({})
    left = [place, watched.REDFISH.metrics, watched.REDFISH.program, *map(watched.unit_file, watched.REDFISH.units)]
    assert not any(path.exists() for path in left)
    assert run({}).done == []


def test_the_program_is_bounded_and_may_write_one_directory() -> None:
    words = {*asking.units(watched.REDFISH)[watched.REDFISH.units[0]].splitlines()}
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "MemoryMax=256M"} <= words
    assert [word for word in words if word.startswith("ReadWritePaths")] == [f"ReadWritePaths={watched.TEXTS}"]


def test_the_monitoring_host_gets_the_passwords_that_there_are_and_the_others_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GROUNDUP_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("word of a test\n")
    other = {BMC.replace("-1", "-2"): {"address": "10.87.18.132", "credentials": "bmc/old"}}
    plan = planned("ha", **{BMC: {"address": "10.87.18.131"}, **other})
    digests.save(plan.site, digests.PublishedDigests())
    open_store(plan.site).take({"bmc/default": "hush"})
    done = converged(monkeypatch, dict, central=True, plan=plan)
    assert [*done["given"]["controllers"]] == ["hypervisor-1"]
    assert done["given"]["passwords"] == {"bmc/default": "hush"}
    (warning,) = done["warnings"]
    assert "of hypervisor-2 are not watched: the secrets store has no bmc/old. Remedy: give it" in warning


def test_what_one_says_is_its_own_word() -> None:
    """Names that are twice, that are long or break lines, numbers that are none, links to elsewhere, loops of names."""
    told: dict[str, dict[str, Any]] = {
        CHASSIS: {"Members": [{"@odata.id": f"{CHASSIS}/1"}, {"@odata.id": "https://elsewhere/redfish/v1/"}, 7]},
        f"{CHASSIS}/1": {"Thermal": {"@odata.id": f"{CHASSIS}/1/Thermal"}},
        f"{CHASSIS}/1/Thermal": {
            "Fans": [{"Name": "Fan"}, {"Name": "Fan"}, {"Name": "Fan 2"}, {"Name": "x\n" * 90}, "none"],
            "Temperatures": [{"Name": 7, "ReadingCelsius": True, "UpperThresholdCritical": "hot"}],
        },
    }
    found = list(parts(lambda path: told.get(path, {})))
    assert [one.name for one in found] == ["Fan", "Fan 2", "Fan 2 2", "x" * 64, "7"]
    assert found[-1] == MachinePart("temperature", "7", ok=True)


def test_one_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "PATIENCE", -1.0)
    asked = controller.RedfishController(address="[2001:db8::1]:8443", user="admin", password="hush")
    with pytest.raises(TimeoutError, match="has not told all after"):
        asked.get(CHASSIS)
