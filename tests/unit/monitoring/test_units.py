"""A unit serves when it listens itself, at a port that preflight knows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from ansible_collections.groundup.cloud.plugins.action import preflight
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import units
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import (
    log_unit_texts,
    programs_of,
    unit_texts,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars, site_vars

from .sites import planned

UNIT = "groundup-metrics.service"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield a port at which this process listens."""
    monkeypatch.setattr(units, "START", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def asked(monkeypatch: pytest.MonkeyPatch, port: int, process: int) -> None:
    monkeypatch.setattr(units, "properties", lambda *_: {"MainPID": str(process)})
    units.answers("127.0.0.1", port, UNIT)


def test_a_unit_that_listens_answers(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    asked(monkeypatch, port, os.getpid())


def test_another_program_at_the_port_is_not_the_unit(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other,
        pytest.raises(GroundupError, match="another program does"),
    ):
        asked(monkeypatch, port, other.pid)


@pytest.mark.parametrize("process", [0, os.getpid()], ids=["none", "one"])
def test_nobody_at_the_port_is_a_fault(monkeypatch: pytest.MonkeyPatch, port: int, process: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert free.getsockname()[1] != port
        with pytest.raises(GroundupError, match="refused"):
            asked(monkeypatch, free.getsockname()[1], process)


def test_a_unit_between_two_starts_has_no_process(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    with pytest.raises(GroundupError, match="does not listen"):
        asked(monkeypatch, port, 0)


@pytest.mark.parametrize("remote", [None, {"url": "https://metrics.corp.test/write"}])
@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("central", ["seed-1", "worker-1"])
def test_preflight_knows_the_ports_of_the_monitoring_host_and_of_no_other(
    central: str, *, logs: bool, remote: dict[str, str] | None
) -> None:
    plan = planned("lab", monitoring__host=central, monitoring__logs__enabled=logs, monitoring__remote_write=remote)
    other = remote and remote | {"username": "", "secret": ""}
    texts = unit_texts(days=7, hosts=2, remote=other) | log_unit_texts(hosts=2, days=7, gib=1)
    programs = {  # as the kernel names a process
        f"{one.port}/tcp": (re.findall(r"ExecStart=\S*/(\S+)", texts[one.unit])[0][:15],)
        for one in programs_of(logs=logs, remote=bool(remote))
    }
    for name, host in plan.hosts.items():
        variables = {"groundup_site": site_vars(plan), "groundup_host": host_vars(host)}
        listens = preflight.planned(variables, store=None, controller_time=None)["listens"]
        assert listens.keys() >= plan.preflight.by_roles["+".join(host.roles)].listens.keys()
        found = {port: tuple(listens[port]) for port in programs if port in listens}
        assert found == (programs if name == central else {})
        assert listens.get("9429/tcp", []) == (["vlagent"] if logs else [])


def test_what_is_kept_is_for_the_account_that_keeps_it() -> None:
    """Logs of a whole site say what no user of the monitoring host is to read."""
    texts = unit_texts(days=7, hosts=2) | log_unit_texts(hosts=2, days=7, gib=1)
    keeping = {name for name, text in texts.items() if "StateDirectory=" in text}
    assert len(keeping) == 3
    assert {name for name, text in texts.items() if "StateDirectoryMode=0700" in text} >= keeping
