"""Filter: which nodes of a run wait to join the cluster, and which control host speaks for it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kubernetes_members
short_description: What the hosts of a run said of their membership in the cluster
version_added: 0.2.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - "Private: for the role P(groundup.cloud.kubernetes#role) of the same collection."
  - Reads the results of P(groundup.cloud.node#module) of all hosts of a play, C(kubernetes_node). A host without one
    was not asked, and does not wait.
positional: hosts
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  hosts:
    description: Hosts of the play.
    type: list
    elements: str
    required: true
  nodes:
    description: All nodes of the site.
    type: list
    elements: str
    required: true
  control:
    description: All control hosts of the site.
    type: list
    elements: str
    required: true
  first:
    description: The control host to ask when none is known to answer.
    type: str
    required: true
  answers:
    description: Results of P(ansible.builtin.wait_for#module), one for each control host that was tried.
    type: list
    elements: dict
    default: []
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def kubernetes_members(
    variables: Mapping[str, Any],
    hosts: Sequence[str],
    *,
    nodes: Sequence[str],
    control: Sequence[str],
    first: str,
    answers: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return who waits to join, and of those whose last join was interrupted (``half_made``); who is ``present``.

    Of the present, ``due`` must restart: those with an older etcd first, the leader of etcd last. ``contact`` is the
    control host to ask: the first present one, else one that answered, else ``first``.
    """
    said = {host: variables[host]["kubernetes_node"] for host in hosts if "kubernetes_node" in variables[host]}
    waiting = [host for host in hosts if host in nodes and said.get(host, {}).get("joins")]
    present = [host for host in control if host in hosts and host not in waiting]
    due = {host: said[host]["due"] for host in present if said.get(host, {}).get("due")}
    answered = [str(one["item"]) for one in answers if "state" in one]
    return {
        "waiting": waiting,
        "half_made": [host for host in waiting if said[host].get("membership") == "partial"],
        "present": present,
        "due": sorted(due, key=lambda host: ("etcd" not in due[host], said[host].get("leads", False))),
        "contact": next(iter(present or answered), first),
    }


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"kubernetes_members": kubernetes_members}
