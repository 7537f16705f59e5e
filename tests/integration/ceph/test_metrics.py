"""A real Ceph tells metrics with monitoring, by the names that alerts and panels ask for; else as its operator says."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.panels_layers import CEPH
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .loopback import PATIENCE, Loopback

OSDS = 1
# Of two managers in one network, each has an address of its own.
_ADDRESSES = {"x": "127.0.0.1", "y": "127.0.0.2"}
CAPS = {"mon": "profile mgr", "osd": "allow *", "mds": "allow *"}
STANDS_BY = """
mkdir -p /var/lib/ceph/mgr/ceph-y
ceph-authtool --create-keyring /var/lib/ceph/mgr/ceph-y/keyring --name mgr.y --add-key "$1" > /dev/null
exec ceph-mgr -i y
"""
_READ = """
import sys, urllib.request
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(f"http://{address}:9283/metrics", timeout=10).read().decode())
    except OSError:
        pass
"""


def converge(ceph: Loopback, *, wanted: bool, check: bool = False) -> list[str]:
    """Return what a run changes."""
    said = ceph.administered("_ceph.metrics.converge", check=check, wanted=wanted)
    assert "error" not in said, said["error"]
    changes: list[str] = said["changes"]
    return changes


def silent(ceph: Loopback) -> str:
    return str(ceph.administered("_ceph.metrics.silent")["result"])


def enabled(ceph: Loopback) -> bool:
    return "prometheus" in ceph.ask("mgr", "module", "ls")["enabled_modules"]


def text(ceph: Loopback) -> str:
    """Return the metrics that any manager tells."""
    return ceph.run('exec python3 -c "$@"', _READ, *_ADDRESSES.values())


def told(ceph: Loopback) -> set[str]:
    """Return the names of the metrics that any manager tells."""
    return set(re.findall(r"^(ceph_\w+)", text(ceph), re.MULTILINE))


def asked_for() -> set[str]:
    """Return the names of Ceph's metrics in alerts and panels."""
    plan: Any = planned("ha")
    queries = [one.expression(plan) for one in ALERTS.values()] + [one.expression(plan) for one in CEPH.panels]
    return {name for one in queries for name in re.findall(r"\bceph_(?!daemon)\w+", one)}


def test_metrics_are_on_with_monitoring_and_off_without_but_for_those_who_had_them_on(ceph: Loopback) -> None:
    # A new manager says late which modules, and which options of them, there are.
    until(lambda: bool(ceph.ask("mgr", "module", "ls")["disabled_modules"]), seconds=PATIENCE)
    for name, address in _ADDRESSES.items():
        ceph.ask("config", "set", "mgr", f"mgr/prometheus/{name}/server_addr", address)
    ceph.run(STANDS_BY, ceph.key("mgr.y", CAPS))
    until(lambda: bool(ceph.ask("mgr", "dump")["standbys"]), seconds=PATIENCE)
    assert converge(ceph, wanted=False) == []
    assert silent(ceph) == "no manager tells metrics (module prometheus is off)"
    assert len(converge(ceph, wanted=True, check=True)) == 1
    assert not enabled(ceph), "a dry run changes nothing"

    assert len(converge(ceph, wanted=True)) == 1
    until(lambda: silent(ceph) == "", seconds=PATIENCE)
    assert converge(ceph, wanted=True) == []
    assert len(asked_for()) >= 18
    ceph.ask("osd", "pool", "create", "probe", "1")
    until(lambda: asked_for() <= told(ceph), seconds=PATIENCE)
    assert re.search(r'^ceph_osd_metadata{.*ceph_daemon="osd.0".*hostname="[^"]+"', text(ceph), re.MULTILINE)

    assert len(converge(ceph, wanted=False, check=True)) == 1
    assert enabled(ceph)
    assert len(converge(ceph, wanted=False)) == 1
    assert not enabled(ceph)
    assert converge(ceph, wanted=False) == []

    ceph.ask("mgr", "module", "enable", "prometheus")
    assert converge(ceph, wanted=True) == []
    assert converge(ceph, wanted=False) == [], "it was on before monitoring"
    assert enabled(ceph)
