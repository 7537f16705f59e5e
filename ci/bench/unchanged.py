#!/usr/bin/env python3
"""What an unchanged run of the host and Kubernetes layers over 1,000 hosts costs the controller.

In place of ssh there is a script that takes what Ansible sends, and answers as a host that has nothing to change. In
place of the cluster there is a small API server of the bench's own, on a loopback address that is the site's virtual
IP. So everything of the controller is measured, and nothing of hosts and cluster. A run with one control host comes
first: it makes the secrets and the cluster's objects. The promise is at most 0.5 CPU seconds a host.

Usage: ci/run python ci/bench/unchanged.py [--hosts N]
Exit code: 0 within the bound, 1 above it.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import yaml
from ansible_collections.groundup.cloud.ci.bench.region import site_file
from ansible_collections.groundup.cloud.ci.bench.speed import allowance
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import keep
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import NODES, patch, wanted
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.probe import PODS
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

Object = dict[str, Any]
BOUND = 0.5  # controller CPU seconds a host, see speed.py
LAYERS = ("groundup.cloud.host", "groundup.cloud.kubernetes")
NAME = "bench-unchanged"
# Says that sudo let it in, then answers for the module that came: the host's own answer, else everybody's.
SSH = r"""#!/bin/sh
for word; do host=$address; address=$word; done
case $address in *BECOME-SUCCESS-*) key=${address#*BECOME-SUCCESS-}; echo "BECOME-SUCCESS-${key%%[!a-z]*}" ;; esac
module=$(grep -ao 'groundup.cloud.plugins.modules.[a-z_]*')
answer=ROOM/answers/${module##*.}
[ -e "$answer.$host" ] && answer=$answer.$host
exec cat "$answer"
"""
SERVED = {  # by API version: kinds of the cluster, and whether they are in a namespace
    "v1": {"ConfigMap": True, "Namespace": False, "ServiceAccount": True},
    "apps/v1": {"DaemonSet": True, "Deployment": True},
    "rbac.authorization.k8s.io/v1": {
        "ClusterRole": False, "ClusterRoleBinding": False, "Role": True, "RoleBinding": True,
    },
    "storage.k8s.io/v1": {"StorageClass": False},
}  # fmt: skip
DIGEST = "0" * 64
LISTED = {"nodes", "pods", "services", "endpointslices"}
READY = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running", "podIP": "10.240.0.2"}


class Cluster(BaseHTTPRequestHandler):
    """An API server that keeps what it is sent. A pod has ended well as soon as it is made."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second waited 40 ms for an acknowledgement
    objects: ClassVar[dict[str, Object]] = {}

    def do_GET(self) -> None:  # the name http.server asks for
        """Answer with one object or a list."""
        url = urlsplit(self.path)
        path, selector = url.path, parse_qs(url.query).get("labelSelector", [""])[0].partition("=")[0]
        if path in {"/api", "/apis"}:
            self._answer(_discovery(core=path == "/api"))
        elif path in {"/readyz", "/version"}:
            self._answer({"gitVersion": "v1.36.3"})
        elif path.rpartition("/")[2] in LISTED:
            items = [item for key, item in self.objects.items() if key.rpartition("/")[0] == path]
            self._answer({"items": [one for one in items if not selector or selector in one["metadata"]["labels"]]})
        else:
            self._answer(self.objects.get(path, {}), status=200 if path in self.objects else 404)

    def do_POST(self) -> None:
        """Keep a new object."""
        item = self._sent()
        item["metadata"]["creationTimestamp"] = datetime.now(UTC).isoformat()
        if item["kind"] == "Pod":
            item["status"] = {"phase": "Succeeded"}
        self._keep(f"{urlsplit(self.path).path}/{item['metadata']['name']}", item)

    def do_PUT(self) -> None:
        """Replace an object."""
        self._keep(urlsplit(self.path).path, self._sent())

    def do_PATCH(self) -> None:
        """Apply an object: what is sent is all of it."""
        self._keep(urlsplit(self.path).path, self._sent())

    def do_DELETE(self) -> None:
        """Forget an object."""
        self._sent()
        self._answer(self.objects.pop(urlsplit(self.path).path, {}))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _sent(self) -> Object:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return dict(json.loads(text)) if text else {}

    def _keep(self, path: str, item: Object) -> None:
        item["metadata"] |= {"resourceVersion": "1", "generation": 1}
        item.setdefault("status", {"observedGeneration": 1})
        self.objects[path] = item
        self._answer(item)

    def _answer(self, answer: Object, *, status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _discovery(*, core: bool) -> Object:
    items = []
    for api_version, kinds in SERVED.items():
        group, _, version = api_version.rpartition("/")
        if core is not bool(group):
            resources = [
                {"resource": f"{kind.lower()}{'es' if kind.endswith('s') else 's'}", "responseKind": {"kind": kind},
                 "scope": "Namespaced" if namespaced else "Cluster"}
                for kind, namespaced in kinds.items()
            ]  # fmt: skip
            items.append({"metadata": {"name": group}, "versions": [{"version": version, "resources": resources}]})
    return {"items": items}


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1, help="the least of them counts")
    arguments = parser.parse_args()
    hosts = arguments.hosts
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        room = Path(scratch)
        site = room / "site.yml"
        text = site_file(NAME, hosts=hosts, management="127.64.0.0/16")
        site.write_text(f"{text}access: {{user: ops}}\n", encoding="utf-8")
        plan = make_plan(load_site(str(site)))
        kubeconfig = _stage(room, plan)
        _play(room, site, "groundup.cloud.secrets")
        keep(NAME, kubeconfig)
        _play(room, site, *LAYERS, "--limit", "control-1,localhost")
        cpu, wall = min(_play(room, site, *LAYERS, unchanged=True) for _ in range(arguments.rounds))
    print(f"hosts                   {hosts:>8}")
    print(f"controller              {cpu:>8.1f} CPU-s in {wall:.0f} s")
    bound = BOUND * allowance()
    print(f"a host                  {cpu / hosts:>8.3f} CPU-s  (at most {bound:.3f})")
    return 0 if cpu / hosts <= bound else 1


def _stage(room: Path, plan: Plan) -> str:
    """Start the cluster; write what hosts answer, and what the controller knows of the seed. Return the kubeconfig."""
    endpoint = plan.kubernetes.endpoint_address
    certificate, key = room / "tls.crt", room / "tls.key"
    made = f"openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=bench -addext subjectAltName=IP:{endpoint}"
    subprocess.run([*made.split(), "-out", certificate, "-keyout", key], check=True, capture_output=True)
    for host in plan.hosts.values():
        if host.node_labels:
            node: Object = {"metadata": {"name": host.name}, "spec": {}, "status": READY}
            change = patch(node, wanted(asdict(host))) or {}
            meta = {**node["metadata"], **change["metadata"]}
            Cluster.objects[f"{NODES}/{host.name}"] = {**node, **change, "metadata": meta}
    general = resource_path("storage.k8s.io/v1", "storageclasses", name=plan.kubernetes.storage_class)
    dns = {"name": "coredns", "labels": {"k8s-app": "kube-dns"}}
    Cluster.objects |= {
        general: {"metadata": {}},
        f"{PODS}/coredns": {"metadata": dns, "spec": {"nodeName": "control-1"}, "status": READY},
    }
    server = ThreadingHTTPServer((endpoint, plan.kubernetes.endpoint_port), Cluster)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    os.environ["GROUNDUP_STATE"] = str(room / "state")
    state, answers = room / "state" / NAME, room / "answers"
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519.pub").write_text("ssh-ed25519 AAAA bench", encoding="ascii")
    answers.mkdir()
    images = [reference.removeprefix(f"{plan.supply.registry}/") for reference in plan.supply.images.values()]
    files = [f"kubernetes/{plan.kubernetes.version}/{name}" for name in ("kubeadm", "kubelet", "kubectl", "crictl")]
    published = {"images": dict.fromkeys(images, f"sha256:{DIGEST}"), "files": dict.fromkeys(files, DIGEST)}
    (state / "published.json").write_text(json.dumps(published), encoding="utf-8")
    cluster = {
        "server": f"https://{endpoint}:{plan.kubernetes.endpoint_port}",
        "certificate-authority-data": base64.b64encode(certificate.read_bytes()).decode(),
    }
    kubeconfig = yaml.safe_dump({"clusters": [{"cluster": cluster}], "users": [{"user": {"token": "bench"}}]})
    member = {"membership": "member", "joins": False, "due": [], "ca": DIGEST, "certificates": {"apiserver.crt": 300}}
    edge = {"holds_address": False, "listeners": {"kubernetes": "OPEN", "public": "OPEN"}, "servers": {}}
    said: dict[str, Object] = {
        "host": {}, "edge": edge,
        f"edge.{plan.hosts['control-1'].address}": {**edge, "holds_address": True},
        "node": {**member, "join": None, "content": kubeconfig},
    }  # fmt: skip
    for name, answer in said.items():
        full = {"changed": False, "changes": [], **answer}
        (answers / name).write_text(json.dumps(full), encoding="utf-8")
    (room / "ssh").write_text(SSH.replace("ROOM", str(room)), encoding="utf-8")
    (room / "ssh").chmod(0o755)
    return kubeconfig


def _play(room: Path, site: Path, *words: str, unchanged: bool = False) -> tuple[float, float]:
    """Run ansible-playbook; return CPU seconds of the controller, its children included, and seconds."""
    started, log, figures = time.monotonic(), room / "log", room / "figures.json"
    command = ["ansible-playbook", "-i", str(site), *words]
    # This process is the cluster too: only the command and its children count.
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "GROUNDUP_TIMELINE": str(figures),
                "ANSIBLE_SSH_EXECUTABLE": str(room / "ssh"),
            },
        ) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        sys.exit(f"the playbooks failed: {text[-6000:]}")
    plays = json.loads(figures.read_text(encoding="utf-8"))["plays"]
    if unchanged and (changed := [play["changed"] for play in plays if play["changed"]]):
        sys.exit(f"something changed: {changed}\n{text[-6000:]}")
    for play in plays if unchanged else ():
        most = max(play["tasks"].values())
        print(f"{play['name']:<24}{play['cpu_seconds']:>8.1f} CPU-s, at most {most} tasks a host")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
