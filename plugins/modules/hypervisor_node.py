#!/usr/bin/python
"""Converge a hypervisor: Open vSwitch, ovn-controller, libvirt, nova-compute, Neutron's OVN agent."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_node
short_description: Converge the services of a hypervisor
version_added: 0.2.0
description:
  - Names the chassis, installs packages and sets Open vSwitch's database and bridges. Gives ovn-controller, libvirt and
    QEMU the host's certificate, and libvirt the Ceph keys of volumes and disks. Places the Python environment and
    configuration of OpenStack's services and an sshd with which Nova copies disks, and starts them. Changes only what
    differs.
  - First refuses a machine that does not match its hardware profile, and a change of where instances' disks are. Warns
    when a retired machine joins again.
  - Then, except in check mode, verifies that ovn-controller reaches the southbound database, libvirt answers, both
    services run, and a full-size packet reaches the next hypervisor. Warns of a certificate that expires within a
    month.
  - M(groundup.cloud.hypervisor_joined) verifies that the cloud knows the host.
  - The action of the same name adds O(chassis), O(underlay), O(peers), O(compute_id), O(volume_key), O(disks),
    O(environments) and O(configuration), from the plan, the record of digests, and the Secrets of the releases nova and
    neutron.
options:
  name:
    description: Name of the host, of its chassis and of its compute.
    type: str
    required: true
  hardware:
    description: Name of the host's hardware profile.
    type: str
    required: true
  compute:
    description: The hypervisor settings of the hardware profile.
    type: dict
    required: true
  console_ca:
    description: CA of the console proxy's certificate, in PEM.
    type: str
    required: true
  ovn_ca:
    description: CA of the certificates of OVN's databases, in PEM.
    type: str
    required: true
  queue_ca:
    description: CA of RabbitMQ's certificate, in PEM.
    type: str
    required: true
  ssh_key:
    description: ssh key, in PEM, with which Nova copies disks from one hypervisor to another.
    type: str
    required: true
  release:
    description: Release of OpenStack.
    type: str
    required: true
  files_url:
    description: URL of the site's file server, which serves the Python environments.
    type: str
    required: true
  files_ca:
    description: CA of the file server's certificate, in PEM. Default is the host's trust store.
    type: str
  programs:
    description: What services call at run time, by path, and what fails without it. Verified to be there.
    type: dict
    default: {}
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
    description: Configuration files of the services C(nova) and C(agent), as text, each for C(cluster) and C(host).
    type: dict
    default: {}
  verify:
    description: Only verify; change nothing.
    type: bool
    default: false
attributes:
  diff_mode:
    description: Shows every file that holds no secret.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
  - groundup.cloud.host.certificate
  - groundup.cloud.host.installs
"""

EXAMPLES = r"""
- name: Hypervisor
  groundup.cloud.hypervisor_node:
    site: lab
    name: hypervisor-1
    hardware: lab-container
    compute: "{{ groundup_site.hypervisor.compute['lab-container'] }}"
    packages: [openvswitch-switch, ovn-host, libvirt-daemon-system, qemu-system-x86]
    certificate: "{{ lookup('groundup.cloud.state_file', 'pki/hypervisor-1.crt') }}"
    private_key: "{{ lookup('groundup.cloud.secret', 'pki/hypervisor-1-key') }}"
    ssh_key: "{{ lookup('groundup.cloud.secret', 'nova/ssh-key') }}"
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'pki/authority/hypervisor.crt') }}"
    console_ca: "{{ lookup('groundup.cloud.state_file', 'pki/authority/console.crt') }}"
    ovn_ca: "{{ lookup('groundup.cloud.state_file', 'pki/authority/ovn.crt') }}"
    queue_ca: "{{ lookup('groundup.cloud.state_file', 'pki/authority/queue.crt') }}"
    release: "2026.1"
    files_url: https://registry.lab.test:8080
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
environment:
  description: Directory of the Python environment that the services run from.
  type: str
  returned: success
"""

from ..module_utils._base.module import run_module
from ..module_utils._base.options import CERTIFICATE
from ..module_utils._hypervisor.converge import work


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "hardware": {"type": "str", "required": True},
            "compute": {"type": "dict", "required": True},
            "packages": {"type": "list", "elements": "str", "required": True},
            **CERTIFICATE,
            "console_ca": {"type": "str", "required": True},
            "ovn_ca": {"type": "str", "required": True},
            "queue_ca": {"type": "str", "required": True},
            "ssh_key": {"type": "str", "required": True, "no_log": True},
            "release": {"type": "str", "required": True},
            "files_url": {"type": "str", "required": True},
            "files_ca": {"type": "str"},
            "programs": {"type": "dict", "default": {}},
            "environments": {"type": "dict", "default": {}},
            "chassis": {"type": "dict", "default": {}},
            "underlay": {"type": "dict", "default": {}},
            "peers": {"type": "dict", "default": {}},
            "volume_key": {"type": "dict", "default": {}, "no_log": False},
            "volume_secret": {"type": "str", "default": "", "no_log": True},
            "disks": {"type": "dict", "default": {}},
            "disk_secret": {"type": "str", "default": "", "no_log": True},
            "compute_id": {"type": "str", "default": ""},
            "configuration": {"type": "dict", "default": {}, "no_log": True},
            "verify": {"type": "bool", "default": False},
        },
        work,
    )


if __name__ == "__main__":
    main()
