"""Whom CoreDNS asks for names outside the cluster: the resolvers of its own node, or nobody.

Each node has this in files, which CoreDNS imports on the node it runs on: nodes may have different resolvers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

DIRECTORY = "/etc/kubernetes/dns"  # of the node
IN_POD = "/etc/coredns-node"  # the same in CoreDNS' pods (roles/kubernetes/templates/coredns.yml.j2)
# The second is what systemd-resolved itself asks, where the first names only its stub on the loopback address.
SOURCES = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")
AT_MOST = 3  # as many as glibc and the kubelet take

# A zone of everything, without a name in it: whoever searches goes on at once. SERVFAIL ends the search of dig,
# nslookup, musl and eventlet.
_NOBODY = "@ 60 IN SOA nobody. nobody. 1 3600 600 86400 60\n@ 60 IN NS nobody.\n"


def resolvers(texts: Iterable[str], *, service_cidr: str) -> tuple[str, ...]:
    """Return the servers of the first resolv.conf of ``texts`` that names one a pod can ask.

    A loopback address is the pod's own there, and one of a Service is CoreDNS': both would make it ask itself.
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
    return not (address.is_loopback or address.is_unspecified or address.is_link_local or address in services)


def files(servers: tuple[str, ...]) -> dict[str, str]:
    """Return the files of a node with these resolvers, by name; ``.conf`` is imported."""
    if servers:
        upstream = f"forward . {' '.join(servers)} {{\n    max_concurrent 1000\n}}\n"
    else:
        upstream = f"# This node has no resolver that a pod can ask.\nfile {IN_POD}/nobody.zone .\n"
    return {"nobody.zone": _NOBODY, "upstream.conf": upstream}
