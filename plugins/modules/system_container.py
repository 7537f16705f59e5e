#!/usr/bin/python
# Copyright: (c) 2026, The groundup.cloud developers
# Apache License 2.0 (see LICENSE)
"""Machines of a lab: system containers with systemd as PID 1."""

from __future__ import annotations

DOCUMENTATION = r"""
module: system_container
short_description: Machines of a lab as system containers of this machine
version_added: 0.1.0
author: The groundup.cloud developers
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
    support: full
    description: Predicts which hosts would be started, and why.
  diff_mode:
    support: full
    description: Shows the state of each host that is not as it should be.
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
from ansible_collections.groundup.cloud.plugins.module_utils._container import (
    converge,
    known_hosts,
    machine,
    network,
    rootfs,
)
from ansible_collections.groundup.cloud.plugins.module_utils._container.errors import LabError
from ansible_collections.groundup.cloud.plugins.module_utils._container.model import Host, hosts_of, networks_of
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab
from ansible_collections.groundup.cloud.plugins.module_utils._disk import said


def running(lab: Lab, hosts: list[Host], params: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """Start the hosts that do not run as planned and return the module's result. Raises LabError."""
    links = network.links()
    found = {host.name: converge.state_of(lab, host, links) for host in hosts}
    down = [host for host in hosts if found[host.name] != converge.RUNNING]
    changed = bool(down)
    if not check:
        wish = converge.Wish(
            image=Path(params["image"]),
            volumes=tuple(params["volumes"]),
            account=rootfs.Account(user=params["user"], keys=tuple(params["authorized_keys"]), port=params["port"]),
            nameservers=tuple(params["nameservers"]),
            timeout=params["timeout"],
        )
        if down:
            converge.bring_up(lab, down, wish)
        keys = {host: rootfs.host_key(lab, host.name) for host in hosts}
        changed |= _remember_keys(params, keys)
    before = {host.name: found[host.name] for host in down}
    return {"changed": changed, "hosts": found, "diff": _diff(before, dict.fromkeys(before, converge.RUNNING))}


def absent(lab: Lab, hosts: list[Host], params: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """Remove the hosts, or the whole lab when none is named, and return the module's result. Raises LabError."""
    left = converge.known(lab)
    everything = not hosts
    names = left if everything else [host.name for host in hosts if host.name in left]
    changed = bool(names) or (everything and (lab.root.exists() or lab.run.exists()))
    settings: list[str] = []
    if not check:
        network.drop_connections(item["cidr"] for item in params["networks"].values())
        converge.bring_down(lab, names)
        changed |= _remember_keys(params, dict.fromkeys(hosts))
        if everything:
            settings = converge.clear(lab)
    before = dict.fromkeys(names, "present")
    return {
        "changed": changed or bool(settings),
        "hosts": before,
        "settings": settings,
        "diff": _diff(before, dict.fromkeys(names, converge.ABSENT)),
    }


def _remember_keys(params: dict[str, Any], keys: dict[Host, str] | dict[Host, None]) -> bool:
    path = params["known_hosts"]
    return bool(path) and known_hosts.update(Path(path), {**keys}, port=params["port"])


def _diff(before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    return {"before": before, "after": after}


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
    try:
        hosts = hosts_of(params["hosts"], networks_of(params["networks"]))
        if module.check_mode:
            module.exit_json(**verb(lab, hosts, params, check=True))
        nothing = verb is absent and not lab.root.parent.exists()
        with contextlib.nullcontext() if nothing else machine.locked(lab.root.parent):
            result = verb(lab, hosts, params, check=False)
        module.exit_json(**result)
    except LabError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=said(error, host="this machine"))


if __name__ == "__main__":
    main()
