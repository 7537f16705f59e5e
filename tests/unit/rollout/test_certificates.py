"""Certificates of pods: Secrets as the site's authority issued them, and what members show those that connect."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import authorities
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import PkiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.certificates import place
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.certificates import certificates, judge, served
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.record import PodCertificate
from ansible_collections.groundup.cloud.tests.unit.tls import Pair, pair

CLOUD = Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml"
ADDRESS = "10.90.0.11"
SHOWN = PodCertificate(user="rabbitmq", secret="", usage="server", names=(ADDRESS,), authority="queue")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_site(CLOUD))


class Cluster:
    """Keeps the objects that are applied."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def find(self, path: str) -> Any:
        return self.kept.get(path)

    def apply(self, path: str, item: Any, *, manager: str) -> None:
        assert manager
        self.kept[path] = item


def issued(directory: Path, plan: Plan) -> None:
    """Have the certificates of all pods."""
    (directory / "pki").mkdir(exist_ok=True)
    (directory / "ca.crt").write_text("authority of site")
    (directory / "pki/authority").mkdir(exist_ok=True)
    for one in certificates(plan):
        (directory / authorities.file(one.believes)).write_text(f"authority of {one.believes}")
        (directory / f"pki/{one.user}.crt").write_text("one")


def placed(api: Any, plan: Plan, directory: Path, *, check: bool = False) -> Changes:
    changes = Changes(check=check)
    place(api, plan, changes, directory=directory, secret=lambda name: f"key {name}")
    return changes


def test_pods_get_what_was_issued_and_a_renewed_certificate_replaces_it(plan: Plan, tmp_path: Path) -> None:
    api = Cluster()
    issued(tmp_path, plan)
    assert len(placed(api, plan, tmp_path).done) == len(certificates(plan))
    path = f"/api/v1/namespaces/{plan.openstack.namespace}/secrets/rabbitmq-tls-direct"
    data = {name: base64.b64decode(text).decode() for name, text in api.kept[path]["data"].items()}
    assert data == {"tls.crt": "one", "tls.key": "key pki/rabbitmq-key", "ca.crt": "authority of queue"}
    members = api.kept[f"/api/v1/namespaces/{plan.openstack.namespace}/secrets/mariadb-galera-tls"]["data"]
    assert base64.b64decode(members["ca.crt"]) == b"authority of galera"
    assert placed(api, plan, tmp_path).done == [], "a second run changes nothing"
    (tmp_path / "pki/rabbitmq.crt").write_text("two")
    foreseen = placed(api, plan, tmp_path, check=True)
    assert foreseen.done == [f"Secret {plan.openstack.namespace}/rabbitmq-tls-direct"]
    assert "key pki" not in str(foreseen.diffs)
    assert base64.b64decode(api.kept[path]["data"]["tls.crt"]) == b"one"
    placed(api, plan, tmp_path)
    assert base64.b64decode(api.kept[path]["data"]["tls.crt"]) == b"two"


def test_a_prediction_needs_neither_cluster_nor_certificates(plan: Plan, tmp_path: Path) -> None:
    assert len(placed(None, plan, tmp_path, check=True).done) == len(certificates(plan))
    issued(tmp_path, plan)
    assert len(placed(None, plan, tmp_path, check=True).done) == len(certificates(plan))


def test_a_certificate_that_was_not_issued_is_named_with_the_playbook_that_does(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(PkiError, match=r"(?s)pki/galera.crt is missing.*groundup.cloud.secrets"):
        placed(Cluster(), replace(plan), tmp_path)


@contextmanager
def showing(shown: Pair, directory: Path) -> Iterator[Any]:
    """Yield a connection to a server that shows ``shown``, as it comes through the API server: no socket of a file."""
    here, there = socket.socketpair()
    (directory / "server.pem").write_text(shown.certificate + shown.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(directory / "server.pem")

    def answer() -> None:
        with there:
            try:
                server.wrap_socket(there, server_side=True).recv(1)
            except OSError:  # who does not believe it hangs up
                return

    thread = threading.Thread(target=answer)
    thread.start()
    yield SimpleNamespace(sendall=here.sendall, recv=here.recv, settimeout=here.settimeout)
    here.close()
    thread.join()


def context(shown: Pair, authority: Pair, directory: Path) -> VerifierContext:
    """Return the context of a queue of one member."""
    (directory / "pki/authority").mkdir(parents=True)
    (directory / authorities.file("queue")).write_text(authority.certificate)
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    pods = {"items": [{"metadata": {"name": "rabbitmq-rabbitmq-0"}, "status": ready}]}
    api: Any = SimpleNamespace(get=lambda *_, **__: pods, connect=lambda *_: showing(shown, directory))
    release: Any = SimpleNamespace(name="rabbitmq", namespace="openstack")
    plan: Any = None
    return VerifierContext(api=api, plan=plan, release=release, values={}, authority=directory / "ca.crt")


def test_a_member_that_shows_a_certificate_of_the_site_passes_with_its_days(tmp_path: Path) -> None:
    authority = pair()
    good = pair(days=100.5, address=ADDRESS, signed_by=authority)
    check = served(context(good, authority, tmp_path), 5671, SHOWN, owner="StatefulSet/rabbitmq-rabbitmq")
    assert (check.ok, check.detail) == (True, "100 days left")


@pytest.mark.parametrize("fault", ["another CA", "another name"])
def test_a_member_that_hypervisors_would_refuse_fails_by_name(fault: str, tmp_path: Path) -> None:
    authority = pair()
    signer, address = (pair(), ADDRESS) if fault == "another CA" else (authority, "10.90.0.99")
    shown = pair(address=address, signed_by=signer)
    check = served(context(shown, authority, tmp_path), 5671, SHOWN, owner="s")
    assert not check.ok
    assert "rabbitmq-rabbitmq-0 serves none that the site's CA signed for its hosts" in check.detail


def test_a_certificate_is_warned_of_in_time_and_fails_at_last() -> None:
    assert "groundup.cloud.site" in judge({"a": 20}, {}, owner="s").detail
    assert judge({"a": 20}, {}, owner="s").ok
    assert not judge({"a": 300, "b": 6}, {}, owner="s").ok
    assert not judge({}, {}, owner="s").ok
