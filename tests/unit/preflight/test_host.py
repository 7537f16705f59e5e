"""What preflight says of one host: nothing of a good one, and each fault with its remedy."""

from __future__ import annotations

import os
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import CHECKS, run
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.model import Wanted

from .conftest import Host, wanted


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def faults(host: Host, plan: Wanted | None = None) -> list[tuple[str, str, str]]:
    """Return check, severity and what of every fault."""
    found: list[dict[str, Any]] = run(host, plan or wanted())["faults"]
    assert all(one["remedy"] and one["where"] for one in found)
    return [(one["check"], one["severity"], one["what"]) for one in found]


def test_a_plain_debian_passes_every_check_and_tells_its_interface(host: Host) -> None:
    result = run(host, wanted())
    assert result["faults"] == []
    assert result["passed"] == list(CHECKS)
    assert result["facts"] == {
        "machine_id": "0123456789abcdef0123456789abcdef",
        "hostname": "debian",
        "macs": ["52:54:00:00:00:01"],
        "interfaces": {"management": "ens3"},
    }


def test_another_distribution_is_refused_by_its_own_name(host: Host) -> None:
    host.write("/etc/os-release", 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n')
    assert faults(host) == [("system", "error", "Ubuntu 24.04 LTS is not supported")]


def test_a_release_the_site_serves_no_packages_for_is_refused(host: Host) -> None:
    assert faults(host, wanted(releases=["12", "13"])) == []
    assert faults(host, wanted(releases=["12"])) == [("system", "error", "the site serves no packages for Debian 13")]
