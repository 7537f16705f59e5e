"""Certificates of a control host are renewed without a run: by the same code, one control host at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents, renewal, timer, unattended
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths

from .conftest import FakeHost, certificate, make_node, pem, write

SERVER = "/etc/kubernetes/pki/etcd/server.crt"


@pytest.fixture
def host_of_timer(host: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """A control host whose API comes back at once."""
    write(paths, "/etc/kubernetes/site/kubeadm.yaml", documents.init_config(make_node()))
    monkeypatch.setattr(renewal, "unready", lambda *_: None)
    host.answers["crictl pods"] = "{}"
    return host


def test_a_control_host_is_known_by_its_kubeadm_configuration(paths: Paths) -> None:
    write(paths, "/etc/kubernetes/site/kubeadm.yaml", documents.init_config(make_node()))
    found = unattended.ControlHost.read(paths)
    assert (found.name, found.api_server) == ("control-1", make_node().api_server)
    write(paths, "/etc/kubernetes/site/kubeadm.yaml", "{}")
    with pytest.raises(GroundupError, match="the configuration of kubeadm cannot be read"):
        unattended.ControlHost.read(paths)


@pytest.mark.parametrize(("days", "renewed"), [(29, True), (31, False)])
def test_certificates_are_renewed_when_one_ends_soon_and_the_others_can_do_without_the_host(
    host_of_timer: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch, days: int, renewed: bool
) -> None:
    waited: list[str] = []
    monkeypatch.setattr(unattended, "wait_until_spared", lambda node, _: waited.append(node.address))
    write(paths, SERVER, pem(certificate(days=days)))
    done = unattended.renew(unattended.ControlHost.read(paths), host_of_timer)
    assert done == (["renew the control plane's certificates"] if renewed else [])
    assert waited == (["10.0.0.16"] if renewed else [])
    assert ("kubeadm certs" in host_of_timer.verbs()) == renewed


def test_nothing_is_renewed_while_the_cluster_cannot_do_without_the_host(
    host_of_timer: FakeHost, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needed(*_: object) -> None:
        raise GroundupError("control-1 is left as it is", where="w", why="y", remedy="r")

    monkeypatch.setattr(unattended, "wait_until_spared", needed)
    write(paths, SERVER, pem(certificate(days=1)))
    with pytest.raises(GroundupError, match="left as it is"):
        unattended.renew(unattended.ControlHost.read(paths), host_of_timer)
    assert "kubeadm certs" not in host_of_timer.verbs()


@pytest.mark.skipif(Path("/etc/kubernetes").exists(), reason="this machine is a node: the program would work on it")
def test_the_program_is_whole_and_needs_nothing_but_python(tmp_path: Path) -> None:
    program = tmp_path / "kubeadm.pyz"
    program.write_bytes(bundle.program(unattended))
    assert bundle.program(unattended) == program.read_bytes()
    command = [sys.executable, "-I", "-S", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0][:43]) == (1, "the configuration of kubeadm cannot be read")


def test_the_timer_is_installed_once_and_neighbours_have_other_days(host: FakeHost, paths: Paths) -> None:
    for expected in (True, False):
        changes = Changes(check=False)
        timer.install(make_node(), paths, changes)
        assert bool(changes.done) == expected
    assert f"{timer.NAME}.timer" in host.running & host.at_boot
    days = {timer.schedule(f"10.0.0.{number}") for number in (16, 17, 18, 19, 20)}
    assert len(days) == 5


def test_a_renewal_that_runs_is_not_cut_short_by_a_new_unit(host: FakeHost, paths: Paths) -> None:
    """It holds the lock, or waits for the one this run holds: a restart would wait with it."""
    service = f"{timer.NAME}.service"
    host.running.add(service)
    for _ in range(2):
        write(paths, f"/etc/systemd/system/{service}", "of another version")
        timer.install(make_node(), paths, Changes(check=False))
    assert [call for call in host.services if service in call] == []
    assert paths.at(f"/etc/systemd/system/{service}").read_text() == timer.SERVICE


def test_a_new_program_is_written_without_its_text_in_the_diff(paths: Paths, host: FakeHost) -> None:
    assert host
    write(paths, timer.PROGRAM, "old")
    changes = Changes(check=True)
    timer.install(make_node(), paths, changes)
    assert f"write {timer.PROGRAM}" in changes.done
    assert [diff["after"][:7] for diff in changes.diffs if diff["after_header"] == timer.PROGRAM] == ["sha256 "]
    assert paths.at(timer.PROGRAM).read_text() == "old"
