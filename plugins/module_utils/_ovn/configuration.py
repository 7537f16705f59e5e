"""What Debian's units of OVN run by: options of ovn-ctl, and a drop-in for each database."""

from __future__ import annotations

from collections.abc import Sequence

from .databases import CA, DATABASES, MEMBER, Database

HEADER = "# Written by groundup.cloud from the site file; changes are lost.\n"


def options(address: str) -> str:
    """Return the content of /etc/default/ovn-central for the member on ``address``.

    No member is told the address of another: ovn-ctl would join where data are lost, beside the member that had them.
    """
    words = ["--ovn-manage-ovsdb=no"]
    for one in DATABASES:
        words += [
            f"--db-{one.short}-cluster-local-addr={address}",
            f"--db-{one.short}-cluster-local-port={one.raft_port}",
            f"--db-{one.short}-cluster-local-proto=ssl",
            f"--db-{one.short}-create-insecure-remote=no",
            *_tls(f"ovn-{one.short}-db"),
        ]
    words += _tls("ovn-northd")
    return f'{HEADER}OVN_CTL_OPTS="{" ".join(words)}"\n'


def northd(*, northbound: Sequence[str], southbound: Sequence[str]) -> str:
    """Return what northd is told of the databases: words of its command line, so nothing else may be in the file."""
    return f"--ovnnb-db={','.join(northbound)} --ovnsb-db={','.join(southbound)}\n"


def drop_in(database: Database) -> str:
    """Return what keeps the unit of ``database`` from starting without data: ovn-ctl would make a new cluster."""
    return f"{HEADER}[Unit]\nAssertPathExists={database.file}\n"


def _tls(prefix: str) -> list[str]:
    return [f"--{prefix}-ssl-key={MEMBER}", f"--{prefix}-ssl-cert={MEMBER}", f"--{prefix}-ssl-ca-cert={CA}"]
