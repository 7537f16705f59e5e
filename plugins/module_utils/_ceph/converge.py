"""Converge a storage host. The state on its disks decides: existing data are never created again."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._host import packages
from .._host.units import Unit, off, properties
from . import configuration, disk, flags, gateway, health, members, monitors, osds, stand_in
from .cluster import connected
from .model import ADMIN, BOOTSTRAP, CONF, ETC, LIB, Step, StorageNode

DEBIAN = {18: "13"}  # Ceph release -> Debian release that ships it


def converge(node: StorageNode, changes: Changes, *, step: Step, known: bool, silent: Sequence[str]) -> dict[str, Any]:
    """Do one step and return the module's result. Raises GroundupError, OSError."""
    _refuse_release(node)
    disk.refuse_foreign(node)
    osds.check(node)
    _refuse_leftover(node)
    absent = packages.installed(changes, node.packages) and changes.check
    units = _units(node, changes)
    if step == "maintain" and not node.ceph.gateway:
        gateway.leave(changes)
    moved = _configure(node, changes, units, absent=absent)
    if step == "monitor" and node.address:
        monitors.make(changes, node, known=known, silent=silent)
    if step == "daemons":
        _make_osds(node, changes)
    units |= {name: unit for name, unit in _units(node, changes).items() if name not in units}
    _own_devices(node, units)
    due = []
    for name, unit in units.items():
        if name.startswith("ceph-mgr@") and not (disk.has_store(node) and step != "monitor"):
            continue  # without a quorum it would exit
        if name.startswith("ceph-mgr@") and step in ("maintain", "daemons") and not unit.active:
            if step == "maintain" and moved:
                continue  # the cluster does not have its key yet
            if step == "daemons":
                _admit(node, changes)
        if step == "restart" and unit.stale:
            _restart(node, changes, name, unit)
        elif unit.stale and unit.active:
            due.append(name)  # in the rolling restart, later
        else:
            unit.running()
    return changes.result() | {
        # Without an OSD there are no data: after a first run that was killed, the same cluster may be created again.
        "known": bool(disk.osds(node)),
        "waits": [
            *(["monitor"] if node.address and not disk.has_store(node) else ()),
            *(["manager"] if step == "maintain" and moved and disk.has_store(node) else ()),
            *(one.name for one in osds.missing(node)),
        ],
        "due": due,
    }


def _refuse_release(node: StorageNode) -> None:
    found = platform.freedesktop_os_release()
    if found.get("ID") != "debian" or found.get("VERSION_ID") != DEBIAN[node.ceph.release]:
        raise GroundupError(
            f"{found.get('PRETTY_NAME', 'this system')} has no Ceph {node.ceph.release}",
            where=f"host {node.name}, /etc/os-release",
            why="daemons of several releases are no cluster of this version's",
            remedy=f"install Debian {DEBIAN[node.ceph.release]} on storage hosts",
        )


def _units(node: StorageNode, changes: Changes) -> dict[str, Unit]:
    """Return the units of this host's manager, and of daemons with data on it, in the order of their start."""
    names = [f"ceph-mon@{node.name}"] if disk.has_store(node) else []
    names += [f"ceph-mgr@{node.name}"] if node.name in node.ceph.managers else []
    names += [f"ceph-osd@{number}" for number in sorted(disk.osds(node).values())]
    return {name: Unit(changes, f"{name}.service") for name in names}


def _refuse_leftover(node: StorageNode) -> None:
    """Refuse to drop a monitor address from ceph.conf while the cluster has it. Raises GroundupError."""
    written = next((line for line in (files.read(CONF) or "").splitlines() if line.startswith("mon_host = ")), "")
    before = [address for address in written.removeprefix("mon_host = ").split(",") if address]
    names = {address: name for name, address in node.monitors.items()}
    if {*before} - {*names} and (disk.has_store(node) or disk.osds(node)):
        # Connect to the old addresses: there may be no monitor at the new ones.
        with connected(ADMIN, node.keys[ADMIN], {names.get(at, at): at for at in before}) as cluster:
            members.refuse_leftover(cluster, node.ceph.locations, node.monitors)


def _admit(node: StorageNode, changes: Changes) -> None:
    """Import the key of this host's manager where the cluster lacks it: of every manager but the first."""
    entity = f"mgr.{node.name}"
    if changes.check:
        return
    with connected(ADMIN, node.keys[ADMIN], node.monitors) as cluster:
        if entity not in {one["entity"] for one in cluster.ask("auth ls")["auth_dump"]}:
            allowed = configuration.caps(managers=node.ceph.managers, clients={})
            changes.add(f"import the key of {entity}")
            cluster.send("auth import", content=configuration.keyring({entity: node.keys[entity]}, allowed))


def _configure(node: StorageNode, changes: Changes, units: dict[str, Unit], *, absent: bool) -> bool:
    """Write configuration and keyrings; mark units to restart. Return whether the manager's keyring was written."""

    def mark() -> None:
        for unit in units.values():
            unit.mark()

    if files.place(changes, CONF, configuration.conf(node), before=mark):
        for unit in units.values():
            unit.replaced()
    group = 0 if absent else disk.owner()[1]
    if node.address:  # root on a monitor's host may administrate the cluster
        _keyring(changes, node, ADMIN, ETC / f"ceph.{ADMIN}.keyring", group=None)
    new = False
    if node.name in node.ceph.managers:
        new = _keyring(changes, node, f"mgr.{node.name}", LIB / f"mgr/ceph-{node.name}/keyring", group=group)
        files.place(changes, stand_in.PATH, stand_in.SOURCE)
    if not absent:
        # ceph-crash needs a key of its own; the systemd journal has the same information.
        off(changes, ["ceph-crash.service", *(name for name in ("nvmf-autoconnect.service",) if _failed(name))])
    return new


def _own_devices(node: StorageNode, units: Mapping[str, Unit]) -> None:
    """Set the owner of OSD devices at every start of their unit: after a reboot they belong to root again."""
    for one in node.osds:
        number = disk.osds(node).get(one.uuid)
        if one.device and number is not None:
            text = f"[Service]\nExecStartPre=+/bin/chown ceph:ceph {one.device}\n"
            units[f"ceph-osd@{number}"].generate(disk.drop_in(number), text)


def _failed(unit: str) -> bool:
    """Return whether a unit has failed. nvmf-autoconnect, of Ceph's packages, fails at boot without NVMe-oF."""
    return properties(unit, "ActiveState").get("ActiveState") == "failed"


def _keyring(changes: Changes, node: StorageNode, entity: str, path: Path, *, group: int | None) -> bool:
    text = configuration.keyring({entity: node.keys[entity]})
    written = files.read(path)
    if written and f"key = {node.keys[entity]}\n" not in written and (disk.has_store(node) or disk.osds(node)):
        raise GroundupError(
            f"the store has another key for {entity} than {node.name}",
            where=f"host {node.name}, {path}; ceph/{entity} of the secrets store",
            why="the cluster was made with the host's, which may be the last copy of it: it is not overwritten",
            remedy="restore the secrets store that the cluster was made with, or put the file's key into it; where the "
            f"cluster refuses the file's (ceph -n {entity} -k {path} -s), move the file away and run this again",
        )
    return files.place(changes, path, text, mode=0o600 if group is None else 0o640, group=group, secret=True)


def _make_osds(node: StorageNode, changes: Changes) -> None:
    wanted = osds.missing(node)
    if not wanted or (changes.check and not (disk.has_store(node) or disk.osds(node))):
        for one in wanted:
            changes.add(f"make {osds.label(one)}")
        return
    with connected(BOOTSTRAP, node.keys[BOOTSTRAP], node.monitors) as cluster:
        for one in wanted:
            osds.make(changes, cluster, node, one)


def _restart(node: StorageNode, changes: Changes, name: str, unit: Unit) -> None:
    """Restart one daemon: wait until all placement groups and other monitors are well, before and after."""
    if changes.check:
        unit.running()
        return
    with connected(ADMIN, node.keys[ADMIN], node.monitors) as cluster, ExitStack() as flagged:
        others = [one for one in node.monitors if one != node.name]
        health.wait(lambda: health.unclean(cluster) or health.outside(cluster, others), f"{name} is not restarted")
        if name.startswith("ceph-osd@"):
            code, _, said = cluster.attempt("osd ok-to-stop", ids=[name.removeprefix("ceph-osd@")])
            if code:
                changes.warnings.append(f"writes wait while {name} restarts: {said}")
            flagged.enter_context(flags.held(cluster, node.name))
        unit.running()
        health.wait(lambda: health.unclean(cluster) or health.outside(cluster, node.monitors), f"{name} was restarted")
