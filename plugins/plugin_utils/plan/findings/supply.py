"""Supply: exactly one place serves the site, and every host can reach it by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...layers.ports import PORTS
from ..form import error, warning
from ..layout.context import PlanContext
from ..platform.parts import FILES_PORT
from ..types import Finding

_SEEDS = re.compile(r"https://[^/:]+:[0-9]{1,5}")  # URLs that a seed can serve


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the registry, the file tree and the seed that serves both."""
    written = context.site.supply
    seeds = [host.name for host in context.layout.with_role("seed")]
    roles = ", ".join(context.plan.hosts[seeds[0]].roles) if seeds else ""
    keys = tuple(dict.fromkeys(f"machines.{member.group}" for member in context.layout.members if member.name in seeds))
    if written.registry and not written.files_url:
        yield error("files-url-missing", "supply.files_url", "supply.registry")(
            what=f"images come from {written.registry}, and nothing says where files come from",
            why=f"nobody would serve {context.plan.supply.files_url}: no host gets kubeadm or the kubelet",
            remedy="write supply.files_url, by <artifact>/<version>/<file>; or leave supply.registry out",
        )
    if written.ca and not written.registry:
        yield error("ca-without-registry", "supply.ca", "supply.registry")(
            what="a CA of a registry is written, and no registry",
            why="the seed's certificate is the site CA's: every host would look for another",
            remedy="leave supply.ca out, or write supply.registry and supply.files_url",
        )
    if written.ca and written.registry and not (written.registry_tls or (written.files_url or "").startswith("https:")):
        yield error("supply-ca-unused", "supply.ca", "supply.registry_tls")(
            what=f"a CA is written, and neither {written.registry} nor {written.files_url} speaks TLS",
            why="the CA would have no effect: what hosts fetch would not be protected by it",
            remedy="write supply.registry_tls: true and a supply.files_url with https://, or leave supply.ca out",
        )
    if written.registry_login and not (written.registry and written.registry_tls):
        yield error("registry-login-unused", "supply.registry_login", "supply.registry")(
            what=f"a login is to be shown, and {'the registry speaks no TLS' if written.registry else 'no registry'}",
            why="the seed serves every host of the site; without TLS anybody on the network would read the login",
            remedy="leave supply.registry_login out, or write a supply.registry with TLS",
        )
    if written.firmware and not context.plan.metal:
        yield warning("firmware-unused", "supply.firmware")(
            what=f"firmware is chosen ({', '.join(written.firmware)}), and no machine starts powered off",
            why="it goes into what such machines boot, and nowhere else",
            remedy="leave supply.firmware out, or give machines a bmc",
        )
    if written.source == "registry" and not written.registry:
        yield error("registry-missing", "supply.registry", "supply.source")(
            what="artifacts come from an existing registry, and none is written",
            why="nothing is built, so that the seed would have nothing to serve",
            remedy="write supply.registry and supply.files_url, or supply.source: build",
        )
    if written.registry and seeds:
        yield error("seed-beside-registry", "supply.registry", *keys)(
            what=f"{seeds[0]} has the role seed, and the site has a registry of its own",
            why="hosts would be told of the registry, and nobody of the seed",
            remedy="take the role away, or leave supply.registry out",
        )
    elif len(seeds) > 1:
        yield error("several-seeds", *keys)(
            what=f"{len(seeds)} machines have the role seed: {', '.join(seeds[:3])}{', ...' if seeds[3:] else ''}",
            why=f"the names of registry and file tree are those of one host, {seeds[0]}",
            remedy=f"keep one: make one of them a group of its own, with roles: [{roles}]",
        )
    if written.source == "upstream":
        yield warning("needs-way-out", "supply.source")(
            what="programs and images that their projects publish are fetched from there; the others are built",
            why="the control node needs a way out to each address; what has no digest in supply.lock is refused until "
            "it is resolved",
            remedy="run groundup.cloud.supply with -e supply_resolve=true once; or write supply.source: build",
        )
    if seeds and not written.registry and written.files_url:
        yield from _ports(context, written.files_url)


def _ports(context: PlanContext, files_url: str) -> Iterator[Finding]:
    """Yield a finding when the seed's web server cannot serve files at the written URL."""
    remedy = f"leave it out, or write one such as https://registry.{context.site.domain}:{FILES_PORT}"
    supply = context.plan.supply
    if not _SEEDS.fullmatch(files_url):
        yield error("files-url-not-the-seeds", "supply.files_url")(
            what=f"the seed is to serve files as {files_url}",
            why="it speaks HTTPS on a port the URL must name",
            remedy=remedy,
        )
    elif int(_port(files_url)) in (int(_port(supply.registry)), int(_port(supply.registry_inside))):
        yield error("seed-port-taken", "supply.files_url")(
            what=f"the seed is to serve files at port {_port(files_url)}, which is its registry's",
            why=f"the registry listens at {supply.registry_inside}, and the site reads it at {supply.registry}",
            remedy=remedy,
        )
    elif user := _others(context).get(int(_port(files_url))):
        yield error("seed-port-taken", "supply.files_url")(
            what=f"the seed is to serve files at port {_port(files_url)}, which is {user}'s on the same machine",
            why="one of the two would not start",
            remedy=remedy,
        )


def _others(context: PlanContext) -> dict[int, str]:
    """Return the other programs that listen on the seed, by port."""
    open_ports = context.plan.preflight.by_roles[
        "+".join(context.plan.hosts[context.plan.supply.seed or ""].roles)
    ].listens
    own = {name for port in ("registry", "files", "registry-inside") for name in PORTS[port].programs}
    others = {port: [name for name in names if name not in own] for port, names in open_ports.items()}
    return {int(port.partition("/")[0]): names[0] for port, names in others.items() if names}


def _port(address: str) -> str:
    return address.rpartition(":")[2]
