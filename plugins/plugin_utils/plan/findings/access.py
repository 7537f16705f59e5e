"""Access: the controller knows every machine it did not make by its key."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.provisioners import PROVISIONERS
from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield machines without a host key, and keys without a machine."""
    keys, hosts = context.site.access.host_keys, context.plan.hosts
    installed = (host for host in hosts.values() if PROVISIONERS[host.provisioner].host_key_written)
    strangers = [host.name for host in installed if host.host_key is None]
    if strangers:
        yield warning("host-key-missing", "access.host_keys")(
            what=f"{len(strangers)} machines that are installed already have no host key written, {strangers[0]} first",
            why="the first run shows their keys and stops, unless /etc/ssh/ssh_known_hosts of the controller has them",
            remedy="write access.host_keys.<machine>, from the machine's own /etc/ssh/ssh_host_ed25519_key.pub; or run "
            "the playbook groundup.cloud.contact, which shows all of them",
        )
    for name in keys:
        if name not in hosts:
            yield error("unknown-machine", f"access.host_keys.{name}")(
                what=f"there is no machine {name}",
                why="what is written there would have no effect",
                remedy=choose(name, hosts),
            )
