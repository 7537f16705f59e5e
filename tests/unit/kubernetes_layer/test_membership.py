"""A second cluster is never initialised: all control hosts are asked first, and a doubt is a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.access import admin_kubeconfig
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.membership import membership
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.membership import decide

from .conftest import FakeHost, begin, certificate, finish, make_node, pem, write

OURS, OTHER = "aa" * 32, "bb" * 32


def says(number: int, *, ca: str | None = None, **other: Any) -> dict[str, Any]:
    """Return the answer of control host ``number``: blank, or a member of the cluster with that CA."""
    found: dict[str, Any] = {"membership": "member" if ca else "blank", "ca": ca, "etcd_data": bool(ca), "etcd": []}
    return {"item": f"control-{number}", **found, **other}


SILENT = {"item": "control-3", "unreachable": True, "msg": "Connection timed out"}
# As a task with `failed_when: false` returns it.
BROKEN = {
    "item": "control-3",
    "failed": False,
    "failed_when_result": False,
    "msg": "control-3 has leftovers of Kubernetes",
}


def test_blank_control_hosts_that_all_answer_have_no_cluster() -> None:
    assert decide([says(1), says(2), says(3)], first="control-1", known=None) is None


def test_a_first_host_an_init_was_killed_on_may_initialise_again() -> None:
    """Its mark and its data are looked at on the host."""
    half = says(1, membership="partial", etcd_data=True)
    assert decide([half, says(2), says(3)], first="control-1", known=None) is None


@pytest.mark.parametrize("third", [says(3, ca=OURS), SILENT, BROKEN])
@pytest.mark.parametrize("known", [OURS, None])
def test_a_first_host_that_was_reinstalled_finds_its_cluster_on_the_others(
    known: str | None, third: dict[str, Any]
) -> None:
    assert decide([says(1), says(2, ca=OURS), third], first="control-1", known=known) == OURS


def test_the_only_control_host_was_reinstalled_and_the_controller_knows_a_cluster() -> None:
    assert decide([says(1)], first="control-1", known=OURS) == OURS


@pytest.mark.parametrize("silent", [SILENT, BROKEN])
def test_no_cluster_is_made_while_a_control_host_may_have_one(silent: dict[str, Any]) -> None:
    with pytest.raises(GroundupError, match=r"(?s)control-3 did not say whether.*where:  host control-3: ") as refusal:
        decide([says(1), says(2), silent], first="control-1", known=None)
    assert silent["msg"] in str(refusal.value)


def test_the_first_host_too_has_to_say_what_it_is() -> None:
    with pytest.raises(GroundupError, match="control-1 did not say whether"):
        decide([BROKEN | {"item": "control-1"}, says(2), says(3)], first="control-1", known=None)


@pytest.mark.parametrize(("data", "said"), [(True, "has data of etcd"), (False, "has a join that did not end")])
def test_no_cluster_is_made_beside_what_is_left_of_one(data: bool, said: str) -> None:
    with pytest.raises(GroundupError, match=f"control-2 {said}, so there was one"):
        decide([says(1), says(2, membership="partial", etcd_data=data)], first="control-1", known=None)


@pytest.mark.parametrize("known", [OURS, None])
def test_control_hosts_of_two_clusters_are_refused_with_both(known: str | None) -> None:
    answers = [says(1, ca=OURS, etcd=["control-1"]), says(2, ca=OTHER), says(3)]
    with pytest.raises(GroundupError, match="belong to 2 clusters") as refusal:
        decide(answers, first="control-1", known=known)
    assert f"{OURS[:16]}... of control-1 (etcd: control-1)" in str(refusal.value)
    assert f"{OTHER[:16]}... of control-2 (its etcd does not answer)" in str(refusal.value)


def test_another_cluster_than_the_recorded_one_is_refused_with_both() -> None:
    with pytest.raises(GroundupError, match=f"(?s)knows the cluster with the CA {OURS[:16]}.*{OTHER[:16]}.*control-2"):
        decide([says(1), says(2, ca=OTHER)], first="control-1", known=OURS)


def test_a_host_says_what_is_on_it_and_is_not_changed(host: FakeHost, paths: Paths) -> None:
    node = make_node()
    assert membership(host, node)["membership"] == "blank"
    write(paths, "/var/lib/etcd/member/wal/0", "")
    with pytest.raises(GroundupError, match="leftovers of Kubernetes, etcd data among them"):
        membership(host, node)
    begin(paths, verb="init")
    assert (membership(host, node)["membership"], membership(host, node)["etcd_data"]) == ("partial", True)
    finish(paths, control=True, ca=pem(certificate()))
    said = membership(host, node)
    assert (said["membership"], len(said["ca"]), said["etcd"]) == ("member", 64, [])
    assert said["certificates"]["apiserver.crt"] == 365
    finish(paths, control=True, ca=pem(certificate()), server="https://kubernetes.elsewhere:6443")
    with pytest.raises(GroundupError, match="belongs to another Kubernetes cluster"):
        membership(host, node)
    assert (host.commands, host.services) == ([], [])


@pytest.mark.parametrize("check", [True, False])
def test_the_only_control_host_without_its_data_is_told_from_a_site_without_a_cluster(
    host: FakeHost, check: bool
) -> None:
    with pytest.raises(
        GroundupError, match=r"(?s)the site has a cluster \(CA aaaaaaaaaaaaaaaa.*its disk.*cluster\.json"
    ):
        admin_kubeconfig(host, server="https://10.0.0.2:6443", may_miss=check, expected_ca=OURS)
    if check:
        assert admin_kubeconfig(host, server="https://10.0.0.2:6443", may_miss=True) is None
