"""The cluster as its operator sees it, with the admin kubeconfig and on its hosts."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import probe
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from kubernetes import client, config

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def api(state: Path) -> Any:
    """A client of the cluster's API, through the virtual IP."""
    return client.CoreV1Api(config.new_client_from_config(str(state / "kubeconfig")))


class Stored(NamedTuple):
    """A Secret of the cluster."""

    name: str
    value: str


@pytest.fixture
def secret(api: Any) -> Iterator[Stored]:
    """A Secret with a random value that exists while the test runs."""
    made = Stored(name=f"at-rest-{secrets.token_hex(4)}", value=secrets.token_hex(24))
    data = {"value": base64.b64encode(made.value.encode()).decode()}
    api.create_namespaced_secret("default", client.V1Secret(metadata=client.V1ObjectMeta(name=made.name), data=data))
    yield made
    api.delete_namespaced_secret(made.name, "default")


def test_a_pod_s_search_through_the_site_s_domain_ends_in_an_answer(state: Path, plan: Plan) -> None:
    """dig, nslookup, musl and eventlet stop at SERVFAIL; names of Services have so many dots that all is searched."""
    ask = ("python3", "-c", (ROOT / "tests/ask_dns.py").read_text())

    def run(*argv: str) -> str:
        done = Api(state / "kubeconfig").execute("openstack", "mariadb-server-0", argv, container="mariadb")
        assert done.code == 0, done.stderr
        return done.stdout

    lines = dict(line.split(maxsplit=1) for line in run("cat", "/etc/resolv.conf").splitlines())
    name = f"mariadb.openstack.svc.{plan.kubernetes.dns_domain}"
    searched = [f"{name}.{domain}" for domain in {*lines["search"].split(), plan.domain}]
    answers = json.loads(run(*ask, lines["nameserver"].strip(), name, *searched, "nowhere.example"))
    assert {asked: code for asked, (code, *_) in answers.items()} == {
        name: 0,
        **dict.fromkeys([*searched, "nowhere.example"], 3),
    }
    assert all(seconds < 4 for *_, seconds in answers.values()), answers


def test_every_node_has_the_labels_and_taints_of_the_plan(api: Any, plan: Plan) -> None:
    nodes = {node.metadata.name: node for node in api.list_node().items}
    wanted = {name: host for name, host in plan.hosts.items() if host.node_labels}
    assert nodes.keys() == wanted.keys()
    for name, host in wanted.items():
        assert host.node_labels.items() <= nodes[name].metadata.labels.items(), name
        taints = {f"{t.key}={t.value or ''}:{t.effect}" for t in nodes[name].spec.taints or []}
        assert taints == set(host.node_taints), name


def test_a_secret_is_not_readable_in_etcd_s_files(secret: Stored, plan: Plan, connect: Callable[[str], Any]) -> None:
    for name in plan.edge.hosts:
        host = connect(name)
        assert host.run("grep -rqs registry/pods /var/lib/etcd/member").rc == 0, "etcd's files hold no keys at all"
        assert host.run("grep -rqs %s /var/lib/etcd/member", secret.value).rc == 1, name


def test_the_api_server_keeps_an_audit_log(plan: Plan, connect: Callable[[str], Any], secret: Stored) -> None:
    log = connect(plan.kubernetes.first_control).file("/var/log/kubernetes/audit.log")
    assert log.mode == 0o600
    until(lambda: log.contains(secret.name), seconds=120)  # an event is written when its request has been answered
    assert not log.contains(secret.value)


def test_no_pod_of_the_cluster_itself_has_restarted_in_a_loop(api: Any) -> None:
    def loops() -> dict[str, int]:
        return {
            pod.metadata.name: status.restart_count
            for namespace in ("kube-system", "kube-flannel", "local-path-storage")
            # A run that was killed leaves the pod of its probe, which later runs keep for half an hour: may be in use.
            for pod in api.list_namespaced_pod(namespace, label_selector=f"!{probe.LABEL}").items
            for status in pod.status.container_statuses or []
            if status.restart_count > 5 or not status.ready
        }

    assert wait_until(loops, timeout=180) == {}  # one that answers late is not ready for a moment
