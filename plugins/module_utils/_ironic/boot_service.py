"""Boots from the network as a service of the seed: its account, its programs, what it is told, its unit."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._host.interfaces import interface_of
from .._host.units import Unit, off, properties
from .._hypervisor import accounts
from .._seed.configuration import nginx_takes
from . import configuration as own
from . import netboot


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Have machines boot from the network as ``wanted`` says, or not at all. Raises GroundupError, OSError."""
    web = Unit(changes, "nginx.service", on_change="reload")
    network = wanted["network"]
    if not network:
        off(changes, [netboot.UNIT.name])
        web.generate(netboot.WEB, "")
        web.refreshed()
        return
    accounts.ensure(changes, netboot.ACCOUNT, home=str(netboot.STATE), login="/usr/sbin/nologin")
    unit = Unit(changes, netboot.UNIT.name)
    _programs(changes, unit, Path(wanted["files_root"]) / network["programs"])
    try:
        interface = interface_of(network["address"])
    except GroundupError:
        if not changes.check:
            raise
        interface = "?"  # of a seed that is still to be made
    found = netboot.values(network, interface=interface, api_url=wanted["api_url"], addresses=wanted["addresses"])
    for path, text in netboot.texts(found).items():
        unit.place(path, text, **({"valid": _takes} if path == netboot.CONF and not changes.check else {}))
    for path, text in netboot.scripts(found).items():
        files.place(changes, path, text)
    files.link(changes, netboot.SCRIPTS / "vmlinuz", f"{wanted['ramdisk']}/vmlinuz")
    files.link(changes, netboot.SCRIPTS / "initramfs", str(own.INITRAMFS))
    unit.running()
    web.place(netboot.WEB, netboot.web(found), valid=partial(nginx_takes, place=netboot.WEB))
    web.running()


def answers() -> None:
    """Raise GroundupError when machines that boot from the network get no answer."""
    state = properties(netboot.UNIT.name, "ActiveState", "SubState")
    if state.get("ActiveState") != "active":
        raise GroundupError(
            f"{netboot.UNIT.name} is {state.get('ActiveState')}",
            where=str(netboot.CONF),
            why="no machine boots from the network",
            remedy=f"journalctl -n 50 -u {netboot.UNIT.name}",
        )


def _takes(path: Path) -> None:
    program = netboot.PROGRAMS / "dnsmasq"
    libraries = {"LD_LIBRARY_PATH": str(netboot.PROGRAMS / "lib")}
    run(
        [str(program), "--test", f"--conf-file={path}"],
        environment=libraries,
        remedy="correct the network provisioning",
    )


def _programs(changes: Changes, unit: Unit, archive: Path) -> None:
    """Unpack the programs; a directory with another digest is replaced whole."""
    try:
        data = archive.read_bytes()
    except FileNotFoundError:
        if changes.check:
            changes.add(f"make {netboot.PROGRAMS}")
            return
        raise
    stamp, digest = netboot.PROGRAMS / "digest", hashlib.sha256(data).hexdigest()
    if files.read(stamp) == digest:
        return
    unit.replaced()
    if not changes.add(f"make {netboot.PROGRAMS}"):
        return
    unit.mark()
    new = netboot.PROGRAMS.with_name("netboot.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as content:
        content.extractall(new, filter="data")  # of the site's own supply, by digest
    (new / "digest").write_text(digest, encoding="utf-8")
    shutil.rmtree(netboot.PROGRAMS, ignore_errors=True)
    new.rename(netboot.PROGRAMS)
