"""Read from the cluster what hypervisors need: the releases' configuration, and where its services are reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import serving
from ..rollout.gate import pairs
from . import ini
from .configuration import (
    AGENT_FILES,
    NEUTRON_FILES,
    NEUTRON_SECRET,
    NOVA_ACCOUNTS,
    NOVA_FILES,
    NOVA_SECRET,
    CloudAccess,
    NotYetError,
    every_file,
    for_hosts,
    reachable,
    secret_file,
)

_POD = "statefulset.kubernetes.io/pod-name"
_QUEUE_PORTS = (5671, 5672)  # with TLS (preferred), and without


def read_cluster(
    api: Api, *, namespace: str, nodes: Sequence[str], auth_url: str, with_agents: bool = False
) -> CloudAccess:
    """Return hypervisors' configuration. ``nodes``: addresses that serve node ports. Raises GroundupError, ApiError.

    ``with_agents``: how Neutron speaks to agents of SR-IOV, too.
    """

    def secret(name: str) -> Object | None:
        return api.find(resource_path("v1", "secrets", namespace=namespace, name=name))

    services = list(api.get(resource_path("v1", "services", namespace=namespace)).get("items") or ())
    where = f"Secret {namespace}/"
    nova = secret_file(secret(NOVA_SECRET), NOVA_FILES, where=where + NOVA_SECRET)
    accounts = every_file(secret(NOVA_ACCOUNTS))
    of_neutron = secret(NEUTRON_SECRET)
    agent = secret_file(of_neutron, AGENT_FILES, where=where + NEUTRON_SECRET)
    server = secret_file(of_neutron, NEUTRON_FILES, where=where + NEUTRON_SECRET) if with_agents else ""
    if not ini.value(agent, "DEFAULT", "nova_metadata_host"):
        raise _unreachable("Nova's metadata service", "nova_metadata_host among the values of release neutron")
    secured: set[bool] = set()

    def member(name: str) -> tuple[str, int]:
        pod = name.partition(".")[0]
        port, tls = member_port(services, pod)
        secured.add(tls)
        number = pod.rpartition("-")[2]
        # Reach each member by another node: a lost node closes only one way.
        return nodes[int(number) % len(nodes) if number.isdigit() else 0], port

    transport_url = reachable(ini.value(nova, "DEFAULT", "transport_url") or "", member)
    agents_url = reachable(ini.value(server, "DEFAULT", "transport_url") or "", member) if with_agents else ""
    if len(secured) > 1:  # oslo.messaging has one option for all members
        raise _unreachable("the message queue with TLS", f"port {_QUEUE_PORTS[0]} in the Service of every member")
    return CloudAccess(
        nova=for_hosts(nova + accounts),
        agent=for_hosts(agent),
        transport_url=transport_url,
        queue_tls=True in secured,
        auth_url=auth_url,
        agents=ini.only(server, ("oslo_messaging_rabbit",)),
        agents_url=agents_url,
    )


def refuse_ahead(
    api: Api, *, namespace: str, release: str, host: str, steps: bool, also: Sequence[str] = ()
) -> None:  # fmt: skip
    """Raise GroundupError when the control plane's Nova runs another release than ``release``. Raises ApiError.

    Asked are pods that run, but no jobs: those of a former release may last. An image's own tag may not tell. With
    ``steps`` the host may leave its release: then some pod of Nova must run. ``also``: releases that it may run, too,
    while OpenStack is on its way to another.
    """
    path = resource_path("v1", "pods", namespace=namespace)
    listed = api.get(path, labelSelector="application=nova", fieldSelector="status.phase=Running").get("items") or ()
    pods = serving(listed)
    if steps and not pods:
        raise GroundupError(
            "no pod of the control plane's Nova runs, so nobody can say its release",
            where=f"{host}, pods application=nova of namespace {namespace}",
            why="a nova-compute that is newer than what it reports to leaves instances nobody can manage",
            remedy="run the playbook groundup.cloud.openstack, then this again",
        )
    others = pairs.releases(pods) - {release, *also}
    if others:
        raise GroundupError(
            f"the control plane's Nova runs {', '.join(sorted(others))}, and the host would run {release}",
            where=f"{host}, pods application=nova of namespace {namespace}",
            why="a nova-compute that is newer or older than what it reports to leaves instances nobody can manage",
            remedy=f"the playbook groundup.cloud.openstack_upgrade brings both to {release}, in order",
        )


def member_port(services: Sequence[Mapping[str, Any]], pod: str) -> tuple[int, bool]:
    """Return the node port of one member of the message queue, and whether it uses TLS. Raises GroundupError."""
    mine = [one for one in (service.get("spec") or {} for service in services)
            if (one.get("selector") or {}).get(_POD) == pod]  # fmt: skip
    found = {one.get("port"): one.get("nodePort") for spec in mine for one in spec.get("ports") or ()}
    for port in _QUEUE_PORTS:
        if found.get(port):
            return int(found[port]), port == _QUEUE_PORTS[0]
    raise _unreachable(
        f"the message queue's member {pod}", f"a Service of type NodePort with the selector {_POD}: {pod}"
    )


def _unreachable(what: str, lacks: str) -> NotYetError:
    return NotYetError(
        f"hypervisors cannot reach {what}",
        where="Services of the releases' namespace",
        why=f"hypervisors are outside the cluster; there is no {lacks}",
        remedy="run the playbook groundup.cloud.openstack; look at openstack.overrides for values that take it away",
    )
