"""Converge the services of a hypervisor in the order of their dependencies, and verify them."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._host import environment, ownership, packages
from .._host.units import Unit, properties
from . import checks, disks, leave, libvirt, mtu, nova_ssh, openvswitch, ovn, pki, processor, services, sriov, volumes


def converge(changes: Changes, wanted: dict[str, Any]) -> str:
    """Converge the host to ``wanted``; return the name of its Python environment. Raises GroundupError."""
    ownership.refuse_other(wanted["site"])
    kept = ""
    if not wanted["release_step"] and not leave.RETIRED.exists():  # a retired host returns without instances
        kept = _kept(wanted["upgrading"])
        if not kept:
            environment.refuse_step(wanted["release"], host=wanted["name"])
    checks.refuse(wanted["compute"], hardware=wanted["hardware"], host=wanted["name"])
    sriov.refuse(wanted["sriov"], hardware=wanted["hardware"], host=wanted["name"])
    disks.refuse_renamed(wanted["configuration"]["nova"]["host"], host=wanted["name"])
    disks.refuse_another(
        wanted["configuration"]["nova"],
        wanted["disks"]["conf"] if wanted["disks"] else "",
        hardware=wanted["hardware"],
        host=wanted["name"],
    )
    # On a new host, libvirt can only be asked after its installation.
    asked = processor.refuse(wanted["compute"], hardware=wanted["hardware"], host=wanted["name"])
    leave.joins_again(changes)
    openvswitch.named(changes, wanted["chassis"]["system_id"])  # before the package, which would invent a name
    packages.installed(changes, wanted["packages"])
    if not asked:
        processor.refuse(wanted["compute"], hardware=wanted["hardware"], host=wanted["name"])
    compute, agent = services.place(changes, wanted["configuration"], compute_id=wanted["compute_id"])
    for_cards = sriov.place(changes, wanted["sriov"], wanted["configuration"].get("sriov", {}))
    in_ceph = disks.Disks(**wanted["disks"], key=wanted["disk_secret"]) if wanted["disks"] else None
    disks.place(changes, compute, in_ceph)
    copies = nova_ssh.place(changes, nova_ssh.Peers(**wanted["peers"]), key=wanted["ssh_key"])
    name, is_current = _environment(changes, wanted, kept)
    controller = ovn.controller(changes)
    pair = pki.Pair(
        user=wanted["name"],
        certificate=wanted["certificate"],
        key=wanted["private_key"],
        authority=wanted["ca_certificate"],
        consoles=wanted["console_ca"],
        ovn=wanted["ovn_ca"],
        queue=wanted["queue_ca"],
    )
    pki.own(changes, pair, readers=None, units=(controller, agent))
    openvswitch.configure(changes, wanted["chassis"])
    openvswitch.admit(changes, services.ACCOUNT)
    ovn.start(changes, controller)
    ovn.accept(changes, controller, agent)
    libvirt.configure(
        changes,
        pair,
        hypervisors=wanted["peers"]["hosts"],
        uuid=wanted["compute_id"],
        datapath=wanted["compute"]["datapath"],
    )
    if wanted["volume_key"]:
        volumes.own(changes, volumes.Key(**wanted["volume_key"], value=wanted["volume_secret"]))
    if in_ceph:
        volumes.own(changes, volumes.Key(uuid=in_ceph.uuid, client=in_ceph.client, value=in_ceph.key))
    if not is_current:
        for unit in (compute, agent, *for_cards):
            unit.replaced()
            if not changes.check:
                unit.mark()
        environment.switch(changes, name)
    for unit in (agent, *for_cards):
        unit.running()
    compute.running()
    services.close(changes)
    openvswitch.close_loopback(changes)  # nova-compute has read by now which way it takes
    copies.running()
    return name


def reconnect(changes: Changes, wanted: dict[str, Any]) -> None:
    """Have a hypervisor take a southbound database that was made anew. Raises GroundupError."""
    ownership.refuse_other(wanted["site"])
    controller, agent = Unit(changes, ovn.UNIT), Unit(changes, services.OVN_AGENT)
    ovn.accept(changes, controller, agent)
    agent.refreshed()
    if controller.active and not changes.check and (why := ovn.disconnected()):
        raise _faulty({ovn.UNIT: why}, name=wanted["name"])


def _kept(upgrading: Sequence[str]) -> str:
    """Return the host's environment if its release is one of ``upgrading``: the host waits for its batch."""
    name = environment.current()
    return name if name.rpartition("-")[0] in upgrading else ""


def stage(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Place the Python environment of ``wanted`` beside the current one; no service changes. Raises GroundupError."""
    ownership.refuse_other(wanted["site"])
    name, _ = _environment(changes, wanted)
    return {**changes.result(), "environment": name}


def _environment(changes: Changes, wanted: dict[str, Any], kept: str = "") -> tuple[str, bool]:
    if kept:
        return kept, True
    release = platform.freedesktop_os_release().get("VERSION_ID", "")
    found = wanted["environments"].get(release)
    if not found:
        raise GroundupError(
            f"there is no Python environment for Debian {release or 'of this host'}",
            where=f"{wanted['name']}, /etc/os-release",
            why="nova-compute runs by the host's own Python and libvirt",
            remedy=f"install Debian {' or '.join(sorted(wanted['environments']))}",
        )
    return environment.place(
        changes,
        release=wanted["release"],
        url=f"{wanted['files_url']}/{found['path']}",
        sha256=found.get("sha256"),
        ca=wanted["files_ca"],
    )


def verify(
    name: str, *, release: str, programs: Mapping[str, str], upgrading: Sequence[str] = (), cards: sriov.Cards = ()
) -> None:
    """Raise GroundupError unless the host's services work, with the site file's ``release`` and ``programs``.

    ``upgrading``: releases that it may have, while OpenStack is on its way to another. ``cards``: with SR-IOV.
    """
    checks.missing(programs, host=name)
    faults = {
        ovn.UNIT: ovn.disconnected(),
        openvswitch.DATABASE: openvswitch.shut_out(services.ACCOUNT),
        libvirt.DAEMON: libvirt.silent(),
        services.COMPUTE: _not_running(services.COMPUTE)
        or environment.of_another_release(environment.current(), release, upgrading),
        services.OVN_AGENT: _not_running(services.OVN_AGENT),
        nova_ssh.NAME: _not_running(nova_ssh.NAME),
        sriov.FUNCTIONS: sriov.short(cards),
        sriov.AGENT: _not_running(sriov.AGENT) if cards else "",
    }
    if found := {unit: why for unit, why in faults.items() if why}:
        raise _faulty(found, name=name)


def _faulty(found: Mapping[str, str], *, name: str) -> GroundupError:
    return GroundupError(
        "; ".join(f"{unit.partition('.')[0]}: {why}" for unit, why in found.items()),
        where=name,
        why="guests cannot be started on it, or not be reached",
        remedy="journalctl -n 50 " + " ".join(f"-u {unit}" for unit in found),
    )


def _not_running(unit: str) -> str:
    state = properties(unit, "ActiveState", "SubState")
    good = state.get("ActiveState") == "active" and state.get("SubState") == "running"
    return "" if good else f"{state.get('ActiveState')} ({state.get('SubState')})"


def work(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Converge and verify, or only verify. Raises GroundupError."""
    name = environment.current() if wanted["verify"] else converge(changes, wanted)
    if not changes.check:
        asked = {name: wanted[name] for name in ("release", "programs", "upgrading")}
        verify(wanted["name"], **asked, cards=wanted["sriov"])
        pki.soon(changes, wanted["name"])
        mtu.prove(changes, wanted["underlay"], host=wanted["name"])
    if ovn.OPTIONS.exists():
        ovn.compare(changes, wanted["name"])
    return {**changes.result(), "environment": name}
