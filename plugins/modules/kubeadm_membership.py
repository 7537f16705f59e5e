#!/usr/bin/python
"""Report which cluster a control host belongs to."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_membership
short_description: Report which cluster a control host belongs to
version_added: 0.1.0
description:
  - Reads the files of kubeadm and etcd on the host, its etcd's member list, and the remaining days of its certificates.
    Changes nothing.
  - Like M(groundup.cloud.kubeadm_node), fails on a host of another cluster, and on leftovers that no run of this site
    made.
options:
  address:
    description: Address of the host.
    type: str
    required: true
  cluster:
    description: The plan's C(kubernetes).
    type: dict
    required: true
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.host
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Ask a control host which cluster it belongs to
  groundup.cloud.kubeadm_membership:
    name: "{{ groundup_host.name }}"
    address: "{{ groundup_host.address }}"
    site: "{{ groundup_site.site }}"
    cluster: "{{ groundup_site.kubernetes }}"
"""

RETURN = r"""
membership:
  description: State of the host, C(blank), C(partial) or C(member).
  type: str
  returned: success
ca:
  description: SHA-256 of the CA certificate on the host, or null.
  type: str
  returned: success
etcd_data:
  description: Whether the host has etcd data.
  type: bool
  returned: success
etcd:
  description: Names of the members in its etcd, empty when etcd does not answer.
  type: list
  elements: str
  returned: success
certificates:
  description: Days left of each certificate of the host, by file name.
  type: dict
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.module import run_module
from ..module_utils._kubeadm import renewal
from ..module_utils._kubeadm.api import NodeApiError
from ..module_utils._kubeadm.etcd import Etcd
from ..module_utils._kubeadm.host import NodeHost
from ..module_utils._kubeadm.spec import ClusterSettings, Node
from ..module_utils._kubeadm.state import classify, observe


def membership(host: NodeHost, node: Node) -> dict[str, Any]:
    """Return the host's membership in ``node``'s cluster. Raises GroundupError, OSError."""
    found = observe(host.paths)
    membership_ = classify(found, node, expected_ca=None)
    try:
        etcd = sorted(member.name for member in Etcd(host).members()) if found.etcd_data else []
    except (GroundupError, NodeApiError):
        etcd = []
    return {
        "changed": False,
        "membership": membership_.value,
        "ca": found.ca_fingerprint,
        "etcd_data": found.etcd_data,
        "etcd": etcd,
        "certificates": renewal.remaining(host.paths),
    }


def work(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the host's membership in the cluster of the options. Raises GroundupError, OptionError, OSError."""
    node = Node(
        name=given["name"],
        control=True,
        initialise=False,
        address=given["address"],
        taints=(),
        cluster=ClusterSettings.from_plan(given["site"], given["cluster"]),
        registry="",
        sandbox_image="",
        images=(),
        downloads=(),
        encryption_key=None,
    )
    return membership(NodeHost(name=node.name), node)


def main() -> None:
    """Run the module."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "address": {"type": "str", "required": True},
            "site": {"type": "str", "required": True},
            "cluster": {"type": "dict", "required": True},
        },
        work,
    )


if __name__ == "__main__":
    main()
