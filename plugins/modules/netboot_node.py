#!/usr/bin/python
"""Converge boots from the network on a seed: DHCP, TFTP, iPXE and what it fetches."""

from __future__ import annotations

DOCUMENTATION = r"""
module: netboot_node
short_description: Converge what serves the network provisioning on a seed
version_added: 0.1.0
description:
  - Places dnsmasq and iPXE, their configuration, a systemd unit, iPXE's scripts and the web server's part that gives
    kernel and deploy ramdisk in the clear, all for one network. Machines of the site get their planned address there,
    others one of a pool, or no answer.
  - Serves names (dnsmasq) and the time (chronyd) at the seed's address on that network, to nobody else. The seed's own
    clock is not touched.
  - Without O(network), stops both services and removes the web server's part.
options:
  network:
    description: What the plan says of the network. None stops the service.
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
    description: Machines with a planned address on the network.
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
    description: Domain of the site, which nobody else is asked about.
    type: str
    required: true
  names:
    description: Names of the site that are answered, with their addresses.
    type: dict
    default: {}
  dns_servers:
    description: Resolvers that are asked for other names. Without any, other names are refused.
    type: list
    elements: str
    default: []
  ntp_servers:
    description: Servers that the time is corrected by. Without any, it is the seed's own.
    type: list
    elements: str
    default: []
  verify:
    description: Changes nothing, asks for a name and for the time.
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
