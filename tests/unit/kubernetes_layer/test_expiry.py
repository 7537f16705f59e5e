"""What ends soon is told in time, with who renews it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import renewal
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import expiry

from .conftest import certificate, pem


def soon(hosts: dict[str, dict[str, int]], site: dict[str, int] | None = None) -> tuple[str, ...]:
    return expiry.soon(hosts, site or {}, warn_below=30, fail_below=7)


def test_nothing_is_said_of_certificates_that_last() -> None:
    assert soon({"control-1": {"apiserver.crt": 30, "ca.crt": 3000}}, {expiry.EDGE: 31}) == ()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("apiserver.crt", "groundup-certificates"),
        ("etcd/server.crt", "groundup-certificates"),
        ("front-proxy-client.crt", "groundup-certificates"),
        ("kubelet-client-current.pem", "its kubelet renews it"),
        ("etcd/ca.crt", "plan the rotation"),
        ("front-proxy-ca.crt", "plan the rotation"),
    ],
)
def test_each_certificate_of_a_control_host_is_told_with_its_days_and_who_renews_it(name: str, remedy: str) -> None:
    (line,) = soon({"control-2": {name: 29}})
    assert line.startswith(f"{name} of control-2 ends in 29 days: ")
    assert remedy in line


def test_the_edge_and_the_sites_ca_are_told_soonest_first() -> None:
    lines = soon({}, {expiry.CA: 20, expiry.EDGE: 10})
    assert [line.partition(" ends")[0] for line in lines] == [expiry.EDGE, expiry.CA]
    assert all("any run of" in line for line in lines)


@pytest.mark.parametrize(("days", "said"), [(6, "ends in 6 days"), (-3, "ended 3 days ago")])
def test_one_that_ends_in_a_week_is_a_failure(days: int, said: str) -> None:
    with pytest.raises(GroundupError, match=rf"etcd/peer.crt of control-1 {said}"):
        soon({"control-1": {"etcd/peer.crt": days, "apiserver.crt": 20}})


def test_the_sites_ca_is_read_and_an_edge_that_does_not_answer_left_to_its_own_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    assert expiry.days_of_site("s", edge=None) == {}
    (tmp_path / "s").mkdir()
    (tmp_path / "s/ca.crt").write_text(pem(certificate(days=12)))
    assert expiry.days_of_site("s", edge="127.0.0.1") == {expiry.CA: 12}
    monkeypatch.setattr("ssl.get_server_certificate", lambda *_, **__: pem(certificate(days=40)))
    assert expiry.days_of_site("s", edge="10.0.0.2") == {expiry.CA: 12, expiry.EDGE: 40}


def test_a_node_warns_of_what_its_own_kubelet_should_have_renewed() -> None:
    left = {"apiserver.crt": 10, "kubelet-client-current.pem": 12, "ca.crt": 3000}
    assert renewal.left_to_others(left, host="worker-1") == ["kubelet-client-current.pem of worker-1 ends in 12 days"]
