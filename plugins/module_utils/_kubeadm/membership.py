"""Which cluster a control host belongs to."""

from __future__ import annotations

from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._plan.decode import from_dict
from .._plan.kubernetes import KubernetesPlan, NodeSupply
from . import renewal
from .api import NodeApiError
from .etcd import Etcd
from .host import NodeHost
from .spec import Node
from .state import classify, observe


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


def of_host(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the host's membership in the cluster of the options. Raises GroundupError, OptionError, OSError."""
    node = Node(
        name=given["name"],
        control=True,
        address=given["address"],
        site=given["site"],
        cluster=from_dict(KubernetesPlan, given["cluster"], "options.cluster"),
        supply=NodeSupply(registry="", registry_tls=True),
        sandbox_image="",
    )
    return membership(NodeHost(name=node.name), node)
