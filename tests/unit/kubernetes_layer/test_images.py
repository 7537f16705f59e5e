"""Static pods and programs are what was published, by content: at the first run, and when it changes under its name."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import api_server, documents, static_pods
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.files import wanted
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths

from .conftest import JOIN, FakeHost, certificate, finish, make_node, pem, run, write

REPOSITORY = "registry.test:5000/kubernetes"
VERSIONS = {"etcd": "3.6.16-0", "coredns": "v1.14.2"}


def image(name: str, content: str) -> str:
    digest = hashlib.sha256(f"{name} {content}".encode()).hexdigest()
    return f"{REPOSITORY}/{name}:{VERSIONS.get(name, 'v1.36.3')}@sha256:{digest}"


def control_host(content: str) -> Node:
    names = (*static_pods.STATIC, "coredns")
    return dataclasses.replace(make_node(), control_images={name: image(name, content) for name in names})


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on only by what sleeps."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))


@pytest.fixture
def member(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A control host that is a member and runs content ``old``."""
    finish(paths, control=True, ca=pem(certificate()))
    for name in static_pods.STATIC:
        write(paths, f"/etc/kubernetes/manifests/{name}.yaml", manifest(name, image(name, "old")))
    monkeypatch.setattr(api_server, "differing", lambda *_: {})
    host.running |= {"containerd.service", "kubelet.service"}
    labels = {"io.kubernetes.container.name": "kube-apiserver"}
    running = {"id": "api", "createdAt": str(time.time_ns() + 10**12), "labels": labels}
    host.answers["crictl ps"] = json.dumps({"containers": [running]})
    return control_host("old")


def manifest(name: str, reference: str) -> str:
    return f"kind: Pod\nspec:\n  containers:\n  - command:\n    - {name}\n    image: {reference}\n    name: {name}\n"


def test_what_kubeadm_writes_names_the_content() -> None:
    node = control_host("new")
    files = {Path(file.path).name: file for file in wanted(node) if file.path.startswith(documents.PATCHES_DIR)}
    assert set(files) == {*(f"{name}.json" for name in static_pods.STATIC), "corednsdeployment.json"}
    pod = json.loads(files["etcd.json"].text)["spec"]
    probe = {"startupProbe": documents.STARTUP_PROBE}
    assert pod == {"containers": [{"name": "etcd", "image": image("etcd", "new"), **probe}]}
    deployment = json.loads(files["corednsdeployment.json"].text)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image("coredns", "new")
    for text in (documents.init_config(node), documents.join_config(node, JOIN)):
        first = next(yaml.safe_load_all(text))
        assert first["patches"] == {"directory": "/etc/kubernetes/site/patches"}


def test_without_images_of_its_own_nothing_is_patched() -> None:
    """kubeadm refuses a directory of patches that is not there."""
    for text in (documents.init_config(make_node()), documents.join_config(make_node(control=False), JOIN)):
        assert "patches" not in next(yaml.safe_load_all(text))


def test_images_made_again_are_reported_and_changed_only_when_told_to(
    member: Node, host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(member, host).result.due == []
    node = control_host("new")
    before = (paths.kubernetes / "manifests/etcd.yaml").read_text()
    seen = run(node, host)
    assert seen.result.due == list(static_pods.STATIC)
    predicted = run(node, host, rolling_restart=True, check=True)
    assert "give etcd its image" in predicted.actions
    assert (paths.kubernetes / "manifests/etcd.yaml").read_text() == before

    kubelet = Kubelet(paths, late=2)
    monkeypatch.setattr(host, "api", kubelet.connect)
    done = run(node, host, rolling_restart=True)
    assert [action for action in done.actions if action.startswith("give")] == [
        f"give {name} its image" for name in static_pods.STATIC
    ]
    for name in static_pods.STATIC:
        written = yaml.safe_load((paths.kubernetes / f"manifests/{name}.yaml").read_text())
        assert written == yaml.safe_load(manifest(name, image(name, "new")))
        assert ["crictl", "pull", image(name, "new")] in host.commands
    assert kubelet.asked > 2, "it waits until they run"
    pulled = max(number for number, argv in enumerate(host.commands) if argv[:2] == ["crictl", "pull"])
    ended = [number for number, argv in enumerate(host.commands) if argv[:2] == ["crictl", "stop"]]
    assert [host.commands[number][-1] for number in ended] == ["api"], "before its etcd goes"
    assert host.commands[ended[0] + 1] == ["hand over"], "nobody writes by this host's etcd any more"
    assert ended[0] > pulled
    assert run(node, host).actions == []
    assert run(node, host, rolling_restart=True).actions == []


def test_a_control_plane_that_does_not_come_back_is_named_and_what_is_late(
    member: Node, host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    del member
    monkeypatch.setattr(host, "api", Kubelet(paths, late=10**9, fails=False).connect)
    with pytest.raises(GroundupError, match=r"does not come back as it was changed.*etcd.* not ready"):
        run(control_host("new"), host, rolling_restart=True)


class Kubelet:
    """Shows static pods as their manifests say, Ready after ``late`` questions."""

    def __init__(self, paths: Paths, *, late: int, fails: bool = True) -> None:
        self.paths, self.late, self.fails, self.asked = paths, late, fails, 0

    @contextmanager
    def connect(self, server: str) -> Iterator[Kubelet]:
        assert server == "https://10.0.0.16:6444"
        yield self

    def get(self, path: str) -> dict[str, Any]:
        self.asked += 1
        if self.asked == 1 and self.fails:
            raise NodeApiError("connection refused")
        name = path.rpartition("/")[2].removesuffix("-control-1")
        pod = yaml.safe_load((self.paths.kubernetes / f"manifests/{name}.yaml").read_text())
        status = "True" if self.asked > self.late else "False"
        return {"spec": pod["spec"], "status": {"conditions": [{"type": "Ready", "status": status}]}}


def test_a_program_replaced_on_the_seed_together_with_its_checksum_is_refused(
    host: FakeHost, paths: Paths, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    served.write_bytes(b"not what was published")
    (tmp_path / "served.sha256").write_text(f"{hashlib.sha256(served.read_bytes()).hexdigest()}  served\n")
    digest = hashlib.sha256(b"program").hexdigest()
    program = Download(url=served.as_uri(), sha256=digest, path="/usr/local/bin/kubelet", archive=False)
    node = dataclasses.replace(make_node(control=False), downloads=(program,))
    with pytest.raises(GroundupError, match=f"expected {digest}"):
        run(node, host)
    assert not paths.at(program.path).exists()
