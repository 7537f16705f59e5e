"""Certificates are renewed before they end, by one control host after another, and never by one that is needed."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge as steps
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import (
    documents,
    renewal,
    rolling_restart,
    static_pods,
)
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import EtcdMember
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths

from .conftest import FakeHost, certificate, finish, make_node, pem, run, write

SERVER = "/etc/kubernetes/pki/etcd/server.crt"
NOW = time.time_ns()
CONTAINERS = [
    {"id": f"id-{name}", "createdAt": str(NOW), "labels": {"io.kubernetes.container.name": name}}
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
]


@pytest.fixture
def node(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A control host whose programs started after their files were made."""
    monkeypatch.setattr(steps, "add_ons", lambda *_, **__: None)
    finish(paths, control=True, ca=pem(certificate()))
    write(paths, SERVER, pem(certificate()))
    host.answers["crictl ps"] = json.dumps({"containers": CONTAINERS})
    host.running |= {"kubelet.service", "containerd.service"}
    node = make_node()
    run(node, host)
    for path in paths.kubernetes.rglob("*"):
        os.utime(path, ns=(NOW - 10**9, NOW - 10**9))
    host.commands.clear()
    return node


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What the API lacks, look after look; sleeping moves the clock."""
    found, now = ["refused", "[-]etcd failed", None], [0.0]
    monkeypatch.setattr(renewal, "unready", lambda *_, **__: found.pop(0) if len(found) > 1 else found[0])
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return found


def stopped(host: FakeHost) -> list[str]:
    return [argv[4] for argv in host.commands if argv[:2] == ["crictl", "stop"]]


def test_certificates_that_end_soon_are_named_first_and_renewed_in_the_rolling_restart(
    node: Node, host: FakeHost, paths: Paths, answers: list[str | None], spared: list[str]
) -> None:
    write(paths, SERVER, pem(certificate(days=29)))
    os.utime(paths.at(SERVER), ns=(0, 0))
    seen = run(node, host)
    assert (seen.result.due, seen.actions) == (["etcd/server.crt"], [])
    assert run(node, host, rolling_restart=True, check=True).actions == ["renew the control plane's certificates"]
    assert (stopped(host), spared) == ([], [])
    host.leaves["kubeadm certs"] = lambda: write(paths, SERVER, pem(certificate()))
    renewed = run(node, host, rolling_restart=True)
    assert renewed.actions == ["renew the control plane's certificates"]
    assert renewed.result.certificates["etcd/server.crt"] == 365
    assert (stopped(host), spared) == (["id-kube-apiserver", "id-etcd"], ["control-1"])
    assert answers == [None], "the host's turn ended before its API was ready"


def test_certificates_with_time_left_are_reported_and_left_alone(node: Node, host: FakeHost, paths: Paths) -> None:
    write(paths, SERVER, pem(certificate(days=31)))
    os.utime(paths.at(SERVER), ns=(0, 0))
    outcome = run(node, host, rolling_restart=True)
    assert (outcome.result.certificates["etcd/server.crt"], outcome.actions, outcome.result.due) == (31, [], [])


@pytest.mark.usefixtures("answers")
def test_a_renewal_that_was_killed_before_its_readers_started_again_is_finished(
    node: Node, host: FakeHost, paths: Paths
) -> None:
    write(paths, "/etc/kubernetes/scheduler.conf", "renewed")
    os.utime(paths.at("/etc/kubernetes/scheduler.conf"), ns=(NOW + 1, NOW + 1))
    assert run(node, host).result.due == ["kube-scheduler"]
    outcome = run(node, host, rolling_restart=True)
    assert outcome.actions == ["restart kube-scheduler, with the files that are there now"]
    assert stopped(host) == ["id-kube-scheduler"]


@pytest.mark.usefixtures("answers")
def test_a_changed_audit_policy_is_in_force_after_the_rolling_restart(
    node: Node, host: FakeHost, spared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = documents.audit_policy()
    monkeypatch.setattr(documents, "audit_policy", lambda: text.replace("Request", "RequestResponse"))
    restart = "restart kube-apiserver, with the files that are there now"
    written = "write /etc/kubernetes/site/audit.yaml"
    predicted = run(node, host, check=True)
    assert (predicted.actions, predicted.result.due) == ([written], ["kube-apiserver"])
    assert run(node, host, rolling_restart=True, check=True).actions == [written, restart]
    seen = run(node, host)
    assert (seen.actions, seen.result.due) == ([written], ["kube-apiserver"])
    assert (stopped(host), spared) == ([], [])
    assert run(node, host, rolling_restart=True).actions == [restart]
    assert (stopped(host), spared) == (["id-kube-apiserver"], ["control-1"])


@pytest.mark.usefixtures("answers")
def test_a_certificate_that_lacked_a_name_is_served_after_the_rolling_restart(
    node: Node, host: FakeHost, paths: Paths, spared: list[str]
) -> None:
    certificate_ = "/etc/kubernetes/pki/apiserver.crt"
    whole = paths.at(certificate_).read_text()
    write(paths, certificate_, pem(certificate(names=("kubernetes.test",))))
    os.utime(paths.at(certificate_), ns=(NOW - 10**9, NOW - 10**9))
    made = "make the API server's certificate again"
    predicted = run(node, host, check=True)
    assert (predicted.actions, predicted.result.due) == ([made], ["kube-apiserver"])
    host.leaves["kubeadm init"] = lambda: write(paths, certificate_, whole)
    seen = run(node, host)
    assert (seen.actions, seen.result.due) == ([made], ["kube-apiserver"])
    assert (stopped(host), spared) == ([], []), "control hosts would all restart their API at the same time"
    run(node, host, rolling_restart=True)
    assert (stopped(host), spared) == (["id-kube-apiserver"], ["control-1"])


def test_an_api_that_does_not_come_back_is_named_with_what_it_lacks(
    node: Node, host: FakeHost, paths: Paths, answers: list[str | None]
) -> None:
    write(paths, SERVER, pem(certificate(days=29)))
    answers[:] = ["[-]etcd failed: reason withheld"]
    with pytest.raises(GroundupError, match=r"not ready 180 s after .*: \[-\]etcd failed"):
        run(node, host, rolling_restart=True)


class Members:
    """An etcd of ``count`` members, of which those of ``ill`` are not healthy."""

    def __init__(self, count: int, *, ill: tuple[int, ...] = ()) -> None:
        self.count, self.ill = count, {f"control-{n}" for n in ill}

    def members(self) -> tuple[EtcdMember, ...]:
        return tuple(
            EtcdMember(id=str(n), name=f"control-{n}", peers=(f"https://10.0.0.{n}:2380",), clients=(), learner=False)
            for n in range(1, self.count + 1)
        )

    def healthy(self, member: EtcdMember) -> bool:
        return member.name not in self.ill


@pytest.mark.parametrize(
    ("etcd", "silent", "said"),
    [
        (Members(1), "", None),
        (Members(2), "", None),
        (Members(3), "", None),
        (Members(5, ill=(5,)), "", None),
        (Members(3, ill=(1,)), "", None),  # the host itself is what is to be mended
        (Members(3, ill=(2,)), "", "control-2: its etcd is not healthy"),
        (Members(3), "10.0.0.3", "control-3: refused"),
        (Members(2, ill=(2,)), "", "control-2: its etcd is not healthy"),
        (Members(5, ill=(4, 5)), "", "control-4: its etcd is not healthy; control-5: its etcd is not healthy"),
    ],
)
def test_a_host_goes_away_only_when_the_others_can_do_without_it(etcd: Any, silent: str, said: str | None) -> None:
    def serves(address: str) -> str | None:
        return "refused" if address == silent else None

    assert rolling_restart.missing(etcd, address="10.0.0.1", serves=serves) == said


def test_a_host_that_is_needed_is_left_as_it_is_and_says_who_is_away(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, answers: list[str | None]
) -> None:
    assert answers  # sleeping moves the clock
    monkeypatch.setattr(rolling_restart, "Etcd", lambda *_, **__: Members(3, ill=(2,)))
    monkeypatch.setattr(rolling_restart, "unready", lambda *_, **__: None)
    with pytest.raises(GroundupError, match=r"control-1 is left as it is.*: control-2: its etcd is not healthy"):
        rolling_restart.wait_until_spared(make_node(address="10.0.0.1"), host)


@pytest.mark.parametrize(
    ("ended", "order"),
    [
        (["etcd"], ["id-kube-apiserver", "hand over", "id-etcd"]),
        (["kube-apiserver", "kube-scheduler"], ["id-kube-apiserver", "id-kube-scheduler"]),
    ],
)
def test_etcd_hands_over_when_its_api_server_has_ended_and_only_if_it_ends_itself(
    host: FakeHost, ended: list[str], order: list[str]
) -> None:
    """The leader refuses what its own API server writes meanwhile."""
    host.answers["crictl ps"] = json.dumps({"containers": CONTAINERS})
    static_pods.end(host, ended)
    assert [argv[-1] for argv in host.commands if argv[:2] != ["crictl", "ps"]] == order


def test_a_host_whose_own_etcd_is_away_is_mended_at_once(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def members(self) -> None:
            raise NodeApiError("refused") from ConnectionRefusedError()

        hand_over = leads = members

    monkeypatch.setattr(rolling_restart, "Etcd", lambda *_, **__: Silent())
    rolling_restart.wait_until_spared(make_node(), host)
    rolling_restart.hand_over(host)
    assert not rolling_restart.leads(host)


@pytest.mark.parametrize("answers_again", [True, False])
def test_an_etcd_that_is_slow_once_is_asked_again_and_one_that_hangs_is_mended_in_the_end(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, answers: list[str | None], *, answers_again: bool
) -> None:
    """Else the quorum would go with it where another one is away."""
    assert answers  # sleeping moves the clock
    times = []

    class Slow(Members):
        def members(self) -> Any:
            times.append(1)
            if len(times) == 1 or not answers_again:
                raise NodeApiError("timed out") from TimeoutError()
            return super().members()

    monkeypatch.setattr(rolling_restart, "Etcd", lambda *_, **__: Slow(3, ill=(2,)))
    monkeypatch.setattr(rolling_restart, "unready", lambda *_, **__: None)
    if answers_again:
        with pytest.raises(GroundupError, match="control-2: its etcd is not healthy"):
            rolling_restart.wait_until_spared(make_node(address="10.0.0.1"), host)
    else:
        rolling_restart.wait_until_spared(make_node(address="10.0.0.1"), host)
    assert len(times) > 1
