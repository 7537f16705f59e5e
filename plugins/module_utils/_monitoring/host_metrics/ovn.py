"""What OVN's databases and a chassis tell, asked by JSON-RPC at their own sockets: no process is started for it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..._ovn import status
from ..._ovn.databases import DATABASES, NB, RUN, SB, Database
from .samples import PATIENCE, Sample

CHASSIS = Path("/etc/openvswitch/system-id.conf")  # of hypervisors alone
RETIRED = Path("/etc/groundup/retired")  # of one that left the cloud: nothing of it runs any more (`_hypervisor/leave`)
SWITCH = Path("/run/openvswitch/db.sock")
AGENT = "neutron:ovn-neutron-agent-sb-cfg"  # where Neutron's agent notes the number that it has seen
NORTHD = {"standby": 0, "active": 1, "paused": 2}  # its own words (ovn-northd(8), "status")
SILENT = -1


def central() -> Iterator[Sample]:
    """Yield the state of this host's members of OVN's databases, and of its northd; of a control host."""
    members = [one for one in DATABASES if one.file.exists()]
    if members:
        yield from _northd()
    for one in members:
        try:
            yield from _member(one)
        except OSError:
            yield Sample("ovn_db_cluster_has_leader", 0, {"db_name": one.name})


def _northd() -> Iterator[Sample]:
    """Yield as what northd runs here: that of one control host is active."""
    try:
        said = str(_daemon(RUN, "ovn-northd", "status"))
    except OSError:
        yield Sample("ovn_northd_status", SILENT)
    else:
        yield Sample("ovn_northd_status", NORTHD[said.rpartition(":")[2].strip()])


def _member(database: Database) -> Iterator[Sample]:
    labels = {"db_name": database.name}
    now = status.parse(ask(database.control, "cluster/status", database.name))
    yield Sample("ovn_db_cluster_has_leader", now.works, labels)
    yield Sample("ovn_db_cluster_server_role", 1, {**labels, "server_role": now.role})
    yield Sample("ovn_db_cluster_term", now.term, labels)
    yield Sample("ovn_db_cluster_log_index_next", now.next, labels)
    yield Sample("ovn_db_cluster_log_not_committed", now.uncommitted, labels)
    yield Sample("ovn_db_cluster_log_not_applied", now.behind, labels)
    yield Sample("ovn_db_db_size_bytes", database.file.stat().st_size, labels)
    if now.works:
        yield from _configuration(database, leads=now.role == "leader")


def _configuration(database: Database, *, leads: bool) -> Iterator[Sample]:
    """Yield which configuration is written, which one northd has passed on, and which ones chassis have."""
    if database is NB:
        (known,) = select(NB, "NB_Global", "nb_cfg", "sb_cfg", "hv_cfg")
        yield from (Sample(f"ovn_{name}", value) for row in known for name, value in row.items())
    elif database is SB and leads:  # one member is enough: a site may have a thousand chassis
        (known,) = select(SB, "SB_Global", "nb_cfg")
        (chassis,) = select(SB, "Chassis_Private", "name", "nb_cfg", "external_ids")
        yield from (Sample("ovn_southbound_nb_cfg", row["nb_cfg"]) for row in known)
        for one in chassis:
            labels = {"chassis": one["name"]}
            yield Sample("ovn_chassis_nb_cfg", one["nb_cfg"], labels)
            if (seen := dict(one["external_ids"][1]).get(AGENT, "")).isdecimal():
                yield Sample("neutron_ovn_agent_nb_cfg", int(seen), labels)


def chassis() -> Iterator[Sample]:
    """Yield whether this hypervisor hears OVN, and how far its Open vSwitch is."""
    if not CHASSIS.exists() or RETIRED.exists():
        return
    yield Sample("ovn_controller_southbound_database_connected", _connected())
    try:
        answer = ask(SWITCH, "transact", "Open_vSwitch", _select("Open_vSwitch", "cur_cfg", "next_cfg"))
    except OSError:
        yield Sample("ovs_up", 0)
        return
    ((row,),) = _rows(answer)
    yield from (Sample(f"ovs_{name}", value) for name, value in row.items())
    yield Sample("ovs_up", _serves())


def _serves() -> bool:
    """Return whether Open vSwitch itself answers: one that hangs is as far in the database as it was."""
    try:
        _daemon(SWITCH.parent, "ovs-vswitchd", "version")
    except OSError:
        return False
    return True


def _connected() -> bool:
    try:
        return str(_daemon(RUN, "ovn-controller", "connection-status")).strip() == "connected"
    except OSError:
        return False


def _daemon(place: Path, name: str, method: str) -> Any:
    """Return what a program itself answers at its own socket. Raises OSError when it does not."""
    process = (place / f"{name}.pid").read_text(encoding="ascii").strip()
    return ask(place / f"{name}.{process}.ctl", method)


def select(database: Database, table: str, *columns: str) -> list[list[dict[str, Any]]]:
    """Return all rows of ``table``, of this host's member."""
    place = Path(database.socket.removeprefix("unix:"))
    return _rows(ask(place, "transact", database.name, _select(table, *columns)))


def _select(table: str, *columns: str) -> dict[str, Any]:
    return {"op": "select", "table": table, "where": [], "columns": columns}


def _rows(answer: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [one["rows"] for one in answer]


def ask(place: Path, method: str, *parameters: Any) -> Any:
    """Return what ``method`` answers at the socket ``place``. Raises OSError when nobody does, ValueError: refused."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(place))
        connection.sendall(json.dumps({"id": 0, "method": method, "params": parameters}).encode())
        said = b""
        while chunk := connection.recv(1 << 16):
            said += chunk
            if chunk.rstrip().endswith(b"}"):
                try:
                    answer = json.loads(said)
                except ValueError:
                    continue  # the end of an inner object
                if answer.get("error"):
                    raise ValueError(f"{place}, {method}: {answer['error']}")
                return answer["result"]
    raise ConnectionResetError(f"{place} ends before it has answered {method}")
