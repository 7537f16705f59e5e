"""Make the NetworkPolicy of a release: who may open connections to its pods.

It follows from the records: who uses or needs a release reaches its ports for clients. Ports published on nodes are
open to all: every pod can ask a node, and its address is all that the published pod sees. All else is for the
release's own pods. Both sets of charts render it from ``extraObjects``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import RECORDS
from .parts import merge
from .record import ServiceRecord, Values

if TYPE_CHECKING:
    from ..plan.types import Plan

_APPLICATION = "application"  # label of every pod of a release, with both sets of charts
_Port = tuple[str, int]  # protocol and number


def with_policy(plan: Plan, record: ServiceRecord, values: Values) -> Values:
    """Return ``values`` with the policy of ``record``'s release among its objects. What a site wrote there wins.

    A service that hosts serve has no pods to reach, but jobs.
    """
    if record.apis and all(api.role for api in record.apis):
        return values
    others = values.get("extraObjects") or {}
    if isinstance(others, Mapping):
        return merge({"extraObjects": {"network_policy": policy(plan, record, others.values())}}, values)
    return {**values, "extraObjects": [*others, policy(plan, record, others)]}


def policy(plan: Plan, record: ServiceRecord, others: Iterable[Mapping[str, Any]]) -> Values:
    """Return the policy of ``record``'s release. ``others``: objects of its chart that the values ask for."""
    published = {("TCP", api.port) for api in record.apis if not api.role} | set(_node_ports(others))
    clients = _clients(plan, record) if record.client_ports else []
    rules: list[Values] = [{"from": [_pods(record.name)]}]
    if clients:
        ports = [("TCP", port) for port in record.client_ports]
        rules.append({"from": [_pods(name) for name in clients], "ports": _written(ports)})
    if published:
        rules.append({"ports": _written(published)})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": record.name},
        "spec": {**_pods(record.name), "policyTypes": ["Ingress"], "ingress": rules},
    }


def _clients(plan: Plan, record: ServiceRecord) -> list[str]:
    """Return the site's releases that connect to ``record``'s."""
    releases = [RECORDS[release.name] for release in plan.openstack.releases if not release.is_extra]
    return [
        one.name for one in releases if record.name in one.needs or record.provides in (*one.uses, *one.optional)
    ]  # fmt: skip


def _node_ports(others: Iterable[Mapping[str, Any]]) -> list[_Port]:
    """Return the pods' ports behind Services of type NodePort."""
    services = [item["spec"] for item in others if item.get("kind") == "Service"]
    return [
        (port.get("protocol", "TCP"), port.get("targetPort", port["port"]))
        for service in services if service.get("type") == "NodePort" for port in service["ports"]
    ]  # fmt: skip


def _pods(release: str) -> Values:
    return {"podSelector": {"matchLabels": {_APPLICATION: release}}}


def _written(ports: Iterable[_Port]) -> list[Values]:
    return [{"protocol": protocol, "port": port} for protocol, port in sorted(ports)]
