"""A snapshot of the cluster: workloads, their pods, claims, nodes, events. `watch` keeps it current."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from ...kube.types import Object, Ref
from ...kube.workloads import condition, is_ready, owner_of
from ..types import ClusterFacts, EventLine

_DNS_LABEL = ("k8s-app", "kube-dns")


class ReleaseSnapshot:
    """Objects by reference, and events by the object they are about (oldest first)."""

    def __init__(
        self, objects: Mapping[Ref, Object], events: Mapping[Ref, tuple[EventLine, ...]] | None = None
    ) -> None:
        self.objects = objects
        self.events = events or {}

    @cached_property
    def _pods(self) -> dict[Ref, list[Object]]:
        owned: dict[Ref, list[Object]] = defaultdict(list)
        for ref, item in self.objects.items():
            if ref.kind == "Pod":
                owner = owner_of(item)
                if owner is not None:
                    owned[owner].append(item)
        return owned

    def pods(self, owner: Ref) -> list[Object]:
        """Return the pods of a workload, by name."""
        return sorted(self._pods.get(owner, ()), key=lambda pod: str(pod["metadata"]["name"]))

    def about(self, ref: Ref) -> tuple[EventLine, ...]:
        """Return the last events about an object, the newest last."""
        return tuple(self.events.get(ref, ())[-6:])

    @cached_property
    def facts(self) -> ClusterFacts:
        """Return the problems of nodes and cluster DNS."""
        nodes = [(ref.name, item) for ref, item in sorted(self.objects.items()) if ref.kind == "Node"]
        return ClusterFacts(
            not_ready_nodes=tuple(name for name, node in nodes if not is_ready(node)),
            full_nodes=tuple(name for name, node in nodes if condition(node, "DiskPressure") == "True"),
            dns_down=self._dns_down(),
        )

    def facts_for(self, pod: Object) -> ClusterFacts:
        """Return the same facts, with only those nodes that the pod's node selector allows."""
        selector = ((pod.get("spec") or {}).get("nodeSelector") or {}).items()

        def may_go(node: str) -> bool:
            labels = self.objects[Ref("Node", "", node)]["metadata"].get("labels") or {}
            return selector <= labels.items()

        return replace(
            self.facts,
            not_ready_nodes=tuple(filter(may_go, self.facts.not_ready_nodes)),
            full_nodes=tuple(filter(may_go, self.facts.full_nodes)),
        )

    def _dns_down(self) -> str:
        for ref, item in sorted(self.objects.items()):
            labels = (item.get("metadata") or {}).get("labels") or {}
            serves_names = ref.kind == "Deployment" and labels.get(_DNS_LABEL[0]) == _DNS_LABEL[1]
            if serves_names and not (item.get("status") or {}).get("availableReplicas"):
                return f"{ref.namespace}/{ref}"
        return ""
