"""Failure cards of the cluster: Ceph's health checks with the object at fault, the effect on clients, the remedy.

Consequences of a check with a card are left out, such as degraded placement groups while an OSD is down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._base.errors import GroundupError
from .._plan.ceph import CephPlan
from . import members
from .cluster import CephCluster

LAYER = "storage"
_SHOWN = 5  # health details on a card at most; objects: twice as many, and a count of the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class CephFault:
    """Effect and remedy of a health check."""

    clients: str  # effect on clients
    remedy: str
    hides: tuple[str, ...] = ()  # checks that are only consequences


_ROOM = (
    "add OSDs or a host and run the layer; or delete what is not needed (snapshots and trash, too: rbd trash ls). "
    "Uneven OSDs: ceph osd df tree, then ceph osd reweight-by-utilization"
)
_COPIES = ("PG_DEGRADED", "OBJECT_MISPLACED", "PG_NOT_SCRUBBED", "PG_NOT_DEEP_SCRUBBED")
# In the order of the cards: faults that stop writes come first.
FAULTS: dict[str, CephFault] = {
    "OSD_FULL": CephFault(
        clients="reads go on; every write to these pools waits, with no error, until there is room",
        remedy=f"so that deletions go on meanwhile: ceph osd set-full-ratio 0.97, and back to 0.95 afterwards; {_ROOM}",
        hides=("POOL_FULL", "OSD_BACKFILLFULL", "POOL_BACKFILLFULL", "OSD_NEARFULL", "POOL_NEARFULL"),
    ),
    "POOL_FULL": CephFault(
        clients="reads go on; every write to these pools waits",
        remedy=f"ceph df; raise or clear the pool's quota, or {_ROOM}",
    ),
    "OSD_BACKFILLFULL": CephFault(
        clients="nothing yet; copies that are lost are not made again on these OSDs",
        remedy=_ROOM,
        hides=("POOL_BACKFILLFULL", "PG_BACKFILL_FULL", "OSD_NEARFULL", "POOL_NEARFULL"),
    ),
    "PG_BACKFILL_FULL": CephFault(
        clients="nothing yet; copies that are missing or on their way find no room, and wait",
        remedy=_ROOM,
        hides=("OSD_NEARFULL", "POOL_NEARFULL"),
    ),
    "OSD_NEARFULL": CephFault(
        clients="nothing yet; at 95% writes to these pools stop", remedy=_ROOM, hides=("POOL_NEARFULL",)
    ),
    "PG_AVAILABILITY": CephFault(
        clients="reads and writes of the data in these groups wait",
        remedy="bring back the OSDs they wait for (ceph pg dump_stuck inactive; ceph pg PG query); do not replace them",
    ),
    "PG_DAMAGED": CephFault(
        clients="nothing, while another copy is good; some reads may end with an error",
        remedy="rados list-inconsistent-obj <group> names the OSD whose copy is bad, ceph pg repair <group> mends it "
        "from others; again soon: smartctl -a of its disk. `unfound`: bring back OSDs that are down",
        hides=("OSD_SCRUB_ERRORS",),
    ),
    "MON_DOWN": CephFault(
        clients="nothing, while a majority is left",
        remedy="on its host: journalctl -u 'ceph-mon@*' -n 50; systemctl reset-failed 'ceph-mon@*'; then run the layer",
    ),
    "MON_CLOCK_SKEW": CephFault(
        clients="nothing yet; monitors whose clocks differ lose their leases, and with them the quorum",
        remedy="chronyc sources, chronyc makestep on that host: monitors need one source of time (hosts.ntp_servers)",
    ),
    "OSD_HOST_DOWN": CephFault(
        clients="writes go on where min_size copies are left",
        remedy="bring the host back, or its network `storage` (ping its address there); lost for good: "
        "groundup.cloud.retire -e machine=<host>",
        hides=("OSD_DOWN", *_COPIES),
    ),
    "OSD_DOWN": CephFault(
        clients="writes go on where min_size copies are left; after ten minutes Ceph makes the lost copies elsewhere",
        remedy="journalctl -u ceph-osd@<number> -n 50 on its host; disk lost: put in another one, then "
        "ansible-playbook groundup.cloud.storage_replace -e replace_machine=<host> -e replace_osd=<number>",
        hides=_COPIES,
    ),
    "BLUESTORE_SLOW_OP_ALERT": CephFault(
        clients="slow answers, or nothing any more: Ceph tells of a write that took 5 s for a day",
        remedy="smartctl -a of the OSD's disk: a bad one is replaced. It was only busy: "
        "ceph health mute BLUESTORE_SLOW_OP_ALERT 1d",
    ),
    "OSD_FLAGS": CephFault(
        clients="nothing; Ceph does not react to faults as it is to",
        remedy="not ours (those of a killed run are put back by groundup.cloud.storage): whoever set it: "
        "ceph osd unset-group <flag> <host>",
    ),
    "OSDMAP_FLAGS": CephFault(
        clients="pause stops everything, others nothing; Ceph does not react to faults as it is to",
        remedy="no run of ours sets it: ask who did, then ceph osd unset <flag>",
    ),
}
_OTHER = CephFault(
    clients="not known to this version", remedy="ceph health detail, on a monitor host; Ceph's guide 'Health checks'"
)


def cards(cluster: CephCluster) -> list[GroundupError]:
    """Return a card for each unmuted fault of the cluster, those that stop writes first."""
    health = cluster.ask("health", detail="detail")
    checks = {name: one for name, one in health["checks"].items() if not one.get("muted")}
    hidden = {other for name in checks for other in FAULTS.get(name, _OTHER).hides}
    order = [*FAULTS, *sorted(set(checks) - set(FAULTS))]
    shown = [name for name in order if name in checks and name not in hidden]
    if not shown:
        return []
    where = {str(one): one.host for one in members.osds(cluster)}
    return [_card(name, checks, where) for name in shown]


def text(found: Sequence[GroundupError]) -> GroundupError:
    """Combine the cards into one error."""
    first, *others = found
    if not others:
        return first
    return GroundupError(
        first.what, where=first.where, why=first.why, remedy="\n".join([first.remedy, *map(str, others)])
    )


def pools_missing(names: Sequence[str], ceph: CephPlan) -> GroundupError:
    """Return the card of planned pools that the cluster lacks."""
    users = [one.name for one in ceph.clients.values() if {*names} & {*one.writes, *one.reads}]
    return GroundupError(
        f"the cluster has no pool {', '.join(names)}",
        where=f"layer {LAYER}: " + ", ".join(f"pool {name}" for name in names),
        why=f"clients see: {', '.join(users) or 'whoever uses it'} cannot open it (No such file or directory); what "
        "was in it is lost, and a run would make an empty one",
        remedy="a new site: the playbook groundup.cloud.storage makes it. Else find out who removed it (ceph log last "
        "1000 info audit) and restore its data from backups",
    )


def _card(name: str, checks: Mapping[str, Any], where: Mapping[str, str]) -> GroundupError:
    fault, one = FAULTS.get(name, _OTHER), checks[name]
    details = [detail["message"] for detail in one.get("detail", ())]
    objects = [f"{osd} on {where[osd]}" if osd in where else osd for osd in _objects(details)]
    # Clients use pools, so list those of its consequences, too.
    pools = [pool for other in (name, *fault.hides) for pool in _pools(checks.get(other, {}).get("detail", ()))]
    named = [*objects, *(f"pool {pool}" for pool in dict.fromkeys(pools))]
    return GroundupError(
        f"{name}: {one['summary']['message']}",
        where=f"layer {LAYER}: {_listed(named) or '; '.join(details[:_SHOWN]) or 'the cluster'}",
        why=f"clients see: {fault.clients}",
        remedy=fault.remedy,
    )


def _objects(details: Iterable[str]) -> list[str]:
    found = [match[0] for line in details if (match := re.search(r"\b(?:osd|mon)\.[\w.-]*\w|\bhost [\w-]+", line))]
    return list(dict.fromkeys(found))


def _pools(details: Iterable[Mapping[str, str]]) -> list[str]:
    return [match[1] for one in details if (match := re.match(r"pool '([^']+)'", one["message"]))]


def _listed(named: Sequence[str]) -> str:
    more = len(named) - 2 * _SHOWN
    return ", ".join(named[: 2 * _SHOWN]) + (f" and {more} more" if more > 0 else "")
