"""Evacuate a dead hypervisor: Nova rebuilds its instances on other hosts, on disks that outlive it.

Nova marks the host as forced down, which only an undrain reverts. Then its writes to shared disks are fenced.
All state is Nova's own: run a killed evacuation again, and it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from ...module_utils._base.consent import Reason
from ...module_utils._base.text import few
from ..errors import GroundupError
from .compute_host import COMPUTE, EVACUATE, ComputeHost, called, disabling, instances, migrations, put
from .drain import Drain, Way

Kept = Callable[[Any], bool]


class Evacuation(Drain):
    """One evacuation under way."""

    verb = "evacuate"
    only: Collection[str] | None = None  # ids of the instances that leave; None: all

    def way_of(self, server: Any) -> Way:
        """Return how an instance leaves now."""
        return way_of(server)

    def _waiting(self) -> list[Any]:
        known = self._moving.keys() | self.stuck.keys()
        found = [one for one in instances(self.compute, self.name) if one["id"] not in known]
        return [one for one in found if self.only is None or one["id"] in self.only]

    def _unended(self) -> list[Any]:
        """Return nothing: the dead host's migrations never end; an evacuation is tracked by its instance."""
        return []


def way_of(server: Any) -> Way:
    """Return how an instance leaves now: wait for a rebuild only. Other tasks of the dead host never end."""
    return "wait" if server["status"] == "REBUILD" else "evacuate"


def of_volume(server: Any) -> bool:
    """Return whether all disks of an instance are volumes: it boots from one, and its flavor brings none."""
    flavor = server["flavor"] or {}
    return not (server["image"] and server["image"]["id"]) and not flavor.get("ephemeral")


def kept_by(images: Collection[str]) -> Kept:
    """Return a function that tells whether an instance's disk outlives its host. ``images``: all of Nova's in Ceph."""
    own = {name.removesuffix("_disk") for name in images if name.endswith("_disk")}
    return lambda server: of_volume(server) or str(server["id"]) in own


def reasons(host: ComputeHost, *, kept: Kept, fences: bool) -> Iterator[Reason]:
    """Yield reasons against an evacuation. ``kept``: whether an instance's disk outlives the host.

    ``fences``: whether the site itself blocks the host's writes to disks that other hosts open.
    """
    if host.up:
        text = f"its {COMPUTE} is up, so its instances run: drain it. Nova notices that a host is dead after about 60 s"
        yield Reason(text=text)
    if not host.servers:
        return
    if not host.others:
        yield Reason(text=f"no other hypervisor is up and enabled for its {len(host.servers)} instance(s)")
    if moving := _moving(host):
        text = f"{few(moving)} migrated live when it died, and may run there already: Nova would start it a second time"
        yield Reason(code="migrating", text=f"{text}. See virsh list there, and end it (virsh destroy)")
    if not fences:
        text = "nothing here makes sure that it is off: its instances would run twice, and write to the same volumes"
        yield Reason(code="fenced", text=text)
    if lost := [called(one) for one in host.servers if not kept(one)]:
        text = f"{len(lost)} instance(s) have no disk that is known to outlive it, and would start from their image"
        yield Reason(code="disks", text=f"{text}: {few(lost)}")


def _moving(host: ComputeHost) -> list[str]:
    """Return instances on ``host`` whose live migration has not ended, each with the target: no fence reaches that."""
    here = {str(one["id"]): called(one) for one in host.servers if one["status"] != "REBUILD"}
    return [
        f"{here[str(one['server_id'])]} to {one['dest_compute']}"
        for one in host.migrations
        if one["migration_type"] == "live-migration"
        and str(one["server_id"]) in here
        and one["source_compute"] == host.name
    ]


def foreseen(host: ComputeHost) -> list[str]:
    """Return an evacuation's actions, one line each."""
    if host.evacuated and not host.servers:
        return []
    lines = [*disabling(host, EVACUATE), *_death(host)]
    return lines + [f"{'wait for' if way_of(one) == 'wait' else 'evacuate'} {called(one)}" for one in host.servers]


def close(compute: Any, host: ComputeHost) -> list[str]:
    """Disable ``host`` and force it down in Nova until an undrain, both at once; return what was done."""
    disables, dies = disabling(host, EVACUATE), _death(host)
    body: dict[str, Any] = {"status": "disabled", "disabled_reason": EVACUATE} if disables else {}
    if host.service is not None and (disables or dies):
        put(compute, host.service["id"], body | ({"forced_down": True} if dies else {}))
    return [*disables, *dies]


def refused(name: str, stuck: Collection[str]) -> GroundupError:
    """Return the error for instances that did not come back."""
    lines = "\n    ".join(stuck)
    return GroundupError(
        f"{len(stuck)} instance(s) of {name} did not come back:\n    {lines}",
        where=f"hypervisor {name}, which Nova takes for dead now",
        why="each is where its line says",
        remedy="put right what Nova says and run this again; an instance in a state that Nova does not evacuate: "
        "openstack server set --state error ID",
    )


def remains(compute: Any, host: ComputeHost) -> list[str]:
    """Return the instances and evacuations that still have to leave or end, one line for each kind."""
    left = [f"instances {few(called(one) for one in host.servers)}"] if host.servers else []
    under_way = [one for one in migrations(compute, host.name) if one["migration_type"] == "evacuation"]
    return left + ([f"evacuations not ended of {few(one['server_id'] for one in under_way)}"] if under_way else [])


def _death(host: ComputeHost) -> list[str]:
    return [] if host.evacuated else [f"have Nova take {host.name} for dead"]
