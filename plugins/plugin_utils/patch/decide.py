"""What is done to each host: which packages, whether it is emptied and rebooted; and which hosts are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._host.updates import STEPS
from ..errors import GroundupError
from ..kube.removal import SMALLEST
from ..plan.types import HostPlan, Plan
from ..upgrade.decide import SECONDS

# Units whose restart nobody notices who uses the cloud. With any other one, the host is emptied first.
LIGHT = frozenset(
    f"{name}.service"
    for name in (
        "chrony", "cron", "getty@tty1", "polkit", "rsyslog", "serial-getty@ttyS0", "smartmontools", "ssh",
        "systemd-journald", "systemd-logind", "systemd-timesyncd", "systemd-udevd", "unattended-upgrades",
    )
) | {"sessions", "other processes"}  # fmt: skip
_BY_HAND = "patch it by hand (docs, page patch)"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    packages: tuple[str, ...] = ()  # to upgrade or install
    reboot: tuple[str, ...] = ()  # why it reboots
    heavy: tuple[str, ...] = ()  # units whose restart its users would notice
    moves: bool = False  # to another snapshot of packages
    refused: str = ""  # why it is left out

    @property
    def concerned(self) -> bool:
        """Whether anything is done to it."""
        return bool(self.packages or self.reboot or self.heavy or self.moves)

    @property
    def emptied(self) -> bool:
        """Whether pods, instances and data leave it first."""
        return bool(self.reboot or self.heavy)


def work(plan: Plan, host: HostPlan, said: Mapping[str, Any], *, groups: Collection[str] = ()) -> HostWork:
    """Return what is done to ``host``, which ``said`` that; ``groups``: steps of their own that were asked for."""
    chosen = {one["package"]: one["step"] for one in said["changes"] if one["step"] in ("", *groups)}
    restarts = [unit for unit, packages in said["restarts"].items() if chosen.keys() & set(packages)]
    heavy = [unit for unit in dict.fromkeys([*restarts, *said["waiting"]]) if unit not in LIGHT]
    if said["guests"] and "guests" in chosen.values():
        heavy.append("guests")
    found = HostWork(
        packages=tuple(chosen),
        reboot=(*(name for name in said["reboot"] if name in chosen), *said["reboot_waiting"]),
        heavy=tuple(heavy),
        moves=bool(said["offered"]) and said["offered"] != said["snapshot"],
    )
    return HostWork(refused=why) if found.concerned and (why := _refused(plan, host, found, said)) else found


def check_groups(groups: Collection[str]) -> None:
    """Raise GroundupError for a step that there is not."""
    if unknown := sorted(set(groups) - set(STEPS)):
        raise GroundupError(
            f"no packages have a step {', '.join(unknown)} of their own", where="the variable patch_groups",
            why="nothing would be upgraded by it", remedy=f"some of {', '.join(STEPS)}",
        )  # fmt: skip


def control_hosts(plan: Plan) -> dict[str, HostPlan]:
    return {name: host for name, host in plan.hosts.items() if "control" in host.roles}


def _refused(plan: Plan, host: HostPlan, found: HostWork, said: Mapping[str, Any]) -> str:
    """Return why ``host`` is left out, "" when it is not."""
    if said["removed"]:
        return f"apt would remove {', '.join(said['removed'])}: {_BY_HAND}"
    needs = f"reboot ({', '.join(found.reboot)})" if found.reboot else f"restart {', '.join(found.heavy)}"
    why = ""
    if found.reboot and host.provisioner == "container":
        why = "nothing starts a host of the lab again"
    elif found.emptied and "seed" in host.roles:
        why = "every host fetches from it"
    elif found.emptied and "control" in host.roles and len(control := control_hosts(plan)) < SMALLEST:
        away = f"nobody answers the Kubernetes API until it is back and for about {SECONDS} s more"
        alone = f"it is the only control host: {away}"
        why = alone if len(control) == 1 else "etcd has no quorum without it"
    elif found.emptied and "storage" in host.roles and plan.ceph and plan.ceph.backend != "native":
        why = f"{plan.ceph.backend} looks after its OSDs"
    return f"it would {needs}, and {why}: {_BY_HAND}" if why else ""


def names(found: Mapping[str, HostWork]) -> Sequence[str]:
    """Return the hosts that something is done to."""
    return [name for name, one in found.items() if one.concerned and not one.refused]
