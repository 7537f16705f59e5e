"""Instances of a tenant from request to SSH, by phase: one, and many at once."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import ERRORS, said
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.room import Provider, Room, judge, look
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import SmokeError
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, Tenant
from ansible_collections.groundup.cloud.tests.e2e.tenant_ports import unlimited

PHASES = ("accepted", "scheduled", "spawning", "active", "ssh")
SSH = 22
_LOOK = 0.25  # seconds between two looks at the instances, and at a guest's port
_GONE = 300.0  # seconds until instances are deleted
_BUILD = "compute__do_build_and_run_instance"  # Nova's event, on the hypervisor


@dataclass(slots=True, kw_only=True)
class Boot:
    """An instance on its way."""

    name: str
    port: str
    address: str
    asked: float = 0.0  # the monotonic clock's
    at: dict[str, float] = field(default_factory=dict)  # phase -> seconds since the request
    server: str = ""
    cause: str = ""  # why it failed

    def reached(self, phase: str, now: float) -> None:
        """Note when a phase was reached; one before it that was too short to be seen was reached by then, too."""
        for one in PHASES[1 : PHASES.index(phase) + 1]:
            self.at.setdefault(one, now - self.asked)

    @property
    def over(self) -> bool:
        """Return whether there is nothing more to wait for."""
        return bool(self.cause) or PHASES[-1] in self.at


def phase_of(status: str, task: str | None) -> str:
    """Return the phase of an instance by what Nova's API says."""
    if status == "ACTIVE":
        return "active"
    return {"scheduling": "accepted", "spawning": "spawning"}.get(task or "", "scheduled")


def fits(room: Room) -> int:
    """Return how many instances Placement has room for, on hypervisors that are up and enabled."""
    away = {host.partition(".")[0] for host in room.away}
    able = (one for one in room.providers if one.name in room.candidates and "VCPU" in one.inventory)
    return sum(_fits(one, room.asked) for one in able if one.name.partition(".")[0] not in away)


def _fits(provider: Provider, asked: Mapping[str, int]) -> int:
    counts = {kind: provider.inventory[kind] for kind in asked if kind in provider.inventory}
    free = {
        kind: int((count["total"] - count["reserved"]) * count["allocation_ratio"]) - provider.used.get(kind, 0)
        for kind, count in counts.items()
    }
    return max(min(free[kind] // asked[kind] for kind in free), 0)


def banner(address: str) -> bool:
    """Return whether an SSH server greets at an address."""
    with suppress(OSError), socket.create_connection((address, SSH), timeout=2.0) as one:
        return one.recv(4) == b"SSH-"
    return False


class Boots(Tenant):
    """Instances of a tenant: one, then many at once."""

    def walk(self, most: int, *, direct: str) -> dict[str, Any]:
        """Return the figures of each batch. ``direct``: boot on this network, without floating IPs."""
        ground = self.prepare(chooses=False)
        with self.steps.step("capacity", layer="compute") as step:
            room = look(self.admin, ground.flavor)
            found = fits(room)
            step.detail = f"Placement has room for {found} of these instances: {min(most, found)} at once"
        if not found:
            judgement = judge(room)
            raise SmokeError(judgement.what, layer="compute", where="Placement", remedy=judgement.remedy)
        network = self.admin.network.find_network(direct, ignore_missing=False)["id"] if direct else ""
        with unlimited(self):
            counts = sorted({1, min(most, found)})
            return {"wanted": most, "room": found, "batches": [self._batch(ground, one, network) for one in counts]}

    def _batch(self, ground: Ground, count: int, direct: str) -> dict[str, Any]:
        with self.steps.step("addresses", layer="network") as step:
            (group,) = self.tenant.network.security_groups(name=self.name, project_id=self.project)
            made = [self._address(ground, f"{self.name}-{count}-{one}", group["id"], direct) for one in range(count)]
            step.detail = f"{count} ports" + ("" if direct else " with floating IPs")
        with self.steps.step("instances", layer="compute") as step:
            causes = self._boot(ground, {one.name: one for one in made})
            causes.update(one.cause for one in made if one.cause)
            built = [seconds for one in made if one.server for seconds in self._built(one.server)]
            step.detail = f"{sum('ssh' in one.at for one in made)} of {count} answered"
        with self.steps.step("instances gone", layer="compute"):
            self._delete(made)
        at = {phase: [one.at[phase] for one in made if phase in one.at] for phase in PHASES}
        return {"count": count, "at": at, "built": built, "causes": causes}

    def _address(self, ground: Ground, name: str, group: str, direct: str) -> Boot:
        network = self.tenant.network
        port = network.create_port(
            name=name, network_id=direct or ground.network["id"], security_group_ids=[group]
        )  # fmt: skip
        if direct:
            address = port["fixed_ips"][0]["ip_address"]
        else:
            given = network.create_ip(floating_network_id=ground.external["id"], port_id=port["id"])
            address = given["floating_ip_address"]
        return Boot(name=name, port=str(port["id"]), address=str(address))

    def _boot(self, ground: Ground, boots: Mapping[str, Boot]) -> Counter[str]:
        """Request all at once and wait until each answered or failed. Return why looks at them failed."""
        missed, heard, ended = Counter[str](), set[str](), threading.Event()

        def hear(boot: Boot) -> None:
            while not ended.is_set() and not banner(boot.address):
                ended.wait(_LOOK)
            if not ended.is_set():
                boot.reached("ssh", time.monotonic())

        def going() -> list[str]:
            try:
                servers = list(self.tenant.compute.servers())
            except ERRORS as error:
                missed[f"list of instances: {said(error)}"] += 1
                servers = []
            now = time.monotonic()
            for one in servers:
                boot = boots[one["name"]]
                if one["status"] == "ERROR":
                    boot.cause = str((one["fault"] or {}).get("message") or "ERROR")
                    continue
                boot.reached(phase_of(one["status"], one["task_state"]), now)
                if one["status"] == "ACTIVE" and boot.name not in heard:
                    heard.add(boot.name)
                    pool.submit(hear, boot)
            return [one.name for one in boots.values() if not one.over]

        with ThreadPoolExecutor(2 * len(boots)) as pool:
            try:
                for boot in boots.values():
                    pool.submit(self._ask, ground, boot)
                late = wait_until(going, timeout=self.options.timeout, pause=_LOOK)
            finally:
                ended.set()
        for name in late:
            boots[name].cause = f"not there after {self.options.timeout:g} s"
        return missed

    def _ask(self, ground: Ground, boot: Boot) -> None:
        boot.asked = time.monotonic()
        try:
            made = self.tenant.compute.create_server(
                name=boot.name, image_id=ground.image["id"], flavor_id=ground.flavor["id"], key_name=self.name,
                networks=[{"port": boot.port}],
            )  # fmt: skip
        except ERRORS as error:
            boot.cause = said(error)
            return
        boot.at[PHASES[0]] = time.monotonic() - boot.asked
        boot.server = str(made["id"])

    def _built(self, server: str) -> Iterator[float]:
        """Yield the seconds that the hypervisor took by Nova's events, which have whole ones."""
        for action in self.admin.compute.server_actions(server):
            if action["action"] == "create":
                found = self.admin.compute.get_server_action(action["request_id"], server)
                for one in found["events"] or ():
                    if one["event"] == _BUILD and one["finish_time"]:
                        began, end = (datetime.fromisoformat(one[key]) for key in ("start_time", "finish_time"))
                        yield (end - began).total_seconds()

    def _delete(self, boots: Sequence[Boot]) -> None:
        compute, network = self.tenant.compute, self.tenant.network
        for one in network.ips(project_id=self.project):
            network.delete_ip(one["id"])
        for one in compute.servers():
            compute.delete_server(one["id"])
        if left := wait_until(lambda: [one["name"] for one in compute.servers()], timeout=_GONE, pause=1.0):
            raise SmokeError(
                f"{len(left)} of {len(boots)} instances are not gone after {_GONE:g} s: {', '.join(sorted(left))}",
                layer="compute", where="Nova", remedy="see what they wait for: openstack server show NAME",
            )  # fmt: skip
        for boot in boots:
            network.delete_port(boot.port)
