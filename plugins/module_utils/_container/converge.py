"""Start lab hosts in parallel, and remove a lab completely."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .._base import files
from .._base.errors import GroundupError
from . import cgroups, forwarding, machine, network, rootfs, runtime
from .model import LabHost
from .names import Lab
from .spec import DEVICES, bounding_set, capabilities, device_nodes, runtime_config

Item = TypeVar("Item")

RUNNING, ABSENT, DEAD, REWIRED, UNPLUGGED = "running", "absent", "dead", "rewired", "unplugged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """Settings shared by all hosts of the set."""

    image: Path
    volumes: tuple[str, ...]
    account: rootfs.LoginAccount
    nameservers: tuple[str, ...]
    timeout: float  # seconds from start to ssh
    images: Mapping[str, Path] = field(default_factory=dict)  # by host name: hosts with another image


def state_of(lab: Lab, host: LabHost, links: Mapping[str, Mapping[str, object]]) -> str:
    """Return the state of ``host``: ``running`` as planned, or the reason to start it.

    ``absent``: never created. ``dead``: its processes ended, killed or by a restart of the machine. ``rewired``: the
    plan changed its network connections. ``unplugged``: one of its interfaces is missing.
    """
    home = lab.home(host.name)
    if not (home / "prepared").exists():
        return ABSENT
    if runtime.init_pid(lab, host.name) is None:
        return DEAD
    if files.read(home / "wiring") != host.wiring():
        return REWIRED
    return RUNNING if network.wired(lab, host, links) else UNPLUGGED


def start(lab: Lab, hosts: Sequence[LabHost], spec: ContainerSpec) -> None:
    """Start ``hosts`` in parallel and wait until each accepts logins. Raises GroundupError naming all faults."""
    machine.record(lab.run)
    machine.raise_limits()
    forwarding.load()
    _in_parallel(hosts, lambda host: _start(lab, host, spec))


def remove(lab: Lab, hosts: Sequence[str]) -> None:
    """Stop ``hosts`` in parallel and remove their data. Raises GroundupError naming all faults."""
    _in_parallel(hosts, lambda host: _remove(lab, host))


def known(lab: Lab) -> list[str]:
    """Return the names of the lab's hosts that left any trace on this machine."""
    mark = len(lab.id(""))
    names = {name[mark:] for name in network.namespaces(lab.site)}
    if lab.runc.is_dir():
        names |= {path.name[mark:] for path in lab.runc.iterdir()}
    if lab.root.is_dir():
        names |= {path.name for path in lab.root.iterdir() if path.is_dir()}
    names |= {path.name for path in cgroups.groups(lab.cgroup) if str(path.parent).endswith(lab.cgroup)}
    return sorted(names)


def clear(lab: Lab) -> list[str]:
    """Remove a lab's remains besides its hosts; return the kernel settings it restored. Raises GroundupError."""
    cgroups.kill_group(lab.cgroup)
    cgroups.remove_groups(lab.cgroup)
    network.remove_namespaces(lab.site)
    for place in (lab.root, lab.run):
        machine.unmount(place)
        if place.exists():
            shutil.rmtree(place)
    return machine.restore_machine()


def _start(lab: Lab, host: LabHost, spec: ContainerSpec) -> None:
    home = lab.home(host.name)
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    runtime.stop(lab, host.name)
    network.drop_connections([host.address])
    if not (home / "prepared").exists():
        machine.unmount(home)
        shutil.rmtree(home / "upper", ignore_errors=True)  # an unfinished first start begins again
        (home / "image").unlink(missing_ok=True)
    rootfs.mount(lab, host.name, spec.images.get(host.name, spec.image))
    rootfs.prepare(lab, host, volumes=spec.volumes, account=spec.account, nameservers=spec.nameservers)
    netns = network.wire(lab, host)
    modules = Path("/lib/modules") / os.uname().release
    config = runtime_config(
        lab,
        host,
        volumes=spec.volumes,
        netns=netns,
        caps=capabilities(bounding_set(Path("/proc/self/status").read_text())),
        devices=device_nodes(DEVICES),
        kernel_modules=modules.parent if modules.is_dir() else None,
    )
    (home / "wiring").unlink(missing_ok=True)
    runtime.start(lab, host.name, config)
    runtime.wait_for_login(lab, host, port=spec.account.port, timeout=spec.timeout)
    # Written last: a host whose start was interrupted is started again.
    (home / "wiring").write_text(host.wiring())


def _remove(lab: Lab, host: str) -> None:
    runtime.stop(lab, host)
    network.unwire(lab, host)
    machine.unmount(lab.home(host))
    if lab.home(host).exists():
        shutil.rmtree(lab.home(host))


def _in_parallel(items: Sequence[Item], work: Callable[[Item], None]) -> None:
    if not items:
        return
    with ThreadPoolExecutor(max_workers=min(len(items), 16)) as pool:
        futures = [pool.submit(work, item) for item in items]
    faults = [error for future in futures if (error := future.exception())]
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise GroundupError(
            "\n".join(map(str, faults)),
            where="this machine",
            why=f"{len(faults)} of {len(items)} hosts are not as they should be",
            remedy="see each of them",
        )
