"""What the controller does to the cluster: whom it lets in, what it applies, which labels are its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import access as host_access
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.certificates import days_left, names
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.documents import init_config
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import (
    OWNED,
    WantedNode,
    not_ready,
    patch,
    wanted,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.objects import Applier, in_order
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.probe import client, endpoints, service
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Discovery

from .conftest import KUBECONFIG, FakeHost, certificate, make_node, pem, write


def test_the_days_of_a_certificate_are_counted_down(tmp_path: Path) -> None:
    (tmp_path / "a.crt").write_text(pem(certificate(days=12)))
    (tmp_path / "b.crt").write_text(pem(certificate(days=-3)))
    assert [days_left(tmp_path / name) for name in ("a.crt", "b.crt")] == [12, -3]


def test_the_names_of_a_certificate_are_all_read(tmp_path: Path) -> None:
    (tmp_path / "a.crt").write_text(pem(certificate(names=("a.test", "b"), addresses=["10.0.0.2", "fd00::2"])))
    assert names(tmp_path / "a.crt") == {"a.test", "b", "10.0.0.2", "fd00::2"}
    (tmp_path / "b.crt").write_text(pem(certificate()))
    assert not names(tmp_path / "b.crt")


def test_what_is_no_certificate_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.crt").write_text("-----BEGIN CERT")
    with pytest.raises(GroundupError, match=r"(?s)a\.crt.*restore it from a backup"):
        days_left(tmp_path / "a.crt")


def test_the_kubeconfig_handed_out_speaks_to_the_virtual_ip(host: FakeHost, paths: Paths) -> None:
    write(paths, "/etc/kubernetes/admin.conf", KUBECONFIG.format(server="https://kubernetes.test:6443", credential="c"))
    text = host_access.admin_kubeconfig(host, server="https://10.0.0.2:6443", may_miss=False)
    assert text
    assert "    server: https://10.0.0.2:6443\n" in text
    assert "kubernetes.test" not in text


def test_a_host_without_a_kubeconfig_hands_out_nothing(host: FakeHost) -> None:
    assert host_access.admin_kubeconfig(host, server="https://x", may_miss=True) is None
    with pytest.raises(GroundupError, match="host-under-test has no admin kubeconfig"):
        host_access.admin_kubeconfig(host, server="https://x", may_miss=False)


PRINTED = (
    "kubeadm join kubernetes.test:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:0a1b \n"
)


class SignsLate:
    """An API whose cluster-info carries the token's signature only at the third look."""

    looks = 0

    def __enter__(self) -> SignsLate:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, _: str) -> dict[str, Any]:
        SignsLate.looks += 1
        return {"data": {"jws-kubeconfig-abcdef": "x"} if SignsLate.looks >= 3 else {}}


def test_nobody_is_invited_before_the_token_is_signed(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "api", lambda _: SignsLate())
    monkeypatch.setattr("time.sleep", lambda _: None)
    write(paths, "/etc/kubernetes/pki/ca.crt", pem(certificate()))
    host.answers["kubeadm token"] = PRINTED
    invitation = host_access.invite(host, server="https://x", control=False)
    assert SignsLate.looks == 3
    assert (invitation.token, invitation.ca_hash) == ("abcdef.0123456789abcdef", "sha256:0a1b")
    assert invitation.certificate_key is None
    assert not any(invitation.token in word for argv in host.commands for word in argv)


def test_certificates_for_control_hosts_are_uploaded_to_the_api_server_that_listens_here(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "api", lambda _: SignsLate())
    monkeypatch.setattr("time.sleep", lambda _: None)
    write(paths, "/etc/kubernetes/pki/ca.crt", pem(certificate()))
    write(paths, str(paths.init_file.relative_to(paths.root)), init_config(make_node(initialise=True)))
    host.answers["kubeadm token"] = PRINTED
    uploads: list[dict[str, Any]] = []

    def upload() -> None:
        config = Path(host.commands[-1][-1])
        uploads.extend(json.loads(text) for text in config.read_text().split("---\n"))
        assert config.stat().st_mode & 0o777 == 0o600

    host.leaves["kubeadm init"] = upload
    invitation = host_access.invite(host, server="https://x", control=True)
    init = uploads[0]
    assert init["localAPIEndpoint"] == {"advertiseAddress": "10.0.0.16", "bindPort": 6444}
    assert init["certificateKey"] == invitation.certificate_key
    assert not any(str(invitation.certificate_key) in word for argv in host.commands for word in argv)
    assert not Path(host.commands[-1][-1]).exists()


CONTROL = {"name": "c", "roles": ["control"], "node_labels": {"a": "1"}, "node_taints": ["k:NoSchedule"]}


def node(*, labels: Mapping[str, str], taints: list[dict[str, str]], owned: str | None = None) -> dict[str, Any]:
    notes = {OWNED: owned} if owned else {}
    return {"metadata": {"name": "c", "labels": dict(labels), "annotations": notes}, "spec": {"taints": taints}}


def applied(found: dict[str, Any], change: dict[str, Any] | None) -> dict[str, Any]:
    """Return the node as the API server would leave it after the merge patch."""
    meta, patched = found["metadata"], (change or {}).get("metadata", {})
    labels = {k: v for k, v in {**meta["labels"], **patched.get("labels", {})}.items() if v is not None}
    spec = (change or {}).get("spec", found["spec"])
    return {
        "metadata": {
            **meta,
            "labels": labels,
            "annotations": {**meta["annotations"], **patched.get("annotations", {})},
        },
        "spec": spec,
    }


def test_a_node_is_labelled_once_and_then_left_alone() -> None:
    found = node(labels={"kubernetes.io/hostname": "c"}, taints=[])
    once = applied(found, patch(found, wanted(CONTROL)))
    assert once["metadata"]["labels"]["a"] == "1"
    assert once["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    assert once["spec"]["taints"] == [{"key": "k", "effect": "NoSchedule"}]
    assert patch(once, wanted(CONTROL)) is None


def test_what_the_plan_drops_is_taken_off_and_what_others_put_is_kept() -> None:
    other = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    found = node(labels={"theirs": "x"}, taints=[other])
    once = applied(found, patch(found, wanted(CONTROL)))
    after = applied(once, patch(once, WantedNode(name="c", labels={}, taints=())))
    assert after["metadata"]["labels"] == {"theirs": "x"}
    assert after["spec"]["taints"] == [other]


def test_kubeadms_own_taint_goes_when_the_plan_does_not_want_it() -> None:
    kubeadms = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    found = node(labels={}, taints=[kubeadms])
    assert applied(found, patch(found, WantedNode(name="c", labels={}, taints=())))["spec"]["taints"] == []


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([], "its kubelet has not reported yet"),
        ([{"type": "Ready", "status": "False", "message": "no network"}], "no network"),
        ([{"type": "Ready", "status": "Unknown", "message": "silent"}], "silent"),
    ],
)
def test_only_a_node_that_says_so_is_ready(conditions: list[dict[str, str]], reason: str) -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    nodes: dict[str, dict[str, Any]] = {"n": {"status": {"conditions": conditions}}, "m": {"status": ready}}
    assert not_ready(nodes, ["n", "m"]) == {"n": reason}
    assert not_ready(nodes, ["m", "o"]) == {"o": "it is not registered"}


class Cluster:
    """An API server for ConfigMaps that merges what is applied, and honours a dry run."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.version = 0

    def discover(self) -> Discovery:
        return Discovery(version="v1.36.3", resources={("v1", "ConfigMap"): ("configmaps", True)})

    def apply(self, path: str, item: Mapping[str, Any], *, manager: str, dry_run: bool) -> dict[str, Any]:
        assert manager == "groundup"
        self.version += 1
        after = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version), "uid": "u"}}
        if not dry_run:
            self.kept[path] = after
        return after

    def find(self, path: str) -> dict[str, Any] | None:
        return self.kept.get(path)


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": {"k": "v"}}


def applied_to(cluster: Cluster, *items: Mapping[str, Any], check: bool = False) -> list[dict[str, str]]:
    """Return the diffs of applying ``items``."""
    changes = Changes(check=check)
    for item in items:
        Applier(cluster).apply(item, changes)  # type: ignore[arg-type]  # a stand-in
    return changes.diffs


def test_an_object_is_a_change_once_and_again_when_it_differs() -> None:
    cluster = Cluster()
    assert [diff["after_header"] for diff in applied_to(cluster, MAP, MAP)] == ["ConfigMap n/m"]
    (changed,) = applied_to(cluster, {**MAP, "data": {"k": "w"}})
    assert ("k: v" in changed["before"], "k: w" in changed["after"]) == (True, True)
    assert "resourceVersion" not in changed["after"]


def test_a_dry_run_predicts_and_keeps_nothing() -> None:
    cluster = Cluster()
    assert applied_to(cluster, MAP, check=True)
    assert cluster.kept == {}


@pytest.mark.parametrize("check", [False, True])
def test_values_of_a_secret_are_in_no_diff(check: bool) -> None:
    cluster, one = Cluster(), {**MAP, "kind": "Secret", "data": {"k": "aGlkZGVu"}}
    found = Discovery(version="v1.36.3", resources={("v1", "Secret"): ("secrets", True)})
    cluster.discover = lambda: found  # type: ignore[method-assign]
    (made,) = applied_to(cluster, one, check=check)
    assert ("k: (secret)" in made["after"], "aGlkZGVu" in str(made)) == (True, False)


def test_a_kind_the_api_does_not_have_is_named() -> None:
    with pytest.raises(ApiError, match="no kind Secret in v1"):
        applied_to(Cluster(), {**MAP, "kind": "Secret"})


def test_namespaces_and_permissions_come_before_what_needs_them() -> None:
    kinds = ["DaemonSet", "ConfigMap", "ClusterRole", "Namespace", "ServiceAccount"]
    ordered = [item["kind"] for item in in_order([{"kind": kind} for kind in kinds])]
    assert ordered == ["Namespace", "ServiceAccount", "ClusterRole", "ConfigMap", "DaemonSet"]


def test_the_probe_needs_the_cluster_dns_the_service_and_another_node() -> None:
    target = {"metadata": {"name": "coredns-1"}, "status": {"podIP": "10.1.0.5"}, "spec": {"nodeName": "a"}}
    assert "selector" not in service("p")["spec"]
    assert endpoints("p", target)["metadata"]["labels"]["kubernetes.io/service-name"] == "p"
    # The Service's port is not the pod's: whoever reaches it went through kube-proxy.
    assert service("p")["spec"]["ports"][0]["port"] != endpoints("p", target)["ports"][0]["port"]
    pod = client("p", host="p.kube-system.svc.cluster.local.", image="i", not_on=["a"], patience=60.0)["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["a"]}]}]
    assert "hostNetwork" not in pod
