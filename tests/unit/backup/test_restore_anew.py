"""A restore onto control hosts that were all made anew, as it is decided on the control node."""

from __future__ import annotations

import http.server
import re
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents, keys
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import anew, journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import (
    keep,
    keep_nodes,
    kubeconfig_path,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import ENCRYPTION_KEY
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.test_kubeconfig import kubeconfig

from .restoring import NETWORKS, Make, archive, job

KEYS = ("pki/ca.crt", "pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")


BLANK = {"member": False, "anew": True, "etcd_data": False, "now": {}, "passed": {}, "keys": False, "image": ""}
WHOLE = ["kubernetes-keys", "etcd"]


@pytest.fixture
def answers(plan: Plan) -> dict[str, Any]:
    """Every control host was made anew."""
    control = [name for name, one in plan.hosts.items() if "control" in one.roles]
    return dict.fromkeys([*control, "control-8", "control-9"], BLANK)


def keyed(
    made: Make, plan: Plan, secret: str = "", *, ca: str = "x", now: datetime | None = None, networks: Any = NETWORKS
) -> SetBackup:
    """Make a set with Kubernetes' keys; ``secret``: of Secrets at rest."""
    texts = {**dict.fromkeys(KEYS, "x"), "pki/ca.crt": ca}
    if secret:
        texts[keys.ENCRYPTION] = documents.encryption_config([EncryptionKey(name="site-1", secret=secret)])
    versions = {"Kubernetes": plan.kubernetes.version}
    return made(now, contents={"kubernetes-keys": archive(**texts)}, versions=versions, networks=networks)


def test_the_first_of_control_hosts_that_were_all_made_anew_gets_the_keys(
    plan: Plan, made: Make, answers: dict[str, Any]
) -> None:
    keyed(made, plan)
    found = job(plan, parts=WHOLE, check=True).decide(answers)
    assert found["keyed"] == [found["target"]] == [plan.kubernetes.first_control]
    assert found["steps"][-1] == "join as new members of etcd: control-8, control-9"
    assert not [name for name in found if hasattr(dict, name)], "the playbook would read the method of that name"
    name = job(plan, parts=WHOLE).decide(answers)["restore"]
    passed = {host: {**BLANK, "passed": {"restore": name, "did": "left"}} for host in ("control-8", "control-9")}
    put = {**BLANK, "etcd_data": True, "passed": {"restore": name, "did": "put"}}
    again = job(plan, parts=WHOLE).decide({**dict.fromkeys(answers, put), **passed})
    assert (again["keyed"], again["leaves"], again["stops"]) == ([found["target"]], [], [])
    job(plan).end()
    lives = {**answers, "control-9": {**BLANK, "anew": False, "member": True, "keys": True}}
    assert job(plan, parts=WHOLE[:1], check=True).decide(lives)["keyed"] == ["control-9"]


def test_a_set_whose_secrets_the_other_control_hosts_could_not_read_is_refused(
    plan: Plan, made: Make, answers: dict[str, Any]
) -> None:
    open_store(plan.site).ensure([ENCRYPTION_KEY])
    assert plan.kubernetes.encrypt_secrets
    keyed(made, plan, open_store(plan.site, write=False).get(ENCRYPTION_KEY))
    assert job(plan, parts=WHOLE, check=True).decide(answers)["steps"]
    other = keyed(made, plan, "b3RoZXI=", now=datetime.now(UTC) - timedelta(hours=1)).name
    with pytest.raises(GroundupError, match="its Secrets at rest need other keys than control hosts get"):
        job(plan, parts=WHOLE, check=True, source=other, force=["other-secrets"]).decide(answers)


def test_a_set_without_keys_makes_no_cluster(plan: Plan, made: Make, answers: dict[str, Any]) -> None:
    made(parts=("etcd",), versions={"Kubernetes": plan.kubernetes.version})
    with pytest.raises(
        GroundupError, match=r"its part kubernetes-keys lacks pki/ca\.key, pki/etcd/ca\.key, pki/sa\.key"
    ):
        job(plan, parts=["etcd"]).decide(answers)


class Api(http.server.BaseHTTPRequestHandler):
    """An API server that knows nobody."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def at(plan: Plan, port: int) -> Plan:
    return replace(plan, kubernetes=replace(plan.kubernetes, endpoint_port=port))


def test_an_api_that_answers_is_a_cluster_that_lives(
    plan: Plan, made: Make, answers: dict[str, Any], tmp_path: Path
) -> None:
    ca = issue("kubernetes", ca=True)
    keyed(made, plan, ca=ca.pem)
    assert job(plan, parts=WHOLE, check=True).decide(answers)["steps"], "nobody answers"
    name = job(plan, parts=WHOLE).decide(answers)["restore"]
    put = {**BLANK, "etcd_data": True, "passed": {"restore": name, "did": "put"}}
    begun = {**answers, plan.kubernetes.first_control: put}
    for authority, lives in ((ca, True), (issue("of another cluster", ca=True), False)):
        shown = issue("api", authority, names=["127.0.0.1"])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        tls.Pair(shown.pem, shown.key).shown_by(server, tmp_path)
        with tls.serving(server) as port:
            work = partial(job, at(plan, port), parts=WHOLE, check=True)
            if not lives:
                assert work().decide(answers)["steps"], "the address is somebody else's now"
                continue
            for said in (answers, begun):  # nothing runs on the first
                with pytest.raises(
                    GroundupError, match=rf"Kubernetes answers, or hangs, at https://127\.0\.0\.1:{port}"
                ):
                    work().decide(said)
            text = kubeconfig(ca.pem, server=f"https://127.0.0.1:{port}", certificate=ca.pem, key=ca.key)
            kubeconfig_path(plan.site).write_text(text)  # of before the endpoint was another one
            with pytest.raises(GroundupError, match="its etcd lives on a host that was not asked"):
                job(plan, parts=WHOLE).decide(begun)
            kubeconfig_path(plan.site).unlink()


def test_an_api_that_takes_a_connection_and_is_silent_may_live(
    plan: Plan, made: Make, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the control node has lost its kubeconfig: the site file says where the cluster answers."""
    monkeypatch.setattr(anew, "_SHORT", 0.5)
    keyed(made, plan)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = at(plan, silent.getsockname()[1])
        with pytest.raises(GroundupError, match="the site's Kubernetes answers, or hangs, at") as caught:
            job(hangs, parts=WHOLE, force=["control-host-away", "overwrite"]).decide(answers)
    assert "its etcd lives on a host that was not asked" in str(caught.value)
    assert journal.under_way(plan.site) is None


def test_a_former_node_that_the_site_file_lacks_may_have_the_old_etcd(
    plan: Plan, made: Make, answers: dict[str, Any]
) -> None:
    ca = issue("kubernetes", ca=True)
    keyed(made, plan, ca=ca.pem)
    first = plan.kubernetes.first_control
    keep(plan.site, kubeconfig(ca.pem, server="https://127.0.0.1:9"))
    keep_nodes(plan.site, [first, "control-7"])
    with pytest.raises(GroundupError, match="control-7, a node of the lost cluster, is not in the site file") as caught:
        job(plan, parts=WHOLE, check=True).decide(answers)
    assert "control-host-away" in str(caught.value)
    assert job(plan, parts=WHOLE, check=True, force=["control-host-away"]).decide(answers)["target"] == first
    keep_nodes(plan.site, [first])
    assert job(plan, parts=WHOLE, check=True).decide(answers)["target"] == first


@pytest.mark.parametrize(
    ("field", "wanted", "said"),
    [
        (
            "pod_cidr",
            "10.250.0.0/16",
            "pods in 10.233.64.0/18, the site file says 10.250.0.0/16: write kubernetes.pod_cidr as it was",
        ),
        ("service_cidr", "10.251.0.0/16", "Services in 10.233.0.0/18, the site file says 10.251.0.0/16"),
        (
            "dns_address",
            "10.251.0.10",
            "its DNS at 10.233.0.10, the site file says 10.251.0.10: write kubernetes.service_cidr",
        ),
        ("dns_domain", "cloud.local", "Services named in cluster.local, the site file says cloud.local"),
        ("cni", "cilium", "the pod network flannel, the site file says cilium: write kubernetes.cni"),
    ],
)
def test_other_networks_than_the_clusters_are_refused_by_name(
    plan: Plan, made: Make, answers: dict[str, Any], *, field: str, wanted: str, said: str
) -> None:
    """Objects in etcd have addresses of the networks that the cluster was made with."""
    name = keyed(made, plan).name
    cluster = plan.kubernetes
    change: dict[str, Any] = {field: replace(cluster.cni, name="cilium") if field == "cni" else wanted}
    other = replace(plan, kubernetes=replace(cluster, **change))
    for check in (True, False):
        with pytest.raises(GroundupError, match=re.escape(said)) as caught:
            job(other, parts=WHOLE, check=check, force=["unknown-networks"]).decide(answers)
    assert name in str(caught.value)
    assert journal.under_way(plan.site) is None
    assert job(plan, parts=WHOLE, check=True).decide(answers)["steps"]


@pytest.mark.parametrize("said", [{}, {"cni": "flannel"}])
def test_a_set_that_does_not_say_all_its_networks_needs_a_consent(
    plan: Plan, made: Make, answers: dict[str, Any], said: dict[str, str]
) -> None:
    keyed(made, plan, networks=said)
    with pytest.raises(GroundupError, match=r"it does not say with which .*pod_cidr.* its cluster was made") as caught:
        job(plan, parts=WHOLE, check=True).decide(answers)
    assert "unknown-networks" in str(caught.value)
    assert job(plan, parts=WHOLE, check=True, force=["unknown-networks"]).decide(answers)["steps"]
