#!/usr/bin/python
"""Converge Ironic on a seed. Ironic installs machines from power-off."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ironic_node
short_description: Converge Ironic on a seed
version_added: 0.1.0
description:
  - Places Ironic's Python environment from the site's file server, its configuration, an SQLite database with
    write-ahead logging, the systemd units of Ironic and of the call-home service for installed machines, and the web
    server configuration that terminates TLS for both and serves boot media.
  - Places the machines page, a service with its own account, behind the same web server.
  - Waits until Ironic and the page answer.
options:
  release:
    description: Version of Ironic.
    type: str
    required: true
  environment_url:
    description: URL of the Python environment; its digest is beside it.
    type: str
    required: true
  ca_certificate:
    description: Certificate of the site's CA, in PEM. Deploy ramdisks get it as well.
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
    description: Port of the API on the loopback, without TLS.
    type: int
    required: true
  media_port:
    description: Port of boot media and of the call-home service, with TLS.
    type: int
    required: true
  contact_inside:
    description: Port of the call-home service, on the loopback.
    type: int
    required: true
  password:
    description: Password of the user C(groundup).
    type: str
    required: true
  mkisofs:
    description: Program that replaces C(mkisofs) when Ironic writes boot media.
    type: str
    required: true
  bounds:
    description: Python code loaded when Ironic starts, which limits the size of management controllers' answers.
    type: str
    required: true
  contact:
    description: Program of the call-home service.
    type: str
    required: true
  agent:
    description: Inspection collector in Python for Ironic's agent in deploy ramdisks.
    type: str
    required: true
  boot_url:
    description: URL, without TLS, from which machines boot over the network. Empty if none does.
    type: str
    default: ""
  discovery:
    description: Whether to enrol an unknown machine when its ramdisk calls Ironic.
    type: bool
    default: false
  machines_inside:
    description: Port of the machines page, on the loopback.
    type: int
    required: true
  machines_password:
    description: Password of the user C(operator) of the machines page.
    type: str
    required: true
  machines_files:
    description: Program and assets of the machines page, by file name.
    type: dict
    required: true
  runner:
    description: Whether the seed has a runner (M(groundup.cloud.runner_node)). V(false) removes an existing one.
    type: bool
    default: false
  verify:
    description: Change nothing; check that Ironic and the machines page answer.
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
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
environment:
  description: Directory of Ironic's Python environment.
  type: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._host import environment
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
