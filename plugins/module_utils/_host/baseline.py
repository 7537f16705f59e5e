"""Converge and verify the baseline of a host: everything that does not depend on its role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._kubeadm.kubeconfig import server_of
from . import (
    access,
    clock,
    hardening,
    kernel,
    naming,
    ownership,
    package_age,
    packages,
    sources,
    trust,
    units,
    updates,
    verification,
    watched,
)
from .units import Unit

MODULES = Path("/etc/modules-load.d/groundup.conf")
BLOCKED = Path("/etc/modprobe.d/groundup.conf")
JOURNAL = Path("/etc/systemd/journald.conf.d/groundup.conf")
SWAPS = Path("/proc/swaps")
KUBECONFIGS = (Path("/etc/kubernetes/admin.conf"), Path("/etc/kubernetes/kubelet.conf"))


def converge(changes: Changes, wanted: dict[str, Any]) -> None:
    """Converge the host to ``wanted``, and verify it. Raises GroundupError."""
    wanted = {**wanted, "user": wanted["user"] or "root"}
    configure(changes, wanted)
    if not changes.check:
        verification.verify(changes, wanted)


def verify(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Verify the host, and tell how old its packages are. Raises GroundupError."""
    found = verification.verify(changes, wanted)
    age, warnings = package_age.read(wanted["updates"])
    changes.warnings += warnings
    return {**found, "packages": age}


def configure(changes: Changes, wanted: dict[str, Any]) -> None:
    """Converge the host to ``wanted``. Raises GroundupError."""
    ownership.belongs(changes, site=wanted["site"], store=wanted["store"])
    keeps_its_cluster(wanted["name"], names=wanted["names"])
    naming.own_name(changes, wanted["name"])
    fqdn = f"{wanted['name']}.{wanted['domain']}"
    naming.known_names(changes, name=wanted["name"], fqdn=fqdn, address=wanted["address"], names=wanted["names"])
    naming.resolver(changes, wanted["dns_servers"], domain=wanted["domain"])
    # After the names, because the seed or the mirror may be one of them. Before all steps that need an installed
    # package.
    sources.way_out(changes, wanted)
    unread = sources.packages_from(changes, sources.wanted_source(wanted, ca=wanted["ca_certificate"]))
    trusting = not packages.lacking([trust.PACKAGE])
    if trusting:  # a mirror may be served with the site's certificate
        trust.authorities(changes, wanted["ca_certificate"], wanted["trusted_cas"], site=wanted["site"])
    # One apt run, which fetches the lists. If nothing is installed, fetch them anyway to detect a broken mirror here.
    store = [trust.PACKAGE] if wanted["ca_certificate"] else []
    if (
        not packages.installed(changes, [*wanted["packages"], *store, *clock.lacking(), *updates.packages(wanted)])
        and unread
    ):
        sources.fetch_lists(changes)
    if not trusting:
        trust.authorities(changes, wanted["ca_certificate"], wanted["trusted_cas"], site=wanted["site"])
    access.account(changes, wanted["user"])
    if wanted["authorized_keys"]:
        access.keys(changes, wanted["user"], wanted["authorized_keys"])
    access.sshd(changes, wanted["user"])
    if not wanted["monitoring"]:
        watched.remove(changes)
    if wanted["installed"] and wanted["authorized_keys"]:
        access.taken_over(changes, wanted["user"])
    unloaded = kernel.modules(changes, wanted["kernel_modules"], file=MODULES)
    sysctl = {name: str(value) for name, value in wanted["sysctl"].items()}
    kernel.parameters(changes, sysctl, file=kernel.PARAMETERS, unloaded=unloaded)
    kernel.blocked(changes, wanted["blocked_modules"], file=BLOCKED)
    clock.timezone(changes, wanted["timezone"])
    clock.servers(changes, wanted["ntp_servers"])
    units.off(changes, wanted["disabled_units"])
    updates.converge(changes, wanted)
    hardening.cores(changes, kept=not wanted["hardening"])
    if wanted["hardening"]:
        hardening.modes(changes)
    journal = Unit(changes, "systemd-journald.service")
    journal.generate(JOURNAL, "[Journal]\nStorage=persistent\nSystemMaxUse=1G\nRuntimeMaxUse=1G\n")
    journal.refreshed()
    if len((files.read(SWAPS) or "").splitlines()) > 1:
        changes.warnings.append(
            "swap is on: a control plane that swaps misses its deadlines; turn it off on the machine"
        )


def keeps_its_cluster(name: str, *, names: Mapping[str, str]) -> None:
    """Refuse to rename a cluster node or to lose its API's name. Raises GroundupError."""
    was = (files.read(naming.HOSTNAME) or "").strip()
    if was and was != name and KUBECONFIGS[-1].exists():
        raise GroundupError(
            f"the host is {was}, a node of a cluster, and is to be {name}",
            where=f"{naming.HOSTNAME}, {KUBECONFIGS[-1]}; the machine's name in the site file",
            why="its kubelet registers by the host's name, and may speak only for the Node it joined as",
            remedy=f"call it {was}; or drain it, kubectl delete node {was}, kubeadm reset on it, then run this again",
        )
    for path in KUBECONFIGS:
        server = server_of(text) if (text := files.read(path)) else None
        # Names only: an address needs no resolver.
        if server and re.search("[a-z]", server[0]) and ":" not in server[0] and server[0] not in names:
            raise GroundupError(
                f"the host is a node of a cluster whose API is {server[0]}, which the site file does not name",
                where=f"{path}; site file key domain",
                why="without that name its kubelet and kube-proxy lose the cluster, and a minute later its pods go",
                remedy="write the domain the cluster was made with; a node of another cluster leaves that one first",
            )
