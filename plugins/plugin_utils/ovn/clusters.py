"""Decide from the answers of all control hosts which OVN clusters to create: none where one may exist already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._ovn.databases import DATABASES
from ..errors import GroundupError

NEW_CLUSTER = "new-cluster"  # consent: the data of a recorded cluster are lost
_WHY = "a second cluster beside one that exists would have a part of the tenants' networks, and no host knows which"


def decide(answers: Mapping[str, Mapping[str, Any]], *, hosts: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Return the databases that have no cluster yet and may be given one.

    ``answers``: results of step `maintain` of control hosts of this run; ``hosts``: every control host of the site;
    ``known``: the recorded clusters, by database. Raises GroundupError when hosts disagree, or it is not certain that
    there is no cluster.
    """
    return [one.short for one in DATABASES if not _exists(one.short, answers, hosts=hosts, known=known)]


def lost(answers: Mapping[str, Mapping[str, Any]], *, hosts: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Return the databases of ``known`` of which every control host of the site said that it has no data."""
    return [short for short in known if all(short in answers.get(name, {}).get("waits", ()) for name in hosts)]


def _exists(
    short: str, answers: Mapping[str, Mapping[str, Any]], *, hosts: Sequence[str], known: Mapping[str, str]
) -> bool:
    """Return whether a database has a cluster. Raises GroundupError when that is not certain."""
    clusters: dict[str, list[str]] = {}
    for name, answer in sorted(answers.items()):
        if cluster := (answer.get("databases") or {}).get(short):
            clusters.setdefault(cluster, []).append(name)
    if len(clusters) > 1:
        said = " and ".join(f"{one} on {', '.join(names)}" for one, names in sorted(clusters.items()))
        raise GroundupError(
            f"control hosts of this site have {len(clusters)} clusters of OVN's database {short}: {said}",
            where="/var/lib/ovn on these hosts",
            why="each may hold networks of tenants; nothing is changed on any of them",
            remedy="decide which one Neutron and the hypervisors use; on the hosts of the other one systemctl stop "
            "ovn-central and move /var/lib/ovn away, then run this again",
        )
    if short in known or clusters:
        return True
    for name in hosts:
        answer = answers.get(name, {})
        if "databases" not in answer:
            raise GroundupError(
                f"no cluster of OVN's database {short} is made: {name} did not say whether it has one",
                where=f"host {name}: not in this run, or no answer",
                why=_WHY,
                remedy=f"run this on every control host; if {name} is gone for good, take it out of the site file",
            )
        if short not in answer["waits"]:
            raise GroundupError(
                f"no cluster of OVN's database {short} is made: {name} began to join one",
                where=f"host {name}, /var/lib/ovn",
                why=_WHY,
                remedy="bring a control host of that cluster back with its disk; if it is gone for good, systemctl "
                f"stop ovn-central on {name} and move /var/lib/ovn away, then run this again",
            )
    return False
