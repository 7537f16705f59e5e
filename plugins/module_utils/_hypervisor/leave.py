"""Retire a hypervisor: stop its services for good, and refuse while guests remain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import HEADER
from .._base.run import attempt, run
from .._host import ownership, units
from . import nova_ssh, ovn, services, sriov

RETIRED = Path("/etc/groundup/retired")
UNITS = (services.COMPUTE, nova_ssh.NAME, services.OVN_AGENT, sriov.AGENT, ovn.WHOLE, ovn.UNIT)
DOMAINS = "domains"  # code for `force`
_VIRSH = ("virsh", "--connect", "qemu:///system", "list", "--all", "--name")
_REMOTE = ("ovs-vsctl", "--timeout=10", "--if-exists")
_TEXT = f"{HEADER}Retired from the cloud by groundup.cloud.retire. A run of the layers has it join again.\n"


def leave(changes: Changes, *, site: str, name: str, force: Collection[str] = (), mark: Path = RETIRED) -> None:
    """Stop and disable the cloud's services, and remove OVN's endpoint. Packages and configuration stay.

    Raises GroundupError before any change for a host of another site, and for one that still has domains.
    """
    ownership.refuse_other(site)
    found, silent = domains()
    if silent and DOMAINS not in force:
        raise GroundupError(
            f"libvirt does not say whether it has domains: {silent}",
            where=f"host {name}, {' '.join(_VIRSH)}",
            why="guests that Nova lost sight of may run on it; nothing was changed on the host",
            remedy="make it answer (systemctl status libvirtd), then run this again; or, if nothing runs on it: "
            f"-e '{{\"retire_force\": [{DOMAINS}]}}'",
        )
    if silent:
        changes.warnings.append(f"libvirt's domains are not known: {silent}")
    if found and DOMAINS not in force:
        raise GroundupError(
            f"libvirt still has {len(found)} domain(s) on it: {', '.join(found)}",
            where=f"host {name}, {' '.join(_VIRSH)}",
            why="they may be guests that Nova lost sight of; nothing was changed on the host",
            remedy="see what they are (virsh dumpxml NAME), then undefine them; or leave them there as they are: "
            f"-e '{{\"retire_force\": [{DOMAINS}]}}'",
        )
    units.off(changes, UNITS)
    # If something restarts ovn-controller, such as a package upgrade, it must not register the chassis.
    if _said((*_REMOTE, "get", "Open_vSwitch", ".", "external_ids:ovn-remote")) and changes.add(
        "Open vSwitch: forget external_ids:ovn-remote"
    ):
        run(["ovs-vsctl", "--timeout=10", "remove", "Open_vSwitch", ".", "external_ids", "ovn-remote"])
    files.place(changes, mark, _TEXT)


def domains() -> tuple[list[str], str]:
    """Return libvirt's domains, running or not, and why they are not known."""
    try:
        said = attempt(_VIRSH, timeout=30)
    except GroundupError as error:  # no such program, or it hangs
        return [], error.what
    if said.returncode:
        return [], said.stderr.strip() or f"exit code {said.returncode}"
    return sorted(line.strip() for line in said.stdout.splitlines() if line.strip()), ""


def joins_again(changes: Changes, *, mark: Path = RETIRED) -> None:
    """Unmark a retired host that is in the site file again, and warn that it rejoins."""
    if files.remove(changes, mark):
        changes.warnings.append(
            "it was retired, and it is in the site file: this run has it join the cloud again; take it out of the site "
            "file if it is not to"
        )


def _said(argv: Sequence[str]) -> str:
    try:
        said = attempt(argv)
    except GroundupError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
