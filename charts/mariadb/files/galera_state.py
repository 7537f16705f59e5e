"""The cluster's ConfigMap: which database was formed here, the outage under way, an operator's consent. Pure.

    cluster             id of the database formed here; written before its server first runs, and never removed
    outage              word that a consent has to name; none once the cluster is formed
    outage-until        when members replace it by another: so a consent ends with its outage, or after CONSENT seconds
    formed-by           the member that formed the cluster last
    member.<pod>        what a waiting member holds

Consents are annotations; whoever forms the cluster removes them:

    openstack.groundup.cloud/form-from: <pod>:<outage>     go on with this member's data, whatever the others hold
    openstack.groundup.cloud/new-database: <outage>        make an empty database in place of the one that is lost
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from typing import Any

PREFIX = "openstack.groundup.cloud/"
FORM_FROM, NEW_DATABASE = f"{PREFIX}form-from", f"{PREFIX}new-database"
CONSENT = 1800.0  # seconds a consent is good for, at most
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
_UTC = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Position:
    """What a member holds: a cluster's id and the last transaction of it. No data: NO_CLUSTER and -1."""

    uuid: str = NO_CLUSTER
    seqno: int = -1

    @property
    def empty(self) -> bool:
        """Return whether the member holds no data at all."""
        return self == Position()

    def __str__(self) -> str:
        return f"{self.uuid}:{self.seqno}"


UNKNOWN = Position(NO_CLUSTER, 0)  # data that no Galera cluster has written to, such as a restored copy


@dataclass(frozen=True)
class State:
    """What the ConfigMap says now; of consents only those that name the outage under way."""

    cluster: str = ""
    outage: str = ""
    form_from: str | None = None
    new_database: bool = False
    ignored: tuple[str, ...] = ()  # consents of another outage, as they are written


def parse(configmap: dict[str, Any], *, now: float) -> State:
    """Return what ``configmap`` says at ``now``, seconds since 1970."""
    data = configmap.get("data") or {}
    notes = {name: text for name, text in (configmap["metadata"].get("annotations") or {}).items() if PREFIX in name}
    outage = data.get("outage", "")
    if data.get("outage-until", "") <= time.strftime(_UTC, time.gmtime(now)):
        outage = ""
    pod, _, named = notes.get(FORM_FROM, "").partition(":")
    good = {
        FORM_FROM: bool(outage) and named == outage,
        NEW_DATABASE: bool(outage) and notes.get(NEW_DATABASE) == outage,
    }
    return State(
        cluster=data.get("cluster", ""),
        outage=outage,
        form_from=pod if good[FORM_FROM] else None,
        new_database=good[NEW_DATABASE],
        ignored=tuple(f"{name}={notes[name]}" for name in good if name in notes and not good[name]),
    )


def reports_in(configmap: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the members' reports in ``configmap``: pod -> {uuid, seqno, beat}."""
    data = configmap.get("data") or {}
    return {key.removeprefix("member."): json.loads(value) for key, value in data.items() if key.startswith("member.")}


def waits(state: State, pod: str, held: Position, *, beat: int, now: float) -> dict[str, Any]:
    """Return the change by which a waiting member says what it holds. It names the outage when nobody has."""
    data = {f"member.{pod}": json.dumps({"uuid": held.uuid, "seqno": held.seqno, "beat": beat})}
    if not state.outage:
        data["outage"], data["outage-until"] = secrets.token_hex(4), time.strftime(_UTC, time.gmtime(now + CONSENT))
    return {"data": data}


def joins(state: State, held: Position) -> dict[str, Any] | None:
    """Return the change by which a member that joins a cluster notes its id where the ConfigMap was lost; or None."""
    return {"data": {"cluster": held.uuid}} if not state.cluster and held.uuid != NO_CLUSTER else None


def claims(pod: str) -> dict[str, Any]:
    """Return the change by which a member sets out to make a new database. Only ``forms`` ends the outage."""
    return {"data": {f"member.{pod}": None, "formed-by": pod}}


def forms(pod: str, cluster: str) -> dict[str, Any]:
    """Return the change by which ``pod`` forms the cluster: the outage is over, and so is every consent to it."""
    data = {f"member.{pod}": None, "formed-by": pod, "cluster": cluster, "outage": None, "outage-until": None}
    return {"metadata": {"annotations": {FORM_FROM: None, NEW_DATABASE: None}}, "data": data}
