"""Generate the configuration of Debian's OVN units: options of ovn-ctl, and a drop-in per database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .databases import CA, DATABASES, MEMBER, Database

HEADER = "# Written by groundup.cloud from the site file; changes are lost.\n"


def options(address: str) -> str:
    """Return the content of /etc/default/ovn-central for the member on ``address``.

    No address of another member is set: with lost data, ovn-ctl would join again beside its own old member.
    """
    words = ["--ovn-manage-ovsdb=no"]
    for one in DATABASES:
        words += [
            f"--db-{one.short}-cluster-local-addr={address}",
            f"--db-{one.short}-cluster-local-port={one.raft_port}",
            f"--db-{one.short}-cluster-local-proto=ssl",
            f"--db-{one.short}-create-insecure-remote=no",
            *_tls(f"ovn-{one.short}-db", one.believes),
        ]
    words += _tls("ovn-northd", CA)
    return f'{HEADER}OVN_CTL_OPTS="{" ".join(words)}"\n'


def northd(*, northbound: Sequence[str], southbound: Sequence[str]) -> str:
    """Return northd's command-line arguments for the databases. The file must hold nothing else."""
    return f"--ovnnb-db={','.join(northbound)} --ovnsb-db={','.join(southbound)}\n"


def drop_in(database: Database) -> str:
    """Return a drop-in that keeps ``database`` from starting without data: ovn-ctl would create a new cluster."""
    return f"{HEADER}[Unit]\nAssertPathExists={database.file}\n"


def _tls(prefix: str, authority: Path) -> list[str]:
    return [f"--{prefix}-ssl-key={MEMBER}", f"--{prefix}-ssl-cert={MEMBER}", f"--{prefix}-ssl-ca-cert={authority}"]
