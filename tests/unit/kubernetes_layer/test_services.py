"""A service runs by what its files say, also when the run that replaced them never came to its restart."""

from __future__ import annotations

import dataclasses
import hashlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import downloads
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import MARKS
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import files
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.access import admin_kubeconfig
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths

from .conftest import FakeHost, Seen, certificate, finish, make_node, pem, write

CONTAINERD, KUBELET = "containerd.service", "kubelet.service"
UNIT = "/etc/systemd/system/kubelet.service"


@pytest.fixture
def fresh(host: FakeHost) -> Node:
    """A worker whose containerd runs since it booted, with the distribution's configuration."""
    host.running.add(CONTAINERD)
    return make_node(control=False)


@pytest.fixture
def member(host: FakeHost, paths: Paths) -> Node:
    """A worker that is as it is to be."""
    finish(paths, control=False, ca=pem(certificate()))
    host.running |= {CONTAINERD, KUBELET}
    node = make_node(control=False)
    run(node, host)
    assert run(node, host).actions == []
    host.services.clear()
    return node


def run(node: Node, host: FakeHost, *, check: bool = False) -> Seen:
    return Seen.of(node, host, join=None, expected_ca=None, check=check)


def program(directory: Path, content: bytes, *, served: bytes | None = None) -> Download:
    """Return a kubelet with ``content``; its file server has ``served`` instead when it is given."""
    file = directory / f"kubelet-{hashlib.sha256(content).hexdigest()[:8]}"
    file.write_bytes(content if served is None else served)
    digest = hashlib.sha256(content).hexdigest()
    return Download(url=file.as_uri(), sha256=digest, path="/usr/local/bin/kubelet", archive=False)


def test_containerd_takes_its_configuration_up_after_a_run_that_failed_in_between(
    fresh: Node, host: FakeHost, tmp_path: Path
) -> None:
    lost = Download(url=(tmp_path / "nowhere").as_uri(), sha256="0" * 64, path="/usr/local/bin/kubeadm", archive=False)
    with pytest.raises(GroundupError, match="cannot fetch"):
        run(dataclasses.replace(fresh, downloads=(lost,)), host)
    assert host.services == []
    assert f"restart {CONTAINERD}" in run(fresh, host, check=True).actions
    assert f"restart {CONTAINERD}" in run(fresh, host).actions
    assert ("restart", CONTAINERD) in host.services
    assert run(fresh, host).actions == []


@pytest.mark.parametrize("broken", ["daemon-reload", "restart"])
def test_a_changed_unit_is_loaded_and_run_after_a_run_that_failed_in_between(
    member: Node, host: FakeHost, paths: Paths, broken: str
) -> None:
    paths.at(UNIT).write_text("[Service]\nExecStart=/usr/local/bin/kubelet --old\n")
    host.broken = broken
    with pytest.raises(GroundupError, match=broken):
        run(member, host)
    host.broken, host.services = "", []
    assert run(member, host).actions == [f"restart {KUBELET}"]
    loading = [("daemon-reload",)] if broken == "daemon-reload" else []  # else systemd has loaded it already
    assert host.services == [*loading, ("restart", KUBELET)]
    assert run(member, host).actions == []


def test_a_unit_changed_before_a_join_is_loaded_after_a_run_that_failed_in_between(
    fresh: Node, host: FakeHost, paths: Paths
) -> None:
    """kubeadm starts the kubelet, by the unit that systemd has loaded."""
    run(fresh, host)
    paths.at(UNIT).write_text("[Service]\nExecStart=/usr/local/bin/kubelet --old\n")
    host.broken = "daemon-reload"
    with pytest.raises(GroundupError, match="daemon-reload"):
        run(fresh, host)
    host.broken, host.services = "", []
    run(fresh, host)
    assert host.services == [("daemon-reload",)], "it is loaded, and not started before the join"


def test_a_kubelet_that_its_settings_end_is_no_success(
    member: Node, host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kubernetes.kubelet: {maxPods: many}`: systemd calls it started, and its node shows as Ready for a while."""
    monkeypatch.setattr(files, "HEALTH_WAIT", 0.0)
    settings = {**member.cluster.kubelet, "maxPods": "many"}
    typo = dataclasses.replace(member, cluster=dataclasses.replace(member.cluster, kubelet=settings))
    settings_file = paths.kubernetes / "kubelet.conf.d/10-site.conf"
    before = settings_file.read_text()
    host.unwell = {10248}
    host.services.clear()
    with pytest.raises(GroundupError, match=r"(?s)kubelet\.service does not run .*10248/.*correct kubernetes\.kubelet"):
        run(typo, host)
    assert settings_file.read_text() == before, "all nodes would be lost to one word"
    assert host.services.count(("restart", KUBELET)) == 2
    host.unwell = set()
    assert f"restart {KUBELET}" in run(member, host).actions
    assert run(member, host).actions == []


@pytest.mark.parametrize("settings", [{"healthzPort": 0}, {"healthzPort": "no"}, {"healthzBindAddress": "10.0.0.17"}])
def test_a_kubelet_the_site_does_not_have_say_so_is_not_waited_for(
    member: Node, host: FakeHost, settings: dict[str, Any]
) -> None:
    host.unwell = {10248}
    quiet = dataclasses.replace(member, cluster=dataclasses.replace(member.cluster, kubelet=settings))
    assert f"restart {KUBELET}" in run(quiet, host).actions


def test_a_host_asks_its_own_service_whether_it_is_well() -> None:
    answers = iter((500, 200))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(next(answers))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host, port = NodeHost(name="here"), server.server_address[1]
        assert [host.healthy(port), host.healthy(port)] == [False, True]
        server.shutdown()
    assert not host.healthy(port)


def test_a_new_kubelet_runs_after_a_run_that_failed_in_between(member: Node, host: FakeHost, tmp_path: Path) -> None:
    node = dataclasses.replace(member, downloads=(program(tmp_path, b"new"),))
    assert run(node, host, check=True).actions == ["fetch /usr/local/bin/kubelet", f"restart {KUBELET}"]
    host.broken = "restart"
    with pytest.raises(GroundupError, match="restart"):
        run(node, host)
    host.broken, host.services = "", []
    assert run(node, host).actions == [f"restart {KUBELET}"]
    assert run(node, host).actions == []


def test_what_a_killed_run_left_of_a_program_is_gone_with_the_next(
    member: Node, host: FakeHost, paths: Paths, tmp_path: Path
) -> None:
    whole = program(tmp_path, b"new")
    arriving = {entry.name for entry in names_while_arriving(whole, paths)}
    for name in arriving:
        (paths.at(whole.path).parent / name).write_bytes(b"longer than the program, and not all of it")
    run(dataclasses.replace(member, downloads=(whole,)), host)
    assert [entry.name for entry in paths.at(whole.path).parent.iterdir()] == ["kubelet"]
    assert paths.at(whole.path).read_bytes() == b"new"


def names_while_arriving(wanted: Download, paths: Paths) -> list[Path]:
    """Return what is beside the program just before it is there."""
    target, found = paths.at(wanted.path), list[Path]()
    downloads.fetch(wanted, target, sha256=wanted.sha256 or "", before=lambda: found.extend(target.parent.iterdir()))
    target.unlink()
    return found


def test_a_kubelet_that_was_refused_restarts_nothing(member: Node, host: FakeHost, tmp_path: Path) -> None:
    wrong = program(tmp_path, b"new", served=b"not what was published")
    with pytest.raises(GroundupError, match="has SHA-256"):
        run(dataclasses.replace(member, downloads=(wrong,)), host)
    assert run(member, host).actions == []
    assert host.services == []


def test_a_restart_of_the_host_takes_everything_up(member: Node, host: FakeHost, paths: Paths) -> None:
    paths.at(UNIT).write_text("[Service]\nExecStart=/usr/local/bin/kubelet --old\n")
    host.broken = "daemon-reload"
    with pytest.raises(GroundupError):
        run(member, host)
    host.broken = ""
    for mark in paths.at(str(MARKS)).iterdir():  # as a reboot does
        mark.unlink()
    host.loaded = 0
    assert run(member, host).actions == []


def test_a_wrong_mode_alone_restarts_nothing(member: Node, host: FakeHost, paths: Paths) -> None:
    settings = paths.at("/etc/kubernetes/kubelet.conf.d/10-site.conf")
    settings.chmod(0o644)
    before = settings.stat().st_mtime_ns
    assert run(member, host).actions == ["set mode 600 and owner of /etc/kubernetes/kubelet.conf.d/10-site.conf"]
    assert (settings.stat().st_mode & 0o777, settings.stat().st_mtime_ns) == (0o600, before)
    assert host.services == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "clusters: []", "clusters: [{cluster: {certificate-authority-data: eA==}}]"]
)
def test_a_damaged_admin_kubeconfig_is_told_and_not_shown(host: FakeHost, paths: Paths, text: str) -> None:
    write(paths, "/etc/kubernetes/admin.conf", text)
    with pytest.raises(GroundupError, match=r"(?s)admin kubeconfig of host-under-test cannot be used: .*remove it"):
        host.api("https://10.0.0.16:6444")


@pytest.mark.parametrize("text", ["", "[]", "{", "clusters: []", "clusters: [{cluster: }]", "clusters: {a: b}"])
def test_a_damaged_admin_kubeconfig_is_not_handed_out(host: FakeHost, paths: Paths, text: str) -> None:
    write(paths, "/etc/kubernetes/admin.conf", text)
    with pytest.raises(GroundupError, match=r"(?s)admin kubeconfig of host-under-test cannot be used: .*remove it"):
        admin_kubeconfig(host, server="https://10.0.0.2:6443", may_miss=False)
