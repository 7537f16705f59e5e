"""Who of the waiting members may form the cluster. Pure: it knows reports and a clock, no files and no network.

A cluster is formed by one member with --wsrep-new-cluster. If two do it, or one that is behind, committed data is lost
(H2). So a member forms the cluster only if all of this holds:

* no other member is ready (start.py asks them);
* every member of the StatefulSet is waiting just like this one: each writes what it holds, and a beat that goes on,
  into a ConfigMap; a member whose server runs does not beat, and a member that is away does not either;
* what it holds is the newest of all, the lowest ordinal first among equals;
* its claim, written against the version of the ConfigMap it decided on, was accepted.

A member that cannot be waited for (its volume is lost for good) has to be written off by an operator, with
the annotation openstack.groundup.cloud/form-from: <pod> on the ConfigMap; the new cluster's former removes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

FORM_FROM = "openstack.groundup.cloud/form-from"
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
FRESH = 15.0  # seconds after which a member that has not beaten counts as away


@dataclass(frozen=True)
class Position:
    """What a member holds: a cluster's id and the last transaction of it. No data: NO_CLUSTER and -1."""

    uuid: str = NO_CLUSTER
    seqno: int = -1

    def __str__(self) -> str:
        return f"{self.uuid}:{self.seqno}"


class RefusedError(Exception):
    """No member may form the cluster; the message says why and what to do."""


def elect(positions: dict[str, Position], *, members: int, form_from: str | None = None) -> str | None:
    """Return the member that may form the cluster, or None while not every one of ``members`` has been heard.

    ``positions`` are those of members that wait at this moment. ``form_from`` is an operator's word: that member, as
    soon as it waits. Raises RefusedError when the members hold data of different clusters.
    """
    if form_from is not None:
        return form_from if form_from in positions else None
    if len(positions) < members:
        return None
    clusters = {position.uuid for position in positions.values()} - {NO_CLUSTER}
    if len(clusters) > 1:
        raise RefusedError(
            f"members hold data of different clusters ({', '.join(sorted(clusters))}): an operator has to choose one "
            f"with the annotation {FORM_FROM}"
        )
    return min(positions, key=lambda pod: (-positions[pod].seqno, positions[pod].uuid == NO_CLUSTER, _ordinal(pod)))


def _ordinal(pod: str) -> int:
    return int(pod.rsplit("-", 1)[1])


class Beats:
    """Which members wait right now, by beats that go on. Only this machine's own clock is used."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def waiting(self, reports: dict[str, dict[str, Any]], *, now: float) -> dict[str, Position]:
        """Return the positions of members whose beat has gone on within FRESH seconds; a first look proves nothing."""
        positions = {}
        for pod, report in reports.items():
            beat, since = self._seen.get(pod, (report["beat"], float("-inf")))
            if report["beat"] != beat:
                since = now
            self._seen[pod] = (report["beat"], since)
            if now - since <= FRESH:
                positions[pod] = Position(report["uuid"], report["seqno"])
        return positions


def report(held: Position, *, beat: int) -> str:
    """Return what a waiting member writes into the ConfigMap."""
    return json.dumps({"uuid": held.uuid, "seqno": held.seqno, "beat": beat})


def reports_in(configmap: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the members' reports in ``configmap``: pod -> {uuid, seqno, beat}."""
    data = configmap.get("data") or {}
    return {key.removeprefix("member."): json.loads(value) for key, value in data.items() if key.startswith("member.")}
