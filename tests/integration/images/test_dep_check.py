"""The program every pod starts with, against an API of our own: what it waits for, and that it says why."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PATIENCE = 180  # seconds
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
# The account is where the program looks for it, and nowhere else on this machine.
_ENTER = f"mount -t tmpfs tmpfs /run; mkdir -p {_ACCOUNT}; mount --bind $1 {_ACCOUNT}; shift; exec $@"


class Api:
    """A Kubernetes API: path (with its query's selector) -> object; unknown paths are 404."""

    def __init__(self, directory: Path) -> None:
        """Listen on a free port with a certificate of its own."""
        self.objects: dict[str, Any] = {}
        self.asked: list[str] = []
        self.directory = directory
        _certificate(directory)
        (directory / "token").write_text("let-me-in\n")
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(url.query).items()}
                name = url.path + "".join(f"?{query[key]}" for key in sorted(query))
                allowed = self.headers["Authorization"] == "Bearer let-me-in"
                status = 403 if not allowed else 200 if name in api.objects else 404
                api.asked.append(name)  # whoever waits for the question may change what the next one is answered
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(api.objects.get(name, {"message": f"no {name}"})).encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "ca.crt", directory / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self, **dependencies: str) -> dict[str, str]:
        """Return the variables of a pod with these dependencies."""
        pod = {"NAMESPACE": "openstack", "POD_NAME": "me-0", "PATH": os.environ["PATH"]}
        where = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.server.server_port)}
        return {**pod, **where, **{f"DEPENDENCY_{key}": value for key, value in dependencies.items()}}


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """A fresh, empty API."""
    if os.geteuid() != 0:
        pytest.skip("a service account is mounted for the program: needs root")
    found = Api(tmp_path)
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def start(api: Api, artifact: Callable[[str], Artifact], tmp_path: Path) -> Iterator[Start]:
    """Start the program with dependencies; ended with the test."""
    program = tmp_path / "kubernetes-entrypoint"
    shutil.copy(artifact("dep-check-program").path / "kubernetes-entrypoint", program)
    running: list[subprocess.Popen[str]] = []

    def begin(**dependencies: str) -> subprocess.Popen[str]:
        enter = ["unshare", "--mount", "--kill-child=KILL", "--fork", "--", "sh", "-euc", _ENTER, "sh"]
        process = subprocess.Popen(
            [*enter, str(api.directory), str(program)],
            env=api.environment(**dependencies), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def _ready(node: str = "node-1") -> dict[str, Any]:
    return {"spec": {"nodeName": node}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


COMPLETE = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
LABELS = '[{"labels": {"application": "mariadb", "component": "server"}, "requireSameNode": %s}]'
POD = "/api/v1/namespaces/openstack/pods"
SELECTED = "?application=mariadb,component=server"

CASES = {
    "service": (
        {"SERVICE": "openstack:mariadb"},
        {"/api/v1/namespaces/openstack/endpoints/mariadb": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]}},
    ),
    "jobs": ({"JOBS": "keystone-db-sync"}, {"/apis/batch/v1/namespaces/openstack/jobs/keystone-db-sync": COMPLETE}),
    "jobs-json": (
        {"JOBS_JSON": '[{"labels": {"application": "x"}, "namespace": "other"}]'},
        {"/apis/batch/v1/namespaces/other/jobs?application=x": {"items": [COMPLETE]}},
    ),
    "pod": ({"POD_JSON": LABELS % "false"}, {POD + SELECTED: {"items": [_ready()]}}),
    "pod-on-this-node": (
        {"POD_JSON": LABELS % "true"},
        {f"{POD}/me-0": _ready("node-7"), f"{POD}?spec.nodeName=node-7{SELECTED}": {"items": [_ready("node-7")]}},
    ),
    "daemonset": (
        {"DAEMONSET": "openstack:agent"},
        {
            "/apis/apps/v1/namespaces/openstack/daemonsets/agent": {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
            f"{POD}/me-0": _ready("node-7"),
            f"{POD}?spec.nodeName=node-7?a=b": {"items": [_ready("node-7")]},
        },
    ),
    "custom-resource": (
        {
            "CUSTOM_RESOURCE": '[{"apiVersion": "x.test/v1", "kind": "Flow", "name": "f", '
            '"fields": [{"key": "status.phase", "value": "Succeeded"}]}]'
        },
        {
            "/apis/x.test/v1": {"resources": [{"name": "flows", "kind": "Flow", "namespaced": True}]},
            "/apis/x.test/v1/namespaces/openstack/flows/f": {"status": {"phase": "Succeeded"}},
        },
    ),
}


@pytest.mark.parametrize(("dependencies", "objects"), CASES.values(), ids=CASES.keys())
def test_it_waits_until_the_dependency_is_there_and_then_ends_well(
    api: Api, start: Start, dependencies: dict[str, str], objects: dict[str, Any]
) -> None:
    process = start(**dependencies)
    deadline = time.monotonic() + PATIENCE
    while not api.asked and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None, "it must wait for what is not there"
    api.objects.update(objects)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    assert "waiting for" in output
    assert "met after" in output


def test_without_dependencies_it_ends_at_once_and_asks_nothing(api: Api, start: Start) -> None:
    process = start(SERVICE="", DAEMONSET="", POD_JSON="")
    assert process.wait(timeout=PATIENCE) == 0
    assert api.asked == []


def test_a_service_without_ready_addresses_is_not_met(api: Api, start: Start) -> None:
    unready = {"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}]}]}
    api.objects["/api/v1/namespaces/openstack/endpoints/mariadb"] = unready
    process = start(SERVICE="mariadb")
    deadline = time.monotonic() + PATIENCE
    while len(api.asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(api.asked) >= 2, "it must ask again"
    assert process.poll() is None


def test_words_it_does_not_understand_are_an_error_that_names_the_variable(start: Start) -> None:
    process = start(POD_JSON="{broken")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "DEPENDENCY_POD_JSON" in output


def _certificate(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "api")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (directory / "ca.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "key.pem").write_bytes(private)
