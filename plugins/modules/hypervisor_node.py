#!/usr/bin/python
"""Converge a hypervisor: Open vSwitch, ovn-controller, libvirt, nova-compute, Neutron's OVN agent."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hypervisor_node
short_description: Converge what runs on a hypervisor
version_added: 0.2.0
description:
  - Names the chassis, installs packages, sets Open vSwitch's database and bridges, gives ovn-controller, libvirt and
    QEMU the host's certificate and libvirt the keys of volumes and disks in Ceph, places the Python environment of
    OpenStack's services, their configuration and an sshd for Nova's own copies of disks, and starts them. Changes only
    what differs.
  - First refuses a machine that lacks what its hardware profile says, and to look for disks of instances elsewhere than
    they are. Warns of one that was retired, which joins again.
  - Then verifies that ovn-controller reaches the southbound database, libvirt answers, both services run, and a packet
    of full size reaches the next hypervisor, except in check mode. Warns of a certificate that ends within a month.
  - Whether the cloud knows the host is asked by M(groundup.cloud.hypervisor_joined).
  - The action of the same name adds O(chassis), O(underlay), O(peers), O(compute_id), O(volume_key), O(disks),
    O(environments) and O(configuration), from the plan, the record of what the seed serves, and the Secrets of
    releases nova and neutron.
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
    description: What the hardware profile says of a hypervisor.
    type: dict
    required: true
  ssh_key:
    description: Key by which Nova copies disks from one hypervisor to another, in PEM.
    type: str
    required: true
  release:
    description: Release of OpenStack.
    type: str
    required: true
  files_url:
    description: URL of the site's file server, which has the Python environments.
    type: str
    required: true
  files_ca:
    description: CA that signed its certificate, in PEM. Default is the host's trust store.
    type: str
  environments:
    description:
      - File with the Python environment, by Debian release, with C(path) below O(files_url) and C(sha256).
      - The action fills it in.
    type: dict
    default: {}
  chassis:
    description: Name, external ids and bridges of the chassis.
    type: dict
    default: {}
  underlay:
    description:
      - C(source) and C(neighbour), addresses that tunnels end at here and on the hypervisor C(name), and the C(mtu)
        between them. Without it nothing is sent.
    type: dict
    default: {}
  peers:
    description:
      - For Nova's ssh its C(address) and C(port) here, all hypervisors as C(hosts) (name to address), and the
        C(public_key) of O(ssh_key).
    type: dict
    default: {}
  volume_key:
    description:
      - Key of Ceph by which QEMU opens volumes, as C(client) and C(uuid) of libvirt's secret. Default is a site without
        Ceph.
    type: dict
    default: {}
  volume_secret:
    description: Its value.
    type: str
    default: ""
  disks:
    description:
      - For disks of instances in Ceph the C(client), the C(uuid) of libvirt's secret with its key, and text of
        Ceph's C(conf). Default is a host whose files they are.
    type: dict
    default: {}
  disk_secret:
    description: Value of the key.
    type: str
    default: ""
  compute_id:
    description: Id of the compute, written once.
    type: str
    default: ""
  configuration:
    description: Text of the files that the services run by, C(nova) and C(agent), of each C(cluster) and C(host).
    type: dict
    default: {}
  verify:
    description: Whether to verify alone, and change nothing.
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
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
    release: "2026.1"
    files_url: https://registry.lab.test:8080
"""

RETURN = r"""
changes:
  description: What was done, or in check mode would be, a line each.
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
            "ssh_key": {"type": "str", "required": True, "no_log": True},
            "release": {"type": "str", "required": True},
            "files_url": {"type": "str", "required": True},
            "files_ca": {"type": "str"},
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
