#!/usr/bin/python
"""Converges Ceph's daemons on one storage host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_node
short_description: Converge Ceph's monitor, manager and OSDs on a storage host
version_added: 0.1.0
description:
  - Installs Debian's packages of Ceph, writes configuration and keys, and runs the daemons whose data are on the host.
  - Data are made once. Those of another cluster are refused, and so is a device that holds anything.
options:
  step:
    description:
      - With V(maintain) what is there is converged; what has no data yet is in RV(waits), what needs a restart in
        RV(due).
      - With V(monitor) the data of the host's monitor are made.
      - With V(daemons) its OSDs are made, and everything is started. A quorum must be there.
      - With V(restart) daemons take up their configuration, each when nobody misses it. One host at a time.
    type: str
    choices: [maintain, monitor, daemons, restart]
    default: maintain
  hardware:
    description: Hardware profile of the host, which says what its OSDs are on.
    type: str
    required: true
  known:
    description: Whether some storage host has an OSD of the cluster. A monitor without data then joins its quorum.
    type: bool
    default: false
  silent:
    description: Storage hosts that did not say whether they have one. Without O(known) nothing is made then.
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
  description: What was done, or in check mode would be, a line each.
  type: list
  elements: str
  returned: success
known:
  description: Whether the host has an OSD of the cluster.
  type: bool
  returned: success
waits:
  description: What has no data yet, C(monitor) or the name of an OSD.
  type: list
  elements: str
  returned: success
due:
  description: Daemons to be restarted.
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
