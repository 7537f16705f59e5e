"""A site that is watched: the plan's own files, the real programs, and the addresses of its hosts on loopback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

HOOK = 9999
_NODE = """
tls_server_config:
  cert_file: /m/tls/server.crt
  key_file: /m/tls/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: /m/tls/monitoring-ca.crt
"""
_HAPROXY = """
defaults
    mode http
    timeout connect 2s
    timeout client 10s
    timeout server 10s
frontend metrics
    bind :9101 ssl crt /m/tls/server.pem ca-file /m/tls/monitoring-ca.crt verify required
    http-request use-service prometheus-exporter if { path /metrics }
    http-request return status 404 unless { path /etcd/metrics }
    default_backend etcd
backend etcd
    http-request set-path /metrics
    server etcd 127.0.0.1:2381
backend identity
    server worker-1 127.0.0.1:1 check inter 500ms
"""


class Watched:
    """The programs of monitoring, and what they say."""

    def __init__(self, host: HostRoot, heard: Path) -> None:
        """Take the host they run on, and the file of what the receiver heard."""
        self.host, self._heard = host, heard

    def ask(self, url: str) -> Any:
        """Return the answer of a server on the monitoring host; None: it gives none."""
        done = self.host.run("curl", "-sf", "--max-time", "10", "-g", f"http://127.0.0.1:{url}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def up(self) -> dict[tuple[str, str], bool]:
        """Return job and object of each target that the store knows, and whether it answers."""
        said = self.ask("8428/api/v1/query?query=up&nocache=1")
        found = [(one["metric"], one["value"][1]) for one in said["data"]["result"]] if said else []
        return {(labels["job"], labels["object"]): value == "1" for labels, value in found}

    def heard(self) -> list[dict[str, Any]]:
        """Return the alerts that the receiver got, in order."""
        lines = self._heard.read_text().splitlines() if self._heard.exists() else []
        return [alert for line in lines for alert in json.loads(line)["alerts"]]

    def told(self, name: str, status: str, **labels: str) -> list[dict[str, Any]]:
        """Return those named ``name`` in ``status`` (firing, resolved), with ``labels``."""
        wanted = {"alertname": name, **labels}.items()
        return [one for one in self.heard() if one["status"] == status and wanted <= one["labels"].items()]

    def hidden(self) -> set[tuple[str, str]]:
        """Return job and object of the TargetDown alerts that another alert hides."""
        said = self.ask("9093/api/v2/alerts?inhibited=true") or []
        down = [one for one in said if one["labels"]["alertname"] == "TargetDown" and one["status"]["inhibitedBy"]]
        return {(one["labels"]["job"], one["labels"]["object"]) for one in down}

    def away(self, address: str) -> None:
        """Take a host off the network."""
        assert self.host.run("ip", "address", "del", f"{address}/32", "dev", "lo").returncode == 0

    def back(self, address: str) -> None:
        """Put it back."""
        assert self.host.run("ip", "address", "add", f"{address}/32", "dev", "lo").returncode == 0

    def refused(self, port: int, path: str) -> bool:
        """Return whether a client without a certificate gets nothing."""
        url = f"https://127.0.0.1:{port}{path}"
        return self.host.run("curl", "-s", "--max-time", "10", "-k", "--fail", url).returncode != 0


@contextmanager
def watched(place: Path, plan: Plan, artifact: Callable[[str], Artifact], debian: Path) -> Iterator[Watched]:
    """Run all of ``plan``'s monitoring below ``place``; ``debian``: the root with Alertmanager and node exporter."""
    monitoring = plan.monitoring
    assert monitoring
    addresses = [host.address for host in plan.hosts.values()]
    with host_root(place / "host", *(f"{one}/32" for one in addresses)) as host:
        _lay_out(host, plan, addresses)
        for name in ("prometheus-alertmanager", "prometheus-node-exporter"):
            shutil.copy(debian / "usr/bin" / name, host.at("usr/bin"))
        shutil.copytree(debian / "usr/share/prometheus", host.at("usr/share/prometheus"))
        for name in ("victoria-metrics", "vmalert"):
            shutil.copy(artifact("victoria-metrics").path / name, host.at("usr/bin"))
        shutil.copy(artifact("etcd-programs").path / "etcd", host.at("usr/bin"))
        host.start("etcd", "--data-dir", "/m/etcd", "--listen-metrics-urls", "http://127.0.0.1:2381")
        host.start("haproxy", "-db", "-f", "/m/haproxy.cfg")
        host.start("prometheus-node-exporter", "--web.config.file=/m/node.yml")
        local, store = "127.0.0.1", "http://127.0.0.1:8428"
        host.start(
            "victoria-metrics", f"-httpListenAddr={local}:8428", "-promscrape.config=/m/scrape.yml",
            "-storageDataPath=/m/store", f"-retentionPeriod={monitoring.retention_days}d",
            "-search.latencyOffset=5s",
        )  # fmt: skip
        host.start(
            "prometheus-alertmanager", f"--web.listen-address={local}:9093", "--cluster.listen-address=",
            "--config.file=/m/alertmanager.yml", "--storage.path=/m/alerts",
        )  # fmt: skip
        host.start(
            "vmalert", f"-httpListenAddr={local}:8880", "-rule=/m/rules/*.yml", f"-datasource.url={store}",
            f"-remoteWrite.url={store}", f"-remoteRead.url={store}", f"-notifier.url=http://{local}:9093",
            f"-evaluationInterval={monitoring.interval}s", "-rule.evalDelay=5s",
        )  # fmt: skip
        script, heard = str(Path(__file__).with_name("receiver.py")), place / "heard"
        receiver = subprocess.Popen(host.argv(sys.executable, script, str(HOOK), str(heard), outside=True))
        try:
            yield Watched(host, heard)
        finally:
            receiver.kill()
            receiver.wait()


def _lay_out(host: HostRoot, plan: Plan, addresses: list[str]) -> None:
    """Write the plan's files, and the certificates and settings that hosts have."""
    authority = issue("monitoring", ca=True)
    server = issue("server", authority, names=[*addresses, "127.0.0.1"])
    client = issue("client", authority, client=True)
    wanted = files(plan) | {
        "node.yml": _NODE, "haproxy.cfg": _HAPROXY, "tls/server.crt": server.pem, "tls/server.key": server.key,
        "tls/server.pem": server.pem + server.key,
    }  # fmt: skip
    for name in ("monitoring", "kubernetes"):
        wanted |= {f"tls/{name}-ca.crt": authority.pem, f"tls/{name}.crt": client.pem, f"tls/{name}.key": client.key}
    for path, text in wanted.items():
        host.at(f"m/{path}").parent.mkdir(parents=True, exist_ok=True)
        host.at(f"m/{path}").write_text(text)
