"""All rows of a site: from the answers of its hosts, and from what the controller asks at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ...filter.edge_faults import edge_faults
from ..actions import documented
from ..cloud.connection import asker
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..kube.types import Object
from ..plan.types import Plan
from ..services import keystone, nova
from ..supply.publish import snapshots as published
from . import cluster, hosts, upkeep
from .backup_sets import set_rows
from .hosts import Results
from .hypervisors import hypervisor_rows
from .rows import StatusRow, guarded, run_layer

TIMEOUT = 5.0  # seconds of a request
Rows = list[StatusRow]


def of_answers(plan: Plan, said: Results) -> dict[str, Rows]:
    """Return the rows of each part, by what hosts ``said``."""
    edges = {name: one["parts"]["edge"] for name, one in said.items() if "edge" in one.get("parts", {})}
    heard = {name: {"edge_state": one} for name, one in edges.items() if "listeners" in one}
    return parts(
        plan, said,
        edge_faults=edge_faults(heard, [*heard], control=plan.edge.hosts, address=plan.edge.address,
                                public=hosts.users_address(plan)),
        certificate_days=documented("cluster")["certificate_days"]["default"],
        backup_days=documented("backup")["days"]["default"],
        snapshots=published.in_use(published.load(plan.site), plan.supply.packages),
    )  # fmt: skip


def parts(
    plan: Plan,
    said: Results,
    *,
    edge_faults: Sequence[str],
    certificate_days: int,
    backup_days: float,
    snapshots: Sequence[str] = (),
) -> dict[str, Rows]:
    """Return the rows of each part.

    ``said``: results by host; ``edge_faults``: what they mean for the edge; ``snapshots``: those of OS packages.
    """
    answered = [one for one in said.values() if "parts" in one]
    certificates = partial(
        upkeep.certificate_rows, plan, list(hosts.certificates_of(said)), warn_below=certificate_days,
        reachable=bool(answered),
    )  # fmt: skip
    with ThreadPoolExecutor() as pool:
        kubernetes = pool.submit(_cluster, plan)
        own: dict[str, Callable[[], Rows]] = {
            "certificates": certificates,
            "backups": partial(_backups, plan, days=backup_days),
            "machines": partial(upkeep.machine_rows, plan),
            "hosts": partial(hosts.host_rows, plan, said),
            "virtual_ip": partial(hosts.address_rows, plan, said, edge_faults),
            "ceph": partial(hosts.ceph_rows, plan, said),
            "ovn": partial(hosts.ovn_rows, plan, said),
        }
        asked = {name: pool.submit(guarded, name, ask) for name, ask in own.items()}
        nodes, found = kubernetes.result()
        found |= {name: one.result() for name, one in asked.items()}
    versions = partial(
        upkeep.version_rows, plan, nodes=nodes, releases=found["releases"], answered=answered, snapshots=snapshots
    )
    return {**found, "versions": guarded("versions", versions)}


def _cluster(plan: Plan) -> tuple[dict[str, Object], dict[str, Rows]]:
    """Return the nodes, and the rows of nodes, releases and hypervisors: each stands on the one before."""
    nodes: dict[str, Object] = {}
    kubeconfig, cloud = kubeconfig_path(plan.site), {keystone.SERVICE.name, nova.SERVICE.name}
    hypervisors = cloud <= set(plan.openstack.services)
    if not kubeconfig.is_file():
        missing = {"nodes": "kubernetes", "releases": "openstack", "hypervisors": "hypervisor"}
        return nodes, {
            part: [_not_made(part, layer)] for part, layer in missing.items() if hypervisors or part != "hypervisors"
        }

    def api() -> Api:
        return Api(kubeconfig, timeout=TIMEOUT, patience=0)

    def ask_nodes() -> Rows:
        nodes.update(cluster.nodes_of(api()))
        return cluster.node_rows(plan, nodes)

    rows = {
        "nodes": guarded("nodes", ask_nodes),
        "releases": guarded("releases", lambda: cluster.release_rows(plan, api())),
    }
    if hypervisors and cloud & {row.name for row in rows["releases"] if row.state == "not made"}:
        rows["hypervisors"] = [_not_made("hypervisors", "openstack")]
    elif hypervisors:
        rows["hypervisors"] = guarded("hypervisors", lambda: hypervisor_rows(plan, asker(plan, timeout=TIMEOUT)))
    return nodes, rows


def _backups(plan: Plan, *, days: float) -> Rows:
    return set_rows(plan, days=days)


def _not_made(part: str, layer: str) -> StatusRow:
    return StatusRow(name=f"all {part}", state="not made", what="not made yet", remedy=run_layer(layer))
