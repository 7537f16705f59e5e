#!/usr/bin/python
"""OVN's databases and northd on one control host, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn
short_description: Converge and verify OVN's databases and northd on a control host
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.ovn_central#role) of the same collection."
  - Installs and configures Debian's OVN packages, and maintains the host's members of the northbound and southbound
    database, each a raft cluster over TLS, even with one control host.
  - Never recreates data on disk. Without data nothing starts until O(step=form).
  - northd forgets a former cluster. It does not run while the northbound database is empty and the southbound is not.
  - The control node records the ids of the clusters. It never creates a cluster of which it has an id.
options:
  step:
    description:
      - V(maintain) converges existing members. C(due) lists databases that need a restart, C(waits) those without
        data.
      - V(form) makes the host a member of every database. One host at a time.
      - V(restart) restarts members whose unit configuration changed. One host at a time.
      - V(decide) compares the answers of control hosts with the control node's record. Fails when they have different
        clusters, and, if no cluster is known, when one of them did not answer or began to join one. With O(force), the
        record forgets a cluster of which every control host said that it has no data.
      - V(forget) removes the members of hosts that have lost their data from the clusters. Such a host then joins as a
        new member. On a control host whose members are connected to their leaders; without one it fails.
      - V(leave) removes the members of a host that is to be erased, O(name) at O(address), from the clusters. On
        another control host. Fails when the members that stay would have no quorum, or do not say so. Without a
        cluster it does nothing.
      - V(verify) checks leader, members, listeners, schema, northd and certificate, and changes nothing.
      - V(follow) restarts the pods that mount O(secret) when the clusters are others than it notes, and notes them. On
        the control node. Clients of a cluster refuse a new one in its place until they are restarted.
    type: str
    choices: [maintain, form, restart, decide, forget, leave, verify, follow]
    required: true
  answers:
    description: Result of O(step=maintain) of each control host of this run, by its name. With O(step=decide).
    type: dict
  hosts:
    description: Names of all control hosts of the site. With O(step=decide).
    type: list
    elements: str
  force:
    description: Risks to accept. V(new-cluster), for V(decide), makes a new cluster in the place of a lost one.
    type: list
    elements: str
    default: []
    choices: [new-cluster]
  secret:
    description: Metadata of the Secret with the certificate of Neutron's pods. With O(step=follow) and O(step=decide).
    type: dict
  lost:
    description: By database, addresses of hosts that have no data. With O(step=forget).
    type: dict
  create:
    description: Databases whose clusters this host creates with O(step=form). It joins the others.
    type: list
    elements: str
    choices: [nb, sb]
    default: []
  address:
    description:
      - Address of the host. A member keeps it for life. With O(step=leave), V("") when it has left the site file.
    type: str
  peers:
    description: Addresses of the site's other control hosts.
    type: list
    elements: str
  nodes:
    description:
      - Source addresses and networks of Neutron's pods. Only they and control hosts reach listeners without a role, and
        only control hosts reach the raft ports, even with a valid certificate.
    type: list
    elements: str
  northbound:
    description: Connections of northd to the northbound database, one per control host.
    type: list
    elements: str
  southbound:
    description: Connections of northd to the southbound database, at the listener without a role.
    type: list
    elements: str
  election_timer:
    description: Milliseconds without a message from the leader until members elect another.
    type: int
  inactivity_probe:
    description: Milliseconds of silence until a database probes a client.
    type: int
  hypervisor_ca:
    description: CA of the chassis' certificates, in PEM.
    type: str
  name:
    description: Name of the host.
    type: str
  packages:
    description: Packages of the OS to install.
    type: list
    elements: str
  certificate:
    description: Certificate of the host, in PEM.
    type: str
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
  ca_certificate:
    description: Certificate of the CA that O(certificate) is from, in PEM.
    type: str
  certificate_days:
    description: V(verify) warns of a certificate with fewer days left.
    type: int
    default: 30
attributes:
  check_mode:
    description: Predicts. Does not test whether members can be joined.
  diff_mode:
    description: Shows every file without secrets, and the listeners.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

from dataclasses import fields
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._ovn import stale
from ..module_utils._ovn.converge import Central, converge
from ..module_utils._ovn.verify import verify

CENTRAL = tuple(one.name for one in fields(Central) if one.name not in ("step", "create", "clusters"))
RULES = {
    "required_if": [
        *(("step", step, CENTRAL) for step in ("maintain", "form", "restart", "verify")),
        ("step", "decide", ("answers", "hosts", "secret")),
        ("step", "forget", ("lost",)),
        ("step", "follow", ("secret",)),
        ("step", "leave", ("name", "address", "peers")),
    ]
}


def _central(given: dict[str, Any], *, step: str) -> Central:
    values: dict[str, Any] = {**given, "step": step}
    return Central(**{one.name: values[one.name] for one in fields(Central)})


def main() -> None:

    def converges(step: str) -> Any:
        return lambda changes, given: converge(_central(given, step=step), changes)

    def verifies(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
        return verify(_central(given, step="verify"), changes, certificate_days=given["certificate_days"])

    def forgets(changes: Changes, given: dict[str, Any]) -> dict[str, Any] | None:
        return stale.remove(changes, lost=given["lost"], clusters=given["clusters"])

    def leaves(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
        return stale.leave(changes, **{name: given[name] for name in ("name", "address", "peers", "clusters")})

    steps = {step: converges(step) for step in ("maintain", "form", "restart")}
    run_step(
        {**steps, "decide": None, "forget": forgets, "leave": leaves, "verify": verifies, "follow": None},
        secret=("private_key",),
    )


if __name__ == "__main__":
    main()
