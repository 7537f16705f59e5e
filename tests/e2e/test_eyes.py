"""What breaks on a cloud is told, with its object, by alerts, panels and logs; and nothing is told while all is well.

Needs tests/e2e/eyes/site.yml. Prints seconds from each fault to its alert, the footprint, and how long a search takes.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.dashboards import dashboards_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.alerting import LATEST, Eyes, seen, watching
from ansible_collections.groundup.cloud.tests.e2e.breaking import Fault, crashing, frozen, stopped
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, hypervisors, root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.long]
QUIET = 600.0  # seconds without an alert
MEMORY_MIB, CORES = 600, 0.06  # of monitoring's programs on all hosts together
# Nothing of it here: no line was dropped, a container has no clock, and Ceph is well.
SILENT = {"Monitoring: Lines that were dropped", "Hosts: Clock", "Ceph: What Ceph complains of"}


@pytest.fixture(scope="module")
def eyes(plan: Plan, connect: Connect) -> Eyes:
    return watching(plan, connect)


@pytest.fixture(scope="module")
def api(state: Path) -> Api:
    return Api(state / "kubeconfig")


def test_nothing_is_told_while_all_is_well(eyes: Eyes, say: Callable[[str], None]) -> None:
    until(lambda: not eyes.alerts(), seconds=300)  # the last of what `make lab` began
    end = time.monotonic() + QUIET
    while time.monotonic() < end:
        assert eyes.alerts() == set()
        time.sleep(10)
    say(f"quiet: {QUIET:.0f} s without an alert")


def test_every_panel_has_a_result(plan: Plan, eyes: Eyes) -> None:
    asked = {
        f"{one.title}: {panel.title}": query for _, one, panels in dashboards_of(plan) for panel, query, _ in panels
    }
    assert len(asked) > 50
    found = zip(asked, eyes.answered(asked.values()), strict=True)
    assert {name for name, there in found if not there} <= SILENT


@pytest.mark.usefixtures("eyes")
def test_monitoring_takes_little(plan: Plan, connect: Connect, say: Callable[[str], None]) -> None:
    units = " ".join((*watched.CENTRAL, watched.EXPORTER, *watched.LOG_SENDERS))
    script = (
        f"for pid in $(systemctl show --property MainPID --value {units} | grep -v '^$\\|^0$'); do "
        "echo $(grep -h ^Pss: /proc/$pid/smaps_rollup) $(cut -d' ' -f2,14,15 /proc/$pid/stat); done"
    )

    def taken() -> tuple[Counter[str], Counter[str]]:
        said = [line.split() for name in plan.hosts for line in root(connect(name), script).splitlines()]
        assert len(said) >= 2 * len(plan.hosts)
        kib, ticks = Counter[str](), Counter[str]()
        for _, pss, _, program, user, system in said:
            kib[program] += int(pss)
            ticks[program] += int(user) + int(system)
        return kib, ticks

    (kib, before), begun = taken(), time.monotonic()
    time.sleep(120)
    ticks, passed = taken()[1] - before, time.monotonic() - begun
    for program in sorted(kib):
        say(f"{program}: {kib[program] / 1024:.0f} MiB, {ticks[program] / 100 / passed:.3f} cores")
    say(f"on {len(plan.hosts)} hosts: {kib.total() / 1024:.0f} MiB, {ticks.total() / 100 / passed:.3f} cores")
    assert kib.total() / 1024 <= MEMORY_MIB
    assert ticks.total() / 100 / passed <= CORES


def test_lines_of_a_killed_pod_stay_and_a_request_is_followed(
    plan: Plan, eyes: Eyes, api: Api, say: Callable[[str], None]
) -> None:
    pods = resource_path("v1", "pods", namespace=plan.openstack.namespace)
    name = next(one["metadata"]["name"] for one in api.get(pods)["items"] if "heat-api-" in one["metadata"]["name"])
    api.request("DELETE", f"{pods}/{name}?gracePeriodSeconds=0")
    until(lambda: api.find(f"{pods}/{name}") is None, seconds=120)
    assert eyes.lines(f'_time:1h {{file=~".*/openstack_{name}_.*"}} | limit 1')  # as docs/logs.md says

    play("tenant_smoke", tenant_smoke_thorough=False)
    builds = eyes.lines('_time:1h "Took" "seconds to build instance" | sort by (_time desc) | limit 1')
    (request,) = re.findall(r"req-[0-9a-f-]{36}", builds[0]["_msg"])[:1]
    begun = time.monotonic()
    found = eyes.lines(f'_time:1d "{request}" | sort by (_time) | fields _time, host, file, _msg')
    seconds = time.monotonic() - begun
    places = {(one.get("host"), one.get("file")) for one in found}
    say(f"logs: {request} in {len(found)} lines of {len(places)} places, {seconds:.2f} s")
    assert len(places) >= 3
    assert seconds <= 1.0


def serving(plan: Plan, api: Api, node_port: int) -> list[str]:
    """Return the paths of the deployments behind a Service of ``node_port``."""
    services = api.get(resource_path("v1", "services", namespace=plan.openstack.namespace))["items"]
    (selector,) = (
        one["spec"]["selector"]
        for one in services
        if any(port.get("nodePort") == node_port for port in one["spec"]["ports"])
    )
    base = resource_path("apps/v1", "deployments", namespace=plan.openstack.namespace)
    return [
        f"{base}/{one['metadata']['name']}"
        for one in api.get(base)["items"]
        if selector.items() <= one["spec"]["template"]["metadata"]["labels"].items()
    ]


@contextmanager
def nobody(plan: Plan, api: Api) -> Iterator[set[tuple[str, str]]]:
    """Take the pods behind every public name away; yield alerts and objects."""

    def scale(path: str, replicas: int) -> None:
        body = {"spec": {"replicas": replicas}}
        api.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    paths = {path for one in plan.edge.endpoints for path in serving(plan, api, one.node_port)}
    before = {path: api.get(path)["spec"]["replicas"] for path in sorted(paths)}
    try:
        for path in before:
            scale(path, 0)
        yield {("PublicNameDown", one.type) for one in plan.edge.endpoints}
    finally:
        for path, replicas in before.items():
            scale(path, replicas)


def told(
    eyes: Eyes, connect: Connect, faults: list[Fault], say: Callable[[str], None], more: dict[tuple[str, str], float]
) -> None:
    """Break all at once and wait for each alert, and for ``more`` (seconds that each waits for); mend all."""
    wanted = {
        one: holds + LATEST for one, holds in ({(one.alert, one.object): one.holds for one in faults} | more).items()
    }
    with ExitStack() as broken:
        for one in faults:
            root(connect(one.host), one.breaks)
            broken.callback(root, connect(one.host), one.mends)
        found, others = seen(eyes, wanted)
    for (alert, of), seconds in sorted(found.items(), key=lambda one: one[1]):
        say(f"{alert} of {of}: {seconds:.0f} s")
    say(f"also told: {sorted(others)}")
    assert {one: found.get(one) for one, seconds in wanted.items() if found.get(one, seconds + 1) > seconds} == {}


def managers(eyes: Eyes, *, active: bool) -> list[str]:
    """Return hosts of Ceph's managers that are active, or stand by."""
    found = eyes.values(f"ceph_mgr_status == {int(active)}")
    return sorted({one["metric"]["ceph_daemon"].removeprefix("mgr.") for one in found})


def test_what_breaks_is_told_with_its_object(
    plan: Plan, eyes: Eyes, api: Api, connect: Connect, say: Callable[[str], None]
) -> None:
    assert plan.ceph
    assert plan.monitoring
    first, second = hypervisors(plan)
    osd, monitor, dark = (name for name, host in plan.hosts.items() if "storage" in host.roles)
    number = root(connect(osd), "ls /var/lib/ceph/osd").strip().rpartition("-")[2]
    standby, *_ = managers(eyes, active=False)
    faults = [
        stopped("HostDown", "worker-1", "worker-1", watched.EXPORTER),
        stopped("HostDown", dark, dark, watched.EXPORTER),
        stopped("CephOsdDown", f"osd.{number}", osd, f"ceph-osd@{number}"),
        stopped("CephMonitorDown", f"mon.{monitor}", monitor, f"ceph-mon@{monitor}"),
        stopped("CephManagerDown", f"mgr.{standby}", standby, f"ceph-mgr@{standby}"),
        stopped("ChassisCut", first, first, "ovn-controller"),
        stopped("HostMetricsOld", second, second, watched.HOST_TIMER, holds=210),
        frozen("LibvirtSilent", first, "libvirtd"),
        stopped("UnitEnded", first, first, "neutron-ovn-agent"),
        crashing(first, "nova-ssh"),
        stopped("TargetDown", plan.monitoring.host, plan.monitoring.host, watched.LOG_STORE),
    ]
    with nobody(plan, api) as names:
        told(eyes, connect, faults, say, dict.fromkeys(names, 45.0))
    until(lambda: not eyes.alerts(), seconds=600)


def test_a_dead_active_manager_is_told_though_metrics_end_with_it(
    eyes: Eyes, connect: Connect, say: Callable[[str], None]
) -> None:
    (active,) = managers(eyes, active=True)
    told(eyes, connect, [stopped("CephManagerDown", f"mgr.{active}", active, f"ceph-mgr@{active}")], say, {})
    until(lambda: not eyes.alerts(), seconds=600)


def test_what_breaks_on_the_control_host_is_told_too(
    plan: Plan, eyes: Eyes, connect: Connect, say: Callable[[str], None]
) -> None:
    (control,) = plan.edge.hosts
    _, second = hypervisors(plan)
    faults = [
        stopped("OvnNoLeader", "OVN_Northbound", control, "ovn-ovsdb-server-nb"),
        stopped("OvnNoLeader", "OVN_Southbound", control, "ovn-ovsdb-server-sb"),
        frozen("SwitchStuck", second, "ovs-vswitchd"),
        frozen("OvnNorthdIdle", control, "ovn-northd", of="ovn-northd"),
        frozen("ApiServersOut", control, "etcd", of="kubernetes"),
        frozen("NodeNotReady", control, "kubelet"),
        frozen("UnitEnded", control, "keepalived"),
    ]
    told(eyes, connect, faults, say, {("TargetDown", control): 45.0})
    until(lambda: not eyes.alerts(), seconds=600)
