"""The site's names for a DNS server: a zone file (RFC 1035) with the records that users and hosts need."""

from __future__ import annotations

from ..types import Plan

TTL = 300  # seconds: a site that moves its virtual IP is found again soon


def zone(plan: Plan) -> str:
    """Return the records of the site's domain: public names on the virtual IP first, then machines.

    Only records: SOA and NS are the DNS server's own. So the text can be included ($INCLUDE) in an existing zone.
    """
    machines = {host.fqdn: host.address for host in plan.hosts.values() if host.address}
    names = {name: address for name, address in plan.host.names.items() if name not in machines}
    if plan.edge.public:
        names |= {one.name: plan.edge.public.address for one in plan.edge.endpoints if not one.internal}
    width = max(map(len, (*names, *machines)), default=0) + 1
    lines = [f"; Records of the site {plan.site}, by groundup.cloud.plan", f"$TTL {TTL}"]
    for title, records in (("names of the cloud", names), ("machines", machines)):
        if records:
            lines.append(f"; {title}")
            lines += [f"{f'{name}.':<{width}} IN A {records[name]}" for name in sorted(records)]
    return "\n".join(lines) + "\n"
