"""Every panel's query answers where its layer runs, by the real store; all of a whole site are queries to it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central, exporter, texts
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import Sample, text
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage.rows import CapacityRow, metrics
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import LOOKED, OBJECTS, UNKNOWN
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.dashboards import dashboards_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.unit.monitoring.recorded import parsed, recorded
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import WHOLE, planned

from .watched import Watched, command, watched

PATIENCE = 240.0  # of a busy machine
STAND_IN = "api-server"  # tells one metric: what a real one tells is recorded
CLOUD = [
    Sample(f"openstack_{project}_agent_state", state, {"service": service, "hostname": on, "adminState": admin})
    for project, service, on, state, admin in (
        ("nova", "nova-compute", "hypervisor-1", 1, "enabled"), ("nova", "nova-compute", "hypervisor-2", 0, "disabled"),
        ("cinder", "cinder-volume", "worker@rbd1", 1, "enabled"),
        ("neutron", "neutron-ovn-agent", "worker-1", 0, "enabled"),
    )
] + [
    *(Sample("groundup_cloud_objects", 3, {"kind": "instances", "state": one}) for one in ("error", "failed", "stuck")),
    Sample("kube_node_status_condition", 1, {"condition": "Ready", "status": "true"}),
    Sample("kube_node_spec_unschedulable", 0),
    *(Sample(f"kube_deployment_{one}", 2, {"namespace": "openstack", "deployment": "heat-engine"})
      for one in ("spec_replicas", "status_replicas_available")),
    Sample("kube_pod_container_status_restarts_total", 2, {"namespace": "openstack", "pod": "a", "container": "b"}),
    *(Sample(f"smartctl_device_{one}", 3, {"device": "sda"}) for one in ("percentage_used", "media_errors")),
    Sample("ovn_southbound_nb_cfg", 9), Sample("neutron_ovn_agent_nb_cfg", 7, {"chassis": "hypervisor-1"}),
]  # fmt: skip
TEXTS = f"""\
{text(CLOUD)}\
{texts.AGES}{{part="etcd"}} {time.time():.0f}
{exporter.ENDS}{{path="/etc/haproxy/tls/edge.pem"}} {time.time() + 86400:.0f}
{OBJECTS}{{part="host"}} 0
{UNKNOWN}{{part="host"}} 0
{LOOKED} {time.time():.0f}
{
    metrics(
        [
            CapacityRow(scope="zone", name="east", resource=one, unit="", capacity=9, used=3, free=6)
            for one in ("vcpus", "memory", "disks")
        ],
        now=time.time(),
    )
}\
"""
ASKED = {
    "node": "https://127.0.0.1:9100/metrics", "haproxy": "https://127.0.0.1:9101/metrics",
    "etcd": "https://127.0.0.1:9101/etcd/metrics", "store": "http://127.0.0.1:8428/metrics",
    "rules": "http://127.0.0.1:8880/metrics", "alerts": "http://127.0.0.1:9093/metrics",
    "log-store": "http://127.0.0.1:9428/metrics", "log-rules": "http://127.0.0.1:8881/metrics",
}  # fmt: skip


@contextmanager
def busy(place: Path, plan: Plan, artifact: Callable[[str], Artifact], debian: Path) -> Iterator[Watched]:
    """Run all of ``plan``'s monitoring with logs, on a host with a link and a disk that tells of backups and drift."""
    with watched(place, plan, artifact, debian) as site:
        host = site.host
        host.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1", outside=True)
        mount = ("mount", "--bind", str(place), str(place / "host/root/srv"))  # a file system of a disk
        subprocess.run(["nsenter", "--target", str(host.pid), "--mount", "--", *mount], check=True)
        host.at(on_host.TEXTS / "groundup.prom").write_text(TEXTS)
        host.at(on_host.LOG_PROGRAMS).mkdir(parents=True, exist_ok=True)
        for of, name in (("victoria-metrics", "vmalert"), ("victoria-logs", "victoria-logs")):
            shutil.copy(artifact(of).path / name, host.at(on_host.LOG_PROGRAMS))
        unit_files = central.log_unit_texts(hosts=1, days=1, gib=1)
        for unit in (on_host.LOG_STORE, on_host.LOG_RULES):
            host.start(*command(unit_files[unit].replace("-evaluationInterval=60s", "-evaluationInterval=5s")))
        yield site


def work(site: Watched) -> None:
    """Have etcd and the store of logs take something."""
    put = {"key": "YQ==", "value": "YQ=="}
    site.host.run("curl", "-s", "http://127.0.0.1:2379/v3/kv/put", "-d", json.dumps(put))
    line = {"_msg": "started", "_time": "0", "host": "worker-1", "_HOSTNAME": "worker-1"}
    site.host.run("curl", "-s", "http://127.0.0.1:9428/insert/jsonline", "-H", "Content-Type: application/stream+json",
                  "-d", json.dumps(line))  # fmt: skip


def queries(plan: Plan) -> dict[str, str]:
    """Return the query of each panel, but of those whose program is not there."""
    return {
        f"{name}: {panel.title}": query
        for name, _, panels in dashboards_of(plan)
        for panel, query, _ in panels
        if panel.job != STAND_IN
    }


def answers(site: Watched, asked: dict[str, str]) -> dict[str, Any]:
    """Return what the store answers to each query, its errors too; by one program, which is quick."""
    urls = [f"http://127.0.0.1:8428/api/v1/query?nocache=1&query={urllib.parse.quote(one)}" for one in asked.values()]
    said = site.host.run("curl", "-s", "-w", "\\n", *urls).stdout.splitlines()
    return {name: json.loads(one) for name, one in zip(asked, said, strict=True)}


def told(site: Watched, job: str) -> dict[str, set[str]]:
    """Return what the target of ``job`` tells."""
    tls = {"--cacert": "monitoring-ca.crt", "--cert": "monitoring.crt", "--key": "monitoring.key"}
    own = [word for option, name in tls.items() for word in (option, f"{central.HOME}/tls/{name}")]
    return parsed(site.host.run("curl", "-s", *own, ASKED[job]).stdout)


def test_every_panel_answers_where_its_program_runs(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    plan = planned("lab", monitoring__interval=10, monitoring__drift="daily", monitoring__logs__enabled=True,
                   monitoring__capacity={})  # fmt: skip
    waiting = queries(plan)

    with busy(tmp_path, plan, artifact, root("root-monitoring")) as site:
        end = time.monotonic() + PATIENCE
        while waiting and time.monotonic() < end:
            work(site)
            found = answers(site, waiting)
            waiting = {name: one for name, one in waiting.items() if not found[name]["data"]["result"]}
        assert waiting == {}

        names = {one for one in site.ask("8428/api/v1/label/__name__/values")["data"] if one.endswith("_bucket")}
        assert {name for name in names if not any(name in query for query in queries(plan).values())} == set()
        assert names, "a panel asks for them"

        # Of layers that are not there, too: the store has no word against any query.
        dashboards = list(dashboards_of(planned("ha", **WHOLE)))
        said = answers(site, {panel.title: query for _, _, panels in dashboards for panel, query, _ in panels})
        cloud = [panel.title for name, _, panels in dashboards if name == "cloud" for panel, *_ in panels]
        assert cloud
        cloud += ["Wear of disks", "Bad sectors of disks"]
        assert [title for title in cloud if not said[title]["data"]["result"]] == []
        assert {title: one["error"] for title, one in said.items() if one["status"] != "success"} == {}
        assert answers(site, {"wrong": "sum("})["wrong"]["status"] == "error"

        # Its page has them, in order, and what vmalert judges.
        page = site.ask("8428/vmui/custom-dashboards")["dashboardsSettings"]
        written = [json.loads(text) for path, text in sorted(files(plan).items()) if path.startswith("vmui/")]
        assert [one["title"] for one in page] == [one["title"] for one in written]
        assert [[panel["expr"] for row in one["rows"] for panel in row["panels"]] for one in page] == [
            [panel["expr"] for row in one["rows"] for panel in row["panels"]] for one in written
        ]
        judged = site.ask("8428/vmalert/api/v1/rules")["data"]["groups"]
        assert {"host", "monitoring"} <= {one["name"] for one in judged}

        # Unit tests hold panels against what is recorded of them.
        for job in ASKED:
            assert recorded(job).keys() <= told(site, job).keys(), job
