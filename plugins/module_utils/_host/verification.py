"""Verify a host's names, resolvers, CA, sshd and clock."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from . import access, clock, kernel, naming, trust, updates


def unresolved(names: Mapping[str, str]) -> list[str]:
    """Return a line for each of ``names`` that the host does not resolve to its address alone."""
    found = []
    for name, address in sorted(names.items()):
        try:
            addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None)})
        except OSError as error:
            found.append(f"{name}: {error.strerror}, not {address}")
        else:
            if addresses != [address]:
                alone = " alone" if address in addresses else ""
                found.append(f"{name}: {', '.join(addresses)}, not {address}{alone}")
    return found


def verify(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the clock's state and the silent resolvers. Raises GroundupError for faults."""
    faults = unresolved(wanted["names"])
    if wanted["ca_certificate"] and not trust.trusted(wanted["ca_certificate"]):
        faults.append("the site's CA is not in the trust store")
    if missing := sum(not trust.trusted(one) for one in wanted["trusted_cas"]):
        faults.append(f"{missing} of {len(wanted['trusted_cas'])} CAs of hosts.trusted_cas are not in the trust store")
    silent = naming.unanswering(wanted["dns_servers"], domain=wanted["domain"])
    if silent and len(silent) == len(wanted["dns_servers"]):
        faults += silent
    sysctl = {name: str(value) for name, value in (wanted.get("sysctl") or {}).items()}
    faults += kernel.overridden(sysctl, file=kernel.PARAMETERS)
    faults += updates.faults(wanted)
    if wanted["user"]:
        faults += access.sshd_faults(wanted["user"])
    if faults:
        raise GroundupError(
            "; ".join(faults),
            where="the host's resolver, trust store, kernel parameters, apt and sshd",
            why="later layers reach each other by these names, over TLS; sshd is the way in",
            remedy="run the playbook groundup.cloud.host; for resolvers, correct hosts.dns_servers or mend them",
        )
    found = clock.state()
    changes.warnings += silent
    if found["synchronised"] is False:
        changes.warnings.append(f"the clock is not synchronised: {found['why']}")
    return {"clock": found, "silent_resolvers": silent}
