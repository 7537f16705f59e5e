"""What the monitoring host of a lab tells: alerts, metrics and lines of logs."""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Iterable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import ALERTS_URL, LOGS_URL, STORE_URL
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root

LATEST = 45.0  # seconds beside those that an alert holds: told, asked, judged, delayed, grouped (docs/monitoring.md)
Told = dict[tuple[str, str], float]  # when an alert of an object was first seen


class Eyes:
    """What the monitoring host tells."""

    def __init__(self, host: Any) -> None:
        """Take the host."""
        self.host = host

    def ask(self, url: str, **query: str) -> str:
        given = " ".join(f"--data-urlencode '{key}={value}'" for key, value in query.items())
        return root(self.host, f"curl -sfG {url} {given}")

    def alerts(self) -> set[tuple[str, str]]:
        """Return alert and object of all that are active, hidden ones not."""
        said = json.loads(self.ask(f"{ALERTS_URL}/api/v2/alerts", active="true", inhibited="false", silenced="false"))
        found = {(one["labels"]["alertname"], one["labels"].get("object", "")) for one in said}
        return {one for one in found if one[0] != watched.PROOF}

    def values(self, query: str) -> list[dict[str, Any]]:
        """Return what the store of metrics has now."""
        return json.loads(self.ask(f"{STORE_URL}/api/v1/query", query=query, nocache="1"))["data"]["result"]  # type: ignore[no-any-return]

    def answered(self, queries: Iterable[str]) -> list[bool]:
        """Return whether each query has a result."""
        urls = " ".join(f"'{STORE_URL}/api/v1/query?nocache=1&query={urllib.parse.quote(one)}'" for one in queries)
        said = root(self.host, f"curl -s -w '\\n' {urls}").splitlines()
        return [bool(json.loads(one)["data"]["result"]) for one in said if one]

    def lines(self, query: str) -> list[dict[str, str]]:
        """Return stored lines of logs."""
        return [json.loads(one) for one in self.ask(f"{LOGS_URL}/select/logsql/query", query=query).splitlines()]


def watching(plan: Plan, connect: Connect) -> Eyes:
    """Return what the monitoring host tells; skips the tests of a site without one."""
    if not (plan.monitoring and plan.monitoring.logs and plan.ceph):
        pytest.skip("metrics, logs and Ceph are needed: SITE=tests/e2e/eyes/site.yml")
    return Eyes(connect(plan.monitoring.host))


def seen(eyes: Eyes, wanted: dict[tuple[str, str], float]) -> tuple[Told, set[tuple[str, str]]]:
    """Wait for alerts, each ``wanted`` within its seconds. Return seconds until each came, and what else was told."""
    begun, found, others = time.monotonic(), Told(), set[tuple[str, str]]()
    while len(found) < len(wanted) and time.monotonic() - begun < max(wanted.values()):
        now = eyes.alerts()
        found |= {one: round(time.monotonic() - begun) for one in now & wanted.keys() - found.keys()}
        others |= now - wanted.keys()
        time.sleep(1)
    return found, others
