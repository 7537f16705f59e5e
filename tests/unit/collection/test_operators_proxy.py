"""A proxy in the environment of the operator's shell sees nothing of the site's own traffic."""

from __future__ import annotations

import base64
import http.server
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.plugin_utils import https
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import pinned
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.http import ask
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.proxies import Proxy, proxying

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


class _Site(http.server.BaseHTTPRequestHandler):
    """Answers everything, as a service of the site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "8")
        self.end_headers()
        self.wfile.write(b'{"a": 1}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def kubernetes(port: int, ca: Path, plan: Plan) -> object:
    """Ask the API server."""
    del plan
    file = ca.with_name("kubeconfig")
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": base64.b64encode(ca.read_bytes()).decode(),
    }
    user = {"token": "t"}
    context = {"cluster": "c", "user": "u"}
    parts = {"clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}]}
    file.write_text(yaml.safe_dump({**parts, "contexts": [{"name": "x", "context": context}], "current-context": "x"}))
    return Api(file).get("/version")


def public_name(port: int, ca: Path, plan: Plan) -> object:
    """Ask a service under its public name, as verification does."""
    names = {"identity.lab.test": "127.0.0.1"}
    here = replace(plan, host=replace(plan.host, names=names), edge=replace(plan.edge, endpoints=()))
    return https.request("GET", f"https://identity.lab.test:{port}/v3", plan=here, authority=ca)


def cloud(port: int, ca: Path, plan: Plan) -> object:
    """Ask a service as openstacksdk does."""
    del plan
    session = pinned({"identity.lab.test": "127.0.0.1"})
    return session.get(f"https://identity.lab.test:{port}/v3", verify=str(ca), timeout=20)


def seed(port: int, ca: Path, plan: Plan) -> object:
    """Ask the seed's Ironic."""
    del plan
    return https.seed_session(user="u", password="p", ca=ca).get(f"https://127.0.0.1:{port}/v1", timeout=20)


def published(port: int, ca: Path, plan: Plan) -> object:
    """Ask the seed's registry."""
    del plan
    return ask(f"https://127.0.0.1:{port}/v2/", ca=ca.read_text(), timeout=20)


def program(port: int, ca: Path, plan: Plan) -> object:
    """Run a program of ours, such as kubeadm, skopeo to the seed, apt from the seed."""
    del port, ca, plan
    said = run(["env"]).lower()
    assert "_proxy=" not in said
    return said


@pytest.mark.parametrize("client", [kubernetes, public_name, cloud, seed, published, program])
def test_no_client_of_the_site_asks_it(
    client: Callable[[int, Path, Plan], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = make_plan(load_site(LAB))
    for name in [one for one in os.environ if one.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    pair = tls.pair(names=["identity.lab.test"]) if client in (public_name, cloud) else tls.pair()
    ca = tmp_path / "ca.crt"
    ca.write_text(pair.certificate)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    pair.shown_by(server, tmp_path)
    with tls.serving(server) as port, proxying(http=port, https=port) as proxy:
        _set(monkeypatch, proxy)
        assert client(port, ca, plan)
        assert proxy.seen == []


def _set(monkeypatch: pytest.MonkeyPatch, proxy: Proxy) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv(name.upper(), proxy.url)
