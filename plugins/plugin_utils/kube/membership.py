"""Decide from the answers of all control hosts whether the site has a cluster: never initialise a second one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import GroundupError

_AGAIN = "then run this again"


def decide(answers: Sequence[Mapping[str, Any]], *, first: str, known: str | None) -> str | None:
    """Return the SHA-256 of the CA of the site's cluster; None when there is none and ``first`` may initialise it.

    ``answers``: results of a loop of the step `membership` over all control hosts. ``known``: the CA of the cluster
    that the control node knows. Raises GroundupError when they disagree, or it is not certain that there is no cluster.
    """
    members = {_name(one): one for one in answers if one.get("membership") == "member"}
    by_ca = {str(one["ca"]): f"{name} ({_etcd(one)})" for name, one in reversed(members.items())}
    found = {f"{ca[:16]}... of {who}" for ca, who in by_ca.items()}
    if len(by_ca) > 1:
        raise GroundupError(
            f"control hosts of this site belong to {len(by_ca)} clusters: {' and '.join(sorted(found))}",
            where=f"hosts {', '.join(sorted(members))}; SHA-256 of /etc/kubernetes/pki/ca.crt",
            why="each may hold data of the cloud; nothing is changed on any of them",
            remedy="decide which cluster is the site's; kubeadm reset by hand the hosts of the other, " + _AGAIN,
        )
    if known and by_ca and known not in by_ca:
        raise GroundupError(
            f"the control node knows the cluster with the CA {known[:16]}..., the control hosts have {found.pop()}",
            where="the site's state directory: cluster.json, kubeconfig",
            why="it may be another site's cluster, or one that was made beside it",
            remedy="correct the addresses in the site file, or restore the state directory of this site's cluster; "
            "if the site's cluster is the one the hosts have, move those two files away, " + _AGAIN,
        )
    if members or known:
        return next(iter(by_ca), known)
    _refuse_uncertain(answers, first)
    return None


def _refuse_uncertain(answers: Sequence[Mapping[str, Any]], first: str) -> None:
    """Raise GroundupError while a control host may belong to a cluster."""
    why = "a second cluster beside one that exists would take its name, its address and, in time, its hosts"
    for one in answers:
        name = _name(one)
        if "membership" not in one:  # unreachable or failed: `failed_when` hides which
            raise GroundupError(
                f"no cluster is initialised: {name} did not say whether it belongs to one",
                where=f"host {name}: {one.get('msg', 'no answer')}",
                why=why,
                remedy=f"mend what is named above; if {name} is gone for good, take it out of the site file; {_AGAIN}",
            )
        if name != first and one.get("membership") != "blank":
            data = "data of etcd" if one.get("etcd_data") else "a join that did not end"
            raise GroundupError(
                f"no cluster is initialised: {name} has {data}, so there was one",
                where=f"host {name}, /etc/kubernetes, /var/lib/etcd",
                why=why,
                remedy="bring a control host of that cluster back with its disk; if it is gone for good, run kubeadm "
                f"reset on {name} by hand, {_AGAIN}",
            )


def _name(answer: Mapping[str, Any]) -> str:
    return str(answer["item"])


def _etcd(answer: Mapping[str, Any]) -> str:
    return f"etcd: {', '.join(answer['etcd'])}" if answer.get("etcd") else "its etcd does not answer"
