#!/usr/bin/python
"""Converge the baseline of a host: everything that does not depend on its role."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_baseline
short_description: Converge the baseline that every host of a site has
version_added: 0.1.0
description:
  - Converges names, access, kernel parameters and modules, time, trust store, package sources, journal size, disabled
    units and file modes in one pass. Changes only what differs.
  - Then verifies the host like M(groundup.cloud.host_info), except in check mode.
  - Before any change, refuses a host that belongs to another secrets store, a cluster member whose name would change,
    and one whose API name is not among O(names).
options:
  store:
    description: Identity of the site's secrets store, which is recorded on the host. Empty skips the check.
    type: str
    default: ""
  domain:
    description: Domain of the site.
    type: str
    required: true
  address:
    description: Address to which the host's own name resolves.
    type: str
    required: true
  names:
    description: Further names the host must resolve, with their addresses.
    type: dict
    default: {}
  dns_servers:
    description: Resolvers. Empty keeps the host's own.
    type: list
    elements: str
    default: []
  user:
    description: Account the controller logs in as, with sudo.
    type: str
    default: root
  authorized_keys:
    description: Public ssh keys that may log in as O(user).
    type: list
    elements: str
    default: []
  installed:
    description:
      - The seed installed the machine. Keys in O(user)'s and root's own C(authorized_keys), and a former account's keys
        and sudo rule, are removed, because its first boot wrote them. On other machines they are their operator's.
    type: bool
    default: false
  sysctl:
    description: Kernel parameters by name. C(*) stands for every interface; an explicit name takes precedence.
    type: dict
    default: {}
  kernel_modules:
    description: Kernel modules to load. Built-in ones are ignored.
    type: list
    elements: str
    default: []
  blocked_modules:
    description: Kernel modules to block.
    type: list
    elements: str
    default: []
  disabled_units:
    description: systemd units to disable. Missing ones are ignored.
    type: list
    elements: str
    default: []
  hardening:
    description: Whether to disable memory dumps and restrict system files to root.
    type: bool
    default: false
  updates:
    description:
      - Who changes installed packages. V(site) turns apt's timers and unattended-upgrades off. V(debian) sets
        unattended-upgrades up for the security suite of the host's own sources, without what carries the cloud, and
        without restarts of the host.
    type: str
    choices: [site, debian]
    default: site
  timezone:
    description: Time zone.
    type: str
    default: Etc/UTC
  ntp_servers:
    description: Time servers. Empty keeps the host's own.
    type: list
    elements: str
    default: []
  ca_certificate:
    description: Certificate of the site's CA, in PEM. Empty leaves the trust store unchanged.
    type: str
    default: ""
attributes:
  diff_mode:
    description: Shows every file and kernel parameter.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.packages
  - groundup.cloud.site
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: Host
  groundup.cloud.host_baseline:
    site: lab
    name: control-1
    domain: lab.test
    address: 10.90.0.11
    sysctl: {net.ipv4.ip_forward: "1"}
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..module_utils._base import files
from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.module import run_module
from ..module_utils._host import (
    access,
    clock,
    hardening,
    kernel,
    naming,
    ownership,
    packages,
    sources,
    trust,
    units,
    updates,
)
from ..module_utils._host.units import Unit
from ..module_utils._host.verification import verify
from ..module_utils._kubeadm.kubeconfig import server_of

MODULES = Path("/etc/modules-load.d/groundup.conf")
BLOCKED = Path("/etc/modprobe.d/groundup.conf")
JOURNAL = Path("/etc/systemd/journald.conf.d/groundup.conf")
SWAPS = Path("/proc/swaps")
KUBECONFIGS = (Path("/etc/kubernetes/admin.conf"), Path("/etc/kubernetes/kubelet.conf"))


def converge(changes: Changes, wanted: dict[str, Any]) -> None:
    """Converge the host to ``wanted``. Raises GroundupError."""
    ownership.belongs(changes, site=wanted["site"], store=wanted["store"])
    keeps_its_cluster(wanted["name"], names=wanted["names"])
    naming.own_name(changes, wanted["name"])
    fqdn = f"{wanted['name']}.{wanted['domain']}"
    naming.known_names(changes, name=wanted["name"], fqdn=fqdn, address=wanted["address"], names=wanted["names"])
    naming.resolver(changes, wanted["dns_servers"], domain=wanted["domain"])
    # After the names, because the seed or the mirror may be one of them. Before all steps that need an installed
    # package.
    unread = sources.packages_from(changes, sources.wanted_source(wanted, ca=wanted["ca_certificate"]))
    trusting = not packages.lacking([trust.PACKAGE])
    if trusting:  # a mirror may be served with the site's certificate
        trust.authority(changes, wanted["ca_certificate"], site=wanted["site"])
    # One apt run, which fetches the lists. If nothing is installed, fetch them anyway to detect a broken mirror here.
    store = [trust.PACKAGE] if wanted["ca_certificate"] else []
    if (
        not packages.installed(changes, [*wanted["packages"], *store, *clock.lacking(), *updates.packages(wanted)])
        and unread
    ):
        sources.fetch_lists(changes)
    if not trusting:
        trust.authority(changes, wanted["ca_certificate"], site=wanted["site"])
    access.account(changes, wanted["user"])
    if wanted["authorized_keys"]:
        access.keys(changes, wanted["user"], wanted["authorized_keys"])
    access.sshd(changes, wanted["user"])
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


def work(changes: Changes, wanted: dict[str, Any]) -> None:
    """Converge and verify. Raises GroundupError."""
    converge(changes, wanted)
    if not changes.check:
        verify(changes, wanted)


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "store": {"type": "str", "default": ""},
            "name": {"type": "str", "required": True},
            "domain": {"type": "str", "required": True},
            "address": {"type": "str", "required": True},
            "names": {"type": "dict", "default": {}},
            "dns_servers": {"type": "list", "elements": "str", "default": []},
            "user": {"type": "str", "default": "root"},
            "installed": {"type": "bool", "default": False},
            "authorized_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "sysctl": {"type": "dict", "default": {}},
            "kernel_modules": {"type": "list", "elements": "str", "default": []},
            "blocked_modules": {"type": "list", "elements": "str", "default": []},
            "disabled_units": {"type": "list", "elements": "str", "default": []},
            "hardening": {"type": "bool", "default": False},
            "updates": updates.OPTION,
            "timezone": {"type": "str", "default": "Etc/UTC"},
            "ntp_servers": {"type": "list", "elements": "str", "default": []},
            "ca_certificate": {"type": "str", "default": ""},
            **sources.OPTIONS,
        },
        work,
    )


if __name__ == "__main__":
    main()
