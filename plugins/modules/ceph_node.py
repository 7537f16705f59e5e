#!/usr/bin/python
"""Converge Ceph's daemons on one storage host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_node
short_description: Converge Ceph's monitor, manager and OSDs on a storage host
version_added: 0.1.0
description:
  - Installs Debian's Ceph packages, writes configuration and keys, and runs the daemons that have data on the host.
  - Creates a daemon's data once. Refuses data of another cluster, and a device that is not empty.
options:
  step:
    description:
      - V(maintain) converges existing daemons. RV(waits) lists daemons without data, RV(due) those that need a restart.
      - V(monitor) creates the data of the host's monitor.
      - V(daemons) creates the host's OSDs and starts all daemons. It needs a quorum.
      - V(restart) restarts daemons with a new configuration, each when Ceph can do without it. One host at a time.
    type: str
    choices: [maintain, monitor, daemons, restart]
    default: maintain
  hardware:
    description: Hardware profile of the host, which names the disks of its OSDs.
    type: str
    required: true
  known:
    description:
      - Whether any storage host has an OSD of the cluster. A monitor without data then joins the existing quorum.
    type: bool
    default: false
  silent:
    description:
      - Storage hosts that did not answer whether they have an OSD. If there are any and O(known) is false, nothing is
        created.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Predicts.
  diff_mode:
    description: Shows every file without keys.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ceph
  - groundup.cloud.host
  - groundup.cloud.host.installs
"""

EXAMPLES = r"""
- name: Maintain Ceph's daemons
  groundup.cloud.ceph_node:
    name: "{{ groundup_host.name }}"
    hardware: "{{ groundup_host.hardware }}"
    packages: "{{ groundup_host.packages.storage }}"
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
  vars:
    names: "{{ groundup_site.ceph.secrets }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
known:
  description: Whether the host has an OSD of the cluster.
  type: bool
  returned: success
waits:
  description: Daemons without data, C(monitor) or the name of an OSD.
  type: list
  elements: str
  returned: success
due:
  description: Daemons that need a restart.
  type: list
  elements: str
  returned: success
"""

from ..module_utils._base.module import run_module
from ..module_utils._ceph.converge import converge
from ..module_utils._ceph.model import node


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "step": {"type": "str", "choices": ["maintain", "monitor", "daemons", "restart"], "default": "maintain"},
            "name": {"type": "str", "required": True},
            "hardware": {"type": "str", "required": True},
            "packages": {"type": "list", "elements": "str", "required": True},
            "ceph": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
            "known": {"type": "bool", "default": False},
            "silent": {"type": "list", "elements": "str", "default": []},
        },
        lambda changes, given: converge(
            node(given), changes, step=given["step"], known=given["known"], silent=given["silent"]
        ),
    )


if __name__ == "__main__":
    main()
