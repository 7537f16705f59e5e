# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_container
short_description: Run a lab's machines as system containers
version_added: 0.1.0
description:
  - Makes every given host exist and run, all at the same time. A host is a container with systemd as PID 1 started by
    runc, on an overlay of a root file system, with a network namespace of its own plugged into the bridges of
    M(groundup.cloud.lab_network).
  - A host whose processes were killed from outside, or whose machine was restarted, is started again on its volumes.
  - A host keeps the root file system it was first started from. A host whose interfaces changed in the plan is
    started again.
  - Before the first host of any lab starts, the machine's kernel settings are recorded; they are put back when the
    last lab goes.
options:
  site:
    description: Name of the site. Everything of it on this machine is found from that name.
    type: str
    required: true
  root:
    description: Directory of the hosts' root file systems and volumes.
    type: path
    required: true
  state:
    description:
      - V(absent) ends and removes O(hosts); with no hosts given, everything the site left on this machine but its
        links, also when half of it is already gone.
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
      - Unpacked root file system the hosts are made from. It is never written to. Required when O(state=running).
    type: path
  volumes:
    description:
      - Directories of a host that are kept beside its root file system, because they hold overlays themselves or much
        data.
      - Each begins with what the image has there.
    type: list
    elements: path
    default: []
  user:
    description: Account the controller uses; made when the image has none of that name, and let become root.
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
    description: File that is given the hosts' ssh keys, read from their file systems.
    type: path
  timeout:
    description: Seconds a host may take from its start until its ssh lets O(user) in.
    type: int
    default: 60
attributes:
  check_mode:
    description: Predicts which hosts would be started, and why.
  diff_mode:
    description: Shows the state of each host that is not as it should be.
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
    - State each host was found in. V(running), or why it was started. V(absent) (never made), V(dead) (its processes
      had ended), V(rewired) (the plan changed its interfaces), V(unplugged) (an interface was gone).
  returned: always
  type: dict
  sample: {control-1: running, worker-1: dead}
settings:
  description: Kernel settings of this machine that were put back.
  returned: when O(state=absent)
  type: list
  elements: str
"""
