"""Who hears what: the plan's routing, by the real Alertmanager."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .alerting import alerting
from .watched import HOOK

_WEBHOOK = {"monitoring__webhook": f"http://127.0.0.1:{HOOK}/hook"}
GROUPED = 5  # seconds that alerts are waited for that belong together


def test_of_a_lost_rack_one_alert_is_sent_and_those_of_hosts_that_serve_are_sent_as_ever(
    tmp_path: Path, root: Callable[[str], Path]
) -> None:
    lost = [{"alertname": "HostDown", "object": f"worker-{number}", "rack": "r1"} for number in (1, 2, 3)]
    on_lost = [
        {"alertname": "TargetDown", "object": "worker-1", "rack": "r1", "job": "etcd"},
        {"alertname": "DiskFilling", "object": "worker-2", "rack": "r1"},
    ]
    told = [
        {"alertname": "RackDown", "object": "r1", "rack": "r1"},
        {"alertname": "DiskFilling", "object": "control-1", "rack": "r1"},
        {"alertname": "HostDown", "object": "hypervisor-1", "rack": "r2"},
        {"alertname": "EtcdQuorumAtRisk", "object": "etcd"},
    ]
    with alerting(tmp_path, planned("lab", **_WEBHOOK), root("root-monitoring")) as site:
        site.fire(*lost, *on_lost, *told)
        hidden = {f"{one['alertname']} {one['object']}" for one in (*lost, *on_lost)}
        until(lambda: site.hidden() == hidden, seconds=30)
        until(lambda: site.heard() == {f"{one['alertname']} {one['object']}" for one in told}, seconds=30)
        time.sleep(GROUPED + 1)
        assert not site.heard() & hidden
