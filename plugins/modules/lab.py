#!/usr/bin/python
"""Documentation of the action of the same name, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab
short_description: Run a lab's networks and machines on this machine
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.lab_hosts#role) of the same collection."
  - Runs on the control node, which is the machine of the lab.
options:
  step:
    description:
      - V(check) checks root, programs, control groups, memory, disk, and that no network overlaps one of this
        machine's. It fails with every missing requirement, its field and its remedy. It counts resources of running
        hosts only once, and changes nothing.
      - V(networks) creates a bridge for each network. The bridge has the network's gateway address, so that the
        controller reaches the hosts. Its name derives from the site, in at most 15 characters; the alias names the
        network. There is no routing and no NAT - hosts reach only this machine and each other.
      - V(hosts) creates and starts all given hosts at the same time. A host is a runc container with systemd as PID 1,
        on an overlay of a root file system, with its own network namespace on the bridges. It restarts on its volumes
        when its processes were killed, this machine was restarted, or the plan changed its interfaces, and keeps the
        root file system of its first start. Before the first host of any lab starts, this machine's kernel settings
        are recorded.
      - V(remove_hosts) stops and removes O(hosts); without hosts, everything of the site on this machine except its
        links, even half-removed hosts. The last lab restores the kernel settings.
      - V(remove_networks) removes every link of the site, including those of networks the plan no longer has.
    type: str
    choices: [check, networks, hosts, remove_hosts, remove_networks]
    required: true
  site_file:
    description: Path of the site file. With O(step=check).
    type: path
  site:
    description: Name of the site. It identifies the site's resources on this machine.
    type: str
  networks:
    description: The plan's networks, as P(groundup.cloud.site#inventory) gives them in C(groundup_site.networks).
    type: dict
    default: {}
  root:
    description: Directory of the hosts' root file systems and volumes.
    type: path
  hosts:
    description: Host plans, as P(groundup.cloud.site#inventory) gives them in C(groundup_host).
    type: list
    elements: dict
    default: []
  image:
    description: Unpacked root file system of the hosts, never written to.
    type: path
  images:
    description: Unpacked root file systems of hosts that do not use O(image), by name.
    type: dict
    default: {}
  volumes:
    description:
      - Host directories stored beside its root file system, because they hold overlays or much data. Each starts with
        the image's content.
    type: list
    elements: path
    default: []
  user:
    description: Account the control node logs in as, with sudo; created when the image lacks it.
    type: str
    default: root
  authorized_keys:
    description: Public ssh keys that may log in as O(user).
    type: list
    elements: str
    default: []
  port:
    description: Port of the hosts' ssh.
    type: int
    default: 22
  nameservers:
    description: Name servers of the hosts at their first start.
    type: list
    elements: str
    default: []
  known_hosts:
    description: File to add the hosts' ssh keys to, read from their file systems.
    type: path
  timeout:
    description: Timeout in seconds from a host's start until O(user) can log in by ssh.
    type: int
    default: 60
attributes:
  check_mode:
    description: Predicts which bridges and hosts would be made or removed, and why.
  diff_mode:
    description: Shows each bridge and host that differs from the plan.
extends_documentation_fragment: groundup.cloud.attributes
"""
