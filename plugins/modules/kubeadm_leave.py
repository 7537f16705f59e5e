#!/usr/bin/python
"""Remove a host's etcd member, from a control host that stays, or reset a node on the host itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_leave
short_description: Remove a host's etcd member, or reset a node
version_added: 0.1.0
description:
  - With O(member), on a control host that stays, removes that host's etcd member. Refuses, and changes nothing, unless
    the remaining members keep their quorum.
  - Without O(member), on the host that leaves, stops keepalived, HAProxy and the kubelet, resets the node with kubeadm
    and removes the files of the layers. Sets local volumes aside, beside their directory. Keeps packages, images, users
    and names. Refuses a node of another cluster, and directories of volumes that O(directories) does not name.
options:
  name:
    description: Name of the host it runs on, for messages.
    type: str
    required: true
  member:
    description: Name of the host whose etcd member is to be removed.
    type: str
  address:
    description: Address of O(member).
    type: str
    default: ""
  expected_ca:
    description: SHA-256 of the cluster's CA certificate. The action fills it in from O(site).
    type: str
  site:
    description: Name of the site, whose state directory records the cluster.
    type: str
  directories:
    description: Directories of local volumes that leave, as V(check) of M(groundup.cloud.machine_removal) names them.
    type: list
    elements: path
    default: []
  force:
    description: Risks of C(groundup.cloud.remove) to accept. V(other-volumes) sets other directories aside, too.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Lists what would be removed, or why it is refused.
  diff_mode:
    description: Shows the member.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Take the lost control host out of etcd
  groundup.cloud.kubeadm_leave:
    name: control-1
    member: control-3
    address: 10.90.0.14
  delegate_to: control-1
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
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.module import run_module
from ..module_utils._kubeadm import volumes
from ..module_utils._kubeadm.api import NodeApiError
from ..module_utils._kubeadm.etcd import Etcd
from ..module_utils._kubeadm.host import NodeHost
from ..module_utils._kubeadm.leave import leave_etcd, reset


def leave(host: NodeHost, given: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Remove the etcd member or reset the node, and return the module's result. Raises GroundupError, OSError."""
    if not given["member"]:
        if not given["expected_ca"]:
            raise GroundupError(
                f"{host.name} is not reset: nobody said which cluster it may belong to",
                where="options expected_ca and site of kubeadm_leave; cluster.json and kubeconfig of the site",
                why="it may be a node of a cluster that is not this site's",
                remedy="give the site, and restore its state directory if it is lost",
            )
        volumes.refuse(host, given["directories"], given["force"])
        reset(host, changes, expected_ca=given["expected_ca"])
        return changes.result()
    try:
        leave_etcd(given["member"], given["address"], etcd=Etcd(host), contact=host.name, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"etcd cannot be asked for its members: {error}",
            where=f"host {host.name}",
            why="a member is removed by those that stay",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error
    return changes.result()


def main() -> None:
    """Run the module."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "member": {"type": "str"},
            "address": {"type": "str", "default": ""},
            "expected_ca": {"type": "str"},
            "site": {"type": "str"},
            "directories": {"type": "list", "elements": "path", "default": []},
            "force": {"type": "list", "elements": "str", "default": []},
        },
        lambda changes, given: leave(NodeHost(name=given["name"]), given, changes),
    )


if __name__ == "__main__":
    main()
