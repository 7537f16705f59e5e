#!/usr/bin/python
"""Ironic, network boot and the runner on a seed, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ironic
short_description: Converge and verify Ironic, network boot and the runner on a seed
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.ironic#role) of the same collection."
options:
  step:
    description:
      - V(converge) places Ironic's Python environment from the site's file server, its configuration, an SQLite
        database with write-ahead logging, the systemd units of Ironic, of the call-home service for installed machines
        and of the machines page, and the web server configuration that terminates TLS for them and serves boot media.
        It waits until Ironic and the page answer, which is what V(verify) checks.
      - V(netboot) places dnsmasq and iPXE, their configuration, a systemd unit, iPXE's scripts and the web server
        configuration that serves kernel and deploy ramdisk without TLS, all for one network. Machines of the site get
        their planned address there, others an address of a pool, or no answer. DNS and NTP (chronyd) are served at the
        seed's address on that network only; the seed's own clock is not touched. Without O(network), both services are
        stopped. V(netboot_verify) queries a name and the time.
      - V(runner) places ansible-core and ansible-runner from the site's file server, this collection, the site file and
        the site's public files, and a service that runs layers on each machine as soon as it has called home. It
        generates an ssh key and a password on the seed, which never leave it. The public key is stored in the site's
        state directory; machines installed from then on accept it. V(runner_verify) checks that the service runs.
    type: str
    choices: [converge, verify, netboot, netboot_verify, runner, runner_verify]
    required: true
  release:
    description: Version of Ironic, or, for the runner, of ansible-core.
    type: str
  environment_url:
    description: URL of the Python environment; its digest is beside it.
    type: str
  ca_certificate:
    description: Certificate of the site's CA, in PEM. Deploy ramdisks get it as well.
    type: str
  ramdisk:
    description: Directory of the host with C(vmlinuz), C(initramfs) and C(esp.img).
    type: path
  api_url:
    description: URL at which deploy ramdisks reach the API.
    type: str
  media_url:
    description: URL at which management controllers fetch boot media.
    type: str
  api_port:
    description: Port of the API, with TLS.
    type: int
  api_inside:
    description: Port of the API on the loopback, without TLS.
    type: int
  media_port:
    description: Port of boot media and of the call-home service, with TLS.
    type: int
  contact_inside:
    description: Port of the call-home service, on the loopback.
    type: int
  password:
    description: Password of the user C(groundup).
    type: str
  mkisofs:
    description: Program that replaces C(mkisofs) when Ironic writes boot media.
    type: str
  bounds:
    description: Python code loaded when Ironic starts, which limits the size of management controllers' answers.
    type: str
  contact:
    description: Program of the call-home service.
    type: str
  agent:
    description: Inspection collector in Python for Ironic's agent in deploy ramdisks.
    type: str
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
  machines_password:
    description: Password of the user C(operator) of the machines page.
    type: str
  machines_files:
    description: Program and assets of the machines page, by file name.
    type: dict
  network:
    description: The plan of the network. Without it the services are stopped.
    type: dict
  files_root:
    description: Root of the seed's file tree.
    type: path
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
  site_file:
    description: Path of the site file on the control node.
    type: path
  contact_url:
    description: URL of the call-home service.
    type: str
  public:
    description: Public files of the site's state directory that layers read, by their path there.
    type: dict
  runner:
    description: Whether the seed has a runner. V(false), with O(step=converge), removes an existing one.
    type: bool
    default: false
extends_documentation_fragment: groundup.cloud.attributes
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._host import environment
from ..module_utils._ironic import boot_service, configuration, runner, service

_IRONIC = (
    "release",
    "environment_url",
    "ca_certificate",
    "ramdisk",
    "api_url",
    "media_url",
    "api_port",
    "api_inside",
    "media_port",
    "contact_inside",
    "password",
    "mkisofs",
    "bounds",
    "contact",
    "agent",
    "machines_inside",
    "machines_password",
    "machines_files",
)
_NETBOOT = ("files_root", "ramdisk", "api_url", "domain")
_RUNNER = ("site_file", "release", "environment_url", "contact_url", "public")
RULES = {
    "required_if": [
        *(("step", step, _IRONIC) for step in ("converge", "verify")),
        *(("step", step, _NETBOOT) for step in ("netboot", "netboot_verify")),
        *(("step", step, _RUNNER) for step in ("runner", "runner_verify")),
    ]
}


def _converge(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    name = service.converge(changes, given)
    return {**changes.result(), "environment": name}


def _verify(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    service.answers(given)
    return {"changed": False, "environment": environment.current(configuration.PROGRAMS)}


def _netboot(changes: Changes, given: dict[str, Any]) -> None:
    boot_service.converge(changes, given)


def _netboot_verify(_: Changes, given: dict[str, Any]) -> None:
    if given["network"]:
        boot_service.answers(given["network"], domain=given["domain"])


def _runner(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge, unless the host lacks the collection, which the action sends then."""
    lacking = runner.lacks(given["collection"]) and not given["content"] and not changes.check
    key = "" if lacking else runner.converge(changes, given)
    return {**changes.result(), "lacking": lacking, "public_key": key}


def _runner_verify(_: Changes, __: dict[str, Any]) -> None:
    runner.serves()


def main() -> None:
    run_step(
        {
            "converge": _converge,
            "verify": _verify,
            "netboot": _netboot,
            "netboot_verify": _netboot_verify,
            "runner": _runner,
            "runner_verify": _runner_verify,
        },
        secret=("password", "machines_password"),
    )


if __name__ == "__main__":
    main()
