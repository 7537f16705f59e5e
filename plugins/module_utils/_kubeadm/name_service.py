"""Configure CoreDNS' upstream resolvers: those of its own node, or none.

Each node has this configuration in files that its CoreDNS pods import: nodes may have different resolvers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

DIRECTORY = "/etc/kubernetes/dns"  # of the node
IN_POD = "/etc/coredns-node"  # the same directory in CoreDNS' pods (roles/kubernetes/templates/coredns.yml.j2)
# The second holds systemd-resolved's own upstream servers, when the first names only its loopback stub.
SOURCES = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")
AT_MOST = 3  # the limit of glibc and the kubelet

# An empty zone for all names: the answer NXDOMAIN lets clients try their next search domain. SERVFAIL would end the
# search of dig, nslookup, musl and eventlet.
_NOBODY = "@ 60 IN SOA nobody. nobody. 1 3600 600 86400 60\n@ 60 IN NS nobody.\n"


def resolvers(texts: Iterable[str], *, service_cidr: str) -> tuple[str, ...]:
    """Return the servers of the first resolv.conf in ``texts`` that names one reachable from a pod.

    Loopback and Service addresses are excluded: with either, CoreDNS would query itself.
    So are addresses of a family that Services, and with them pods, do not have.
    """
    services = ip_network(service_cidr)
    for text in texts:
        found = re.findall(r"^\s*nameserver\s+(\S+)", text, re.MULTILINE)
        usable = [server for server in found if _reachable(server, services)]
        if usable:
            return tuple(dict.fromkeys(usable))[:AT_MOST]
    return ()


def _reachable(server: str, services: IPv4Network | IPv6Network) -> bool:
    try:
        address = ip_address(server)
    except ValueError:
        return False
    if address.version != services.version:  # pods have no address of that family
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_link_local or address in services)


def files(servers: tuple[str, ...]) -> dict[str, str]:
    """Return the node's files for these resolvers, by name; CoreDNS imports ``.conf`` files."""
    if servers:
        upstream = f"forward . {' '.join(servers)} {{\n    max_concurrent 1000\n}}\n"
    else:
        upstream = f"# This node has no resolver that a pod can ask.\nfile {IN_POD}/nobody.zone .\n"
    return {"nobody.zone": _NOBODY, "upstream.conf": upstream}
