"""Instances whose QEMU ended by itself: libvirt calls them crashed, Nova has taken them for stopped; start them again.

A guest that its owner shut down, from inside or by the API, has another word in libvirt, and is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .compute_host import COMPUTE, instances
from .usage.accounts import moment

_CRASHED = "3"  # VIR_DOMAIN_SHUTOFF_CRASHED, in what `virsh domstats --state` prints
_MOST, _WITHIN = 3, timedelta(hours=1)  # starts: what ends again and again needs somebody who looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """An instance whose QEMU ended by itself, and why it stays off; "": it is to be started."""

    server: Any
    host: str
    against: str

    def __str__(self) -> str:
        what = f"{self.server['name']} ({self.server['id']}) of project {self.server['project_id']} on {self.host}"
        then = f"it stays off: {self.against}" if self.against else "it is started"
        return f"{what}: its QEMU ended by itself; {then}"


def crashed(said: str) -> list[str]:
    """Return the names of crashed domains in what `virsh domstats --state --list-shutoff` printed."""
    found, name = list[str](), ""
    for line in map(str.strip, said.splitlines()):
        if line.startswith("Domain: "):
            name = line.removeprefix("Domain: ").strip("'")
        elif line == f"state.reason={_CRASHED}":
            found.append(name)
    return found


def look(compute: Any, domains: Mapping[str, Collection[str]], *, now: datetime) -> Iterator[Died]:
    """Yield the instances that died and are off. ``domains``: crashed ones in libvirt, by host."""
    up = {
        str(one["host"]) for one in compute.services(binary=COMPUTE)
        if one["binary"] == COMPUTE and one["state"] == "up" and not one["is_forced_down"]
    }  # fmt: skip
    for host, names in sorted(domains.items()):
        for server in instances(compute, host) if names and host in up else ():
            if server["instance_name"] in names and server["vm_state"] == "stopped" and not server["task_state"]:
                yield from _died(compute, server, host, now)


def _died(compute: Any, server: Any, host: str, now: datetime) -> Iterator[Died]:
    actions = sorted(compute.server_actions(server["id"]), key=lambda one: str(one["start_time"]))
    if not actions or actions[-1]["action"] != "stop" or actions[-1]["user_id"]:
        return  # somebody has done something with it since: Nova's own stop has no user
    recent = [one for one in actions if one["action"] == "start" and now - moment(one["start_time"]) < _WITHIN]
    against = "its owner or an administrator has locked it" if server["is_locked"] else ""
    if len(recent) >= _MOST:
        against = f"it was started {len(recent)} times in an hour"
    yield Died(server=server, host=host, against=against)
