"""The users of the site's authority: who needs a certificate, by the plan."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..layers.layers import LAYERS
from ..plan.types import HostPlan, Plan
from ..services.certificates import certificates
from .leaf import LeafSpec


def users(plan: Plan) -> tuple[LeafSpec, ...]:
    """Return the certificate of every user in the site."""
    edge = plan.edge
    found = [LeafSpec(user="edge", names=(*(endpoint.name for endpoint in edge.endpoints), edge.address))]
    if plan.supply.seed:
        seed = plan.hosts[plan.supply.seed]
        called = [str(urlsplit(url).hostname) for url in (f"//{plan.supply.registry}", plan.supply.files_url)]
        # The loopback: publishing and the seed's own questions come that way.
        found.append(
            LeafSpec(user="seed", names=tuple(dict.fromkeys((*called, seed.fqdn, *_addresses(seed), "127.0.0.1"))))
        )
    if LAYERS["network"].service in plan.openstack.services:
        # A member of OVN's databases is a server to its clients and a client to the other members.
        found += [
            LeafSpec(user=f"ovn-{host.name}", names=(host.fqdn, host.address), usage="both")
            for host in map(plan.hosts.__getitem__, plan.edge.hosts)
        ]
        found.append(LeafSpec(user="neutron-ovn", usage="client"))
    # OVN's southbound database lets a chassis write by the name in its certificate: the user is the host's name.
    found += [
        LeafSpec(user=host.name, names=tuple(dict.fromkeys((host.name, host.fqdn, *_addresses(host)))), usage="both")
        for host in plan.hosts.values()
        if "hypervisor" in host.roles and LAYERS["hypervisor"].service in plan.openstack.services
    ]
    if plan.ceph and plan.ceph.gateway:
        hosts = [plan.hosts[name] for name in plan.ceph.locations]
        found += [LeafSpec(user=f"rgw-{host.name}", names=(host.fqdn, host.address)) for host in hosts]
    found += [LeafSpec(user=one.user, names=one.names, usage=one.usage) for one in certificates(plan)]
    return tuple(found)


def _addresses(host: HostPlan) -> list[str]:
    return [port.address for port in host.interfaces if port.address]
