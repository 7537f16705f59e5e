#!/usr/bin/python
"""Keeps a host from using Ceph, or lets it again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_fence
short_description: Keep a host from using Ceph, or let it again
version_added: 0.2.0
description:
  - Runs on a storage host. Puts addresses of a host into Ceph's blocklist, or takes them out.
  - A hypervisor whose instances are brought back elsewhere may live, out of reach. What it still writes is refused
    then, and locks that it holds are free for the next client.
  - An address stays there for a year at most. Ceph's own default is an hour.
options:
  addresses:
    description: Addresses of the host.
    type: list
    elements: str
    required: true
  fenced:
    description: Whether it is kept from Ceph.
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
  description: What was done, or in check mode would be, a line each.
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
