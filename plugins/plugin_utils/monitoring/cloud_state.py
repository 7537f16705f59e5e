"""Services and objects of the cloud, by what the databases of the built-in charts have: alerts and panels."""

from __future__ import annotations

from collections.abc import Callable

from ..plan.types import Plan
from .carriers import AGENTS
from .members import of
from .panels import DashboardRecord, PanelRecord, most
from .record import AlertRecord, named, of_lost_hosts

FAILED = 3  # objects within an hour: one alone may be its user's fault

_ON_HOST = "nova-compute|neutron-.+"


def _reports(which: str, *, admin: str = "enabled") -> str:
    states = (f'openstack_{one}_agent_state{{adminState="{admin}",{which}}}' for one in ("cinder", "neutron", "nova"))
    return f"max by (service, hostname) ({' or '.join(states)})"


# Of hosts that do not answer, HostDown tells.
_ON_HOSTS = "({} unless on (hostname) {})".format(_reports(f'service=~"{_ON_HOST}"'), of_lost_hosts("hostname"))
_ANYWHERE = f"max by (service) ({_ON_HOSTS})"
_IN_PODS = _reports(f'service!~"{_ON_HOST}"')


_EACH = 'service!=""'
_ALL, _OUT = _reports(_EACH), _reports(_EACH, admin="disabled")


def _here(expr: str) -> Callable[[Plan], str]:
    there = of("mariadb", lambda _: expr)
    return lambda plan: there(plan) if {"nova", "cinder"} & {*plan.openstack.services} else ""


def _told(expr: str, label: str) -> Callable[[Plan], str]:
    return _here(named(expr, label))


def _counted(state: str) -> str:
    return f'max by (kind) (groundup_cloud_objects{{state="{state}"}})'


def _objects(state: str, bound: str) -> Callable[[Plan], str]:
    return _told(f"{_counted(state)} {bound}", "kind")


CLOUD_STATE: dict[str, AlertRecord] = {
    "HypervisorServiceSilent": AlertRecord(
        layer="hypervisor", job="node", severity="critical", after="2m",
        # If none reports, that is one fault, and none of the hosts'.
        expr=_told(f"{_ON_HOSTS} == 0 and on (service) {_ANYWHERE} == 1", "hostname"),
        what="{service} of {object} runs no more, or cannot report",
        why="Nova or Neutron can start, stop, move and connect no instance there; those that run go on",
        remedy="run groundup.cloud.hypervisor --tags verify: it says what the service wrote last",
    ),
    "CloudServiceSilent": AlertRecord(
        layer="openstack", job="node", severity="critical", after="2m",
        expr=_told(f"({_ANYWHERE} or {_IN_PODS}) == 0", "service"),
        what="no {object} reports",
        why="what it does for the API waits or fails; instances go on",
        remedy="run groundup.cloud.openstack --tags verify: a failure card names the cause; services of hypervisors "
        "report by RabbitMQ, nova-compute by nova-conductor, too",
    ),
    "ObjectsFailed": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m",
        expr=_objects("failed", f">= {FAILED}"),
        what=f"{FAILED} {{object}} or more went into ERROR within an hour",
        why="users do not get what they ask for, or lose what they had; one alone may be a user's own fault",
        remedy="openstack server list --all-projects --status ERROR (volume, loadbalancer), then show of one: it says "
        "why; search the logs for its id",
    ),
    "ObjectsStuck": AlertRecord(
        layer="openstack", job="node", severity="warning", after="5m",
        expr=_objects("stuck", "> 0"),
        what="{object} are being made, changed or deleted for more than an hour",
        why="who works on them has lost them: users can neither use nor delete them",
        remedy="openstack server list --all-projects --status BUILD (volume: creating, deleting; loadbalancer: "
        "PENDING_...), read the log of the service on their host, then set their state and delete them",
    ),
}  # fmt: skip

CLOUD = DashboardRecord(
    title="Cloud services", what="Services of Nova, Neutron and Cinder, and what they work on, by their databases",
    panels=(
        PanelRecord(
            title="Services that report", job="node", legend="{service}", expr=_here(f"sum by (service) ({_ALL})"),
            alerts=("HypervisorServiceSilent", "CloudServiceSilent"),
            what="by kind; a step down is a service that stopped, or that an operator took out",
        ),
        PanelRecord(
            title="Silent services", job="node", legend="{service}",
            expr=_here(f"sum by (service) ({_ALL} == bool 0)"),
            alerts=("HypervisorServiceSilent", "CloudServiceSilent"),
            what="that were not taken out, and have not reported for a minute: with all of a kind, its work waits",
        ),
        PanelRecord(
            title="Services taken out", job="node", legend="{service}",
            expr=_here(f"count by (service) ({_OUT}) or 0 * count by (service) ({_ALL})"),
            what="by an operator, a drain or an evacuation",
        ),
        PanelRecord(
            title="OVN agents behind", job="node", legend="{chassis}", alerts=("OvnAgentSilent",),
            expr=_here(most(20, f"max(ovn_southbound_nb_cfg) - on () group_right () {AGENTS}")),
            what="questions of Neutron's that an agent has not answered; the twenty with most",
        ),
        PanelRecord(
            title="Objects in ERROR", job="node", legend="{kind}", expr=_here(_counted("error")),
            what="all, however old: instances, volumes, load balancers",
        ),
        PanelRecord(
            title="Objects that failed", job="node", legend="{kind}", expr=_here(_counted("failed")),
            alerts=("ObjectsFailed",), what="that went into ERROR within the hour",
        ),
        PanelRecord(
            title="Objects that are stuck", job="node", legend="{kind}", expr=_here(_counted("stuck")),
            alerts=("ObjectsStuck",), what="being made, changed or deleted for more than an hour",
        ),
    ),
)  # fmt: skip
