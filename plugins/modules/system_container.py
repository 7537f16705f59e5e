# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_container
short_description: Run a lab's machines as system containers
version_added: 0.1.0
description:
  - Creates and starts all given hosts at the same time. A host is a runc container with systemd as PID 1, on an overlay
    of a root file system, with its own network namespace on the bridges of M(groundup.cloud.lab_network).
  - Restarts a host on its volumes when its processes were killed or the machine was restarted.
  - A host keeps the root file system of its first start. It restarts when the plan changes its interfaces.
  - Records the machine's kernel settings before the first host of any lab starts, and restores them when the last lab
    is removed.
options:
  site:
    description: Name of the site. It identifies the site's resources on this machine.
    type: str
    required: true
  root:
    description: Directory of the hosts' root file systems and volumes.
    type: path
    required: true
  state:
    description:
      - V(absent) stops and removes O(hosts); without hosts, everything of the site on this machine except its links,
        even half-removed hosts.
    type: str
    choices: [running, absent]
    default: running
  hosts:
    description: Host plans, as P(groundup.cloud.site#inventory) gives them in C(groundup_host).
    type: list
    elements: dict
    default: []
  networks:
    description: The plan's networks, as P(groundup.cloud.site#inventory) gives them in C(groundup_site.networks).
    type: dict
    default: {}
  image:
    description:
      - Unpacked root file system of the hosts, never written to. Required when O(state=running).
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
    description: Account the controller logs in as, with sudo; created when the image lacks it.
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
    description: Predicts which hosts would be started, and why.
  diff_mode:
    description: Shows the state of each host that differs from the plan.
extends_documentation_fragment: groundup.cloud.attributes
"""

EXAMPLES = r"""
- name: Hosts of the lab
  groundup.cloud.system_container:
    site: lab
    root: /var/lib/groundup/lab
    image: /var/cache/groundup/rootfs-host
    networks: "{{ groundup_site.networks }}"
    hosts: "{{ groups.provisioner_container | map('extract', hostvars, 'groundup_host') }}"
    authorized_keys: ["ssh-ed25519 AAAA... site"]
    volumes: [/var/lib/containerd, /var/log]

- name: No lab
  groundup.cloud.system_container:
    site: lab
    root: /var/lib/groundup/lab
    state: absent
"""

RETURN = r"""
hosts:
  description:
    - State in which each host was found. V(running), or why it was started. V(absent) (never created), V(dead) (its
      processes had ended), V(rewired) (the plan changed its interfaces), V(unplugged) (an interface was gone).
  returned: always
  type: dict
  sample: {control-1: running, worker-1: dead}
settings:
  description: Kernel settings of this machine that were restored.
  returned: when O(state=absent)
  type: list
  elements: str
"""
