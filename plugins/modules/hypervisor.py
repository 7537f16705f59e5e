#!/usr/bin/python
"""A hypervisor, step by step: converged, verified, and taken out of service."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor
short_description: Converge and verify the services of a hypervisor, and take it out of service
version_added: 0.2.0
description:
  - "Private: for the role P(groundup.cloud.hypervisor#role) and the playbook C(groundup.cloud.retire)."
options:
  step:
    description:
      - V(converge) names the chassis, installs packages and sets Open vSwitch's database and bridges. It gives
        ovn-controller, libvirt and QEMU the host's certificate, and libvirt the Ceph keys of volumes and disks. It
        places the Python environment and configuration of OpenStack's services and an sshd with which Nova copies
        disks, and starts them. First it refuses a machine that does not match its hardware profile, and a change of
        where instances' disks are. It warns when a retired machine joins again. Then it verifies. The action adds
        O(chassis), O(underlay), O(peers), O(compute_id), O(volume_key), O(disks), O(environments) and
        O(configuration), from the plan, the record of digests, and the Secrets of the releases nova and neutron.
      - V(look) returns the state of nova-compute and Neutron's OVN agent, and what each wrote last. Changes nothing.
      - V(stage) places the Python environment of O(release) beside the one that services run from.
      - V(verify) checks that ovn-controller reaches the southbound database, libvirt answers, services run, cards have
        the virtual functions of O(sriov), and a full-size packet reaches the next hypervisor. It warns of a certificate
        that expires within a month.
      - V(leave) stops and disables nova-compute, Neutron's OVN agent and ovn-controller, removes the address of OVN's
        southbound database from Open vSwitch, and records that the host was retired. It keeps packages,
        configuration, certificates, libvirt and Open vSwitch. Before any change it refuses a host of another site,
        and one whose libvirt has domains or does not answer.
      - V(reconnect) has ovn-controller and Neutron's OVN agent take a southbound database that was made anew in the
        place of a lost one, which they refuse otherwise. Fails while that database is empty. V(converge) does it, too.
    type: str
    choices: [converge, look, stage, verify, leave, reconnect]
    required: true
  packages:
    description: Packages of the OS to install.
    type: list
    elements: str
  certificate:
    description: Certificate of the host, in PEM.
    type: str
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
  ca_certificate:
    description: Certificate of the CA that O(certificate) is from, in PEM.
    type: str
  force:
    description: Risks to accept. V(domains), for V(leave), leaves libvirt's domains, known or not, as they are.
    type: list
    elements: str
    default: []
    choices: [allocations, domains]
  name:
    description: Name of the host, of its chassis and of its compute.
    type: str
  hardware:
    description: Name of the host's hardware profile.
    type: str
  compute:
    description: The hypervisor settings of the hardware profile.
    type: dict
  console_ca:
    description: CA of the console proxy's certificate, in PEM.
    type: str
  ovn_ca:
    description: CA of the certificates of OVN's databases, in PEM.
    type: str
  queue_ca:
    description: CA of RabbitMQ's certificate, in PEM.
    type: str
  ssh_key:
    description: ssh key, in PEM, with which Nova copies disks from one hypervisor to another.
    type: str
  release:
    description: Release of OpenStack.
    type: str
  release_step:
    description:
      - Lets the environment change from one O(release) to another. Otherwise that is refused, before any change.
      - Refused in any case, by the action, while the control plane's Nova runs another release.
    type: bool
    default: false
  upgrading:
    description: Releases that the host keeps if it has one of them, while OpenStack is on its way to another.
    type: list
    elements: str
    default: []
  files_url:
    description: URL of the site's file server, which serves the Python environments.
    type: str
  files_ca:
    description: CA of the file server's certificate, in PEM. Default is the host's trust store.
    type: str
  programs:
    description: What services call at run time, by path, and what fails without it. Verified to be there.
    type: dict
    default: {}
  sriov:
    description:
      - Network cards with virtual functions, each with its C(card), number of C(functions), C(physical_network) and
        C(mtu). Empty takes away their unit and Neutron's agent for them.
    type: list
    elements: dict
    default: []
  environments:
    description:
      - File of the Python environment by Debian release, each with C(path) below O(files_url) and C(sha256).
      - The action fills it in.
    type: dict
    default: {}
  chassis:
    description: Name, external ids and bridges of the chassis.
    type: dict
    default: {}
  underlay:
    description:
      - For the full-size packet, tunnel addresses C(source) of this host and C(neighbour) of the hypervisor C(name),
        and the C(mtu) between them. Empty sends nothing.
    type: dict
    default: {}
  peers:
    description:
      - For Nova's sshd, its C(address) and C(port) on this host, all hypervisors as C(hosts) (name to address), and the
        C(public_key) of O(ssh_key). The names in C(hosts) are those that libvirt lets in.
    type: dict
    default: {}
  volume_key:
    description:
      - Ceph key with which QEMU opens volumes, as C(client) and C(uuid) of libvirt's secret. Empty for a site without
        Ceph.
    type: dict
    default: {}
  volume_secret:
    description: Value of O(volume_key).
    type: str
    default: ""
  disks:
    description:
      - For instances' disks in Ceph, the C(client), the C(uuid) of libvirt's secret with its key, and the text of
        Ceph's C(conf). Empty when disks are files on the host.
    type: dict
    default: {}
  disk_secret:
    description: Value of the key of O(disks).
    type: str
    default: ""
  compute_id:
    description: Id of the compute node, written once, and of libvirt's host.
    type: str
    default: ""
  configuration:
    description:
      - Configuration files of the services C(nova), C(agent) and C(sriov), as text, each for C(cluster) and C(host).
    type: dict
    default: {}
attributes:
  diff_mode:
    description: Shows every file that holds no secret.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._hypervisor.converge import reconnect, stage, work
from ..module_utils._hypervisor.leave import leave
from ..module_utils._hypervisor.services import look

_HOST = (
    "name",
    "hardware",
    "compute",
    "console_ca",
    "ovn_ca",
    "queue_ca",
    "ssh_key",
    "release",
    "files_url",
    "site",
    "packages",
    "certificate",
    "private_key",
    "ca_certificate",
)
RULES = {
    "required_if": [
        *(("step", step, _HOST) for step in ("converge", "verify")),
        ("step", "stage", ("name", "release", "files_url", "site")),
        *(("step", step, ("name",)) for step in ("leave", "look", "reconnect")),
    ]
}


def _leave(changes: Changes, given: dict[str, Any]) -> None:
    leave(changes, site=given["site"], name=given["name"], force=given["force"])


def main() -> None:
    run_step(
        {
            "converge": lambda changes, given: work(changes, {**given, "verify": False}),
            "look": lambda _changes, _given: {"changed": False, "units": look()},
            "stage": stage,
            "verify": lambda changes, given: work(changes, {**given, "verify": True}),
            "leave": _leave,
            "reconnect": reconnect,
        },
        secret=("private_key", "ssh_key", "volume_secret", "disk_secret", "configuration"),
    )


if __name__ == "__main__":
    main()
