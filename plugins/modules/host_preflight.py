#!/usr/bin/python
"""Check whether a host can take its place in the site, before any change."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_preflight
short_description: Check a host before its first change
version_added: 0.1.0
description:
  - Compares a host with its plan and the requirements of the layers, and returns every fault with its remedy. Faults do
    not make it fail.
  - Reads only. Needs Python 3.9 or later on the host, and no other program.
  - On a host that serves already, what this site runs there is not a fault.
options:
  name:
    description: Name of the host in the site file.
    type: str
    required: true
  user:
    description: Account of the site, which needs sudo unless it is root.
    type: str
    default: root
  interfaces:
    description: Planned interfaces, each with C(network), C(address), C(prefix) and C(mtu).
    type: list
    elements: dict
    default: []
  unused_networks:
    description: Networks that no layer of this version uses. Faults there are warnings.
    type: list
    elements: str
    default: []
  virtual_ip:
    description: The site's virtual IP, on hosts that are to hold it; who answers for it is a fact.
    type: str
    default: ""
  ranges:
    description: By key of the site file, the networks of pods and Services.
    type: dict
    default: {}
  neighbours:
    description: By network, addresses of hosts to send a full-size packet to.
    type: dict
    default: {}
  control:
    description: By network, addresses of control hosts to send a full-size packet to as well.
    type: dict
    default: {}
  reaches:
    description: By address, ports of other hosts that must be reachable, sshd's first.
    type: dict
    default: {}
  hardware:
    description: The hardware profile - C(name), C(cores), C(memory_gb), C(nic_gbps) and C(nvme).
    type: dict
    default: {}
  hardware_required:
    description: Whether a machine smaller than O(hardware) is an error.
    type: bool
    default: false
  space:
    description: By directory, GiB that must be free.
    type: dict
    default: {}
  listens:
    description: By port (C(6443/tcp)), the programs of this site that listen on it.
    type: dict
    default: {}
  kernel_modules:
    description: Kernel modules that must be available.
    type: list
    elements: str
    default: []
  systems:
    description: Supported systems, each with C(name), C(id), C(version), C(architecture), C(kernel) and C(python).
    type: list
    elements: dict
    default: []
  releases:
    description: Versions of O(systems) whose packages the site serves. Default is all.
    type: list
    elements: str
    default: []
  node:
    description: Whether the plan makes the host a node of the cluster.
    type: bool
    default: false
  swap:
    description: Whether the kubelet starts with swap on.
    type: bool
    default: false
  cgroup_v1:
    description: Whether the kubelet starts with cgroup v1.
    type: bool
    default: false
  eviction:
    description: Whether the kubelet uses its default limits of free disk, in per cent, and takes no pods below them.
    type: bool
    default: false
  accept_host_keys:
    description: Fingerprints of host keys that the operator confirmed, for the controller's login.
    type: list
    elements: str
    default: []
  store:
    description: Identity of the site's secrets store, empty before there is one. Omit it to skip the comparison.
    type: str
  controller_time:
    description: The controller's time in seconds since 1970. Omit it to skip the comparison of clocks.
    type: float
extends_documentation_fragment:
  - groundup.cloud.attributes.info
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Check the host
  groundup.cloud.host_preflight:
    name: "{{ groundup_host.name }}"
    site: "{{ groundup_site.site }}"
    interfaces: "{{ groundup_host.interfaces }}"
    listens: {10250/tcp: [kubelet]}
    space: {/var/lib/containerd: 10}
"""

RETURN = r"""
faults:
  description: Faults, errors first.
  type: list
  elements: dict
  returned: always
  sample:
    - check: swap
      severity: error
      what: swap is on
      where: /dev/sda2
      remedy: "turn it off: swapoff -a, and take it out of /etc/fstab"
facts:
  description:
    - What identifies the machine, whether it belongs to the site and serves already, who answers for the virtual IP,
      which planned addresses it has, and by network the interface with one.
  type: dict
  returned: always
  sample:
    hostname: worker-1
    serves: false
    ours: false
    virtual_ip: ""
    addresses: [10.0.0.4]
    machine_id: 0123456789abcdef0123456789abcdef
    macs: ["52:54:00:12:34:56"]
    interfaces: {management: ens3}
"""

from typing import Any

from ..module_utils._base.module import run_module
from ..module_utils._preflight.checks import run
from ..module_utils._preflight.model import Expected, MachineFacts


def wanted(given: dict[str, Any]) -> Expected:
    """Return the options without the one that only the action plugin uses."""
    return Expected(**{name: value for name, value in given.items() if name != "accept_host_keys"})


def main() -> None:
    """Read the options, check, report."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "site": {"type": "str", "required": True},
            "store": {"type": "str"},
            "user": {"type": "str", "default": "root"},
            "interfaces": {"type": "list", "elements": "dict", "default": []},
            "unused_networks": {"type": "list", "elements": "str", "default": []},
            "virtual_ip": {"type": "str", "default": ""},
            "ranges": {"type": "dict", "default": {}},
            "neighbours": {"type": "dict", "default": {}},
            "control": {"type": "dict", "default": {}},
            "reaches": {"type": "dict", "default": {}},
            "hardware": {"type": "dict", "default": {}},
            "hardware_required": {"type": "bool", "default": False},
            "space": {"type": "dict", "default": {}},
            "listens": {"type": "dict", "default": {}},
            "kernel_modules": {"type": "list", "elements": "str", "default": []},
            "systems": {"type": "list", "elements": "dict", "default": []},
            "releases": {"type": "list", "elements": "str", "default": []},
            "node": {"type": "bool", "default": False},
            "swap": {"type": "bool", "default": False},
            "cgroup_v1": {"type": "bool", "default": False},
            "eviction": {"type": "bool", "default": False},
            "accept_host_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "controller_time": {"type": "float"},
        },
        lambda _, given: {"changed": False, **run(MachineFacts(), wanted(given))},
    )


if __name__ == "__main__":
    main()
