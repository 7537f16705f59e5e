"""Tenant smoke test: from a new project to bytes through a floating IP. It deletes everything it created."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ...module_utils._base.wait import wait_until
from . import faults, thorough
from .guest import Guest
from .steps import SmokeError, SmokeStep, Steps, interruptible
from .sweep import leftovers, sweep
from .tenant import MEGABYTE, Ground, Tenant, TenantOptions

_METADATA = "http://169.254.169.254/openstack/latest/meta_data.json"
_EARLY = 60.0  # seconds without an answer until the facts so far are shown
_PAYLOAD_TIMEOUT = 300.0  # seconds each way

Made = TypeVar("Made", bound=Tenant)
Result = TypeVar("Result")


class Proof(Tenant):
    """The smoke test of a tenant."""

    def walk(self) -> dict[str, Any]:
        """Run all steps; return the result. Raises SmokeError."""
        ground = self.prepare(chooses=bool(self.options.host))
        asked = time.monotonic()
        with self.steps.step("instance", layer="compute") as step:
            server, host = self._instance(ground)
            step.detail = f"ACTIVE on {host}"
        with self.steps.step("floating IP", layer="network") as step:
            address = self.floating_ip(ground, server)
            step.detail = address
        guest = Guest(address=address, user=self.options.user, directory=self.directory)
        with self.steps.step("ssh", layer="guest") as step:
            step.detail = self._answers(guest, server)
        seconds = round(time.monotonic() - asked, 1)
        with self.steps.step("metadata", layer="metadata") as step:
            step.detail = self._metadata(guest, server)
        self._payload(guest)
        said = f"{self.options.payload_mb} MB both ways, {seconds:.0f} s from request to SSH"
        line = f"instance {self.name} on {host} answered at {address}: {said}"
        answered = {"instance": self.name, "host": host, "address": address, "seconds": seconds, "moved_to": ""}
        if self.options.thorough and (there := thorough.prove(self, server, host, guest)):
            answered["moved_to"] = there
            line += f", then moved live to {there}"
        return {**answered, "msg": line}

    def _instance(self, ground: Ground) -> tuple[Any, str]:
        server = self.create(ground, name=self.name, host=self.options.host)
        compute = self.tenant.compute

        def status() -> str:
            return str(compute.get_server(server["id"])["status"])

        wait_until(lambda: status() not in ("ACTIVE", "ERROR"), timeout=self.options.timeout, pause=1.0)
        if status() != "ACTIVE":
            seen = faults.gather(self.admin, self.tenant, server, flavor=ground.flavor)
            raise faults.not_active(seen, timeout=self.options.timeout)
        return server, str(self.admin.compute.get_server(server["id"])["compute_host"])

    def _answers(self, guest: Guest, server: Any) -> str:
        """Wait for ssh; return the guest's name and addresses, read in the guest."""
        answers = [""]

        def silent() -> str:
            said = guest.ask("hostname; ip -o -4 addr show scope global")
            answers[0] = said.data.decode(errors="replace")
            return said.fault

        early, said_before = min(_EARLY, self.options.timeout), False
        for patience in (early, self.options.timeout - early):
            if not (fault := wait_until(silent, timeout=patience, pause=1.0)):
                break
            seen = faults.gather(
                self.admin, self.tenant, server, address=guest.address, ssh=fault, mtu=self.mtu,
                metadata_url=self.options.metadata_url,
            )  # fmt: skip
            if said_before:
                raise faults.unanswered(seen, timeout=self.options.timeout)
            said_before = True
            self.steps.say(f"[smoke] no answer after {early:g} s; so far:\n    " + "\n    ".join(seen.lines()))
        name, *lines = answers[0].splitlines() or [""]
        words = [line.split() for line in lines]
        return " ".join([f"the guest is {name}", *(line[3] for line in words if len(line) > 3)])

    def _metadata(self, guest: Guest, server: Any) -> str:
        said = guest.ask(f"wget -q -T 5 -O - {_METADATA} || curl -s -m 5 {_METADATA}")
        if str(server["id"]) in said.data.decode(errors="replace"):
            return "the metadata service knows it"
        return "the service does not answer the guest; name and key came from a config drive"

    def _payload(self, guest: Guest) -> None:
        size = self.options.payload_mb * MEGABYTE
        payload = self.directory / "payload"
        payload.write_bytes(os.urandom(size))
        wanted = hashlib.sha256(payload.read_bytes()).hexdigest()
        with self.steps.step("payload there", layer="network") as step:
            self._compare(step, guest, wanted, *guest.store(payload, timeout=_PAYLOAD_TIMEOUT))
        with self.steps.step("payload back", layer="network") as step:
            self._compare(step, guest, wanted, *guest.fetch(timeout=_PAYLOAD_TIMEOUT))
        for step in self.steps.done[-2:]:
            step.detail = f"{self.options.payload_mb / max(step.seconds, 0.1):.1f} MB/s"

    def _compare(self, step: SmokeStep, guest: Guest, wanted: str, found: str, fault: str) -> None:
        if fault or found != wanted:
            sizes = faults.pings(guest.address, mtu=self.mtu)
            hole = faults.black_hole(sizes)
            offloads = "offloads: with datapath netdev other_config:userspace-tso-enable; "
            raise SmokeError(
                f"{step.name}: {fault or 'its SHA-256 is another'}, although ssh answers{hole and f'; {hole}'}",
                layer="network", where=f"instance {self.name}, {self.options.payload_mb} MB",
                details=tuple(f"ping with {size} bytes: {said or 'answers'}" for size, said in sizes.items()),
                remedy=("" if hole else offloads) + faults.tunnels(self.mtu),
            )  # fmt: skip
        step.detail = f"{self.options.payload_mb} MB, SHA-256 as sent"


def smoke(admin: Any, options: TenantOptions, steps: Steps) -> dict[str, Any]:
    """Run the smoke test; return its result after cleanup. Raises SmokeError, KeyboardInterrupt on a signal."""
    return within(Proof, admin, options, steps, Proof.walk)


def within(
    kind: Callable[[Any, TenantOptions, Steps, Path], Made], admin: Any, options: TenantOptions, steps: Steps,
    work: Callable[[Made], Result],
) -> Result:  # fmt: skip
    """Run ``work`` with a new tenant; return its result after deleting the tenant. Delete what killed runs left first.

    Raises SmokeError, KeyboardInterrupt on a signal.
    """
    with tempfile.TemporaryDirectory(prefix="groundup-smoke-") as directory, interruptible() as deaf:
        made = kind(admin, options, steps, Path(directory))
        left: list[str] = []
        try:
            with steps.step("leftovers", layer="identity") as step:
                found = sorted(set(leftovers(admin)))
                left += [line for name in found for line in sweep(admin, name)]
                step.detail = f"removed {', '.join(found)}" if found else "none"
            answered = work(made)
        finally:
            deaf()
            left += _end(made)
    if left:
        raise SmokeError(
            "it answered, and not all of it could be deleted",
            layer="compute", where=", ".join(left), remedy="delete it by hand, or run this again, which tries again",
        )  # fmt: skip
    return answered


def _end(proof: Tenant) -> list[str]:
    if proof.options.keep:
        proof.steps.say(f"[smoke] kept: project and user {proof.name}; the next run deletes it")
        return []
    left: list[str] = []
    with suppress(SmokeError), proof.steps.step("deletion", layer="compute") as step:
        left = [*proof.forget(), *sweep(proof.admin, proof.name)]
        step.detail = f"{len(left)} left" if left else "nothing is left"
    for line in left:
        proof.steps.say(f"[smoke] not deleted: {line}")
    return left
