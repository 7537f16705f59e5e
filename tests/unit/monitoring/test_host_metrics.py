"""A host's own program: what it asks at sockets, how it writes, and that it is installed once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import units, watched
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import leave, openvswitch, services
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import host_timer
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import libvirt, ovn, program
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import Sample, text
from ansible_collections.groundup.cloud.tests.unit.host.test_files_and_units import Systemd


def test_samples_of_one_name_are_together_and_a_label_may_be_anything() -> None:
    samples = [Sample("b", 1.5), Sample("a", 2, {"of": 'a "b" \\ c'}), Sample("b", True, {"x": "y"})]
    assert text(samples) == 'a{of="a \\"b\\" \\\\ c"} 2\nb 1.5\nb{x="y"} 1\n'
    assert text([Sample("at", 1796000000.25)]) == "at 1796000000.25\n"


def test_the_program_is_whole_and_needs_nothing_but_python(tmp_path: Path) -> None:
    place, file = tmp_path / "host-metrics.pyz", tmp_path / "host.prom"
    place.write_bytes(bundle.program(program))
    command = [sys.executable, "-I", "-S", str(place), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert program.LAST_RUN in file.read_text()
    assert {*tmp_path.iterdir()} == {place, file}, "nothing of its draft is left"


def test_a_part_that_fails_hides_no_other_and_the_run_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Iterator[Sample]:
        yield Sample("half", 1)
        raise ValueError("another version")

    def well() -> Iterator[Sample]:
        yield Sample("whole", 1)

    program.write(tmp_path / "host.prom", [broken, well])
    assert (tmp_path / "host.prom").read_text() == "whole 1\n"
    said = capsys.readouterr().err.splitlines()
    assert all(line.startswith("<3>") for line in said), "the journal keeps no line of less weight"
    assert "another version" in said[-1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Answer one request at a socket with the given pieces."""
    threads = []

    def serve(*pieces: bytes) -> Path:
        place = tmp_path / "socket"
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(place))
        server.listen()

        def answer() -> None:
            with server, server.accept()[0] as connection:
                connection.recv(1 << 16)
                for piece in pieces:
                    connection.sendall(piece)
                    threading.Event().wait(0.05)

        threads.append(threading.Thread(target=answer))
        threads[-1].start()
        return place

    yield serve
    for thread in threads:
        thread.join()


def test_an_answer_is_taken_when_it_is_whole(served: Callable[..., Path]) -> None:
    whole = json.dumps({"id": 0, "result": [{"rows": [{"nb_cfg": 7}]}], "error": None}).encode()
    cut = whole.index(b"}") + 1  # the end of an inner object
    assert ovn.ask(served(whole[:cut], whole[cut:]), "transact") == [{"rows": [{"nb_cfg": 7}]}]


def test_a_refusal_is_no_answer(served: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match="unknown command"):
        ovn.ask(served(b'{"id": 0, "result": null, "error": "unknown command"}'), "cluster/status")


def test_who_ends_before_the_answer_is_silent(served: Callable[..., Path]) -> None:
    with pytest.raises(ConnectionResetError, match="ends before"):
        ovn.ask(served(b'{"id": 0'), "connection-status")


def test_a_chassis_is_known_by_what_the_layer_writes() -> None:
    assert ovn.CHASSIS == openvswitch.SYSTEM_ID
    assert ovn.SWITCH == openvswitch.SOCKET


def test_a_retired_hypervisor_tells_nothing_of_what_was_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert ovn.RETIRED == leave.RETIRED
    for module, name in ((ovn, "CHASSIS"), (ovn, "RETIRED"), (libvirt, "HYPERVISOR"), (libvirt, "RETIRED")):
        (place := tmp_path / name).touch()
        monkeypatch.setattr(module, name, place)
    assert [*ovn.chassis(), *libvirt.domains()] == []


def test_domains_are_counted_by_their_state() -> None:
    said = "Domain: 'a'\n  state.state=1\n  state.reason=1\n\nDomain: 'b'\n  state.state=5\n  state.reason=2\n\n"
    assert libvirt.counted(said * 2 + "Domain: 'c'\n  state.state=99\n") == {"running": 2, "shutoff": 2, "unknown": 1}


def test_a_hypervisor_is_known_by_the_unit_that_the_layer_writes() -> None:
    assert libvirt.HYPERVISOR == services.UNITS / services.COMPUTE


def test_program_and_timer_are_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = Systemd()
    monkeypatch.setattr(units, "run", systemd.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(watched, "UNITS", tmp_path / "systemd")
    monkeypatch.setattr(watched, "HOST_PROGRAM", tmp_path / "lib/host-metrics.pyz")
    monkeypatch.setattr(watched, "HOST_METRICS", tmp_path / "texts/host.prom")
    for again in (False, True):
        changes = Changes(check=False)
        host_timer.converge(changes, namespace="openstack")
        assert (changes.done == []) is again
    assert watched.HOST_PROGRAM.stat().st_mode & 0o777 == 0o755
    assert watched.HOST_METRICS.readlink() == watched.HOST_TOLD


def test_a_run_ends_before_monitoring_misses_it_and_may_write_no_disk_and_enter_no_pod() -> None:
    for namespace, words in (("openstack", " openstack\n"), ("", "\n")):
        service = host_timer.service(namespace)
        assert f" {watched.HOST_TOLD}{words}" in service
        assert f"RuntimeDirectory={watched.HOST_TOLD.parent.name}\n" in service
        assert "ReadWritePaths" not in service
        assert "ProtectSystem=strict\n" in service
        assert "RestrictNamespaces=yes\n" in service
    assert f"OnUnitActiveSec={host_timer.EVERY}\n" in host_timer.TIMER
