"""Run a lab's machines as system containers with systemd as PID 1."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.errors import GroundupError
from ...module_utils._base.locks import locked
from ...module_utils._container import converge, known_hosts, network, rootfs
from ...module_utils._container.model import LabHost, hosts_of, networks_of
from ...module_utils._container.names import Lab


def start(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Start the hosts that do not run as planned and return the step's result. Raises GroundupError."""
    with _lab(given, unlocked=changes.check) as (lab, hosts):
        links = network.links()
        found = {host.name: converge.state_of(lab, host, links) for host in hosts}
        down = [host for host in hosts if found[host.name] != converge.RUNNING]
        for host in down:
            changes.add(f"start {host.name}", name=host.name, before=f"{found[host.name]}\n", after="running\n")
        if not changes.check:
            spec = converge.ContainerSpec(
                image=Path(given["image"]),
                images={name: Path(image) for name, image in given["images"].items()},
                volumes=tuple(given["volumes"]),
                account=rootfs.LoginAccount(
                    user=given["user"], keys=tuple(given["authorized_keys"]), port=given["port"]
                ),
                nameservers=tuple(given["nameservers"]),
                timeout=given["timeout"],
            )
            if down:
                converge.start(lab, down, spec)
            _keep_keys(changes, given, {host: rootfs.host_key(lab, host.name) for host in hosts})
        return {"hosts": found, **changes.result()}


def remove(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Remove the hosts, or the whole lab when none is named, and return the step's result. Raises GroundupError."""
    with _lab(given, unlocked=changes.check or not Path(given["root"]).parent.exists()) as (lab, hosts):
        left = converge.known(lab)
        everything = not hosts
        names = left if everything else [host.name for host in hosts if host.name in left]
        for name in names:
            changes.add(f"remove {name}", name=name, before="present\n", after="absent\n")
        if everything and not names and (lab.root.exists() or lab.run.exists()):
            changes.add("remove what the lab left")
        settings: list[str] = []
        if not changes.check:
            network.drop_connections(item["cidr"] for item in given["networks"].values())
            converge.remove(lab, names)
            _keep_keys(changes, given, dict.fromkeys(hosts))
            if everything:
                settings = converge.clear(lab)
                if settings:
                    changes.add("restore the machine's kernel settings")
        return {"hosts": dict.fromkeys(names, "present"), "settings": settings, **changes.result()}


@contextmanager
def _lab(given: dict[str, Any], *, unlocked: bool) -> Iterator[tuple[Lab, list[LabHost]]]:
    """Yield the lab and its hosts of ``given``; no other run of a lab beside it changes hosts meanwhile."""
    if os.geteuid() != 0:
        raise GroundupError(
            "a lab needs root",
            where="this machine",
            why="it makes network namespaces, mounts and containers",
            remedy="run it as root",
        )
    lab = Lab(site=given["site"], root=Path(given["root"]))
    hosts = hosts_of(given["hosts"], networks_of(given["networks"]))
    with nullcontext() if unlocked else locked(lab.root.parent, directory=True):
        yield lab, hosts


def _keep_keys(changes: Changes, given: dict[str, Any], keys: dict[LabHost, str] | dict[LabHost, None]) -> None:
    path = given["known_hosts"]
    if path and known_hosts.update(Path(path), {**keys}, port=given["port"]):
        changes.add(f"write {path}")
