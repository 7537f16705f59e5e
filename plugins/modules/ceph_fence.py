#!/usr/bin/python
"""Block a host's access to Ceph, or allow it again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_fence
short_description: Block a host's access to Ceph, or allow it again
version_added: 0.2.0
description:
  - Runs on a storage host. Adds addresses of a host to Ceph's blocklist, or removes them.
  - A hypervisor that is evacuated may be unreachable but still running. Once blocked, its writes are refused and its
    locks are free for the next client.
  - An address stays blocked for a year at most. Ceph's own default is an hour.
options:
  addresses:
    description: Addresses of the host.
    type: list
    elements: str
    required: true
  fenced:
    description: Whether the host is blocked.
    type: bool
    required: true
attributes:
  check_mode:
    description: Predicts.
  diff_mode:
    description: The changes are lines, not files.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ceph
"""

EXAMPLES = r"""
- name: Keep a dead hypervisor from its instances' disks
  groundup.cloud.ceph_fence:
    addresses: [10.90.3.21]
    fenced: true
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
  delegate_to: storage-1
  vars:
    names: "{{ groundup_site.ceph.secrets }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._ceph.cluster import connected
from ..module_utils._ceph.fence import fence
from ..module_utils._ceph.model import ADMIN, entities


def work(changes: Changes, given: dict[str, Any]) -> None:
    """Fence, or let in again. Raises GroundupError."""
    monitors = {one["name"]: one["address"] for one in given["ceph"]["monitors"]}
    with connected(ADMIN, entities(given["keys"])[ADMIN], monitors) as cluster:
        fence(cluster, changes, given["addresses"], fenced=given["fenced"])


def main() -> None:
    """Run the module."""
    run_module(
        {
            "addresses": {"type": "list", "elements": "str", "required": True},
            "fenced": {"type": "bool", "required": True},
            "ceph": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
        },
        work,
    )


if __name__ == "__main__":
    main()
