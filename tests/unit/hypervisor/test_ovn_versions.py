"""Versions of ovn-controller and northd that upstream supports together, and what a hypervisor warns of."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import converge, ovn


@pytest.mark.parametrize(
    ("controller", "northd", "said"),
    [
        ("25.03", "25.03", ""),
        ("26.03", "25.03", ""),
        ("26.03", "24.03", ""),
        ("24.09", "24.03", ""),
        ("23.03", "25.03", "ovn-controller 23.03 is older than northd 25.03"),
        ("25.03", "26.03", "ovn-controller goes first"),
        ("25.09", "25.03", "ovn-controller 25.09 is too new for northd 25.03: upstream goes through 26.03"),
        ("26.03", "23.03", "through 24.03"),
        ("26.09", "24.03", "through 26.03"),
    ],
)
def test_ovn_controller_goes_first_and_to_the_next_long_term_release_at_most(
    controller: str, northd: str, said: str
) -> None:
    found = ovn.skew(controller, northd)
    assert said in found
    assert bool(said) == bool(found)


def warned(monkeypatch: pytest.MonkeyPatch, *, own: str, northd: str, connected: bool = True) -> list[str]:
    def attempt(argv: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        told = {"connection-status": "connected" if connected else "not connected", "version": own}
        if argv[0] == "ovs-vsctl":
            return subprocess.CompletedProcess(argv, 0, '"ssl:192.0.2.1:6642,ssl:192.0.2.2:6642"\n', "")
        if argv[0] == "ovn-sbctl":
            assert "--db=ssl:192.0.2.1:6642,ssl:192.0.2.2:6642" in argv
            assert "--no-leader-only" in argv, "any member knows it"
            return subprocess.CompletedProcess(argv, int(not northd), f"{northd}\n", "" if northd else "no access")
        return subprocess.CompletedProcess(argv, 0, told[argv[-1]], "")

    monkeypatch.setattr(ovn, "attempt", attempt)
    changes = Changes(check=False)
    ovn.compare(changes, "hypervisor-1")
    return changes.warnings


DEBIAN_12 = "ovn-controller 23.03.1\nOpen vSwitch Library 3.1.0\n"
NORTHD = '"25.03.0-20.41.0-77.9"'


def test_a_hypervisor_warns_of_versions_that_upstream_does_not_support(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = warned(monkeypatch, own=DEBIAN_12, northd=NORTHD)
    assert line.startswith("hypervisor-1: ovn-controller 23.03 is older than northd 25.03")
    assert "docs/network.md" in line
    assert warned(monkeypatch, own=DEBIAN_12.replace("23.03.1", "25.03.0"), northd=NORTHD) == []
    (line,) = warned(monkeypatch, own=DEBIAN_12, northd="")
    assert "is not known: no access" in line
    assert warned(monkeypatch, own=DEBIAN_12, northd=NORTHD, connected=False) == [], "a fault of its own"


def test_a_prediction_compares_too_where_a_hypervisor_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compared: list[str] = []
    monkeypatch.setattr(converge, "converge", lambda *_: "")
    monkeypatch.setattr(ovn, "compare", lambda _, host: compared.append(host))
    monkeypatch.setattr(ovn, "OPTIONS", tmp_path / "ovn-host")
    for made in (False, True):
        converge.work(Changes(check=True), {"verify": False, "name": f"made: {made}"})
        ovn.OPTIONS.touch()
    assert compared == ["made: True"]
