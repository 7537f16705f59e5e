"""A hypervisor in Nova: its compute service, instances and migrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openstack.exceptions import raise_from_response

from ..errors import GroundupError

COMPUTE = "nova-compute"
# Values of a service's disabled_reason.
DRAIN, EVACUATE, RETIRE = "groundup.cloud.drain", "groundup.cloud.evacuate", "groundup.cloud.retire"
DISABLING = (DRAIN, EVACUATE, RETIRE)
_VERSION = "2.53"  # the first microversion that addresses services by UUID
_STAYS_ON = "2.94"  # the last microversion that keeps an evacuated instance's state
_ENDED = frozenset(
    ("completed", "confirmed", "reverted", "error", "failed", "cancelled", "done", "completed-evacuation")
)
UNCONFIRMED = "finished"  # the instance runs on the target; its disk stays on the source until confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeHost:
    """One hypervisor's compute service, instances and migrations."""

    name: str
    service: Any | None
    hypervisors: tuple[str, ...] = ()  # all that Nova has, in any state
    others: tuple[str, ...]  # other hypervisors that are up and enabled
    servers: tuple[Any, ...]  # instances on it
    migrations: tuple[Any, ...]  # from it or to it, not ended

    @property
    def up(self) -> bool:
        return self.service is not None and self.service["state"] == "up"

    @property
    def disabled(self) -> str | None:
        """Why its service is disabled, "" without a reason; None when it is enabled or missing."""
        if self.service is None or self.service["status"] != "disabled":
            return None
        return str(self.service["disabled_reason"] or "")

    @property
    def evacuated(self) -> bool:
        """Whether its service is forced down. What still runs on it must be stopped before it comes back."""
        return self.service is not None and bool(self.service["is_forced_down"])


def look(compute: Any, name: str) -> ComputeHost:
    """Return one hypervisor's compute service, instances and migrations."""
    services = [one for one in compute.services(binary=COMPUTE) if one["binary"] == COMPUTE]
    return ComputeHost(
        name=name,
        service=next((one for one in services if one["host"] == name), None),
        hypervisors=tuple(sorted(str(one["host"]) for one in services)),
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


def refuse_unknown(host: ComputeHost) -> ComputeHost:
    """Return ``host``. Raises GroundupError when it has no compute service."""
    if host.service is None:
        raise GroundupError(
            f"Nova has no compute service of {host.name}",
            where="openstack compute service list",
            why="there is nothing to move, or the name is wrong",
            remedy="name a hypervisor as Nova does; one that was retired has left already",
        )
    return host


def instances(compute: Any, name: str) -> list[Any]:
    """Return all projects' instances on ``name``. The host is compared here, too: Nova's filter is not trusted."""
    return [one for one in compute.servers(all_projects=True, compute_host=name) if one["compute_host"] == name]


def migrations(compute: Any, name: str) -> list[Any]:
    """Return unfinished migrations from or to ``name``. One that awaits confirmation counts only at its source."""
    return [one for one in compute.migrations(host=name) if one["status"] not in _ENDED and _of(one, name)]


def _of(migration: Any, name: str) -> bool:
    arrives = migration["dest_compute"] == name and migration["status"] != UNCONFIRMED
    return bool(migration["source_compute"] == name) or arrives


def ours(reason: str | None) -> bool:
    """Return whether ``reason`` is one that our verbs disable services with."""
    return reason in DISABLING


def disabling(host: ComputeHost, reason: str) -> list[str]:
    """Return what `disable` would do: nothing to a service that an operator disabled."""
    if host.service is None or host.disabled == reason or not (host.disabled is None or ours(host.disabled)):
        return []
    return [f"disable {COMPUTE} of {host.name}: {reason}"]


def disable(compute: Any, host: ComputeHost, reason: str) -> list[str]:
    """Disable the compute service of ``host`` for new instances; return what was done."""
    if host.service is not None and (done := disabling(host, reason)):
        put(compute, host.service["id"], {"status": "disabled", "disabled_reason": reason})
        return done
    return []


def enable(compute: Any, host: ComputeHost, *, check: bool) -> tuple[list[str], str]:
    """Clear forced down, and enable a host that one of our verbs disabled; return the changes, and what stays."""
    lines = [f"have Nova hear {host.name} again"] if host.evacuated else []
    body: dict[str, Any] = {"forced_down": False} if host.evacuated else {}
    note = ""
    if ours(host.disabled):
        lines.append(f"enable {COMPUTE} of {host.name}, disabled by {host.disabled}")
        body["status"] = "enabled"
    elif host.disabled is not None:
        by = f"by another's reason: {host.disabled}" if host.disabled else "without a reason"
        note = f"{COMPUTE} of {host.name} was disabled {by}; it stays disabled"
    if body and not check and host.service is not None:
        put(compute, host.service["id"], body)
    return lines, note


def unended(compute: Any, name: str) -> list[str]:
    """Return ids of evacuated instances that nova-compute on ``name`` has not ended yet: Nova keeps it forced down."""
    found = [one for one in compute.migrations(host=name, migration_type="evacuation") if one["status"] == "done"]
    return sorted({str(one["server_id"]) for one in found if one["source_compute"] == name})


def put(compute: Any, service: str, body: Mapping[str, Any]) -> None:
    """Update a compute service. Send all of ``body``: Nova refuses a reason without its status.

    openstacksdk's own call omits unchanged fields, such as the status of a drained host.
    """
    raise_from_response(compute.put(f"/os-services/{service}", json=body, microversion=_VERSION))


def evacuate(compute: Any, server: str) -> None:
    """Have Nova rebuild an instance elsewhere: openstacksdk's own call takes the newest microversion.

    From 2.95 on, Nova leaves every evacuated instance stopped.
    """
    path, body = f"/servers/{server}/action", {"evacuate": dict[str, str]()}
    raise_from_response(compute.post(path, json=body, headers={"Accept": ""}, microversion=_STAYS_ON))


def called(server: Any) -> str:
    """Return an instance's name and id for messages."""
    return f"{server['name']} ({server['id']})"
