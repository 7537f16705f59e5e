"""Access: host keys of installed machines, and sshd's port."""

from __future__ import annotations

from collections.abc import Iterator

from ....module_utils._base.text import few
from ...layers.ports import PORTS
from ...layers.provisioners import PROVISIONERS
from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield machines without a host key, keys without a machine, and a clash of sshd's port with another service."""
    yield from _port(context)
    keys, hosts = context.site.access.host_keys, context.plan.hosts
    installed = (host for host in hosts.values() if PROVISIONERS[host.provisioner].host_key_written)
    strangers = [host.name for host in installed if host.host_key is None]
    if strangers:
        yield warning("host-key-missing", "access.host_keys")(
            what=f"no host key is written of machines that are installed already: {few(strangers)}",
            why="the first run shows their keys and stops. The control node's /etc/ssh/ssh_known_hosts counts, too",
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


def _port(context: PlanContext) -> Iterator[Finding]:
    port, own = context.site.access.port, PORTS["ssh"].programs
    for roles, checks in context.plan.preflight.by_roles.items():
        others = checks.listens.get(f"{port}/tcp", ())[len(own) :]  # the table lists sshd's own programs first
        if others:
            yield error("ssh-port-taken", "access.port")(
                what=f"sshd is to listen at port {port}, which is also {others[0]}'s on machines with {roles}",
                why="one of the two would not start",
                remedy="write a port that no service has: docs/bring-your-own-hosts.md lists them",
            )
            return
