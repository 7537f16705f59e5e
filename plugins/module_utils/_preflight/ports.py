"""Check that planned ports are free or held by this site's own programs, and reachable."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from .model import Fault, Machine, Wanted
from .probe import SMALL

KERNEL = "the kernel"  # tunnels of a pod network belong to no process
_LOGIN = ("sshd", "systemd")  # sshd, and systemd as its socket, exist before the site
_LISTENING = {"tcp": "0A", "udp": "07"}


def taken(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield planned ports that are taken by another program than the planned one."""
    listening = _sockets(machine)
    busy = {port: listening[port] for port in wanted.listens if port in listening}
    holders = _holders(machine, {inode for inodes in busy.values() for inode in inodes})
    still = _sockets(machine)  # a program that ended meanwhile must not be taken for the kernel
    for port, inodes in busy.items():
        programs = wanted.listens[port]
        for inode in sorted(inodes & (holders.keys() | still.get(port, set()))):
            program, process = holders.get(inode, (KERNEL, ""))  # root sees every process
            if program not in programs or not (machine.known or program in _LOGIN):
                own = "the site's own" if program in programs else " or ".join(programs)
                yield Fault(
                    "ports", "error", f"port {port} is taken by {program}, and {own} is to listen there",
                    process or f"socket {inode}",
                    "stop and disable that service, or give it another port",
                )  # fmt: skip
                break


def _sockets(machine: Machine) -> dict[str, set[str]]:
    """Return the inodes of listening sockets by port, such as 22/tcp."""
    found: dict[str, set[str]] = {}
    for protocol, state in _LISTENING.items():
        for table in (protocol, f"{protocol}6"):
            for line in machine.read(f"/proc/net/{table}").splitlines()[1:]:
                cells = line.split()
                if len(cells) > 9 and cells[3] == state:
                    port = int(cells[1].rpartition(":")[2], 16)
                    found.setdefault(f"{port}/{protocol}", set()).add(cells[9])
    return found


def _holders(machine: Machine, inodes: set[str]) -> dict[str, tuple[str, str]]:
    """Return the program and process that hold each of ``inodes``."""
    found: dict[str, tuple[str, str]] = {}
    for process in machine.names("/proc") if inodes else ():
        if not process.isdigit():
            continue
        for number in machine.names(f"/proc/{process}/fd"):
            try:
                handle = str(machine.path(f"/proc/{process}/fd/{number}").readlink())
            except OSError:  # closed, or the process ended
                continue
            inode = handle[len("socket:[") : -1] if handle.startswith("socket:[") else ""
            # The first process by number is the service's main one; systemd also keeps handed-over sockets open.
            if inode in inodes and (inode not in found or found[inode][1] == "process 1"):
                found[inode] = (machine.read(f"/proc/{process}/comm").strip(), f"process {process}")
    return found


def firewall(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield packet filters that drop by default; whether they accept our ports is not checked here."""
    dropping = _dropping_chains(machine)
    if not dropping or machine.site == wanted.site:
        return
    yield Fault(
        "firewall", "warning", "a packet filter drops what it does not name", ", ".join(dropping),
        f"let in, from the site's networks: {', '.join(wanted.listens)}; between control hosts IP protocol 112 (VRRP)",
    )  # fmt: skip


def _dropping_chains(machine: Machine) -> list[str]:
    """Return base chains at the input hook that drop by policy, or by an unconditional last rule."""
    if rules := machine.said(["nft", "--stateless", "list", "ruleset"]):
        return list(_nft_chains(rules))
    for program in ("iptables-legacy", "iptables"):
        rules = machine.said([program, "-S", "INPUT"]) or ""
        last = (rules.splitlines() or [""])[-1]
        if "-P INPUT DROP" in rules or last.startswith(("-A INPUT -j DROP", "-A INPUT -j REJECT")):
            return [f"{program}: INPUT"]
    return []


def _nft_chains(rules: str) -> Iterator[str]:
    table = chain = ""
    at_input = False
    for line in map(str.strip, rules.splitlines()):
        if line.startswith("table "):
            table = " ".join(line.split()[1:3])
        elif line.startswith("chain "):
            chain, at_input = line.split()[1], False
        elif "hook input" in line:
            at_input = True
            if "policy drop" in line:
                yield f"{table} {chain}"
                at_input = False
        elif at_input and (line.startswith(("drop", "reject")) or line in ("counter drop", "counter reject")):
            yield f"{table} {chain}"
            at_input = False


def reachable(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield ports of control hosts that neither accept nor refuse a connection: a filter on the way drops it."""
    own = {address for link in machine.links().values() for address in link.addresses}
    others = {host: ports for host, ports in wanted.reaches.items() if host not in own}
    silent = _filtered(machine, [(host, port) for host, ports in others.items() for port in ports])
    # A host that answers neither ports nor echo is down: it is reported separately.
    mute = [host for host, ports in others.items() if all((host, port) in silent for port in ports)]
    down = machine.echo("0.0.0.0").lost(mute, size=SMALL) if mute else {}  # noqa: S104 - from any address
    # Ignore sshd: only the controller needs it.
    eaten = [f"{host}:{port}" for host, port in silent if host not in down and port != others[host][0]]
    if eaten:
        yield Fault(
            "firewall", "error", "a packet filter keeps this host from ports of control hosts", ", ".join(eaten),
            "open the ports of the ports table (docs/bring-your-own-hosts.md) between the site's hosts",
        )  # fmt: skip


def _filtered(machine: Machine, places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return those of ``places`` that do not answer; all are tried in parallel, because silence takes seconds."""

    def answers(place: tuple[str, int]) -> bool:
        return machine.connects(*place) != "filtered"

    with ThreadPoolExecutor(16) as pool:
        heard = dict(zip(places, pool.map(answers, places)))  # noqa: B905 - strict needs Python 3.10
    return [place for place in places if not heard[place]]
