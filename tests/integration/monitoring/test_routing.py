"""Who hears what: the plan's routing, by the real Alertmanager."""

from __future__ import annotations

import subprocess
import time
from collections import ChainMap
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import PROOF
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .alerting import SMTP, alerting
from .watched import HOOK

_WEBHOOK = {"monitoring__webhook": f"http://127.0.0.1:{HOOK}/hook"}
_PAGER = {"monitoring__pagerduty": {"url": f"http://127.0.0.1:{HOOK}/v2/enqueue"}}
_MAIL: dict[str, Any] = {"to": ["ops@corp.test"], "sender": "cloud@corp.test", "smarthost": f"127.0.0.1:{SMTP}"}
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


def test_a_critical_alert_pages_a_warning_is_mailed_and_the_webhook_hears_both(
    tmp_path: Path, root: Callable[[str], Path]
) -> None:
    plan = planned("lab", **_WEBHOOK, **_PAGER, monitoring__mail=_MAIL | {"username": "alerts"})
    secrets = {"receivers/pagerduty": "their-key", "receivers/mail": "their-word"}
    words = {"what": "a disk fills", "why": "it stops", "remedy": "make room"}
    with alerting(tmp_path, plan, root("root-monitoring"), secrets=secrets) as site:
        site.fire({"alertname": "HostDown", "object": "worker-1", "severity": "critical"})
        site.fire({"alertname": "DiskFilling", "object": "worker-2", "severity": "warning"}, **words)
        site.fire({"alertname": PROOF, "object": "lab", "severity": "none"})
        until(lambda: site.heard() == {"HostDown worker-1", "DiskFilling worker-2"}, seconds=30)
        until(lambda: bool(site.paged()) and "Subject" in site.mailed(), seconds=30)
        time.sleep(GROUPED + 1)
        (event,) = site.paged()
        assert (event["routing_key"], event["event_action"]) == ("their-key", "trigger")
        assert (event["payload"]["severity"], event["payload"]["component"]) == ("critical", "worker-1")
        login, _, mail = site.mailed().partition("\n")
        assert login.split() == ["alerts", "their-word"]
        assert "Subject: firing: worker-2, layer host of site lab\n" in mail
        assert "DiskFilling, warning, firing: a disk fills\n" in mail
        assert "remedy: make room\n" in mail
        assert "HostDown" not in mail
        assert PROOF not in mail


def test_every_routing_is_one_to_amtool(tmp_path: Path, root: Callable[[str], Path]) -> None:
    amtool, path = str(root("root-monitoring") / "usr/bin/amtool"), tmp_path / "alertmanager.yml"
    mails = [{"monitoring__mail": _MAIL | more} for more in ({}, {"username": "a b"})]
    for chosen in product(({}, _WEBHOOK), ({}, _PAGER, {"monitoring__pagerduty": {}}), ({}, *mails)):
        path.write_text(files(planned("lab", **dict(ChainMap(*chosen))))["alertmanager.yml"])
        done = subprocess.run([amtool, "check-config", path], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
