#!/usr/bin/python
"""The baseline and the network of a host, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host
short_description: Converge and verify baseline and network of a host
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.host#role) of the same collection. A host that fails or cannot be reached is
    set aside; the run goes on with the others."
options:
  step:
    description:
      - V(converge) converges names, access, kernel parameters and modules, time, trust store, package sources, journal
        size, disabled units and file modes in one pass, changes only what differs, and verifies. Before any change, it
        refuses a host that belongs to another secrets store, a cluster member whose name would change, and one whose
        API name is not among O(names).
      - V(verify) tests as a program on the host would - the resolver for names, each DNS server, the trust store for
        the CA, systemd for the clock, sshd for its effective settings. It fails with all faults, and warns when only
        some DNS servers answer, and when packages are old.
      - V(network) converges the systemd-networkd files of the planned links. It touches only files of this collection,
        and reloads networkd only when one differs. Before a change, it sets a timer that restores the former files. The
        action opens a new connection, has the links compared with the plan (V(confirm)), and only then keeps the
        change. One that is not confirmed in time, or that a restart of the host interrupts, is rolled back. Refuses a
        host of another site, one whose network is managed by ifupdown, netplan or NetworkManager, and one that lacks a
        planned port.
      - V(certificates) reports, by file, which of O(authorities) it trusts and which certificates it shows. Changes
        nothing.
      - V(network_verify) fails if files or links differ from the plan.
    type: str
    choices: [converge, verify, network, confirm, network_verify, certificates]
    required: true
  site:
    description: Name of the site. A host of another site is refused.
    type: str
  name:
    description: Name of the host.
    type: str
  authorities:
    description:
      - Certificates (PEM) of the site's CAs, by fingerprint. With O(step=certificates).
      - Default are those in the site's state directory. The action plugin reads them.
    type: dict
    default: {}
  monitoring:
    description: Whether the site has monitoring. Else V(converge) removes what an earlier run left of it on the host.
    type: bool
    default: true
  links:
    description: The plan's links, each after the links it depends on (C(groundup_host.links)).
    type: list
    elements: dict
  seconds:
    description: Seconds a change waits for its confirmation.
    type: int
    default: 60
  applied_before:
    description: Whether an earlier V(confirm) found the change applied. Only then V(confirm) keeps it.
    type: bool
    default: false
  store:
    description: Identity of the site's secrets store, which is recorded on the host. Empty skips the check.
    type: str
    default: ""
  domain:
    description: Domain of the site.
    type: str
    default: localhost
  address:
    description: Address to which the host's own name resolves.
    type: str
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
    description:
      - Account the control node logs in as, with sudo. Without it, V(converge) takes root, and V(verify) does not check
        sshd.
    type: str
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
  trusted_cas:
    description:
      - Certificates, in PEM, of CAs that the host trusts beside O(ca_certificate). Those of an earlier run that are
        missing here are removed.
    type: list
    elements: str
    default: []
attributes:
  diff_mode:
    description: Shows every file and kernel parameter.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.packages
"""

from ..module_utils._base.module import run_step
from ..module_utils._host import baseline, issued, network_steps

RULES = {
    "required_if": [
        ("step", "converge", ("site", "name", "address")),
        ("step", "certificates", ("site",)),
        *(("step", step, ("site", "links")) for step in ("network", "confirm", "network_verify")),
    ]
}


def main() -> None:
    run_step(
        {
            "converge": baseline.converge,
            "verify": baseline.verify,
            "network": network_steps.apply,
            "confirm": network_steps.confirm,
            "network_verify": network_steps.verify,
            "certificates": issued.look,
        },
        secret=("packages_proxy_login",),
    )


if __name__ == "__main__":
    main()
