#!/usr/bin/python
"""Remove etcd members and Nodes of hosts that are empty now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_stale_members
short_description: Remove etcd members and Nodes of lost hosts
version_added: 0.1.0
description:
  - Runs on a control host that is a member, before other hosts join. An empty host whose name is still an etcd member
    or a Node is a replacement. Removes that member, then the Node, so that the host can join as a new one.
  - Refuses, and changes nothing, when the old member still answers, when a Node of that name is another machine that
    answers, when the remaining members have no quorum, or when etcd's quorum needs a member on one of O(half_made),
    such as the only control host.
  - Does nothing on a host without an admin kubeconfig.
options:
  api:
    description: URL of the host's own API server.
    type: str
    required: true
  hosts:
    description: Empty hosts about to join, each a C(groundup_host).
    type: list
    elements: dict
    required: true
  half_made:
    description:
      - Names of those of O(hosts) with an unfinished join. Their etcd may run; M(groundup.cloud.kubeadm_node) removes
        it.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Lists what would be removed, or why it is refused.
  diff_mode:
    description: Shows the member and the Node.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: A control host that was lost takes its place again
  groundup.cloud.kubeadm_stale_members:
    name: control-1
    api: https://{{ hostvars['control-1'].groundup_host.address }}:{{ groundup_site.kubernetes.api_port }}
    hosts: "{{ [hostvars['control-2'].groundup_host] }}"
"""

RETURN = r"""
changes:
  description: What was removed, in order, or would be in check mode.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError, OptionError
from ..module_utils._base.module import run_module
from ..module_utils._kubeadm.api import NodeApiError
from ..module_utils._kubeadm.etcd import Etcd
from ..module_utils._kubeadm.host import NodeHost
from ..module_utils._kubeadm.stale_members import Empty, remove_stale_members


def empty(parameters: dict[str, Any]) -> list[Empty]:
    """Turn the module's parameters into hosts. Raises OptionError for a field that one of ``hosts`` lacks."""
    try:
        return [
            Empty(
                name=host["name"],
                address=host["address"],
                control="control" in host["roles"],
                half_made=host["name"] in parameters["half_made"],
            )
            for host in parameters["hosts"]
        ]
    except KeyError as error:
        raise OptionError(f"one of the option hosts lacks {error}: give the plan's hosts as they are") from None


def main() -> None:
    """Run the module."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "api": {"type": "str", "required": True},
            "hosts": {"type": "list", "elements": "dict", "required": True},
            "half_made": {"type": "list", "elements": "str", "default": []},
        },
        remove,
    )


def remove(changes: Changes, given: dict[str, Any]) -> None:
    """Remove stale members and Nodes of empty hosts. Raises GroundupError, OptionError."""
    host, server = NodeHost(name=given["name"]), given["api"]
    if not (host.paths.kubernetes / "admin.conf").exists():
        return
    hosts = empty(given)
    try:
        with host.api(server) as api:
            remove_stale_members(hosts, contact=host.name, etcd=Etcd(host), api=api, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"stale etcd members and Nodes of empty hosts cannot be listed: {error}",
            where=f"host {host.name}, its etcd and {server}",
            why="a host that was lost and is made anew cannot join while its old etcd member or Node is there",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error


if __name__ == "__main__":
    main()
