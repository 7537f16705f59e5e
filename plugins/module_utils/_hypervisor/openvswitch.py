"""Configure Open vSwitch on a hypervisor: its name first, then its database and bridges."""

from __future__ import annotations

import grp
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt, run
from .._host import units
from .._host.units import Unit

# ovs-ctl reads the name from this file at every start, and invents one without it. A renamed chassis loses its flows,
# and its certificate no longer fits.
SYSTEM_ID = Path("/etc/openvswitch/system-id.conf")
SWITCH, DAEMON = "openvswitch-switch.service", "ovs-vswitchd.service"
RECORDER = "ovs-record-hostname.service"  # overwrites our host name (Debian 12)
UNDERLAY_SCRIPT = Path("/usr/local/lib/groundup/underlay")
UNDERLAY_UNIT = Path("/etc/systemd/system/groundup-underlay.service")
SOCKET = Path("/run/openvswitch/db.sock")
DATABASE = "ovsdb-server.service"
ADMITS = Path("/etc/systemd/system/ovsdb-server.service.d/groundup.conf")
LOOPBACK = "ptcp:6640:127.0.0.1"  # nova-compute's way in before: every account of the host could take it


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The present content of the database."""

    external_ids: Mapping[str, str]
    other_config: Mapping[str, str]
    datapaths: Mapping[str, str]  # by bridge
    ports: Mapping[str, Sequence[str]]  # by bridge


NOTHING = Known(external_ids={}, other_config={}, datapaths={}, ports={})


def named(changes: Changes, system_id: str) -> None:
    """Write the chassis' name before anything starts; warn when it replaces a name that is in use."""
    there = (files.read(SYSTEM_ID) or "").strip()
    if there and there != system_id and attempt(["ovs-vsctl", "br-exists", "br-int"]).returncode == 0:
        changes.warnings.append(
            f"the chassis was called {there}: its row stays in OVN's southbound database until its agent is deleted "
            f"(openstack network agent delete {there})"
        )
    files.place(changes, SYSTEM_ID, f"{system_id}\n")


def configure(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Converge database and bridges to ``wanted`` (a chassis). Raises GroundupError."""
    switch = Unit(changes, SWITCH)
    switch.running()
    units.off(changes, [RECORDER])
    known = read(changes)
    commands = list(differences(known, wanted))
    if any(line.startswith("other_config") for line, _ in commands):
        switch.replaced()  # read only at the start
        if not changes.check:
            switch.mark()
    # One transaction: ovn-remote makes the chassis register, which needs its name and addresses.
    if todo := [command for line, command in commands if changes.add(f"Open vSwitch: {line}")]:
        run(["ovs-vsctl", "--timeout=30", *(word for command in todo for word in ("--", *command))])
    switch.running()
    underlay(changes, wanted["bridges"])


def admit(changes: Changes, group: str) -> None:
    """Let the accounts of ``group`` into the database by its socket, now and after each start of its server."""
    unit = Unit(changes, DATABASE, on_change=None)
    # "-": a host whose group is gone keeps its network.
    after = "".join(f"ExecStartPost=-/usr/bin/{words} {SOCKET}\n" for words in (f"chgrp {group}", "chmod 0770"))
    unit.place(ADMITS, f"{files.HEADER}[Service]\n{after}")
    unit.refreshed()
    if SOCKET.exists() and shut_out(group) and changes.add(f"let group {group} into {SOCKET}"):
        os.chown(SOCKET, -1, grp.getgrnam(group).gr_gid)
        SOCKET.chmod(0o770)


def shut_out(group: str) -> str:
    """Return why the accounts of ``group`` cannot ask the database; empty when they can."""
    try:
        found, owner = SOCKET.stat(), grp.getgrnam(group).gr_gid
    except FileNotFoundError:
        return f"there is no {SOCKET}"
    except KeyError:
        return f"there is no group {group}"
    if found.st_gid != owner or not found.st_mode & stat.S_IWGRP:
        return f"{SOCKET} is not open to group {group}"
    return ""


def close_loopback(changes: Changes) -> None:
    """Close the listener that any account of the host could use; others' listeners stay."""
    said = attempt(["ovs-vsctl", "--timeout=10", "get-manager"]) if _there() else None
    managers = said.stdout.split() if said and not said.returncode else []
    if LOOPBACK in managers and changes.add(f"Open vSwitch: close {LOOPBACK}"):
        others = [one for one in managers if one != LOOPBACK]
        run(["ovs-vsctl", "--timeout=30", *(["set-manager", *others] if others else ["del-manager"])])


def differences(known: Known, wanted: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the commands for ovs-vsctl, each with a line for the operator."""
    found: list[tuple[str, list[str]]] = []
    for column, now in (("other_config", known.other_config), ("external_ids", known.external_ids)):
        for key, value in wanted[column].items():
            if now.get(key) != value:
                set_to = f"{column}:{key}={json.dumps(value)}"
                found.append((f"{column}:{key} = {value}", ["set", "Open_vSwitch", ".", set_to]))
    for bridge in wanted["bridges"]:
        name, port = bridge["name"], bridge["port"]
        if known.datapaths.get(name, None) is None:
            found.append((f"bridge {name}", ["--may-exist", "add-br", name]))
        if known.datapaths.get(name) != bridge["datapath"]:
            kind = ["set", "Bridge", name, f"datapath_type={bridge['datapath']}", "fail_mode=standalone"]
            found.append((f"bridge {name}: datapath {bridge['datapath']}", kind))
        if port not in known.ports.get(name, ()):
            found.append((f"port {port} in {name}", ["--may-exist", "add-port", name, port]))
    return found


def read(changes: Changes) -> Known:
    """Return the database's present content; in check mode nothing when it does not answer. Raises GroundupError."""
    shown = attempt(["ovs-vsctl", "--timeout=10", "--format=json", "list", "Open_vSwitch"]) if _there() else None
    if shown is None or shown.returncode:
        if changes.check:
            return NOTHING
        raise GroundupError(
            f"Open vSwitch's database does not answer: {shown.stderr.strip() if shown else 'it is not installed'}",
            where=SWITCH,
            why="everything that guests send goes through it",
            remedy=f"journalctl -u {SWITCH} -u ovsdb-server -n 50",
        )
    (row,) = rows(shown.stdout) or ({},)
    bridges = rows(run(["ovs-vsctl", "--timeout=10", "--format=json", "list", "Bridge"]))
    names = [str(one["name"]) for one in bridges]
    return Known(
        external_ids=row.get("external_ids", {}),
        other_config=row.get("other_config", {}),
        datapaths={str(one["name"]): str(one["datapath_type"]) or "system" for one in bridges},
        ports={name: run(["ovs-vsctl", "--timeout=10", "list-ports", name]).split() for name in names},
    )


def _there() -> bool:
    return Path("/usr/bin/ovs-vsctl").exists()


def rows(text: str) -> list[dict[str, Any]]:
    """Parse a table printed by ovs-vsctl in JSON into rows; maps become dictionaries, sets lists."""
    table = json.loads(text)
    return [dict(zip(table["headings"], map(_plain, row), strict=True)) for row in table["data"]]


def _plain(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2 and value[0] in ("map", "set", "uuid"):
        kind, content = value
        if kind == "map":
            return {key: _plain(one) for key, one in content}
        return [_plain(one) for one in content] if kind == "set" else content
    return value


def underlay(changes: Changes, bridges: Sequence[Mapping[str, Any]]) -> None:
    """Move the tunnels' address from its interface to the bridge that contains it, now and at each boot."""
    unit = Unit(changes, UNDERLAY_UNIT.name)
    unit.place(UNDERLAY_SCRIPT, script(bridges), mode=0o755)
    unit.place(UNDERLAY_UNIT, _UNIT)
    if bridges:
        unit.running()


def script(bridges: Sequence[Mapping[str, Any]]) -> str:
    """Return the script that brings interfaces up and moves addresses to their bridges; it is idempotent."""
    lines = ["#!/bin/sh", "# Written by groundup.cloud: interfaces that Open vSwitch owns.", "set -e"]
    for one in bridges:
        name, port = one["name"], one["port"]
        lines += [f"ip link set dev {port} mtu {one['mtu']} up", f"ip link set dev {name} up"]
        if one["address"]:
            lines += [
                f"ip link set dev {name} mtu {one['mtu']}",
                f"ip addr flush dev {port} scope global",
                f"ip addr replace {one['address']} dev {name}",
            ]
    return "\n".join(lines) + "\n"


_UNIT = f"""\
# Written by groundup.cloud.
[Unit]
Description=Interfaces that Open vSwitch owns
After={SWITCH} {DAEMON}
Requires={SWITCH}
# When the daemon crashes, systemd starts it alone: its bridges are new then, and have no address.
PartOf={SWITCH} {DAEMON}
Before=ovn-controller.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={UNDERLAY_SCRIPT}

[Install]
WantedBy=multi-user.target {SWITCH}
"""
