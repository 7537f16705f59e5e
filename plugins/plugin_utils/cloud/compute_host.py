"""A hypervisor as Nova knows it: its compute service, its instances, and what still ties instances to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from openstack.exceptions import raise_from_response

from ...module_utils._base import consent
from ...module_utils._base.consent import Reason
from ..errors import GroundupError
from ..verbs import DISABLING

COMPUTE = "nova-compute"
_VERSION = "2.53"  # the first with ids of services
_ENDED = frozenset(
    ("completed", "confirmed", "reverted", "error", "failed", "cancelled", "done", "completed-evacuation")
)
UNCONFIRMED = "finished"  # a migration whose instance runs elsewhere, and whose disk is here until it is confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeHost:
    """What Nova says of one host."""

    name: str
    service: Any | None
    others: tuple[str, ...]  # hypervisors beside it that take instances
    servers: tuple[Any, ...]  # instances it has
    migrations: tuple[Any, ...]  # away from it and to it, that have not ended

    @property
    def up(self) -> bool:
        """Whether its nova-compute reports."""
        return self.service is not None and self.service["state"] == "up"

    @property
    def disabled(self) -> str | None:
        """The reason its service is disabled by; "" without one; None: it is enabled."""
        if self.service is None or self.service["status"] != "disabled":
            return None
        return str(self.service["disabled_reason"] or "")

    @property
    def evacuated(self) -> bool:
        """Whether Nova takes it for dead by somebody's word: what still runs on it must end before it comes back."""
        return self.service is not None and bool(self.service["is_forced_down"])


def look(compute: Any, name: str) -> ComputeHost:
    """Return what Nova says of host ``name``."""
    services = [one for one in compute.services(binary=COMPUTE) if one["binary"] == COMPUTE]
    return ComputeHost(
        name=name,
        service=next((one for one in services if one["host"] == name), None),
        others=tuple(
            sorted(
                str(one["host"])
                for one in services
                if one["host"] != name and one["state"] == "up" and one["status"] == "enabled"
            )
        ),
        servers=tuple(instances(compute, name)),
        migrations=tuple(migrations(compute, name)),
    )


def known(compute: Any, name: str) -> ComputeHost:
    """Return what Nova says of host ``name``. Raises GroundupError where it has no compute service."""
    host = look(compute, name)
    if host.service is None:
        raise GroundupError(
            f"Nova has no compute service of {name}",
            where="openstack compute service list",
            why="there is nothing to move, or the name is wrong",
            remedy="name a hypervisor as Nova does; one that was retired has left already",
        )
    return host


def instances(compute: Any, name: str) -> list[Any]:
    """Return everybody's instances on ``name``. The host is compared here, too: no filter of Nova's is trusted."""
    return [one for one in compute.servers(all_projects=True, compute_host=name) if one["compute_host"] == name]


def migrations(compute: Any, name: str) -> list[Any]:
    """Return the migrations away from ``name``, and those on their way to it, that have not ended."""
    return [one for one in compute.migrations(host=name) if one["status"] not in _ENDED and _of(one, name)]


def _of(migration: Any, name: str) -> bool:
    arrives = migration["dest_compute"] == name and migration["status"] != UNCONFIRMED
    return bool(migration["source_compute"] == name) or arrives


def ours(reason: str | None) -> bool:
    """Return whether a service that is disabled by ``reason`` was disabled by one of our verbs."""
    return reason in DISABLING


def disabling(host: ComputeHost, reason: str) -> list[str]:
    """Return what `disable` does. Another one's reason stays: so does the service."""
    if host.service is None or host.disabled == reason or not (host.disabled is None or ours(host.disabled)):
        return []
    return [f"disable {COMPUTE} of {host.name}: {reason}"]


def disable(compute: Any, host: ComputeHost, reason: str) -> list[str]:
    """Have no new instance come to ``host``; return what was done."""
    if host.service is not None and (done := disabling(host, reason)):
        put(compute, host.service["id"], {"status": "disabled", "disabled_reason": reason})
        return done
    return []


def put(compute: Any, service: str, body: Mapping[str, Any]) -> None:
    """Change a compute service. All of ``body`` is sent: Nova takes no reason without the status that it is of.

    openstacksdk's own call leaves out what is so already, the status of a drained host for one.
    """
    raise_from_response(compute.put(f"/os-services/{service}", json=body, microversion=_VERSION))


def refuse(verb: str, name: str, against: Iterable[Reason], force: Collection[str]) -> None:
    """Raise GroundupError while a reason stands against ``verb`` that ``force`` does not accept."""
    why = "instances of tenants, or what the cloud keeps of them, would be lost"
    consent.refuse(verb, name, against, force, where=f"hypervisor {name}", why=why, first="put that right first")


def called(server: Any) -> str:
    """Return what an instance is called in lines for the operator."""
    return f"{server['name']} ({server['id']})"
