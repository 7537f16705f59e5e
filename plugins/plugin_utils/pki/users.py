"""List the certificates that a plan needs from the site's CAs."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from ..errors import GroundupError
from ..layers.layers import LAYERS
from ..plan.types import HostPlan, Plan
from ..services.certificates import certificates
from .leaf import LeafSpec


def users(plan: Plan) -> tuple[LeafSpec, ...]:
    """Return the certificate spec of every user in the site. Raises GroundupError where two have one name."""
    edge = plan.edge
    found = []
    if not edge.certificate:  # the operator's own
        addresses = [edge.address, *([edge.public.address] if edge.public else [])]
        found.append(LeafSpec(user="edge", names=(*(endpoint.name for endpoint in edge.endpoints), *addresses)))
    if plan.supply.seed:
        seed = plan.hosts[plan.supply.seed]
        called = [str(urlsplit(url).hostname) for url in (f"//{plan.supply.registry}", plan.supply.files_url)]
        # The loopback: publishing and the seed's own checks connect there.
        found.append(
            LeafSpec(user="seed", names=tuple(dict.fromkeys((*called, seed.fqdn, *_addresses(seed), "127.0.0.1"))))
        )
    if LAYERS["network"].service in plan.openstack.services:
        # A member of OVN's databases is a server for its clients and a client of the other members.
        found += [
            LeafSpec(user=f"ovn-{host.name}", authority="ovn", names=(host.fqdn, host.address), usage="both")
            for host in map(plan.hosts.__getitem__, plan.edge.hosts)
        ]
        found.append(LeafSpec(user="neutron-ovn", authority="ovn", usage="client"))
    # OVN's southbound database authorises a chassis by its certificate's name: the user is the host's name.
    found += [
        LeafSpec(
            user=host.name,
            authority="hypervisor",
            usage="both",
            names=tuple(dict.fromkeys((host.name, host.fqdn, *_addresses(host)))),
        )
        for host in plan.hosts.values()
        if "hypervisor" in host.roles and LAYERS["hypervisor"].service in plan.openstack.services
    ]
    if plan.ceph and plan.ceph.gateway:
        hosts = [plan.hosts[name] for name in plan.ceph.locations]
        found += [LeafSpec(user=f"rgw-{host.name}", names=(host.fqdn, host.address)) for host in hosts]
    if plan.monitoring:
        # Whoever reads metrics trusts this authority alone, and so do those who tell them.
        found.append(LeafSpec(user="monitoring", authority="monitoring", usage="client"))
        found += [
            LeafSpec(user=f"metrics-{host.name}", authority="monitoring", names=(host.fqdn, host.address))
            for host in plan.hosts.values()
            if host.address
        ]
    if plan.monitoring and plan.monitoring.logs:  # who writes logs is known by its certificate's name
        hosts = [host for host in plan.hosts.values() if host.address]
        found += [LeafSpec(user=f"logs-{host.name}", authority="monitoring", usage="client") for host in hosts]
    found += [
        LeafSpec(user=one.user, authority=one.authority, names=one.names, usage=one.usage) for one in certificates(plan)
    ]
    if twice := [user for user, count in Counter(one.user for one in found).items() if count > 1]:
        raise GroundupError(
            f"a hypervisor is called {twice[0]}, and so is a certificate of the site",
            where="machines",
            why="a chassis is known by its name in its certificate: one would be written over the other",
            remedy=f"call it {twice[0]}-1",
        )
    return tuple(found)


def _addresses(host: HostPlan) -> list[str]:
    return [port.address for port in host.interfaces if port.address]
