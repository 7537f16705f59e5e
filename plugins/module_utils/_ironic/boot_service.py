"""Network boot services of the seed (DHCP, DNS, TFTP, NTP): account, programs, configuration, units."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import socket
import tarfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt, run
from .._base.wait import wait_until
from .._host import accounts
from .._host.interfaces import interface_of
from .._host.naming import unanswering
from .._host.units import Unit, off, properties
from .._seed.configuration import nginx_takes
from . import configuration as own
from . import netboot, rogue

START = 30.0  # seconds until both answer
NTP_PORT, SERVES, UNSYNCHRONISED = 123, 4, 16  # mode of an answer; stratum of an unsynchronised server


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Configure network boot as in ``wanted``; turn it off without a network. Raises GroundupError, OSError."""
    web = Unit(changes, "nginx.service", on_change="reload")
    network = wanted["network"]
    if not network:
        off(changes, [netboot.UNIT.name, netboot.CLOCK_UNIT.name])
        web.generate(netboot.WEB, "")
        web.refreshed()
        return
    accounts.ensure(changes, netboot.ACCOUNT, home=str(netboot.STATE), login="/usr/sbin/nologin")
    unit, clock = Unit(changes, netboot.UNIT.name), Unit(changes, netboot.CLOCK_UNIT.name)
    _programs(changes, (unit, clock), Path(wanted["files_root"]) / network["programs"])
    try:
        interface = interface_of(network["address"])
    except GroundupError:
        if not changes.check:
            raise
        interface = "?"  # the seed does not exist yet
    site = {name: wanted[name] for name in ("domain", "names", "dns_servers", "ntp_servers")}
    found = netboot.values(
        {**network, **site}, interface=interface, api_url=wanted["api_url"], addresses=wanted["addresses"]
    )
    for path, text in netboot.texts(found).items():
        unit.place(path, text, **({"valid": _takes} if path == netboot.CONF and not changes.check else {}))
    for path, text in netboot.scripts(found).items():
        files.place(changes, path, text)
    files.link(changes, netboot.SCRIPTS / "vmlinuz", f"{wanted['ramdisk']}/vmlinuz")
    files.link(changes, netboot.SCRIPTS / "initramfs", str(own.INITRAMFS))
    for path, text in netboot.clock_texts(found).items():
        clock.place(path, text)
    unit.running()
    clock.running()
    web.place(netboot.WEB, netboot.web(found), valid=partial(nginx_takes, place=netboot.WEB))
    web.running()


def answers(network: Mapping[str, Any], *, domain: str) -> None:
    """Check DNS, NTP and relay routes, and that no other DHCP server answers. Raises GroundupError."""
    address = network["address"]
    names, time = partial(unanswering, [address], domain=domain), partial(_timeless, address)
    _answers(netboot.UNIT, netboot.CONF, names, lacks="no machine boots from the network")
    _answers(netboot.CLOCK_UNIT, netboot.CLOCK, time, lacks="machines there have another time than the seed")
    _routes(network, interface_of(address))
    rogue.refuse(interface_of(address), address)


def _routes(network: Mapping[str, Any], interface: str) -> None:
    """Raise GroundupError when answers to a DHCP relay would leave by another interface than ``interface``."""
    for leaf in network.get("leaves") or ():
        said = attempt(["ip", "-json", "route", "get", leaf["gateway"]])
        way = json.loads(said.stdout)[0].get("dev") if said.returncode == 0 else "no interface"
        if way != interface:
            raise GroundupError(
                f"the router of rack {leaf['rack']}, {leaf['gateway']}, is reached by {way}, not by {interface}",
                where="the seed's routes",
                why="machines of that rack that boot from the network get no answer",
                remedy=f"ip route add {network['plane']} via {network['gateway']} dev {interface}, and keep it there",
            )


def _answers(unit: Path, conf: Path, silent: Callable[[], list[str]], *, lacks: str) -> None:
    state = properties(unit.name, "ActiveState").get("ActiveState")
    said = [f"{unit.name} is {state}"] if state != "active" else wait_until(silent, timeout=START)
    if said:
        raise GroundupError("; ".join(said), where=str(conf), why=lacks, remedy=f"journalctl -n 50 -u {unit.name}")


def _timeless(address: str) -> list[str]:
    """Query NTP (RFC 5905); return the errors."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(2)
        try:
            asking.sendto(b"\x23" + bytes(47), (address, NTP_PORT))
            answer = asking.recv(1024)
        except OSError as error:
            return [f"nobody tells the time at {address}: {error.strerror or 'no answer'}"]
    good = len(answer) >= 48 and answer[0] & 7 == SERVES and 0 < answer[1] < UNSYNCHRONISED
    return [] if good else [f"{address} does not know the time"]


def _takes(path: Path) -> None:
    program = netboot.PROGRAMS / "dnsmasq"
    libraries = {"LD_LIBRARY_PATH": str(netboot.PROGRAMS / "lib")}
    run(
        [str(program), "--test", f"--conf-file={path}"],
        environment=libraries,
        remedy="correct the network provisioning",
    )


def _programs(changes: Changes, units: Sequence[Unit], archive: Path) -> None:
    """Unpack the programs; replace the whole directory when the archive's digest differs."""
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
    for unit in units:
        unit.replaced()
    if not changes.add(f"make {netboot.PROGRAMS}"):
        return
    for unit in units:
        unit.mark()
    new = netboot.PROGRAMS.with_name("netboot.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as content:
        content.extractall(new, filter="data")  # trusted: the site's own supply, by digest
    (new / "digest").write_text(digest, encoding="utf-8")
    shutil.rmtree(netboot.PROGRAMS, ignore_errors=True)
    new.rename(netboot.PROGRAMS)
