"""A client that may not be dead is kept from writing, by address, and let in again."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._ceph.fence import EXPIRES, fence


class Monitors:
    """A cluster that forbids addresses."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        until = "2027-01-01T00:00:00.000000+0000"
        self.ranges = {"cidr:10.9.0.7:0/32": until, "cidr:10.9.0.0:0/24": until, "cidr:[fd00::1]:0/128": until}

    def ask(self, _prefix: str) -> dict[str, Any]:
        return {"range_blocklist": self.ranges}

    def send(self, prefix: str, **arguments: Any) -> bytes:
        self.sent.append({"prefix": prefix, **arguments})
        return b""


def fenced(cluster: Any, *addresses: str, on: bool, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    fence(cluster, changes, addresses, fenced=on)
    return changes.done


def test_only_what_is_not_so_already_is_changed_and_for_longer_than_an_hour() -> None:
    cluster = Monitors()
    assert fenced(cluster, "10.9.0.7", "10.9.0.8", on=True) == ["forbid clients at 10.9.0.8 to use Ceph"]
    assert fenced(cluster, "10.9.0.7", "10.9.0.8", on=False) == ["let clients at 10.9.0.7 use Ceph again"]
    add, rm = cluster.sent
    assert (add["addr"], add["blocklistop"], add["expire"]) == ("10.9.0.8/32", "add", float(EXPIRES))
    assert (rm["addr"], rm["blocklistop"]) == ("10.9.0.7/32", "rm")


def test_a_dry_run_changes_nothing() -> None:
    cluster = Monitors()
    assert fenced(cluster, "10.9.0.8", on=True, check=True) == ["forbid clients at 10.9.0.8 to use Ceph"]
    assert cluster.sent == []
