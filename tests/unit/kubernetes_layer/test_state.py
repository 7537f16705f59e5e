"""A host is recognised from what is on it; another cluster's is refused."""

from __future__ import annotations

import base64
import sys

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.certificates import fingerprint, first_certificate
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import Membership, classify, observe

from .conftest import KUBECONFIG, begin, certificate, finish, make_node, pem, write

OURS, OTHER = pem(certificate()), pem(certificate())
OUR_CA = fingerprint(first_certificate(OURS) or b"")
EMBEDDED = KUBECONFIG.format(server="https://kubernetes.test:6443", credential="/etc/kubernetes/x.pem")


def what_is(paths: Paths, *, control: bool = True, expected_ca: str | None = None) -> Membership:
    return classify(observe(paths), make_node(control=control), expected_ca=expected_ca)


def test_a_fresh_host_is_blank(paths: Paths) -> None:
    (paths.kubernetes / "manifests").mkdir(parents=True)  # the kubelet makes an empty one
    assert what_is(paths) is Membership.BLANK


@pytest.mark.parametrize("control", [True, False])
def test_a_finished_host_is_a_member_whether_or_not_the_controller_knows_the_ca(paths: Paths, control: bool) -> None:
    finish(paths, control=control, ca=OURS)
    assert what_is(paths, control=control) is Membership.MEMBER
    assert what_is(paths, control=control, expected_ca=OUR_CA) is Membership.MEMBER


@pytest.mark.parametrize(
    "left",
    [
        {"/etc/kubernetes/pki/ca.crt": OURS},
        {"/etc/kubernetes/pki/ca.key": "half a k"},
        {"/etc/kubernetes/pki/ca.crt": "-----BEGIN CERT"},
        {
            "/etc/kubernetes/pki/ca.crt": OURS,
            "/etc/kubernetes/admin.conf": EMBEDDED,
            "/etc/kubernetes/kubelet.conf": EMBEDDED,
        },
        {"/etc/kubernetes/manifests/etcd.yaml": "", "/var/lib/etcd/member/wal/0": ""},
        {"/etc/kubernetes/bootstrap-kubelet.conf": EMBEDDED, "/etc/kubernetes/pki/ca.crt": OURS},
        {"/var/lib/kubelet/config.yaml": "x"},
    ],
)
def test_whatever_a_killed_init_or_join_left_is_partial(paths: Paths, left: dict[str, str]) -> None:
    for path, text in left.items():
        write(paths, path, text)
    with pytest.raises(GroundupError, match="control-1 has leftovers of Kubernetes"):
        what_is(paths)
    begin(paths, verb="init")
    assert what_is(paths) is Membership.PARTIAL


def test_a_kubelet_conf_without_the_certificate_it_names_is_partial(paths: Paths) -> None:
    finish(paths, control=False, ca=OURS)
    paths.at("/var/lib/kubelet/pki/kubelet-client-current.pem").unlink()
    begin(paths, verb="join")
    assert what_is(paths, control=False) is Membership.PARTIAL


def test_a_member_whose_kubelet_conf_was_damaged_by_hand_is_no_half_made_node(paths: Paths) -> None:
    finish(paths, control=False, ca=OURS)
    conf = paths.kubernetes / "kubelet.conf"
    conf.write_text(f"{conf.read_text()}\tno: yaml\n")
    assert what_is(paths, control=False) is Membership.MEMBER


@pytest.mark.parametrize("control", [True, False])
def test_a_node_of_which_nothing_says_whose_it_is_is_refused(paths: Paths, control: bool) -> None:
    """Neither the CA nor a kubeconfig can be read: it may be a node of any cluster."""
    finish(paths, control=control, ca="-----BEGIN CERT")
    for conf in paths.kubernetes.glob("*.conf"):
        conf.write_text(f"{conf.read_text()}\tno: yaml\n")
    with pytest.raises(GroundupError, match="is a node, and nothing on it says of which cluster"):
        what_is(paths, control=control)
    paths.at("/var/lib/kubelet/pki/kubelet-client-current.pem").unlink()
    with pytest.raises(GroundupError, match="has leftovers of Kubernetes"):
        what_is(paths, control=control, expected_ca=OUR_CA)


def test_a_control_hosts_kubelet_may_speak_to_the_api_server_beside_it(paths: Paths) -> None:
    finish(paths, control=True, ca=OURS, server="https://10.0.0.16:6444")
    assert what_is(paths) is Membership.MEMBER


@pytest.mark.parametrize("finished", [True, False])
def test_a_host_with_another_ca_is_refused_however_far_it_came(paths: Paths, finished: bool) -> None:
    if finished:
        finish(paths, control=False, ca=OTHER)
    else:
        write(paths, "/etc/kubernetes/pki/ca.crt", OTHER)
    with pytest.raises(GroundupError, match="worker-1 belongs to another Kubernetes cluster"):
        what_is(paths, control=False, expected_ca=OUR_CA)


@pytest.mark.parametrize("control", [True, False])
def test_without_a_known_ca_a_host_that_speaks_to_another_endpoint_is_refused(paths: Paths, control: bool) -> None:
    finish(paths, control=control, ca=OTHER, server="https://kubernetes.elsewhere:6443")
    with pytest.raises(GroundupError, match=r"kubernetes\.elsewhere:6443"):
        what_is(paths, control=control)


def test_the_ca_inside_a_kubeconfig_counts_when_the_file_is_gone(paths: Paths) -> None:
    finish(paths, control=False, ca="")
    conf = KUBECONFIG.format(
        server="https://kubernetes.test:6443", credential="/var/lib/kubelet/pki/kubelet-client-current.pem"
    )
    embedded = f"cluster:\n    certificate-authority-data: {base64.b64encode(OTHER.encode()).decode()}\n"
    write(paths, "/etc/kubernetes/kubelet.conf", conf.replace("cluster:\n", embedded))
    with pytest.raises(GroundupError, match="its CA certificate has"):
        what_is(paths, control=False, expected_ca=OUR_CA)


@pytest.mark.parametrize("control", [True, False])
def test_a_member_with_another_role_is_refused_with_both_roles(paths: Paths, control: bool) -> None:
    finish(paths, control=not control, ca=OURS)
    now, then = ("worker", "control-plane node") if control else ("control-plane node", "worker")
    with pytest.raises(GroundupError, match=f"is a {now} of this cluster and is to be a {then}"):
        what_is(paths, control=control)


def test_a_host_without_pyyaml_is_predicted_while_it_is_blank_and_told_once_it_has_files(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host layer installs it; a dry run comes before that."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert what_is(paths) is Membership.BLANK
    write(paths, "/etc/kubernetes/kubelet.conf", EMBEDDED)
    with pytest.raises(GroundupError, match=r"(?s)python3-yaml is not installed.*apt-get install python3-yaml"):
        what_is(paths)
