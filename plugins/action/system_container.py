"""Action of module groundup.cloud.system_container: run lab machines as containers with systemd as PID 1."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.locks import locked
from ..module_utils._container import converge, known_hosts, network, rootfs
from ..module_utils._container.model import LabHost, hosts_of, networks_of
from ..module_utils._container.names import Lab
from ..plugin_utils.actions import DocumentedAction


class ActionModule(DocumentedAction):
    """Start or remove the machines of a lab."""

    RULES: ClassVar = {"required_if": [("state", "running", ("image",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the state in which each host was found, with a diff."""
        # Ansible's strings are tagged objects: convert to plain ones.
        return apply(self.changes, json.loads(json.dumps(given)))


def apply(changes: Changes, params: dict[str, Any]) -> dict[str, Any]:
    """Converge the lab to ``params`` and return the result. Raises GroundupError."""
    if os.geteuid() != 0:
        raise GroundupError(
            "a lab needs root",
            where="this machine",
            why="it makes network namespaces, mounts and containers",
            remedy="run it as root",
        )
    lab = Lab(site=params["site"], root=Path(params["root"]))
    verb = absent if params["state"] == "absent" else running
    hosts = hosts_of(params["hosts"], networks_of(params["networks"]))
    unlocked = changes.check or (verb is absent and not lab.root.parent.exists())
    with contextlib.nullcontext() if unlocked else locked(lab.root.parent, directory=True):
        return verb(changes, lab, hosts, params)


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
            images={name: Path(image) for name, image in params["images"].items()},
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
