#!/usr/bin/python
"""Remove members of OVN's databases whose hosts have lost their data."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_stale_members
short_description: Remove members of OVN's databases whose data are lost
version_added: 0.1.0
description:
  - Runs on a control host whose members are connected to their leaders, and removes the former members of hosts without
    data from the clusters. Such a host then joins as a new member.
  - Fails without a leader, because a majority of members must agree.
options:
  lost:
    description: By database, addresses of hosts that reported in this run that they have no data.
    type: dict
    required: true
attributes:
  diff_mode:
    description: Shows only the changes.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host.ovn
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Go on without the members of control-3, which has a new disk
  groundup.cloud.ovn_stale_members:
    site: "{{ groundup_site.site }}"
    lost: {nb: [10.90.0.13], sb: [10.90.0.13]}
  delegate_to: control-1
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

from ..module_utils._base.module import run_module
from ..module_utils._ovn import stale


def main() -> None:
    """Read the options, remove, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "lost": {"type": "dict", "required": True},
            "clusters": {"type": "dict", "default": {}},
        },
        lambda changes, given: stale.remove(changes, lost=given["lost"], clusters=given["clusters"]),
    )


if __name__ == "__main__":
    main()
