"""The program of the monitoring host asks real HTTPS servers that speak as management controllers do."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.redfish import program

from .redfish_server import ABSENT, CRITICAL, PASSWORD, ROOT, USER, Tree, classic, controller, newer

CLASSIC = {
    ("power supply", "Power Supply Bay", 1), ("power supply", "Power Supply Bay 2", 1),
    ("power supply", "PowerSupply Redundancy Group 1", 1), ("fan", "BaseBoard System Fan", 1),
    ("temperature", "CPU1 Temp", 1), ("temperature", "Inlet", 1),
}  # fmt: skip
NEWER = {
    ("power supply", "Power Supply Bay 1", 1), ("power supply", "Power Supply Bay 2", 1),
    ("power supply", "power supply redundancy", 1), ("fan", "CPU1 Fan", 1),
    ("temperature", "CPU #1", 1), ("temperature", "Intake", 1),
}  # fmt: skip
Told = dict[str, dict[tuple[str, ...], float]]  # value by labels, by name


class Watch:
    """The program, its machines and what it wrote."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        """Take a directory, and a stack that ends what serves."""
        self.home, self.machines, self._stack = home, dict[str, dict[str, Any]](), stack
        (home / "redfish.pyz").write_bytes(bundle.program(program))

    def add(self, name: str, tree: Tree | None = None, *, address: str = "", credentials: str = "bmc/all") -> None:
        """Add a machine whose controller serves ``tree``, or has an ``address``."""
        address = address or self._stack.enter_context(controller(tree or {}, self.home))
        self.machines[name] = {"address": address, "user": USER, "credentials": credentials}

    def told(self) -> tuple[Told, str]:
        """Run the program; return what it told and what it said to the journal."""
        known = {"machines": self.machines, "passwords": {"bmc/all": PASSWORD, "bmc/old": "wrong"}}
        (self.home / "machines.json").write_text(json.dumps(known))
        file = self.home / "redfish.prom"
        command = [
            sys.executable,
            "-I",
            "-S",
            str(self.home / "redfish.pyz"),
            str(file),
            str(self.home / "machines.json"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: Told = {}
        for line in file.read_text().splitlines():
            name, _, value = line.rpartition(" ")
            name, _, labels = name.partition("{")
            found.setdefault(name, {})[tuple(part.split('"')[1] for part in labels.split(",") if part)] = float(value)
        return found, done.stderr


@pytest.fixture
def watch(tmp_path: Path) -> Any:
    with ExitStack() as stack:
        yield Watch(tmp_path, stack)


def parts(told: Told, machine: str) -> set[tuple[str, str, float]]:
    return {(kind, part, ok) for (of, kind, part), ok in told["redfish_part_ok"].items() if of == machine}


def test_both_schemas_tell_the_same_and_what_is_absent_tells_nothing(watch: Watch) -> None:
    watch.add("worker-1", classic())
    watch.add("worker-2", newer())
    told, said = watch.told()
    assert said == "", said
    assert told["redfish_up"] == {("worker-1",): 1, ("worker-2",): 1}
    assert parts(told, "worker-1") == CLASSIC
    assert parts(told, "worker-2") == NEWER
    assert told["redfish_temperature_celsius"] == {
        ("worker-1", "temperature", "CPU1 Temp"): 61, ("worker-1", "temperature", "Inlet"): 22,
        ("worker-2", "temperature", "CPU #1"): 44, ("worker-2", "temperature", "Intake"): 24.8,
    }  # fmt: skip
    assert told["redfish_temperature_limit_celsius"] == {
        ("worker-1", "temperature", "CPU1 Temp"): 90, ("worker-2", "temperature", "CPU #1"): 90,
    }  # fmt: skip
    assert told[program.LOOKED].keys() == {()}


@pytest.mark.parametrize("made", [classic, newer])
def test_a_part_that_is_not_well_is_told(watch: Watch, made: Any) -> None:
    watch.add("worker-1", made(supply={"State": "UnavailableOffline"}, fan=CRITICAL, celsius=95))
    told, _ = watch.told()
    ill = {(kind, part) for kind, part, ok in parts(told, "worker-1") if not ok}
    assert {kind for kind, _ in ill} == {"power supply", "fan"}
    assert len(ill) == 3, "the supply, its redundancy and the fan"
    assert max(told["redfish_temperature_celsius"].values()) == 95


def test_one_that_is_silent_or_refuses_the_login_or_says_nonsense_hides_no_other(watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        silent = f"127.0.0.1:{nobody.getsockname()[1]}"
    watch.add("gone", address=silent)
    watch.add("locked", classic(), credentials="bmc/old")
    watch.add("mad", {f"{ROOT}/Chassis": {"Members": [{"@odata.id": f"{ROOT}/Chassis/1"}]},
                      f"{ROOT}/Chassis/1": {"Power": [], "Thermal": {"@odata.id": 7}, "Fans": "many"}})  # fmt: skip
    watch.add("well", classic(fan=ABSENT))
    told, said = watch.told()
    assert told["redfish_up"] == {("gone",): 0, ("locked",): 0, ("mad",): 1, ("well",): 1}
    assert {of for of, *_ in told["redfish_part_ok"]} == {"well"}
    assert sorted(line.split(":")[0] for line in said.splitlines()) == ["<4>gone", "<4>locked"]
    assert "HTTP 401" in said
    assert PASSWORD not in said
    assert "wrong" not in said
