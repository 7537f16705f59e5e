"""What a tenant waits for: phases of instances, room for them, many ports; and nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import socket
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.room import Provider, Room
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.tests.e2e import tenant_boots, tenant_figures, tenant_ports
from ansible_collections.groundup.cloud.tests.e2e.tenant_boots import Boot, Boots, fits, phase_of
from ansible_collections.groundup.cloud.tests.e2e.tenant_ports import Ports, program, spent

from .conftest import connected, served
from .fake import ADMIN, Entry, FakeCloud, left

TASKS = ("scheduling", None, "spawning")  # what Nova says of an instance, look by look, before ACTIVE
EVENT = {"event": "compute__do_build_and_run_instance", "start_time": "2026-11-28T10:00:03.000000",
         "finish_time": "2026-11-28T10:00:10.000000", "result": "Success"}  # fmt: skip
SYNC = """Time spent on processing nb_cfg 7:
\tovn-northd delay before processing:\t3ms
\tovn-northd completion:\t\t\t160ms
\tovn-controller(s) completion:\t\t1390ms
"""


class Nova(FakeCloud):
    """Instances become ACTIVE look by look; projects have quotas."""

    quotas: dict[str, Entry]
    interrupts = ""  # kind whose third is made at the moment of Ctrl-C

    def one(self, kind: str, identity: str) -> Entry | None:
        if kind in ("quotas", "quota_sets"):
            return self.quotas.setdefault(kind, {})
        return super().one(kind, identity)

    def of(self, kind: str) -> list[Entry]:
        found = super().of(kind)
        for server in found if kind == "servers" else ():
            looks = server["looks"] = server.get("looks", -1) + 1
            if server["status"] == "ACTIVE" and looks < len(TASKS):
                server.update({"status": "BUILD", "OS-EXT-STS:task_state": TASKS[looks]})
            elif server["status"] == "BUILD":
                server.update({"status": "ACTIVE", "OS-EXT-STS:task_state": None})
        return found

    def add(self, kind: str, entry: Entry, project: str) -> Entry:
        made = super().add(kind, entry, project)
        if kind == "floatingips":
            made["floating_ip_address"] = "127.0.0.1"
        if kind == self.interrupts and len(super().of(kind)) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return made

    def part(self, kind: str, identity: str, parts: list[str], body: Entry) -> tuple[int, Any] | None:
        action = {"action": "create", "request_id": "req-1", "start_time": "2026-11-28T10:00:00.000000"}
        if parts == ["os-instance-actions"]:
            return 200, {"instanceActions": [action]}
        if parts[:1] == ["os-instance-actions"]:
            return 200, {"instanceAction": {**action, "events": [EVENT]}}
        return super().part(kind, identity, parts, body)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nova]:
    """Serve a cloud whose names this process alone resolves."""
    asked = socket.getaddrinfo

    def resolved(host: Any, *more: Any, **named: Any) -> Any:
        return asked("127.0.0.1" if str(host).endswith(".cloud.test") else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    made = Nova()
    made.quotas = {}
    made.add("networks", {"name": "provider", "router:external": True}, ADMIN)
    for one in served(made, tmp_path):
        assert isinstance(one, Nova)
        yield one


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Greet as sshd does, where all floating IPs lead."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(tenant_boots, "SSH", server.getsockname()[1])
        server.settimeout(0.05)
        import threading

        ended = threading.Event()

        def greet() -> None:
            while not ended.is_set():
                try:
                    with server.accept()[0] as one:
                        one.sendall(b"SSH-2.0-dropbear\r\n")
                except TimeoutError:
                    continue

        thread = threading.Thread(target=greet)
        thread.start()
        yield
        ended.set()
        thread.join()
