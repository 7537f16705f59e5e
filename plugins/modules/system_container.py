#!/usr/bin/python
# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Machines of a lab: system containers with systemd as PID 1."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_container
short_description: Machines of a lab as system containers of this machine
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

import contextlib
import os
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._container import (
    converge,
    known_hosts,
    network,
    rootfs,
)
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import LabHost, hosts_of, networks_of
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab


def running(changes: Changes, lab: Lab, hosts: list[LabHost], params: dict[str, Any]) -> dict[str, Any]:
    """Start the hosts that do not run as planned and return the module's result. Raises GroundupError."""
    links = network.links()
    found = {host.name: converge.state_of(lab, host, links) for host in hosts}
    down = [host for host in hosts if found[host.name] != converge.RUNNING]
    for host in down:
        changes.add(f"start {host.name}", name=host.name, before=f"{found[host.name]}\n", after="running\n")
    if not changes.check:
        spec = converge.ContainerSpec(
            image=Path(params["image"]),
            volumes=tuple(params["volumes"]),
            account=rootfs.LoginAccount(
                user=params["user"], keys=tuple(params["authorized_keys"]), port=params["port"]
            ),
            nameservers=tuple(params["nameservers"]),
            timeout=params["timeout"],
        )
        if down:
            converge.start(lab, down, spec)
        _keep_keys(changes, params, {host: rootfs.host_key(lab, host.name) for host in hosts})
    return {"hosts": found, **changes.result()}


def absent(changes: Changes, lab: Lab, hosts: list[LabHost], params: dict[str, Any]) -> dict[str, Any]:
    """Remove the hosts, or the whole lab when none is named, and return the module's result. Raises GroundupError."""
    left = converge.known(lab)
    everything = not hosts
    names = left if everything else [host.name for host in hosts if host.name in left]
    for name in names:
        changes.add(f"remove {name}", name=name, before="present\n", after="absent\n")
    if everything and not names and (lab.root.exists() or lab.run.exists()):
        changes.add("remove what the lab left")
    settings: list[str] = []
    if not changes.check:
        network.drop_connections(item["cidr"] for item in params["networks"].values())
        converge.remove(lab, names)
        _keep_keys(changes, params, dict.fromkeys(hosts))
        if everything:
            settings = converge.clear(lab)
            if settings:
                changes.add("restore the machine's kernel settings")
    return {"hosts": dict.fromkeys(names, "present"), "settings": settings, **changes.result()}


def _keep_keys(changes: Changes, params: dict[str, Any], keys: dict[LabHost, str] | dict[LabHost, None]) -> None:
    path = params["known_hosts"]
    if path and known_hosts.update(Path(path), {**keys}, port=params["port"]):
        changes.add(f"write {path}")


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "site": {"type": "str", "required": True},
            "root": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["running", "absent"], "default": "running"},
            "hosts": {"type": "list", "elements": "dict", "default": []},
            "networks": {"type": "dict", "default": {}},
            "image": {"type": "path"},
            "volumes": {"type": "list", "elements": "path", "default": []},
            "user": {"type": "str", "default": "root"},
            "authorized_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "port": {"type": "int", "default": 22},
            "nameservers": {"type": "list", "elements": "str", "default": []},
            "known_hosts": {"type": "path", "no_log": False},
            "timeout": {"type": "int", "default": 60},
        },
        required_if=[("state", "running", ("image",))],
        supports_check_mode=True,
    )
    params = module.params
    lab = Lab(site=params["site"], root=Path(params["root"]))
    verb = absent if params["state"] == "absent" else running
    if os.geteuid() != 0:
        module.fail_json(msg="a lab needs root on this machine: it makes network namespaces, mounts and containers")
    changes = Changes(check=module.check_mode)

    def work() -> dict[str, Any]:
        hosts = hosts_of(params["hosts"], networks_of(params["networks"]))
        unlocked = module.check_mode or (verb is absent and not lab.root.parent.exists())
        with contextlib.nullcontext() if unlocked else locked(lab.root.parent, directory=True):
            return verb(changes, lab, hosts, params)

    finish(module, work, host="this machine")


if __name__ == "__main__":
    main()
