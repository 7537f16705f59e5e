"""A site that is watched: the plan's own files, the real programs, and the addresses of its hosts on loopback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import ALL, HOME, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

HOOK = 9999
_NODE = f"""
tls_server_config:
  cert_file: {HOME}/tls/server.crt
  key_file: {HOME}/tls/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {HOME}/tls/monitoring-ca.crt
"""
_HAPROXY = f"""
defaults
    mode http
    timeout connect 2s
    timeout client 10s
    timeout server 10s
frontend metrics
    bind :9101 ssl crt {HOME}/tls/server.pem ca-file {HOME}/tls/monitoring-ca.crt verify required
    http-request use-service prometheus-exporter if {{ path /metrics }}
    http-request return status 404 unless {{ path /etcd/metrics }}
    default_backend etcd
backend etcd
    http-request set-path /metrics
    server etcd 127.0.0.1:2381
backend identity
    server worker-1 127.0.0.1:1 check inter 500ms
"""


class Watched:
    """The programs of monitoring, and what they say."""

    def __init__(self, host: HostRoot, heard: Path, api_server: subprocess.Popen[bytes]) -> None:
        """Take the host they run on, the file of what the receiver heard, and what stands for the API server."""
        self.host, self._heard, self.api_server = host, heard, api_server

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

    def hidden(self) -> set[tuple[str, str, str]]:
        """Return name, job and object of the alerts of targets that another alert hides."""
        said = self.ask("9093/api/v2/alerts?inhibited=true") or []
        labels = [one["labels"] for one in said if one["status"]["inhibitedBy"] and "job" in one["labels"]]
        return {(one["alertname"], one["job"], one["object"]) for one in labels}

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
            host.at(on_host.PROGRAMS).mkdir(parents=True, exist_ok=True)
            shutil.copy(artifact("victoria-metrics").path / name, host.at(on_host.PROGRAMS))
        shutil.copy(artifact("etcd-programs").path / "etcd", host.at("usr/bin"))
        host.start("etcd", "--data-dir", "/var/lib/etcd", "--listen-metrics-urls", "http://127.0.0.1:2381")
        host.start("haproxy", "-db", "-f", f"{HOME}/haproxy.cfg")
        host.at(on_host.TEXTS).mkdir(parents=True, exist_ok=True)
        texts_of = f"--collector.textfile.directory={on_host.TEXTS}"
        host.start("prometheus-node-exporter", f"--web.config.file={HOME}/node.yml", texts_of)
        texts = unit_texts(days=monitoring.retention_days, hosts=len(plan.hosts))
        for one in ALL:
            host.start(*command(texts[one.unit]))
        heard = place / "heard"
        receiver = [str(Path(__file__).with_name("receiver.py")), str(HOOK), str(heard)]
        api = [str(Path(__file__).with_name("api_server.py")), str(plan.kubernetes.api_port)]
        api += [str(host.at(HOME / name)) for name in ("tls/server.pem", "tls/kubernetes.token")]
        beside = [subprocess.Popen(host.argv(sys.executable, *one, outside=True)) for one in (receiver, api)]
        try:
            yield Watched(host, heard, beside[-1])
        finally:
            for process in beside:
                process.kill()
                process.wait()


def _lay_out(host: HostRoot, plan: Plan, addresses: list[str]) -> None:
    """Write the plan's files, and the certificates and settings that hosts have."""
    authority = issue("monitoring", ca=True)
    server = issue("server", authority, names=[*addresses, "127.0.0.1"])
    client = issue("client", authority, client=True)
    wanted = files(plan) | {
        "node.yml": _NODE, "haproxy.cfg": _HAPROXY, "tls/server.crt": server.pem, "tls/server.key": server.key,
        "tls/server.pem": server.pem + server.key,
    }  # fmt: skip
    wanted |= {
        "tls/monitoring-ca.crt": authority.pem, "tls/monitoring.crt": client.pem, "tls/monitoring.key": client.key,
        "tls/kubernetes-ca.crt": authority.pem, "tls/kubernetes.token": "of groundup-monitoring\n",
    }  # fmt: skip
    for path, text in wanted.items():
        host.at(HOME / path).parent.mkdir(parents=True, exist_ok=True)
        host.at(HOME / path).write_text(text)


def command(unit: str) -> list[str]:
    """Return what a unit's text starts."""
    found: list[str] = re.findall(r"^ExecStart=(.+)$", unit.replace("\\\n", " "), re.MULTILINE)
    return found[-1].split()
