#!/usr/bin/python
"""Converges OVN's databases and northd on one control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_central
short_description: Converge OVN's databases and northd on a control host
version_added: 0.1.0
description:
  - Installs and configures Debian's packages of OVN, and maintains the host's members of the northbound and the
    southbound database, each a raft cluster over TLS. One control host is a cluster, too.
  - Data on disk are never made anew. Without data nothing starts until O(step=form).
  - The controller notes the ids of the clusters. A cluster is never made where it knows one.
options:
  step:
    description:
      - With V(maintain) members are converged; what needs a restart is in RV(due), what lacks data in RV(waits).
      - With V(form) the host becomes a member of every database. One host at a time.
      - With V(restart) members take up what their units run by. One host at a time.
      - With V(verify) leader, members, listeners, schema, northd and certificate are asked, and nothing is changed.
    type: str
    choices: [maintain, form, restart, verify]
    default: maintain
  create:
    description: Databases whose clusters this host makes with O(step=form). Others it joins.
    type: list
    elements: str
    choices: [nb, sb]
    default: []
  address:
    description: Address of the host, where other members know it for life.
    type: str
    required: true
  peers:
    description: Addresses of the site's other control hosts.
    type: list
    elements: str
    required: true
  nodes:
    description:
      - Addresses and networks that Neutron's pods call from. They and control hosts alone reach listeners without a
        role, and control hosts alone the ports between members, whatever certificate is shown.
    type: list
    elements: str
    required: true
  northbound:
    description: Where northd reaches the northbound database, one connection a control host.
    type: list
    elements: str
    required: true
  southbound:
    description: Where northd reaches the southbound database, by the listener without a role.
    type: list
    elements: str
    required: true
  election_timer:
    description: Milliseconds without a word of the leader before members choose another.
    type: int
    required: true
  inactivity_probe:
    description: Milliseconds of silence before a database asks whether a client is still there.
    type: int
    required: true
  certificate_days:
    description: Verification warns of a certificate with fewer days left.
    type: int
    default: 30
attributes:
  check_mode:
    description: Predicts. Whether members can be joined through is known when it is done.
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
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success, unless verifying
databases:
  description: Id of the cluster this host is a member of, by database. Null without data, empty while it joins.
  type: dict
  returned: success, unless verifying
waits:
  description: Databases that this host has no data of.
  type: list
  elements: str
  returned: success, unless verifying
due:
  description: Databases whose member is to be restarted.
  type: list
  elements: str
  returned: success, unless verifying
members:
  description: Role, cluster, servers and lag of this host's member, by database.
  type: dict
  returned: when verifying
northd:
  description: What this host's northd is, C(active) or C(standby).
  type: str
  returned: when verifying
certificate_days:
  description: Days that the certificate has left.
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
