"""Steps of module node that converge a host, with the module's parameters as types."""

from __future__ import annotations

from typing import Any

from .._base.changes import Changes
from .._plan.decode import from_dict
from . import encryption
from . import leave as leaving
from .converge import converge, pull_later
from .host import NodeHost
from .spec import Join, Node


def node_of(parameters: dict[str, Any]) -> Node:
    """Turn the module's parameters into a node. Raises OptionError for a field that one of them lacks."""
    keys = parameters["encryption_keys"]
    ordered = dict.fromkeys([*(name for name in parameters["encryption_order"] if name in keys), *keys])
    ours = {
        "control": parameters["role"] == "control", "ca_certificate": parameters["ca_certificate"] or None,
        "encryption_keys": [{"name": name, "secret": keys[name]} for name in ordered],
    }  # fmt: skip
    return from_dict(Node, parameters | ours, "options")


def make(step: str, changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Maintain, restart or join the node. Raises GroundupError, OptionError, OSError."""
    node = node_of(given)
    return converge(
        node,
        NodeHost(name=node.name),
        changes,
        join=from_dict(Join, given["join"], "options.join") if step == "join" else None,
        expected_ca=given["expected_ca"],
        rolling_restart=step == "restart",
    ).result()


def pull(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Have the node pull what later pods run, in the background. Raises OptionError."""
    node = node_of(given)
    pull_later(node, NodeHost(name=node.name), changes)
    return changes.result()


def encrypt(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Have the API server use other keys of Secrets at rest. Raises GroundupError, OptionError, OSError."""
    node = node_of(given)
    encryption.change(node, NodeHost(name=node.name), changes, order=given["encryption_order"])
    return changes.result()


def leave(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Take the node, or its etcd member, out of the cluster. Raises GroundupError, OSError."""
    return leaving.leave(NodeHost(name=given["name"]), given, changes)
