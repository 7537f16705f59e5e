"""What the module writes says what the plan says, in words kubeadm and containerd read."""

from __future__ import annotations

import dataclasses
import tomllib
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import containerd, documents, static_pods
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.files import wanted
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey, taint

from .conftest import CLUSTER, JOIN, KEY, make_node


def by_kind(text: str) -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


def test_containers_have_a_limit_of_open_files_that_programs_can_size_tables_by() -> None:
    files = {file.path: file for file in wanted(make_node())}
    limits = files["/etc/systemd/system/containerd.service.d/10-groundup.conf"]
    assert "LimitNOFILE=1048576\n" in limits.text
    assert limits.restarts == "containerd.service"


def test_init_serves_on_the_hosts_own_port_and_is_called_by_the_endpoint() -> None:
    found = by_kind(documents.init_config(make_node()))
    assert found["InitConfiguration"]["localAPIEndpoint"] == {"advertiseAddress": "10.0.0.16", "bindPort": 6444}
    assert found["ClusterConfiguration"]["controlPlaneEndpoint"] == "kubernetes.test:6443"
    assert {"10.0.0.2", "kubernetes.test"} <= set(found["ClusterConfiguration"]["apiServer"]["certSANs"])


def test_kube_proxy_uses_nftables_and_leaves_the_conntrack_table_to_the_host() -> None:
    proxy = by_kind(documents.init_config(make_node()))["KubeProxyConfiguration"]
    assert (proxy["mode"], proxy["conntrack"]) == ("nftables", {"maxPerCore": 0})


def test_the_token_of_init_is_gone_in_a_minute() -> None:
    assert by_kind(documents.init_config(make_node()))["InitConfiguration"]["bootstrapTokens"] == [{"ttl": "1m0s"}]


def test_every_file_the_api_server_is_told_of_is_mounted_into_it() -> None:
    server = by_kind(documents.init_config(make_node()))["ClusterConfiguration"]["apiServer"]
    mounts = tuple(volume["mountPath"] for volume in server["extraVolumes"])
    named = [arg["value"] for arg in server["extraArgs"] if arg["value"].startswith("/")]
    assert named
    assert all(value.startswith(mounts) for value in named)


def test_audit_and_encryption_can_be_turned_off() -> None:
    node = dataclasses.replace(make_node(), cluster=dataclasses.replace(CLUSTER, audit=False, encrypt_secrets=False))
    server = by_kind(documents.init_config(node))["ClusterConfiguration"]["apiServer"]
    ends = ["shutdown-delay-duration", "shutdown-watch-termination-grace-period"]
    assert [arg["name"] for arg in server["extraArgs"]] == ["profiling", *ends]
    assert server["extraVolumes"] == []


def test_an_api_server_has_ended_before_its_kubelet_kills_it() -> None:
    assert documents.SHUTDOWN_DELAY + documents.WATCHES_CLOSE < static_pods._GRACE


def test_a_worker_joins_with_token_and_pin_and_no_control_plane() -> None:
    join = by_kind(documents.join_config(make_node(control=False), JOIN))["JoinConfiguration"]
    assert join["discovery"]["bootstrapToken"]["caCertHashes"] == ["sha256:00"]
    assert "unsafeSkipCAVerification" not in str(join)
    assert "controlPlane" not in join


def test_a_control_host_joins_with_its_own_address_and_the_certificate_key() -> None:
    control = by_kind(documents.join_config(make_node(), JOIN))["JoinConfiguration"]["controlPlane"]
    assert control["localAPIEndpoint"] == {"advertiseAddress": "10.0.0.16", "bindPort": 6444}
    assert control["certificateKey"] == JOIN.certificate_key


def audited(user: str, groups: set[str], verb: str, group: str, resource: str) -> str:
    """Return the level of the first rule that fits a request, as the API server looks for it."""
    for rule in yaml.safe_load(documents.audit_policy())["rules"]:
        kinds = rule.get("resources")
        if (
            "nonResourceURLs" not in rule
            and user in rule.get("users", [user])
            and (groups & set(rule.get("userGroups", groups)))
            and verb in rule.get("verbs", [verb])
            and (not kinds or any(one["group"] == group and resource in one["resources"] for one in kinds))
        ):
            return str(rule["level"])
    return "None"


@pytest.mark.parametrize(("user", "groups"), [
    ("system:node:worker-1", {"system:nodes"}), ("system:kube-controller-manager", set()),
    ("system:kube-scheduler", set()), ("system:kube-proxy", set()), ("system:apiserver", {"system:masters"}),
    ("system:serviceaccount:openstack:nova", {"system:serviceaccounts"}),
    ("system:anonymous", {"system:unauthenticated"}), ("kubernetes-admin", {"kubeadm:cluster-admins"}), ("jane", set()),
])  # fmt: skip
@pytest.mark.parametrize("verb", ["get", "list", "watch", "create", "update", "delete"])
def test_whoever_reads_or_writes_a_secret_is_in_the_audit_log_without_its_content(
    user: str, groups: set[str], verb: str
) -> None:
    everybody = groups | {"system:authenticated"}
    assert audited(user, everybody, verb, "", "secrets") == "Metadata"
    assert audited(user, everybody, "create", "", "serviceaccounts/token") == "Metadata"
    assert audited(user, everybody, "create", "authentication.k8s.io", "tokenreviews") == "Metadata"


def test_what_nodes_watch_all_day_does_not_push_the_rest_out_of_the_log() -> None:
    assert audited("system:node:worker-1", {"system:nodes"}, "watch", "", "configmaps") == "None"
    assert audited("jane", {"system:authenticated"}, "get", "", "configmaps") == "Metadata"


def test_bodies_of_secrets_are_never_in_the_audit_log() -> None:
    rules = yaml.safe_load(documents.audit_policy())["rules"]
    # The first rule that matches decides: a rule with bodies must come after the one for Secrets.
    secrets = next(i for i, r in enumerate(rules) if any("secrets" in e["resources"] for e in r.get("resources", [])))
    assert rules[secrets]["level"] == "Metadata"
    assert all(rule["level"] in {"None", "Metadata"} for rule in rules[:secrets])


def test_new_secrets_are_written_encrypted_and_old_ones_can_be_read() -> None:
    providers = yaml.safe_load(documents.encryption_config([EncryptionKey(name="site-1", secret=KEY)]))["resources"][0][
        "providers"
    ]
    assert [next(iter(provider)) for provider in providers] == ["secretbox", "identity"]


def test_containerd_reads_what_a_node_needs() -> None:
    cri = tomllib.loads(containerd.config(make_node()))["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True
    assert cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert cri["sandbox_image"].endswith("pause:3.10.2")
    assert cri["registry"]["config_path"] == "/etc/containerd/certs.d"


def test_the_login_of_a_registry_is_for_its_host_and_for_root_alone() -> None:
    supply = dataclasses.replace(make_node().supply, registry="images.test:443/cloud/site")
    node = dataclasses.replace(make_node(), supply=supply, registry_login='robot$a:se"sa:mé\U0001f511\x7f')
    files = {file.path: file for file in wanted(node)}
    file = files["/etc/containerd/config.toml"]
    cri = tomllib.loads(file.text)["plugins"]["io.containerd.grpc.v1.cri"]
    login = {"username": "robot$a", "password": 'se"sa:mé\U0001f511\x7f'}
    assert cri["registry"]["configs"] == {"images.test:443": {"auth": login}}
    assert cri["registry"]["config_path"] == "/etc/containerd/certs.d"
    assert (file.mode, file.secret, file.restarts) == (0o600, True, "containerd.service")
    assert tomllib.loads(files["/etc/containerd/certs.d/images.test:443/hosts.toml"].text)["server"] == (
        "https://images.test:443"
    )


def test_without_a_login_the_configuration_is_as_before() -> None:
    file = next(one for one in wanted(make_node()) if one.path == "/etc/containerd/config.toml")
    assert (file.mode, file.secret) == (0o644, False)
    assert file.text.endswith('    config_path = "/etc/containerd/certs.d"\n')


def test_a_registry_with_tls_is_spoken_to_by_https_alone() -> None:
    hosts = tomllib.loads(containerd.registry_hosts("images.test:443", tls=True, ca=None))
    assert (hosts["server"], list(hosts["host"])) == ("https://images.test:443", ["https://images.test:443"])
    assert "ca" not in str(hosts).replace("capabilities", "")


def test_the_registrys_ca_is_trusted_for_it_alone() -> None:
    node = dataclasses.replace(make_node(), ca_certificate="PEM")
    files = {file.path: file for file in wanted(node)}
    place = "/etc/containerd/certs.d/registry.test:5000"
    assert (files[f"{place}/ca.crt"].text, files[f"{place}/ca.crt"].restarts) == ("PEM\n", None)
    hosts = tomllib.loads(files[f"{place}/hosts.toml"].text)
    assert hosts["server"] == "https://registry.test:5000"
    assert [hosts["ca"], hosts["host"]["https://registry.test:5000"]["ca"]] == [f"{place}/ca.crt"] * 2
    assert files[f"{place}/hosts.toml"].restarts is None, "containerd reads it at each pull"


def test_a_registry_of_the_sites_own_may_speak_plain_http() -> None:
    hosts = tomllib.loads(containerd.registry_hosts("registry.test:5000", tls=False, ca=None))
    assert hosts["server"] == "http://registry.test:5000"
    assert list(hosts["host"]) == ["http://registry.test:5000"]
    assert "/etc/containerd/certs.d/registry.test:5000/hosts.toml" in [file.path for file in wanted(make_node())]


def test_the_sites_kubelet_settings_win() -> None:
    settings = yaml.safe_load(documents.kubelet_settings(make_node()))
    assert settings["failSwapOn"] is False
    assert settings["clusterDNS"] == ["10.233.0.10"]


def test_files_with_secrets_are_for_root_alone_and_are_not_on_workers() -> None:
    control = {file.path: file for file in wanted(make_node())}
    encryption = control["/etc/kubernetes/site/encryption.yaml"]
    assert (encryption.mode, encryption.secret) == (0o600, True)
    assert control["/etc/kubernetes/site/kubeadm.yaml"].mode == 0o600
    assert not [file.path for file in wanted(make_node(control=False)) if "/site/" in file.path]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("a/b:NoSchedule", {"key": "a/b", "effect": "NoSchedule"}),
        ("a=b:NoExecute", {"key": "a", "value": "b", "effect": "NoExecute"}),
    ],
)
def test_taints_are_read_as_kubectl_reads_them(text: str, parsed: dict[str, str]) -> None:
    assert taint(text) == parsed


@pytest.mark.parametrize("text", ["", "a", "a:Never", ":NoSchedule"])
def test_what_is_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a taint"):
        taint(text)


def test_kubeadm_knows_the_version_of_etcd_that_runs() -> None:
    """It skips etcd in an upgrade when its own version is older than the manifest's."""
    assert by_kind(documents.init_config(make_node()))["ClusterConfiguration"]["etcd"] == {
        "local": {"dataDir": "/var/lib/etcd"}
    }
    for image in ("r.test:5000/kubernetes/etcd:3.6.16-0", "r.test:5000/kubernetes/etcd:3.6.16-0@sha256:00"):
        node = dataclasses.replace(make_node(), control_images={"etcd": image})
        etcd = by_kind(documents.init_config(node))["ClusterConfiguration"]["etcd"]
        assert etcd["local"]["imageTag"] == "3.6.16-0"
