"""What a run does not do to a member by the way is refused before anything on the host is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.files import read
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download, sha256
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge as steps
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import EncryptionKey, Node, Paths

from .conftest import CNI, MANIFEST, FakeHost, Seen, certificate, finish, make_node, pem, write

KUBELET = "/usr/local/bin/kubelet"
OTHER_KEY = "b3RoZXItb3RoZXItb3RoZXItb3RoZXItb3RoZXItb3Q="


@pytest.fixture(params=["control", "worker"])
def member(request: pytest.FixtureRequest, host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A member that was converged; its kubelet says its version."""
    return make_member(host, paths, monkeypatch, control=request.param == "control")


def make_member(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch, *, control: bool = True) -> Node:
    monkeypatch.setattr(steps, "add_ons", lambda *_, **__: None)
    finish(paths, control=control, ca=pem(certificate()))
    write(paths, KUBELET, "a program")
    host.answers[f"{paths.at(KUBELET)} --version"] = "Kubernetes v1.36.3\n"
    host.running |= {"kubelet.service", "containerd.service"}
    node = make_node(control=control)
    run(node, host)
    return node


def run(node: Node, host: FakeHost) -> list[str]:
    return Seen.of(node, host, join=None, expected_ca=None, check=False).actions


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and "run" not in path.relative_to(root).parts)
    return {str(path): path.read_bytes() for path in found}


def changed(node: Node, **cluster: Any) -> Node:
    return dataclasses.replace(node, cluster=dataclasses.replace(node.cluster, **cluster))


def test_another_version_is_refused_before_its_programs_are_there(
    member: Node, host: FakeHost, paths: Paths, tmp_path: Path
) -> None:
    """A kubelet newer than its API server is no state of a cluster, and workers have no manifest to tell it by."""
    served = tmp_path / "run" / "kubelet"
    served.parent.mkdir(exist_ok=True)
    served.write_text("a newer program")
    newer = Download(url=served.as_uri(), sha256=sha256(served), path=KUBELET, archive=False)
    before = files(paths.root)
    host.services.clear()
    with pytest.raises(GroundupError, match=r"runs Kubernetes v1\.36\.3, the site file says v1\.37\.0"):
        run(dataclasses.replace(changed(member, version="1.37.0"), downloads=(newer,)), host)
    assert files(paths.root) == before
    assert host.services == []


def test_an_upgrade_somebody_began_is_seen_by_the_manifest(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_member(host, paths, monkeypatch)
    for tag in ("v1.37.0", f"v1.37.0@sha256:{'ab' * 32}"):
        write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", MANIFEST.replace("v1.36.3", tag))
        with pytest.raises(GroundupError, match=r"runs Kubernetes v1\.37\.0, the site file says v1\.36\.3"):
            run(node, host)


def test_what_a_vendor_hangs_on_a_version_is_no_other_version(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry of the site's own (`supply.source: registry`) has such programs and images."""
    node = make_member(host, paths, monkeypatch)
    host.answers[f"{paths.at(KUBELET)} --version"] = "Kubernetes v1.36.3+corp.1\n"
    write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", MANIFEST.replace("v1.36.3", "v1.36.3-corp.1"))
    assert run(node, host) == []
    write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", MANIFEST)
    host.answers[f"{paths.at(KUBELET)} --version"] = "Kubernetes v1.36.3-rc.1\n"
    with pytest.raises(GroundupError, match=r"runs Kubernetes v1\.36\.3-rc\.1, the site file says v1\.36\.3"):
        run(node, host)


def test_a_kubelet_that_does_not_run_is_fetched_again(member: Node, host: FakeHost, paths: Paths) -> None:
    def broken() -> None:
        raise GroundupError("kubelet failed with exit code 126", where="here", why="the test says so", remedy="none")

    host.leaves[f"{paths.at(KUBELET)} --version"] = broken
    served = paths.at("/run/served")
    served.write_text("a program that runs")
    good = Download(url=served.as_uri(), sha256=sha256(served), path=KUBELET, archive=False)
    assert f"fetch {KUBELET}" in run(dataclasses.replace(member, downloads=(good,)), host)


def test_another_key_of_secrets_at_rest_is_refused_and_not_shown(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = dataclasses.replace(
        make_member(host, paths, monkeypatch), encryption_keys=(EncryptionKey(name="site-1", secret=OTHER_KEY),)
    )
    before = files(paths.root)
    with pytest.raises(GroundupError, match="is not the one in the site's store of secrets") as refused:
        run(node, host)
    assert OTHER_KEY not in str(refused.value)
    assert files(paths.root) == before


def test_secrets_in_clear_text_are_refused_once_they_are_encrypted(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = changed(make_member(host, paths, monkeypatch), encrypt_secrets=False)
    with pytest.raises(GroundupError, match="are encrypted at rest, the site file says they are not"):
        run(node, host)


def test_a_run_of_the_layer_does_not_turn_encryption_on_in_a_running_cluster(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other control hosts could not read what this one would encrypt."""
    node = make_member(host, paths, monkeypatch)
    lines = [line for line in MANIFEST.splitlines(keepends=True) if "encryption" not in line]
    write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", "".join(lines))
    before = read(paths.at(documents.ENCRYPTION))
    changes = run(node, host)
    assert not [line for line in changes if "encryption" in line]
    assert read(paths.at(documents.ENCRYPTION)) == before
    assert "encryption" not in str(read(paths.init_file))


def test_a_member_keeps_the_keys_it_has_while_they_are_rotated(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_member(host, paths, monkeypatch)
    other = EncryptionKey(name="site-2", secret=OTHER_KEY)
    text = documents.encryption_config([other, *node.encryption_keys])
    write(paths, documents.ENCRYPTION, text)
    assert run(node, host) == []
    assert read(paths.at(documents.ENCRYPTION)) == text


def test_keys_that_were_written_by_hand_are_refused(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_member(host, paths, monkeypatch)
    text = documents.encryption_config(node.encryption_keys).replace('"identity"', '"kms"')
    write(paths, documents.ENCRYPTION, text)
    with pytest.raises(GroundupError, match="is not the one in the site's store of secrets"):
        run(node, host)
    assert read(paths.at(documents.ENCRYPTION)) == text


MADE = """\
kind: KubeletConfiguration
clusterDNS:
- 10.233.0.10
clusterDomain: cluster.local
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dns_domain": "cloud.local"}, r"named in cluster\.local, the site file says cloud\.local"),
        ({"service_cidr": "10.96.0.0/12", "dns_address": "10.96.0.10"}, r"10\.233\.0\..*, the site file says 10\.96\."),
    ],
)
def test_other_names_and_addresses_of_services_are_refused_on_every_host_before_its_kubelet_gives_them_to_pods(
    member: Node, host: FakeHost, paths: Paths, settings: dict[str, str], said: str
) -> None:
    write(paths, "/var/lib/kubelet/config.yaml", MADE)
    assert run(member, host) == []
    before = files(paths.root)
    host.services.clear()
    with pytest.raises(GroundupError, match=said):
        run(changed(member, **settings), host)
    assert files(paths.root) == before
    assert host.services == []


@pytest.mark.parametrize(
    ("flag", "key", "wanted"),
    [
        ("service-cluster-ip-range=10.233.0.0/18", "service_cidr", "10.233.0.0/16"),
        ("cluster-cidr=10.233.64.0/18", "pod_cidr", "10.233.128.0/18"),
    ],
)
@pytest.mark.parametrize("member", ["control"], indirect=True)
def test_other_networks_of_services_and_pods_are_refused(
    member: Node, host: FakeHost, paths: Paths, *, flag: str, key: str, wanted: str
) -> None:
    pod = "kube-apiserver" if key == "service_cidr" else "kube-controller-manager"
    manifest = paths.at(f"/etc/kubernetes/manifests/{pod}.yaml")
    manifest.write_text(MANIFEST.replace("    - --profiling", f"    - --{flag}\n    - --profiling"))
    assert run(member, host) == []
    made = flag.partition("=")[2]
    with pytest.raises(GroundupError, match=rf"(?s){made}, the site file says {wanted}.*kubernetes\.{key}"):
        run(changed(member, **{key: wanted}), host)


def test_another_pod_network_than_the_one_pods_are_on_is_refused(member: Node, host: FakeHost, paths: Paths) -> None:
    write(paths, "/etc/cni/net.d/10-flannel.conflist")
    assert run(member, host) == []
    before = files(paths.root)
    with pytest.raises(
        GroundupError, match=r"(?s)with the pod network flannel, the site file says cilium.*write kubernetes\.cni"
    ):
        run(changed(member, cni=dataclasses.replace(CNI, name="cilium")), host)
    assert files(paths.root) == before
    write(paths, "/etc/cni/net.d/05-cilium.conflist")
    assert run(changed(member, cni=dataclasses.replace(CNI, name="cilium")), host) == [], "somebody moves it by hand"
