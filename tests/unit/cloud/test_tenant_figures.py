"""What a tenant waits for: phases of instances, room for them, many ports; and nothing of it stays."""

from __future__ import annotations

import os
import signal
import socket
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.room import Provider, Room
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError, Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.tests.e2e import tenant_boots, tenant_figures
from ansible_collections.groundup.cloud.tests.e2e.tenant_boots import PHASES, Boot, Boots, fits, phase_of
from ansible_collections.groundup.cloud.tests.e2e.tenant_ports import Ports
from keystoneauth1.session import Session

from .conftest import connected, served
from .fake import ADMIN, Entry, FakeCloud, left

TASKS = ("scheduling", None, "spawning")  # what Nova says of an instance, look by look, before ACTIVE
EVENT = {"event": "compute__do_build_and_run_instance", "start_time": "2026-11-28T10:00:03.000000",
         "finish_time": "2026-11-28T10:00:10.000000", "result": "Success"}  # fmt: skip


class Nova(FakeCloud):
    """Instances become ACTIVE look by look; projects have quotas."""

    quotas: dict[str, Entry]
    interrupts = ""  # kind whose third is made at the moment of Ctrl-C
    noticed: threading.Event  # set when Ctrl-C has arrived: nothing of that kind is answered before
    stays = False  # the next instance that is to be deleted

    def one(self, kind: str, identity: str) -> Entry | None:
        if kind in ("quotas", "quota_sets"):
            return self.quotas.setdefault(kind, {})
        return super().one(kind, identity)

    def delete(self, kind: str, identity: str) -> int:
        if kind in ("quotas", "quota_sets"):
            del self.quotas[kind]
            return 204
        if kind == "servers" and self.stays:
            self.stays = False
            return 204
        return super().delete(kind, identity)

    def of(self, kind: str) -> list[Entry]:
        found = super().of(kind)
        for server in found if kind == "servers" else ():
            looks = server["looks"] = server.get("looks", -1) + 1
            if server["status"] != "ERROR" and looks < len(TASKS):
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
        if kind == self.interrupts and len(super().of(kind)) >= 3:
            assert self.noticed.wait(60)
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

    class Greeting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"SSH-2.0-dropbear\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting) as server:
        monkeypatch.setattr(tenant_boots, "SSH", server.server_address[1])
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


def room(*, vcpus: int = 4, used: int = 1, **more: Any) -> Room:
    """Return two hypervisors with room for three instances each, by their processors."""
    ample = {"total": 4096, "reserved": 96, "allocation_ratio": 1.0, "max_unit": 4096}
    counts = {"VCPU": ample | {"total": vcpus, "reserved": 0}, "MEMORY_MB": ample}
    hosts = [Provider(name=f"{one}.test", inventory=counts, used={"VCPU": used}) for one in ("a", "b")]
    return Room(
        asked={"VCPU": 1, "MEMORY_MB": 128}, providers=hosts, candidates=frozenset(("a.test", "b.test")), **more
    )


@pytest.fixture
def options(tmp_path: Path) -> TenantOptions:
    image = tmp_path / "guest.qcow2"
    image.write_bytes(b"QFI")
    return TenantOptions(image=image, user="guest", timeout=30.0)


def test_room_is_what_is_left_of_the_scarcest_on_hypervisors_that_are_up() -> None:
    assert fits(room()) == 6
    assert fits(room(away={"b": "disabled (drained)"})) == 3
    assert fits(replace(room(), candidates=frozenset(["a.test"]))) == 3
    assert fits(replace(room(), asked={"VCPU": 1, "MEMORY_MB": 3000})) == 2
    assert fits(room(used=5)) == 0
    shares = Provider(name="pool", inventory={"DISK_GB": {"total": 9, "reserved": 0, "allocation_ratio": 1.0}})
    assert fits(replace(room(), providers=[shares], candidates=frozenset(["pool"]))) == 0


def test_a_phase_too_short_to_be_seen_was_reached_with_the_next_and_the_first_sight_counts() -> None:
    boot = Boot(name="x", port="p", address="a", asked=100.0, at={"accepted": 0.5})
    for at, (status, task) in enumerate([("BUILD", "scheduling"), ("BUILD", "spawning"), ("BUILD", "spawning"),
                                         ("ACTIVE", None)], start=101):  # fmt: skip
        boot.reached(phase_of(status, task), float(at))
    assert boot.at == {"accepted": 0.5, "scheduled": 2.0, "spawning": 2.0, "active": 4.0}
    assert phase_of("BUILD", "networking") == phase_of("BUILD", None) == "scheduled"
    assert not boot.over
    boot.reached("ssh", 109.0)
    assert (boot.at["ssh"], boot.over) == (9.0, True)


@pytest.mark.usefixtures("guest")
def test_one_then_as_many_as_there_is_room_for_and_nothing_stays(
    cloud: Nova, tmp_path: Path, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_boots, "look", lambda *_: room(used=2))
    said = list[str]()
    found = within(Boots, connected(cloud, tmp_path), options, Steps(said.append), lambda one: one.walk(20, direct=""))
    assert (found["wanted"], found["room"], [one["count"] for one in found["batches"]]) == (20, 4, [1, 4])
    for one in found["batches"]:
        assert {phase: len(each) for phase, each in one["at"].items()} == dict.fromkeys(PHASES, one["count"])
        assert all(max(one["at"]["scheduled"]) <= max(one["at"][later]) for later in ("spawning", "active", "ssh"))
        assert (one["built"], dict(one["causes"])) == ([7.0] * one["count"], {})
    assert any("room for 4 of these instances: 4 at once" in line for line in said)
    assert left(cloud) == []
    assert [one for one in cloud.asked if "quota" in one and "DELETE" in one]


@pytest.mark.usefixtures("guest")
def test_instances_that_fail_are_counted_with_the_cause(
    cloud: Nova, tmp_path: Path, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_boots, "look", lambda *_: room())
    cloud.status, cloud.fault = "ERROR", "No valid host was found."
    admin, steps = connected(cloud, tmp_path), Steps(lambda _: None)
    found = within(Boots, admin, options, steps, lambda one: one.walk(2, direct=""))
    assert [one["causes"] for one in found["batches"]] == [{cloud.fault: 1}, {cloud.fault: 2}]
    assert tenant_figures.failed(found)
    monkeypatch.setattr(tenant_boots, "look", lambda *_: replace(room(used=9), candidates=frozenset()))
    with pytest.raises(SmokeError, match="no hypervisor has room"):
        within(Boots, admin, options, steps, lambda one: one.walk(2, direct=""))
    assert left(cloud) == []


@pytest.mark.usefixtures("guest")
def test_an_instance_that_stays_ends_the_measurement_before_the_next_batch(
    cloud: Nova, tmp_path: Path, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_boots, "look", lambda *_: room())
    monkeypatch.setattr(tenant_boots, "_GONE", 0.0)
    cloud.stays = True
    admin, steps = connected(cloud, tmp_path), Steps(lambda _: None)
    with pytest.raises(SmokeError, match=r"1 of 1 instances are not gone after 0 s: smoke-\w+-1-0"):
        within(Boots, admin, options, steps, lambda one: one.walk(2, direct=""))
    assert left(cloud) == []


def ports(cloud: Nova, tmp_path: Path, options: TenantOptions, *, number: int = 9) -> list[dict[str, Any]]:
    """Measure nine ports and seven rules."""
    admin, steps = connected(cloud, tmp_path), Steps(lambda _: None)
    return within(Ports, admin, options, steps, lambda one: one.walk(ports=number, rules=7, clients=2, plan=None))


def test_ports_and_rules_are_made_exactly_so_often_each_rule_another_and_nothing_stays(
    cloud: Nova, tmp_path: Path, options: TenantOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, threads = Session.get_token, set[threading.Thread]()

    def token(*given: Any) -> Any:
        threads.add(threading.current_thread())
        return get(*given)

    monkeypatch.setattr(Session, "get_token", token)
    stages = ports(cloud, tmp_path, options)
    assert threads == {threading.main_thread()}, "a client that gets no token would die"
    assert [(one["name"], one["row"] and one["row"]["sent"]) for one in stages] == [
        ("before", None), ("ports", 7), ("rules", 5), ("ports deleted", 7)
    ]  # fmt: skip
    assert not tenant_figures.failed({"stages": stages})
    assert sum(one == "POST ports" for one in cloud.asked) == 9
    rules = cloud.kinds["security_group_rules"]
    assert len({one["port_range_min"] for one in rules}) == len(rules) == 7
    assert left(cloud) == []


def test_after_ctrl_c_nothing_is_made_any_more_and_nothing_stays(
    cloud: Nova, tmp_path: Path, options: TenantOptions
) -> None:
    def arrives(*_: object) -> None:
        cloud.noticed.set()
        raise KeyboardInterrupt

    cloud.interrupts, cloud.noticed = "ports", threading.Event()
    before = signal.signal(signal.SIGINT, arrives)
    try:
        with pytest.raises(KeyboardInterrupt):
            ports(cloud, tmp_path, options, number=90)
    finally:
        signal.signal(signal.SIGINT, before)
    made = [number for number, one in enumerate(cloud.asked) if one == "POST ports"]
    assert 3 <= len(made) < 90
    assert max(made) < min(number for number, one in enumerate(cloud.asked) if one.startswith("DELETE ports"))
    assert left(cloud) == []
