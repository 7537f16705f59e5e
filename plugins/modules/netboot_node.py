#!/usr/bin/python
"""Converge network boot on a seed: DHCP, TFTP, iPXE and its files."""

from __future__ import annotations

DOCUMENTATION = r"""
module: netboot_node
short_description: Converge network boot on a seed
version_added: 0.1.0
description:
  - Places dnsmasq and iPXE, their configuration, a systemd unit, iPXE's scripts and the web server configuration that
    serves kernel and deploy ramdisk without TLS, all for one network. Machines of the site get their planned address
    there, others an address of a pool, or no answer.
  - Serves DNS (dnsmasq) and NTP (chronyd) at the seed's address on that network only. Does not touch the seed's own
    clock.
  - Without O(network), stops both services and removes the web server configuration.
options:
  network:
    description: The plan of the network. Without it the services are stopped.
    type: dict
  files_root:
    description: Root of the seed's file tree.
    type: path
    required: true
  ramdisk:
    description: Directory of the host with C(vmlinuz).
    type: path
    required: true
  api_url:
    description: URL at which deploy ramdisks reach Ironic.
    type: str
    required: true
  addresses:
    description: Planned addresses of machines on the network.
    type: list
    elements: dict
    default: []
    suboptions:
      mac:
        description: MAC address of the port.
        type: str
        required: true
      address:
        description: Its address.
        type: str
        required: true
      name:
        description: Name of the machine.
        type: str
        required: true
  domain:
    description: Domain of the site. Its names are never forwarded to other resolvers.
    type: str
    required: true
  names:
    description: Names of the site to serve, with their addresses.
    type: dict
    default: {}
  dns_servers:
    description: Resolvers for other names. If empty, other names are refused.
    type: list
    elements: str
    default: []
  ntp_servers:
    description: Upstream time servers. If empty, serves the seed's own time.
    type: list
    elements: str
    default: []
  verify:
    description: Change nothing; query a name and the time.
    type: bool
    default: false
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Converge boots from the network
  groundup.cloud.netboot_node: "{{ ironic_netboot_options }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._ironic import boot_service


def work(changes: Changes, given: dict[str, Any]) -> None:
    """Converge or verify. Raises GroundupError."""
    if not given["verify"]:
        boot_service.converge(changes, given)
    elif given["network"]:
        boot_service.answers(given["network"], domain=given["domain"])


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "network": {"type": "dict"},
            "files_root": {"type": "path", "required": True},
            "ramdisk": {"type": "path", "required": True},
            "api_url": {"type": "str", "required": True},
            "addresses": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "mac": {"type": "str", "required": True},
                    "address": {"type": "str", "required": True},
                    "name": {"type": "str", "required": True},
                },
            },
            "domain": {"type": "str", "required": True},
            "names": {"type": "dict", "default": {}},
            "dns_servers": {"type": "list", "elements": "str", "default": []},
            "ntp_servers": {"type": "list", "elements": "str", "default": []},
            "verify": {"type": "bool", "default": False},
        },
        work,
    )


if __name__ == "__main__":
    main()
