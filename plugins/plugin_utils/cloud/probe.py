"""Probe new hypervisors: boot an instance on each, and enable the host for tenants only when it answers.

Nova creates compute services disabled (``enable_new_services``), with its own reason. A failed probe writes ours.
A service with any other reason was disabled by somebody else, and stays disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..layers.aside import Aside
from ..plan.types import Plan
from . import connection, faults, placement
from .administrator import UnreachedError
from .compute_host import ours, put
from .connection import ERRORS, answered, said
from .guest import Guest
from .smoke import within
from .steps import SmokeError, Steps
from .tenant import Ground, Tenant, TenantOptions

NEW = "New compute service disabled due to config option."  # Nova's words: nova/db/main/api.py, service_create
FAILED = "groundup.cloud: the probe failed: "  # our reason
_LONGEST = 255  # characters of a reason
_TRIES = 3  # boots of an instance that Placement refused because nova-compute set the trait again
_GONE = 120.0  # seconds for instances to be deleted

Judge = Callable[[str, SmokeError | None], None]  # host, fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Compute services of the site's hosts."""

    new: tuple[str, ...]  # to be probed
    kept: dict[str, str]  # host -> reason: disabled by somebody, not by our verbs
    services: dict[str, str]  # host -> id of its compute service


def standing(admin: Any, hosts: Iterable[str]) -> Standing:
    """Return the compute services of ``hosts``; leave out hosts that have never reported."""
    found = {str(one["host"]): one for one in admin.compute.services(binary="nova-compute")}
    disabled = {
        host: str(found[host]["disabled_reason"] or "")
        for host in hosts
        if host in found and found[host]["status"] == "disabled"
    }
    new = tuple(host for host, reason in disabled.items() if reason == NEW or reason.startswith(FAILED))
    return Standing(
        new=new,
        kept={
            host: reason or "no reason is given"
            for host, reason in disabled.items()
            if host not in new and not ours(reason)
        },
        services={host: str(found[host]["id"]) for host in hosts if host in found},
    )


def of_site(plan: Plan, hosts: Iterable[str]) -> tuple[Any, Standing]:
    """Return the administrator's connection to the site's own cloud, and its compute services of ``hosts``."""
    with answered("Nova", remedy="run the playbook groundup.cloud.openstack, tag verify"):
        admin = connection.of_site(plan)
        return admin, standing(admin, hosts)


def foresee(plan: Plan, hosts: Iterable[str], changes: Changes) -> None:
    """Record the hosts to probe: new ones, and those without a compute service yet."""
    try:
        _, found = of_site(plan, hosts)
    except UnreachedError:
        found = Standing(new=(), kept={}, services={})  # there is no cloud yet: all hosts will be new
    for host in hosts:
        if host in found.new or host not in found.services:
            changes.add(
                f"probe {host}, and enable it", name=f"compute service of {host}", before="disabled", after="enabled"
            )


def verify(plan: Plan, hosts: Iterable[str]) -> Standing:
    """Return the compute services of ``hosts``. Raises GroundupError when one of them still needs its probe."""
    _, found = of_site(plan, hosts)
    if found.new:
        raise GroundupError(
            f"no instance has answered yet on {', '.join(found.new)}", where="Nova, compute services",
            why="they are disabled until one has: tenants get none of their room",
            remedy="run the playbook groundup.cloud.hypervisor, which probes them",
        )  # fmt: skip
    return found


def enable(admin: Any, service: str) -> None:
    """Enable a compute service for tenants."""
    put(admin.compute, service, {"status": "enabled"})


def disable(admin: Any, service: str, why: str) -> None:
    """Keep a compute service disabled, with a reason."""
    put(admin.compute, service, {"status": "disabled", "disabled_reason": why[:_LONGEST]})


def probe(
    admin: Any, options: TenantOptions, steps: Steps, hosts: Sequence[str], *, limit: int
) -> dict[str, SmokeError | None]:
    """Boot an instance on each of ``hosts``, ``limit`` at once; enable those that answer. Return the fault by host.

    Leaves out hosts that somebody disabled meanwhile. Enables the last batch after cleanup: so a killed run leaves at
    least one new host, whose next probe starts with the cleanup.
    Raises SmokeError for a fault of no single host, KeyboardInterrupt on a signal; both after cleanup.
    """
    known = standing(admin, hosts)
    providers = {str(one["service_details"]["host"]): str(one["id"]) for one in admin.compute.hypervisors(details=True)}
    verdicts: dict[str, SmokeError | None] = {}  # not written to Nova yet
    judged: dict[str, SmokeError | None] = {}

    def settle() -> None:
        with answered("Nova, compute services", remedy="run this again: hosts that were not enabled are probed again"):
            new = standing(admin, verdicts).new  # without those that somebody disabled meanwhile
            for host in new:
                fault = judged[host] = verdicts[host]
                if fault is None:
                    enable(admin, known.services[host])
                else:
                    disable(admin, known.services[host], FAILED + fault.what.splitlines()[0])
        verdicts.clear()

    def all_of(prober: Tenant) -> None:
        ground = prober.prepare(chooses=True)
        for start in range(0, len(hosts), limit):
            if start:
                settle()
            batch = _Batch(prober=prober, ground=ground, providers=providers, judge=verdicts.__setitem__)
            batch.run(hosts[start : start + limit])

    within(Tenant, admin, options, steps, all_of)
    settle()
    return judged


def record(judged: Mapping[str, SmokeError | None], changes: Changes) -> list[Aside]:
    """Record what a probe has changed in Nova; return the hosts that stay disabled."""
    for host, fault in judged.items():
        why = f"{FAILED}{fault.what.splitlines()[0]}" if fault else ""
        changes.add(
            f"note why {host} stays disabled" if fault else f"enable {host}",
            name=f"compute service of {host}", before="disabled", after=f"disabled: {why}" if fault else "enabled",
        )  # fmt: skip
    return [_aside(host, fault) for host, fault in judged.items() if fault]


def _aside(host: str, fault: SmokeError) -> Aside:
    reason = f"the probe failed in layer {fault.layer}: {fault.what.splitlines()[0]}"
    return Aside(host=host, layer="hypervisor", reason=reason, remedy=f"{fault.remedy}; then run this again")


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Hosts probed at once."""

    prober: Tenant
    ground: Ground
    providers: Mapping[str, str]  # host -> id in Placement
    judge: Judge
    servers: dict[str, Any] = field(default_factory=dict)  # by host
    tries: dict[str, int] = field(default_factory=dict)
    guests: dict[str, Guest] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)  # host -> ssh's fault

    def run(self, hosts: Sequence[str]) -> None:
        steps, timeout = self.prober.steps, self.prober.options.timeout
        # A floating IP may come again, with another guest's host key.
        (self.prober.directory / "known_hosts").unlink(missing_ok=True)
        with steps.step("instances", layer="compute") as step:
            for host in hosts:
                self._each(host, self._boot)
            wait_until(self._building, timeout=timeout, pause=1.0)
            for host in list(self.servers):
                self._each(host, self._active)
            step.detail = f"{len(self.servers)} of {len(hosts)} ACTIVE"
        with steps.step("ssh", layer="guest") as step:
            for host in list(self.servers):
                self._each(host, self._address)
            silent = wait_until(self._silent, timeout=timeout, pause=1.0)
            step.detail = f"{len(self.servers) - len(silent)} of {len(self.servers)} answered"
            for host in list(self.servers):
                self._judge(host, self._unanswered(host) if host in silent else None)
        with steps.step("instances gone", layer="compute"):
            self._delete()

    def _each(self, host: str, work: Callable[[str], None]) -> None:
        """Run ``work``; an error of the cloud is a fault of this host alone."""
        try:
            work(host)
        except SmokeError as fault:
            self._judge(host, fault)
        except ERRORS as error:
            remedy = f"see nova-api's and neutron-server's log, and journalctl -u nova-compute on {host}"
            self._judge(host, SmokeError(said(error), layer="compute", where=f"probe of {host}", remedy=remedy))

    def _judge(self, host: str, fault: SmokeError | None) -> None:
        self.servers.pop(host, None)
        self.prober.steps.say(f"[probe] {host}: {fault or 'an instance on it answered'}")
        self.judge(host, fault)

    def _boot(self, host: str) -> None:
        # The scheduler excludes hosts with this trait, even one requested by name. nova-compute sets it again within
        # a minute; the service stays disabled, which keeps tenants' instances away.
        placement.change(self.prober.admin, self.providers.get(host, ""), take=[placement.DISABLED])
        self.tries[host] = self.tries.get(host, 0) + 1
        self.servers[host] = self.prober.create(self.ground, name=f"{self.prober.name}-{host}", host=host)

    def _building(self) -> list[str]:
        """Return the hosts whose instance is neither ACTIVE nor failed."""
        return [host for host in list(self.servers) if self._pending(host)]

    def _pending(self, host: str) -> bool:
        compute, server = self.prober.tenant.compute, self.servers[host]
        try:
            found = compute.get_server(server["id"])
            if found["status"] == "ERROR" and self.tries[host] < _TRIES and self._closed(host, found):
                compute.delete_server(server["id"])
                self._each(host, self._boot)
                return True
        except ERRORS:  # `_active` asks again, and tells what lasts
            return True
        return found["status"] not in ("ACTIVE", "ERROR")

    def _closed(self, host: str, server: Any) -> bool:
        """Return whether nova-compute set the trait again before the scheduler asked Placement."""
        refused = "No valid host" in str((server["fault"] or {}).get("message") or "")
        return refused and self.providers.get(host) in placement.providers_with(self.prober.admin, placement.DISABLED)

    def _active(self, host: str) -> None:
        server = self.servers[host]
        if self.prober.tenant.compute.get_server(server["id"])["status"] != "ACTIVE":
            seen = faults.gather(self.prober.admin, self.prober.tenant, server, flavor=self.ground.flavor)
            raise faults.not_active(seen, timeout=self.prober.options.timeout)

    def _address(self, host: str) -> None:
        address = self.prober.floating_ip(self.ground, self.servers[host])
        options = self.prober.options
        self.guests[host] = Guest(address=address, user=options.user, directory=self.prober.directory)

    def _silent(self) -> list[str]:
        """Return the hosts whose guest has not answered yet."""
        silent = [host for host in self.servers if host not in self.last or self.last[host]]
        for host in silent:
            self.last[host] = self.guests[host].ask("hostname").fault
        return [host for host in silent if self.last[host]]

    def _unanswered(self, host: str) -> SmokeError:
        seen = faults.gather(
            self.prober.admin, self.prober.tenant, self.servers[host],
            address=self.guests[host].address, ssh=self.last[host], mtu=self.prober.mtu,
            metadata_url=self.prober.options.metadata_url,
        )  # fmt: skip
        return faults.unanswered(seen, timeout=self.prober.options.timeout)

    def _delete(self) -> None:
        """Delete the batch's instances to make room for the next. What stays is deleted with the project."""
        tenant, project = self.prober.tenant, self.prober.project
        for one in tenant.network.ips(project_id=project):
            tenant.network.delete_ip(one["id"])
        for one in tenant.compute.servers():
            tenant.compute.delete_server(one["id"])
        wait_until(lambda: list(tenant.compute.servers()), timeout=_GONE, pause=1.0)
