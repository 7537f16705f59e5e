"""A site whose hosts fail is watched by the real programs with the plan's own files: who is told what, and how soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .watched import HOOK, watched

# The rack r1 has worker-1 and worker-2, beside the monitoring host.
_SITE = {"monitoring__webhook": f"http://127.0.0.1:{HOOK}/hook", "machines__control__rack": "r2"}
SOON = 90.0  # seconds from a fault to its alert


@pytest.mark.long
def test_a_lost_host_is_told_by_webhook_with_its_name_and_what_was_on_it_is_not(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    plan = planned("lab", **_SITE)
    control, lost = plan.hosts["control-1"].address, plan.hosts["worker-2"].address
    expected = {("node", name): True for name in plan.hosts}
    expected |= {(job, "seed-1"): True for job in ("store", "rules", "alerts")}
    expected |= {("haproxy", "control-1"): True, ("etcd", "control-1"): True}
    expected |= {("api-server", "control-1"): True}  # by the token
    with watched(tmp_path, plan, artifact, root("root-monitoring")) as site:
        until(lambda: site.up() == expected, seconds=60)
        assert site.refused(9100, "/metrics"), "the node exporter answers a client without a certificate"
        assert site.refused(9101, "/metrics"), "HAProxy does"

        # Real HAProxy, one of its servers: none listens.
        until(lambda: bool(site.told("HaproxyServerOut", "firing", server="worker-1")), seconds=SOON)
        until(lambda: bool(site.told("PublicNameDown", "firing", object="identity")), seconds=SOON)
        site.api_server.kill()
        until(lambda: bool(site.told("TargetDown", "firing", job="api-server")), seconds=SOON)
        assert not site.told("HostDown", "firing")

        site.away(lost)
        site.away(control)
        until(lambda: bool(site.told("HostDown", "firing", object="worker-2")), seconds=SOON)
        (told,) = site.told("HostDown", "firing", object="worker-2")
        assert told["labels"].items() >= {"layer": "host", "severity": "critical", "site": "lab"}.items()
        assert told["annotations"]["what"] == "worker-2 does not answer"
        assert set(told["annotations"]) == {"what", "why", "remedy"}

        site.back(lost)
        until(lambda: bool(site.told("HostDown", "resolved", object="worker-2")), seconds=SOON + 60)
        assert site.told("HostDown", "firing", object="control-1")
        assert not [one for job in ("haproxy", "etcd") for one in site.told("TargetDown", "firing", job=job)]


@pytest.mark.long
def test_a_lost_rack_is_told_in_place_of_its_hosts(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    plan = planned("lab", **_SITE)
    with watched(tmp_path, plan, artifact, root("root-monitoring")) as site:
        until(lambda: site.up().get(("node", "worker-2"), False), seconds=60)
        for name in ("worker-1", "worker-2"):
            site.away(plan.hosts[name].address)
        until(lambda: bool(site.told("RackDown", "firing", object="r1", rack="r1")), seconds=SOON)
        lost = {("HostDown", "node", name) for name in ("worker-1", "worker-2")}
        until(lambda: lost <= site.hidden(), seconds=SOON)
        assert not site.told("HostDown", "firing")
