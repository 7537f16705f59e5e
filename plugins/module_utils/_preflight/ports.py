"""Check that planned ports are free or held by this site's own programs, and reachable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from .._host.probe import SMALL
from .._plan.preflight import Expected
from .model import MachineFacts, PreflightFault

KERNEL = "the kernel"  # tunnels of a pod network belong to no process
_LOGIN = ("sshd", "systemd")  # sshd, and systemd as its socket, exist before the site
_LISTENING = {"tcp": "0A", "udp": "07"}


def taken(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
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
                yield PreflightFault(
                    "ports", "error", f"port {port} is taken by {program}, and {own} is to listen there",
                    process or f"socket {inode}",
                    "stop and disable that service, or give it another port",
                )  # fmt: skip
                break


def _sockets(machine: MachineFacts) -> dict[str, set[str]]:
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


def _holders(machine: MachineFacts, inodes: set[str]) -> dict[str, tuple[str, str]]:
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


def firewall(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield packet filters that drop by default; whether they accept our ports is not checked here."""
    dropping = _dropping_chains(machine)
    if not dropping or machine.site == wanted.site:
        return
    yield PreflightFault(
        "firewall", "warning", "a packet filter drops what it does not name", ", ".join(dropping),
        f"let in, from the site's networks: {', '.join(wanted.listens)}; between control hosts IP protocol 112 (VRRP)",
    )  # fmt: skip


def _dropping_chains(machine: MachineFacts) -> list[str]:
    """Return base chains at the input hook that drop by policy, or by an unconditional last rule."""
    found = list(nft_chains(machine.said(["nft", "--stateless", "list", "ruleset"]) or ""))
    # Legacy rules are not in nft's list; iptables of Debian shows nft's once more.
    for program in ("iptables-legacy", *(() if found else ("iptables",))):
        rules = machine.said([program, "-S"]) or ""
        chains: dict[str, list[str]] = {}
        for line in rules.splitlines():
            if line.startswith("-A "):
                chains.setdefault(line.split()[1], []).append(line.partition(line.split()[1])[2].strip())
        if "-P INPUT DROP" in rules or _ends_in_drop(chains, "INPUT"):
            found.append(f"{program}: INPUT")
    return found


_NO_MATCH = re.compile(r"(-j|-g|--goto) (\S+)|(jump|goto) (\S+)|(drop|reject)\b.*")


def _ends_in_drop(chains: dict[str, list[str]], name: str, above: tuple[str, ...] = ()) -> bool:
    """Return whether a rule of the chain that matches every packet drops it, or leads to a chain that does."""
    for rule in chains.get(name, ()):
        plain = _unconditional(rule)
        if plain in ("accept", "return", "-j ACCEPT", "-j RETURN"):
            return False
        found = _NO_MATCH.fullmatch(plain)
        if not found:
            continue
        target = found[2] or found[4]
        if not target or target in ("DROP", "REJECT"):
            return True
        if target not in above and _ends_in_drop(chains, target, (*above, name)):
            return True
    return False


# What every new connection from another machine matches, and what is done to it on the way.
_ANYTHING = re.compile(
    r"\biif(name)? != \"?lo\"?|! -i lo\b|-s 0\.0\.0\.0/0|\bip (saddr|daddr) 0\.0\.0\.0/0|\bmeta nfproto ipv4\b"
    r"|\bct state (\{[^}]*\bnew\b[^}]*\}|\S*\bnew\b\S*)"
    r"|-m (conntrack --ctstate|state --state) \S*\bNEW\b\S*"
    r"|\b(meta )?(nftrace|mark|priority) set \S+|\bnotrack\b"
)


def _unconditional(rule: str) -> str:
    """Return ``rule`` without what excludes no connection from elsewhere: marks, log, counters, comments, loopback."""
    rule = _ANYTHING.sub("", rule)
    rule = re.sub(r'-m comment --comment ("[^"]*"|\S+)|--reject-with \S+|comment "[^"]*"', "", rule)
    rule = re.sub(r"\bcounter( packets \d+ bytes \d+| name \S+)?", "", rule)
    rule = re.sub(
        r'\blog( (prefix ("[^"]*"|\S+)|level \S+|flags \S+|group \d+|snaplen \d+|queue-threshold \d+))*', "", rule
    )
    return " ".join(rule.split())


def nft_chains(rules: str, *, hook: str = "input") -> Iterator[str]:
    """Yield the base chains at ``hook`` that drop what no rule accepts."""
    tables: dict[str, dict[str, list[str]]] = {}
    bases: list[tuple[str, str, bool]] = []
    table = chain = ""
    for line in map(str.strip, rules.splitlines()):
        if line.startswith("table "):
            table = " ".join(line.split()[1:3])
        elif line.startswith("chain "):
            chain = line.split()[1]
        elif f"hook {hook} " in line:
            bases.append((table, chain, "policy drop" in line))
        elif line not in ("", "}"):
            tables.setdefault(table, {}).setdefault(chain, []).append(line)
    for table, chain, by_policy in bases:
        if by_policy or _ends_in_drop(tables.get(table, {}), chain):
            yield f"{table} {chain}"


def reachable(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
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
        yield PreflightFault(
            "firewall", "error", "a packet filter keeps this host from ports of control hosts", ", ".join(eaten),
            "open the ports of the ports table (docs/bring-your-own-hosts.md) between the site's hosts",
        )  # fmt: skip


def _filtered(machine: MachineFacts, places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return those of ``places`` that do not answer; all are tried in parallel, because silence takes seconds."""

    def answers(place: tuple[str, int]) -> bool:
        return machine.connects(*place) != "filtered"

    with ThreadPoolExecutor(16) as pool:
        heard = dict(zip(places, pool.map(answers, places)))  # noqa: B905 - strict needs Python 3.10
    return [place for place in places if not heard[place]]
