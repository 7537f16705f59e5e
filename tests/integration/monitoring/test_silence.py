"""A run mutes alerts about what it works on, and hears them again: by the real Alertmanager."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .alerting import alerting

_ABOUT = {
    "HostDown worker-1",
    "CephMonitorDown mon.worker-1",
    "CephManagerDown mgr.worker-1",
    "HaproxyServerOut control-1",
}
_OTHER = {"HostDown worker-11", "CephOsdDown osd.7", "EtcdQuorumAtRisk etcd"}


def left(silence: dict[str, Any]) -> timedelta:
    """Return how long it lasts from now on."""
    return datetime.fromisoformat(silence["endsAt"]) - datetime.now(UTC)


def test_alerts_about_what_a_run_works_on_are_muted_until_it_ends(tmp_path: Path, root: Callable[[str], Path]) -> None:
    with alerting(tmp_path, planned("lab"), root("root-monitoring")) as site:
        for name in (*_ABOUT, *_OTHER):
            alert, thing = name.split()
            server = {"server": "worker-1"} if alert == "HaproxyServerOut" else {}
            site.fire({"alertname": alert, "object": thing, "layer": "storage" if "Osd" in alert else "host", **server})
        assert site.hidden() == set()

        assert site.step("silence", hosts=["worker-1"], run="groundup.cloud.drain of worker-1") == ""
        until(lambda: site.hidden() == _ABOUT, seconds=10)
        first = site.silences()
        assert {one["comment"] for one in first.values()} == {"groundup.cloud.drain of worker-1"}
        assert {one["createdBy"] for one in first.values()} == {"groundup.cloud"}
        assert all(timedelta(minutes=58) < left(one) < timedelta(minutes=61) for one in first.values())

        assert site.step("silence", hosts=["worker-1"], minutes=120) == ""
        assert set(site.silences()) == set(first), "a run that goes on makes no further one"
        assert all(left(one) > timedelta(minutes=118) for one in site.silences().values())

        assert site.step("silence", osds=[7]) == ""
        until(lambda: site.hidden() == {*_ABOUT, "CephOsdDown osd.7"}, seconds=10)
        assert site.step("hear", hosts=["worker-1"]) == ""
        until(lambda: site.hidden() == {"CephOsdDown osd.7"}, seconds=10)
        assert site.step("hear", osds=[7]) == ""
        assert site.step("hear", osds=[7]) == "", "it has ended already"

        assert site.step("silence", layers=["kubernetes", "storage"]) == ""
        until(lambda: site.hidden() == {"CephOsdDown osd.7"}, seconds=10)
        assert site.step("silence", site="other", layers=["host"]) == ""
        assert site.hidden() == {"CephOsdDown osd.7"}, "alerts of this site are not the other's"


def test_an_alertmanager_that_is_down_is_named(tmp_path: Path, root: Callable[[str], Path]) -> None:
    with alerting(tmp_path, planned("lab"), root("root-monitoring")) as site:
        site.host.run("sh", "-c", "kill $(pidof prometheus-alertmanager)")
        until(lambda: site.ask("status") is None, seconds=10)
        said = site.step("silence", hosts=["worker-1"])
        assert "Alertmanager does not take or end a silence" in said
        assert "remedy: journalctl -n 50 -u prometheus-alertmanager.service" in said
