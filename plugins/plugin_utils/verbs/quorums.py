"""Whether a machine is a member of a quorum, by what its other members said: etcd and OVN's databases.

Ceph's monitors are asked by module ceph. Members of Galera and RabbitMQ are pods: one is on a machine only while it is
a node of the cluster, and `remove` evicts it with the consent of their PodDisruptionBudgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Said = Sequence[Mapping[str, Any]]  # results of one module on the other control hosts, each with its `item`
SHOWN = 600  # characters of what a host said


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumWord:
    """What the other members say."""

    unknown: str = ""  # why nobody says it; "" when somebody does
    changes: tuple[str, ...] = ()  # what it takes for the others to go on without it; none: it is no member
    contact: str = ""  # the host that does that


def of_etcd(said: Said) -> QuorumWord:
    """Return whether it is a member of etcd."""
    return _judged(said, answers=[one for one in said if _done(one)])


def of_ovn(said: Said, *, recorded: bool) -> QuorumWord:
    """Return whether it is a member of OVN. ``recorded``: the controller knows of a cluster.

    A host without data speaks for nobody. That all say so is an answer, if there never was a cluster.
    """
    done = [one for one in said if _done(one)]
    none = done if len(done) == len(said) and not recorded else []
    return _judged(said, answers=[one for one in done if one.get("speaks")] or none)


def _judged(said: Said, *, answers: Said) -> QuorumWord:
    if not answers:
        told = "; ".join(f"{one.get('item')}: {str(one.get('msg') or 'no answer')[:SHOWN]}" for one in said)
        return QuorumWord(unknown=told or "there is no other control host to ask")
    first = next((one for one in answers if one.get("changes")), answers[0])
    return QuorumWord(changes=tuple(first.get("changes") or ()), contact=str(first.get("item") or ""))


def _done(one: Mapping[str, Any]) -> bool:
    return not any(one.get(word) for word in ("failed", "unreachable", "skipped"))
