"""The flags of the API server change on one control host after another, and each is back before the next."""

from __future__ import annotations

import dataclasses
import json

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge as steps
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths

from .conftest import FakeHost, certificate, finish, make_node, pem, run

PHASE = ["kubeadm", "init", "phase", "control-plane", "apiserver"]
WRITE = "write the API server's manifest"


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, spared: list[str]) -> list[str]:
    """What happened that concerns the whole cluster, in order; the kubelet runs what it is given."""
    monkeypatch.setattr(steps, "wait_until_running", lambda *_: spared.append("runs"))
    monkeypatch.setattr(steps, "add_ons", lambda *_, **__: spared.append("add-ons"))
    return spared


@pytest.fixture
def node(host: FakeHost, paths: Paths, events: list[str]) -> Node:
    """The first control host, with an audit log, of a site whose file says that there is to be none."""
    finish(paths, control=True, ca=pem(certificate()))
    host.running |= {"kubelet.service", "containerd.service"}
    run(make_node(initialise=True), host)
    host.commands.clear()
    events.clear()
    node = make_node(initialise=True)
    return dataclasses.replace(node, cluster=dataclasses.replace(node.cluster, audit=False))


def without_audit(paths: Paths) -> None:
    """What the phase of kubeadm leaves."""
    manifest = paths.kubernetes / "manifests/kube-apiserver.yaml"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(line for line in lines if "--audit" not in line))


def test_all_at_once_control_hosts_only_say_that_flags_differ(node: Node, host: FakeHost) -> None:
    seen = run(node, host)
    assert seen.result.due == ["kube-apiserver"]
    assert WRITE not in seen.actions
    assert PHASE not in [argv[:5] for argv in host.commands]


def test_a_restarting_host_waits_for_the_others_writes_and_waits_for_its_own(
    node: Node, host: FakeHost, paths: Paths, events: list[str]
) -> None:
    host.leaves["kubeadm init"] = lambda: without_audit(paths)
    done = run(node, host, rolling_restart=True)
    assert WRITE in done.actions
    assert any("--audit-policy-file" in entry["before"] for entry in done.result.changes.diffs)
    assert events == ["control-1", "runs", "add-ons"]
    assert run(node, host, rolling_restart=True).actions == []


def test_a_rolling_restart_is_predicted_and_nothing_is_done(node: Node, host: FakeHost, events: list[str]) -> None:
    predicted = run(node, host, rolling_restart=True, check=True)
    assert WRITE in predicted.actions
    assert PHASE not in [argv[:5] for argv in host.commands]
    assert events == ["add-ons"]


def test_an_api_server_its_flags_keep_from_starting_does_not_keep_its_host_from_its_restart(
    node: Node, host: FakeHost, events: list[str]
) -> None:
    """Looking for add-ons needs the API: before it is mended, that would end the run."""
    run(node, host)
    assert events == []


def test_a_restart_with_new_flags_is_not_predicted_twice(
    host: FakeHost, paths: Paths, events: list[str], node: Node
) -> None:
    """An audit log again: the flags are new, and so is the policy the API server reads at its start."""
    del events, node
    without_audit(paths)
    paths.at("/etc/kubernetes/site/audit.yaml").unlink()
    pod = {"id": "1", "createdAt": "9" * 19, "labels": {"component": "kube-apiserver"}}
    host.answers["crictl pods"] = json.dumps({"items": [pod]})
    predicted = run(make_node(initialise=True), host, rolling_restart=True, check=True)
    assert predicted.actions == ["write /etc/kubernetes/site/audit.yaml", WRITE]
