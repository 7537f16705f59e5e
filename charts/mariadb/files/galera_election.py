"""Who of the waiting members may form the cluster. Pure: it knows reports and a clock, no files and no network.

A cluster is formed by one member with --wsrep-new-cluster. If two do it, or one that is behind, or one that has lost
its data, committed data is lost (H2). So a member forms the cluster only if all of this holds:

* no other member is ready (start.py asks them);
* every member of the StatefulSet is waiting just like this one: each writes what it holds, and a beat that goes on,
  into a ConfigMap; a member whose server runs does not beat, and a member that is away does not either;
* what it holds is of the database that the ConfigMap says was formed here, and the newest of it, the lowest ordinal
  first among equals; no data will do only where no database was formed;
* its claim, written against the version of the ConfigMap it decided on, was accepted.

What does not fit needs an operator's consent, which is for one outage (galera_state.py).
"""

from __future__ import annotations

from typing import Any

from galera_state import FORM_FROM, NEW_DATABASE, NO_CLUSTER, Position, State

FRESH = 15.0  # seconds after which a member that has not beaten counts as away


class RefusedError(Exception):
    """No member may form the cluster: why, and the annotation by which an operator consents."""

    def __init__(self, why: str, *, consent: str) -> None:
        super().__init__(why)
        self.consent = consent


def elect(positions: dict[str, Position], *, members: int, state: State) -> str | None:
    """Return the member that may form the cluster, or None while not every one of ``members`` has been heard.

    ``positions`` are those of members that wait at this moment. Raises RefusedError when it needs a consent.
    """
    holders = {pod: position for pod, position in positions.items() if not position.empty}
    if state.form_from is not None:
        if state.form_from in positions.keys() - holders.keys():
            raise RefusedError(f"{state.form_from} holds no database: name a member that does", consent=FORM_FROM)
        return state.form_from if state.form_from in positions else None
    if len(positions) < members:
        return None
    candidates = {pod: position for pod, position in holders.items() if position.uuid == state.cluster} or holders
    clusters = {position.uuid for position in candidates.values()} - {NO_CLUSTER}
    if len(clusters) > 1:
        raise RefusedError(
            f"members hold data of different clusters ({', '.join(sorted(clusters))})", consent=FORM_FROM
        )
    if state.cluster and clusters - {state.cluster}:
        raise RefusedError(
            f"members hold data of cluster {clusters.pop()}, and the database of this site is {state.cluster}",
            consent=FORM_FROM,
        )
    if state.cluster and not candidates and not state.new_database:
        raise RefusedError(
            f"no member holds a database, and cluster {state.cluster} was formed here", consent=NEW_DATABASE
        )
    candidates = candidates or positions
    return min(candidates, key=lambda pod: (candidates[pod].uuid == NO_CLUSTER, -candidates[pod].seqno, ordinal(pod)))


def ordinal(pod: str) -> int:
    """Return the number at the end of a member's name."""
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
