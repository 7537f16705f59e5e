#!/usr/bin/python
"""Converge Ironic on a seed: the service that installs machines from power-off."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ironic_node
short_description: Converge Ironic on a seed
version_added: 0.1.0
description:
  - Places the Python environment of Ironic from the site's file server, its configuration, an SQLite database with
    write-ahead logging, the systemd units of Ironic and of the service that hears installed machines call home, and
    the web server's part that speaks TLS before both and serves boot media.
  - Places the page of machines, a service with an account of its own, behind the same web server.
  - Ends when Ironic and the page answer.
options:
  release:
    description: Version of Ironic.
    type: str
    required: true
  environment_url:
    description: URL of the Python environment, with its digest beside it.
    type: str
    required: true
  ca_certificate:
    description: Certificate of the site's CA, in PEM. Deploy ramdisks get it, too.
    type: str
    required: true
  ramdisk:
    description: Directory of the host with C(vmlinuz), C(initramfs) and C(esp.img).
    type: path
    required: true
  api_url:
    description: URL at which deploy ramdisks reach the API.
    type: str
    required: true
  media_url:
    description: URL at which management controllers fetch boot media.
    type: str
    required: true
  api_port:
    description: Port of the API, with TLS.
    type: int
    required: true
  api_inside:
    description: Port of the API itself, on the loopback.
    type: int
    required: true
  media_port:
    description: Port of boot media and of the call home, with TLS.
    type: int
    required: true
  contact_inside:
    description: Port of the service that hears the call home, on the loopback.
    type: int
    required: true
  password:
    description: Password of the user C(groundup).
    type: str
    required: true
  mkisofs:
    description: Program that writes boot media as Ironic asks C(mkisofs) to.
    type: str
    required: true
  bounds:
    description: What Python loads when Ironic starts; it bounds answers of management controllers.
    type: str
    required: true
  contact:
    description: Program that hears installed machines call home.
    type: str
    required: true
  agent:
    description: Collector of Ironic's agent, in Python, that deploy ramdisks get.
    type: str
    required: true
  boot_url:
    description: URL at which machines that boot from the network fetch, in the clear. Empty where none does.
    type: str
    default: ""
  discovery:
    description: Whether a machine that Ironic does not know is enrolled when its ramdisk calls.
    type: bool
    default: false
  machines_inside:
    description: Port of the page of machines, on the loopback.
    type: int
    required: true
  machines_password:
    description: Password of the user C(operator) of the page of machines.
    type: str
    required: true
  machines_files:
    description: Program and assets of the page of machines, by file name.
    type: dict
    required: true
  runner:
    description: Whether the seed has a runner (M(groundup.cloud.runner_node)). Without, one that is there is removed.
    type: bool
    default: false
  verify:
    description: Changes nothing, asks whether Ironic and the page of machines answer.
    type: bool
    default: false
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Converge Ironic
  groundup.cloud.ironic_node: "{{ ironic_node_options }}"
"""

RETURN = r"""
changes:
  description: What was done, or in check mode would be, a line each.
  type: list
  elements: str
  returned: success
environment:
  description: Directory of the Python environment that Ironic runs from.
  type: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._hypervisor import environment
from ..module_utils._ironic import configuration, service


def work(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge or verify. Raises GroundupError."""
    if given["verify"]:
        service.answers(given)
        name = environment.current(configuration.PROGRAMS)
    else:
        name = service.converge(changes, given)
    return {**changes.result(), "environment": name}


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "release": {"type": "str", "required": True},
            "environment_url": {"type": "str", "required": True},
            "ca_certificate": {"type": "str", "required": True},
            "api_url": {"type": "str", "required": True},
            "media_url": {"type": "str", "required": True},
            "mkisofs": {"type": "str", "required": True},
            "bounds": {"type": "str", "required": True},
            "contact": {"type": "str", "required": True},
            "agent": {"type": "str", "required": True},
            "boot_url": {"type": "str", "default": ""},
            "discovery": {"type": "bool", "default": False},
            "api_port": {"type": "int", "required": True},
            "api_inside": {"type": "int", "required": True},
            "media_port": {"type": "int", "required": True},
            "contact_inside": {"type": "int", "required": True},
            "machines_inside": {"type": "int", "required": True},
            "machines_password": {"type": "str", "required": True, "no_log": True},
            "machines_files": {"type": "dict", "required": True},
            "ramdisk": {"type": "path", "required": True},
            "password": {"type": "str", "required": True, "no_log": True},
            "runner": {"type": "bool", "default": False},
            "verify": {"type": "bool", "default": False},
        },
        work,
    )


if __name__ == "__main__":
    main()
