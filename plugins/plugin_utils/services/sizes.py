"""Sizes: members and pods of each release, and their spread over hosts or racks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..layers.roles import CONTROL_LABEL, RACK_LABEL
from . import RECORDS

if TYPE_CHECKING:
    from ..plan.types import Plan

HOST_LABEL = "kubernetes.io/hostname"
# Profiles where all pods share one small machine: no requests of their own, no limits (rollout/apply/namespaces.py).
SMALL = ("lab",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes derived from the control hosts; each service's module has those of the scale."""

    members: dict[str, int]  # by service
    api: int  # pods of an API without its own number
    single: int  # pods of a service that runs in one of them at a time: the built-in charts know how
    pods: dict[str, int]  # of each API, by service
    workers: dict[str, int]  # processes of a pod, by service
    topology_key: str  # node label that separates members: rack if there are enough, else host
    spread: bool  # whether a second member on the same host or rack is forbidden, not just avoided
    resources: bool  # whether pods have requests and limits
    cpu_share: float  # of the profile's CPU requests: smaller on machines with fewer cores

    def cpu(self, millicores: int) -> str:
        """Return the CPU request (a weight) of a pod that gets ``millicores`` on the profile's hardware."""
        share = max(10, int(millicores * self.cpu_share))
        return f"{share}m" if share % 1000 else str(share // 1000)


def majority(members: int) -> int:
    """Return how many of ``members`` must stay during maintenance; 0 for one member, which may stop."""
    return members // 2 + 1 if members > 1 else 0


def sizes(plan: Plan) -> Sizes:
    """Return the sizes of ``plan``: those of the site file, else one member per control host, at most three.

    A quorum has an odd number: two control hosts run one member, because two members survive no loss.
    """
    hosts = max(1, sum("control" in host.roles for host in plan.hosts.values()))
    nodes = [host for host in plan.hosts.values() if host.node_labels.get(CONTROL_LABEL) == "enabled"]
    odd, several = 3 if hosts >= 3 else 1, min(hosts, 3)
    sized = [record for record in RECORDS.values() if record.members]
    wanted = plan.openstack.replicas
    members = {record.name: wanted.get(record.name, odd if record.quorum else several) for record in sized}
    racks = {host.node_labels.get(RACK_LABEL) for host in nodes} - {None}
    most = max(members[record.name] for record in sized if record.quorum)
    api = wanted.get("api", several)
    return Sizes(
        members=members,
        api=api,
        single=several if plan.openstack.charts == "builtin" else 1,
        pods={record.name: wanted.get(record.name, api) for record in RECORDS.values() if record.api},
        workers={
            record.name: plan.openstack.workers.get(record.name, record.workers[plan.openstack.scale])
            for record in RECORDS.values()
            if record.workers
        },
        topology_key=RACK_LABEL if most > 1 and len(racks) >= most else HOST_LABEL,
        spread=1 < most <= len(nodes),
        resources=plan.profile not in SMALL,
        cpu_share=plan.openstack.cpu_share,
    )
