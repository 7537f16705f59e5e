"""A member goes to another version: its images first, then API server, managers, and at the end its programs."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download, sha256
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import api_server, documents, static_pods, upgrade
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.refuse import refuse_cluster
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths

from .conftest import FakeHost, certificate, finish, make_node, pem, run, write

STAGED = "/usr/local/lib/groundup/kubernetes/1.37.2"
PROGRAMS = ("kubeadm", "kubelet", "kubectl", "crictl")


def image(name: str, version: str) -> str:
    return f"registry.test:5000/kubernetes/{name}:{'3.6.16-0' if name == 'etcd' else version}"


def manifest(name: str, version: str) -> str:
    return f"kind: Pod\nspec:\n  containers:\n  - command:\n    - {name}\n    image: {image(name, version)}\n"


@pytest.fixture
def node(host: FakeHost, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A control host with the former version; kubeadm writes manifests of the new one, and everything then runs."""
    finish(paths, control=True, ca=pem(certificate()))
    for name in static_pods.STATIC:
        write(paths, f"/etc/kubernetes/manifests/{name}.yaml", manifest(name, "v1.36.3"))
    host.running |= {"containerd.service", "kubelet.service"}
    served = tmp_path / "seed"
    served.mkdir()
    for name in PROGRAMS:
        (served / name).write_text(f"{name} 1.37.2")
    downloads = tuple(
        Download(url=(served / name).as_uri(), sha256=sha256(served / name), path=f"/usr/local/bin/{name}")
        for name in PROGRAMS
    )
    made = make_node()
    cluster = dataclasses.replace(made.cluster, version="1.37.2", upgrading=("1.36.3",))
    images = {name: image(name, "v1.37.2") for name in static_pods.STATIC}
    monkeypatch.setattr(api_server, "differing", lambda *_: {})
    log = host.commands
    monkeypatch.setattr(upgrade, "wait_until_spared", lambda *_: log.append(["spared"]))
    monkeypatch.setattr(static_pods, "wait_until_running", lambda _n, _h, names: log.append(["runs", *names]))
    monkeypatch.setattr(static_pods, "wait_until_started", lambda *_: log.append(["started", *sorted(host.running)]))
    monkeypatch.setattr(upgrade, "alone", lambda _: False)
    monkeypatch.setattr(static_pods, "running", lambda _: [])
    monkeypatch.setattr(upgrade, "unready", lambda *_: log.append(["ready"]))

    def phase(*arguments: str, why: str) -> None:
        assert why
        log.append(["phase", *arguments])
        if arguments[0] == "control-plane":
            name = f"kube-{'apiserver' if arguments[1] == 'apiserver' else arguments[1]}"
            write(paths, f"/etc/kubernetes/manifests/{name}.yaml", manifest(name, "v1.37.2"))

    monkeypatch.setattr(host, "phase", phase)
    return dataclasses.replace(made, cluster=cluster, control_images=images, downloads=downloads)


def test_staging_fetches_everything_and_restarts_nothing(node: Node, host: FakeHost, paths: Paths) -> None:
    upgrade.stage(node, host, Changes(check=False))
    assert {path.name for path in paths.at(STAGED).iterdir()} == {*PROGRAMS}
    assert [argv[-1] for argv in host.commands] == [*node.images, *node.control_images.values()]
    assert host.services == []
    assert not paths.at("/usr/local/bin/kubelet").exists()


def test_the_api_server_serves_before_its_managers_change(node: Node, host: FakeHost, paths: Paths) -> None:
    upgrade.stage(node, host, Changes(check=False))
    host.commands.clear()
    upgrade.control(node, host, Changes(check=False))
    assert [argv for argv in host.commands if argv[0] != "crictl"] == [
        ["spared"],
        ["phase", "control-plane", "apiserver"],
        ["runs", "kube-apiserver"],
        ["ready"],
        ["phase", "control-plane", "controller-manager"],
        ["phase", "control-plane", "scheduler"],
        ["runs", *static_pods.STATIC],
    ]
    assert sha256(paths.at("/usr/local/bin/kubeadm")) == node.downloads[0].sha256
    assert not paths.at("/usr/local/bin/kubelet").exists(), "never newer than an API server"
    assert "v1.37.2" in (paths.kubernetes / "site/kubeadm.yaml").read_text()


def test_a_control_host_that_was_killed_after_its_api_server_goes_on(node: Node, host: FakeHost, paths: Paths) -> None:
    write(paths, "/etc/kubernetes/manifests/kube-apiserver.yaml", manifest("kube-apiserver", "v1.37.2"))
    upgrade.control(node, host, Changes(check=False))
    phases = [argv[2] for argv in host.commands if argv[0] == "phase"]
    assert phases == ["controller-manager", "scheduler"]
    host.commands.clear()
    changes = Changes(check=False)
    upgrade.control(node, host, changes)
    assert (changes.done, [argv for argv in host.commands if argv[0] == "phase"]) == ([], [])
    assert ["ready"] in host.commands, "also when nothing is left, it must serve"


def test_an_api_server_that_never_serves_ends_the_step(
    node: Node, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "unready", lambda *_: "[-]etcd failed")
    monkeypatch.setattr(upgrade, "_SERVES", 0.0)
    with pytest.raises(GroundupError, match=r"runs 1\.37\.2 and is not ready: \[-\]etcd failed"):
        upgrade.control(node, host, Changes(check=False))
    assert ["phase", "control-plane", "scheduler"] not in host.commands


def test_programs_come_from_what_was_staged_also_when_the_seed_is_gone(
    node: Node, host: FakeHost, paths: Paths, tmp_path: Path
) -> None:
    upgrade.stage(node, host, Changes(check=False))
    for name in PROGRAMS:
        (tmp_path / "seed" / name).unlink()
    host.commands.clear()
    upgrade.kubelet(node, host, Changes(check=False))
    assert paths.at("/usr/local/bin/kubelet").read_text() == "kubelet 1.37.2"
    assert ["kubeadm", "upgrade", "node", "phase", "kubelet-config"] in host.commands
    assert not paths.at(STAGED).exists()


@pytest.mark.parametrize("alone", [True, False])
def test_a_control_plane_ends_in_order_and_serves_before_its_kubelet_is_done(
    node: Node, host: FakeHost, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    """To a kubelet of another version static pods are new ones: it would end the former all at once."""
    log, ended = host.commands, []

    def end(_host: object, names: tuple[str, ...], *, alone: bool) -> None:
        ended.append(alone)
        log.append(["end", *names, *host.running])

    monkeypatch.setattr(upgrade, "alone", lambda _: alone)
    monkeypatch.setattr(static_pods, "end", end)
    upgrade.kubelet(node, host, Changes(check=False))
    steps = [argv for argv in log if argv[0] in ("spared", "end", "started", "ready")]
    assert steps == [
        ["spared"],
        ["end", *static_pods.STATIC, "containerd.service"],
        ["started", "containerd.service", "kubelet.service"],
        ["ready"],
    ]
    assert ended == [alone], "the only one keeps nobody waiting for a few"
    log.clear()
    upgrade.kubelet(node, host, Changes(check=False))
    assert [argv[0] for argv in log if argv[0] in ("spared", "end", "started", "ready")] == ["started", "ready"]


def test_a_static_pod_that_does_not_start_again_is_named_whatever_the_api_says(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [{"name": name} for name in static_pods.STATIC if name != "kube-scheduler"]
    monkeypatch.setattr(static_pods, "running", lambda _: runs)
    monkeypatch.setattr(static_pods, "wait_until_running", lambda *_: None)  # of before, and Ready
    monkeypatch.setattr(static_pods, "WAIT", 0.0)
    with pytest.raises(GroundupError, match=r"does not come back .* not started: kube-scheduler"):
        static_pods.wait_until_started(make_node(), host)
    runs.append({"name": "kube-scheduler"})
    static_pods.wait_until_started(make_node(), host)


def test_a_kubelet_that_tells_nothing_of_what_runs_is_restarted_once(
    host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(paths, "/etc/kubernetes/manifests/etcd.yaml", manifest("etcd", "v1.37.2"))
    spec = {"containers": [{"command": ["etcd"], "image": image("etcd", "v1.37.2")}]}
    restart = ("restart", "kubelet.service")

    class Kubelet:
        """Tells that etcd is ready when it was restarted; the API does not answer the first question."""

        asked = 0

        def get(self, _: str) -> dict[str, Any]:
            self.asked += 1
            if self.asked == 1:
                raise NodeApiError("connection refused")
            ready = {"type": "Ready", "status": str(restart in host.services)}
            return {"spec": spec, "status": {"conditions": [ready]}}

    monkeypatch.setattr(host, "api", lambda _: nullcontext(Kubelet()))
    monkeypatch.setattr(static_pods, "TELLS", 0.0)
    static_pods.wait_until_running(make_node(), host, ("etcd",))
    assert host.services.count(restart) == 1
    host.services.clear()
    monkeypatch.setattr(static_pods, "TELLS", 60.0)
    monkeypatch.setattr(static_pods, "WAIT", 1.0)
    with pytest.raises(GroundupError, match="etcd not ready"):
        static_pods.wait_until_running(make_node(), host, ("etcd",))
    assert restart not in host.services


def test_a_kubelet_that_was_stopped_starts_when_the_step_fails(
    node: Node, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise GroundupError("crictl does not answer", where="", why="", remedy="")

    monkeypatch.setattr(static_pods, "end", fails)
    with pytest.raises(GroundupError, match="crictl does not answer"):
        upgrade.kubelet(node, host, Changes(check=False))
    assert "kubelet.service" in host.running


def test_a_kubelet_that_a_kill_left_stopped_starts_and_its_api_server_serves(node: Node, host: FakeHost) -> None:
    """The run was gone between its end and its start: the only API server is the one that the next run asks."""
    host.running.discard("kubelet.service")
    foretold = Changes(check=True)
    upgrade.wake(node, host, foretold)
    assert (foretold.done, host.services) == (["start the kubelet of control-1, which a killed run has stopped"], [])
    upgrade.wake(dataclasses.replace(node, control=False), host, Changes(check=False))
    assert host.services == [], "a worker's is started by its step"
    upgrade.wake(node, host, Changes(check=False))
    assert (host.services, host.commands) == ([("start", "kubelet.service")], [["ready"]])
    upgrade.wake(node, host, Changes(check=False))
    assert (host.services, host.commands) == ([("start", "kubelet.service")], [["ready"]])


def test_the_kubelet_of_a_worker_takes_the_programs_alone(
    node: Node, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_pods, "end", lambda *_: pytest.fail("a worker has none"))
    upgrade.kubelet(dataclasses.replace(node, control=False), host, Changes(check=False))
    assert ("restart", "kubelet.service") in host.services


def test_a_host_that_is_done_stages_nothing_again(node: Node, host: FakeHost, paths: Paths, tmp_path: Path) -> None:
    """Nobody would remove it: its kubelet's step does not come again. A program may be the same in both versions."""
    for name in PROGRAMS:
        write(paths, f"/usr/local/bin/{name}", f"{name} 1.37.2")
        (tmp_path / f"seed/{name}.sha256").write_text(f"{sha256(tmp_path / 'seed' / name)}  {name}\n")
    published = tuple(dataclasses.replace(one, sha256=None) for one in node.downloads)
    for downloads in (node.downloads, published):
        upgrade.stage(dataclasses.replace(node, downloads=downloads), host, Changes(check=False))
        assert not paths.at(STAGED).exists()
    write(paths, "/usr/local/bin/kubelet", "kubelet 1.36.3")
    upgrade.stage(node, host, Changes(check=False))
    assert [path.name for path in paths.at(STAGED).iterdir()] == ["kubelet"]


def test_the_cluster_gets_the_configuration_of_the_new_version(node: Node, host: FakeHost, paths: Paths) -> None:
    upgrade.record(node, host, Changes(check=False))
    assert host.commands == [["phase", "upload-config", "all"], ["phase", "bootstrap-token"]]
    assert "v1.37.2" in (paths.kubernetes / "site/kubeadm.yaml").read_text()


def test_a_host_that_is_no_member_is_refused(host: FakeHost) -> None:
    with pytest.raises(GroundupError, match="control-1 is no member"):
        upgrade._member(make_node(), host, None)


def test_members_may_have_the_other_version_while_an_upgrade_is_open(node: Node, host: FakeHost) -> None:
    refuse_cluster(node.cluster, node.name, host)
    with pytest.raises(GroundupError, match=r"runs Kubernetes v1\.36\.3, the site file says v1\.37\.2"):
        refuse_cluster(dataclasses.replace(node.cluster, upgrading=()), node.name, host)


def test_the_layer_changes_no_programs_and_restarts_nobody_while_an_upgrade_is_open(node: Node, host: FakeHost) -> None:
    host.commands.clear()
    seen = run(node, host, rolling_restart=True)
    assert [action for action in seen.actions if "/usr/local/bin" in action or action.startswith("give")] == []
    assert "an upgrade of Kubernetes is open" in " ".join(seen.result.changes.warnings)
    assert seen.result.due == []


def test_a_host_says_the_version_of_each_part_and_nothing_of_what_is_missing_or_fails(node: Node, paths: Paths) -> None:
    """The files as the host writes them, the programs as they are run."""
    host, written = NodeHost(name="control-1", paths=paths), documents.init_config(node)
    program = paths.at("/usr/local/bin/kubelet")
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\necho Kubernetes v1.36.3\n")
    program.chmod(0o755)
    write(paths, "/etc/kubernetes/site/kubeadm.yaml", written)
    assert upgrade.versions(host) == {
        "/usr/local/bin/kubelet": "Kubernetes v1.36.3\n",
        "/usr/local/bin/kubeadm": "",
        "/etc/kubernetes/site/kubeadm.yaml": "v1.37.2",
        **{f"/etc/kubernetes/manifests/{name}.yaml": image(name, "v1.36.3") for name in static_pods.STATIC},
    }
    program.write_text("#!/bin/sh\nexit 1\n")
    paths.init_file.unlink()
    static_pods.manifest("etcd", paths).unlink()
    said = upgrade.versions(host)
    assert [path for path, text in said.items() if not text] == [
        "/usr/local/bin/kubelet", "/usr/local/bin/kubeadm", "/etc/kubernetes/site/kubeadm.yaml",
        "/etc/kubernetes/manifests/etcd.yaml",
    ]  # fmt: skip
