#!/usr/bin/python
"""Converge OVN's databases and northd on one control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_central
short_description: Converge OVN's databases and northd on a control host
version_added: 0.1.0
description:
  - Installs and configures Debian's OVN packages, and maintains the host's members of the northbound and southbound
    database, each a raft cluster over TLS, even with one control host.
  - Never recreates data on disk. Without data nothing starts until O(step=form).
  - The controller records the ids of the clusters. It never creates a cluster of which it has an id.
options:
  step:
    description:
      - V(maintain) converges existing members. RV(due) lists databases that need a restart, RV(waits) those without
        data.
      - V(form) makes the host a member of every database. One host at a time.
      - V(restart) restarts members whose unit configuration changed. One host at a time.
      - V(verify) checks leader, members, listeners, schema, northd and certificate, and changes nothing.
    type: str
    choices: [maintain, form, restart, verify]
    default: maintain
  create:
    description: Databases whose clusters this host creates with O(step=form). It joins the others.
    type: list
    elements: str
    choices: [nb, sb]
    default: []
  address:
    description: Address of the host. A member keeps it for life.
    type: str
    required: true
  peers:
    description: Addresses of the site's other control hosts.
    type: list
    elements: str
    required: true
  nodes:
    description:
      - Source addresses and networks of Neutron's pods. Only they and control hosts reach listeners without a role, and
        only control hosts reach the raft ports, even with a valid certificate.
    type: list
    elements: str
    required: true
  northbound:
    description: Connections of northd to the northbound database, one per control host.
    type: list
    elements: str
    required: true
  southbound:
    description: Connections of northd to the southbound database, at the listener without a role.
    type: list
    elements: str
    required: true
  election_timer:
    description: Milliseconds without a message from the leader until members elect another.
    type: int
    required: true
  inactivity_probe:
    description: Milliseconds of silence until a database probes a client.
    type: int
    required: true
  hypervisor_ca:
    description: CA of the chassis' certificates, in PEM.
    type: str
    required: true
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
  - groundup.cloud.host.ovn
  - groundup.cloud.host
  - groundup.cloud.site
  - groundup.cloud.host.certificate
  - groundup.cloud.host.installs
"""

EXAMPLES = r"""
- name: Maintain OVN's databases
  groundup.cloud.ovn_central:
    site: "{{ groundup_site.site }}"
    packages: "{{ groundup_host.packages.network }}"
    name: "{{ groundup_host.name }}"
    address: "{{ groundup_host.address }}"
    peers: [10.90.0.12, 10.90.0.13]
    nodes: [10.90.0.11, 10.90.0.12, 10.90.0.13, 10.90.0.21, "{{ groundup_site.kubernetes.pod_cidr }}"]
    northbound: "{{ groundup_site.ovn.northbound }}"
    southbound: "{{ groundup_site.ovn.southbound }}"
    election_timer: "{{ groundup_site.ovn.election_timer }}"
    inactivity_probe: "{{ groundup_site.ovn.inactivity_probe }}"
    certificate: "{{ lookup('groundup.cloud.state_file', 'pki/ovn-control-1.crt') }}"
    private_key: "{{ lookup('groundup.cloud.secret', 'pki/ovn-control-1-key') }}"
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'pki/authority/ovn.crt') }}"
    hypervisor_ca: "{{ lookup('groundup.cloud.state_file', 'pki/authority/hypervisor.crt') }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success, unless verifying
databases:
  description: Id of the cluster this host is a member of, by database. Null without data, empty while joining.
  type: dict
  returned: success, unless verifying
waits:
  description: Databases without data on this host.
  type: list
  elements: str
  returned: success, unless verifying
due:
  description: Databases whose member needs a restart.
  type: list
  elements: str
  returned: success, unless verifying
members:
  description: Role, cluster, servers and lag of this host's member, by database.
  type: dict
  returned: when verifying
northd:
  description: State of this host's northd, C(active) or C(standby).
  type: str
  returned: when verifying
certificate_days:
  description: Days left of the certificate.
  type: int
  returned: when verifying
"""

from dataclasses import fields
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._base.options import CERTIFICATE
from ..module_utils._ovn.converge import Central, converge
from ..module_utils._ovn.verify import verify


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge or verify. Raises GroundupError, OSError."""
    central = Central(**{one.name: given[one.name] for one in fields(Central)})
    if given["step"] == "verify":
        return verify(central, changes, certificate_days=given["certificate_days"])
    return converge(central, changes)


def main() -> None:
    """Read the options, converge or verify, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "step": {"type": "str", "choices": ["maintain", "form", "restart", "verify"], "default": "maintain"},
            "create": {"type": "list", "elements": "str", "choices": ["nb", "sb"], "default": []},
            "clusters": {"type": "dict", "default": {}},
            "packages": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "address": {"type": "str", "required": True},
            "peers": {"type": "list", "elements": "str", "required": True},
            "nodes": {"type": "list", "elements": "str", "required": True},
            "hypervisor_ca": {"type": "str", "required": True},
            "northbound": {"type": "list", "elements": "str", "required": True},
            "southbound": {"type": "list", "elements": "str", "required": True},
            "election_timer": {"type": "int", "required": True},
            "inactivity_probe": {"type": "int", "required": True},
            **CERTIFICATE,
            "certificate_days": {"type": "int", "default": 30},
        },
        work,
    )


if __name__ == "__main__":
    main()
