"""What tells metrics of a Galera member: words become numbers, and it ends when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

from .conftest import CHARTS, script

exporter = script("mariadb/files/exporter.py")


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a file: what a member says, by a client that stands for MariaDB's."""
    client = tmp_path / "mariadb"
    client.write_text(f'#!/bin/sh\n[ "$MYSQL_PWD" = word ] || exit 1\ncat {tmp_path}/said\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("MYSQL_PORT", "3306")
    monkeypatch.setenv("AUDIT_USERNAME", "audit")
    monkeypatch.setattr(exporter, "PASSWORD", tmp_path / "password")
    exporter.PASSWORD.write_text("word")
    return tmp_path / "said"


@pytest.mark.parametrize(("word", "number"), [("Primary", 1), ("non-Primary", 0), ("Disconnected", 0)])
def test_a_member_outside_the_primary_component_is_told_as_0(member: Path, word: str, number: int) -> None:
    member.write_text(f"wsrep_cluster_status\t{word}\nwsrep_last_committed\t-1\nmax_connections\t77\n")
    assert exporter.told().splitlines() == [
        "mysql_up 1",
        f"mysql_global_status_wsrep_cluster_status {number}",
        "mysql_global_status_wsrep_last_committed -1",
        "mysql_global_variables_max_connections 77",
    ]


def test_a_member_that_refuses_is_not_up(member: Path) -> None:
    member.touch()
    exporter.PASSWORD.write_text("former")
    assert exporter.told() == "mysql_up 0\n"
    exporter.PASSWORD.unlink()
    assert exporter.told() == "mysql_up 0\n"


def test_the_state_of_the_cloud_is_told_while_the_member_answers(member: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b'openstack_nova_agent_state\tnova-compute\ta"\xe9\tenabled\t1\ngroundup_cloud_objects\tvolumes\t1\t0\t2\n'
    member.write_bytes(rows)
    cloud = [
        'openstack_nova_agent_state{service="nova-compute",hostname="a\\"\\ufffd",adminState="enabled"} 1',
        *(f'groundup_cloud_objects{{kind="volumes",state="{state}"}} {number}'
          for state, number in (("error", 1), ("failed", 0), ("stuck", 2))),
    ]  # fmt: skip
    assert exporter.told_of_cloud() == cloud
    monkeypatch.setattr(exporter, "cloud", cloud)
    member.write_text("max_connections\t77\n")
    assert exporter.told().splitlines() == ["mysql_up 1", "mysql_global_variables_max_connections 77", *cloud]
    exporter.PASSWORD.write_text("former")
    assert exporter.told() == "mysql_up 0\n"


def test_it_ends_when_its_pod_does() -> None:
    command = [sys.executable, str(CHARTS / "mariadb/files/exporter.py")]
    with subprocess.Popen(command, env={**os.environ, "METRICS_PORT": "0"}) as process:
        state = Path(f"/proc/{process.pid}/status")
        until(lambda: _handles(state), seconds=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def _handles(state: Path) -> bool:
    (caught,) = (line.split()[1] for line in state.read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
