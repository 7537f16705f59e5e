"""Let packets cross a lab's bridges where this machine drops what it forwards, as Docker has it do.

With br_netfilter, frames that only cross a bridge pass the filters of forwarded packets, too. Hosts need it for their
pods, and each network namespace has its own switch: where the lab loads the module, this machine's stays off.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from .._base.files import read
from .._base.run import attempt, run
from .._preflight.ports import nft_chains
from .names import link_prefix

MODULE = "br_netfilter"
CALLS = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
LEGACY = Path("/proc/net/ip_tables_names")  # tables in use; a mere question would load the module
_FORWARD = "ip filter FORWARD"  # the chain of iptables in nftables


def loaded() -> bool:
    """Return whether the kernel has the module."""
    return CALLS.exists()


def load() -> None:
    """Load the module for a lab's hosts, without filters for this machine's own bridges. Raises GroundupError."""
    if loaded():
        return
    run(
        ["modprobe", "--", MODULE],
        why="pods of one host reach each other's services through the filters of its bridge",
        remedy="install linux-image-amd64 and boot it; after an update of the kernel: restart this machine",
    )
    for switch in CALLS.parent.glob("bridge-nf-call-*"):
        switch.write_text("0\n", encoding="ascii")


def unload() -> None:
    """Remove the module that a lab has loaded, unless somebody has turned its filters on meanwhile."""
    if loaded() and not _filtered():
        attempt(["modprobe", "--remove", "--", MODULE])


def closed(site: str) -> list[str]:
    """Return the programs whose chain FORWARD drops, and has no rule for the bridges of ``site``."""
    return [
        program for program in _programs()
        if _filtered() and _drops(_said(program, "-S", "FORWARD")) and not _has_rule(program, site)
    ]  # fmt: skip


def opened(site: str) -> list[str]:
    """Return the programs that have a rule for the bridges of ``site``."""
    return [program for program in _programs() if _has_rule(program, site)]


def let_through(program: str, site: str) -> None:
    """Accept what crosses the bridges of ``site``. Raises GroundupError."""
    run([program, "-w", "-I", "FORWARD", *_rule(site)], why="its hosts would not reach each other")


def take_away(program: str, site: str) -> None:
    """Remove our rule, however often it is there. Raises GroundupError."""
    while _has_rule(program, site):
        run([program, "-w", "-D", "FORWARD", *_rule(site)])


def foreign(site: str) -> list[str]:
    """Return nftables' own chains that drop what is forwarded; of a chain with a rule for ``site``, its owner knows."""
    rules = attempt(["nft", "--stateless", "list", "ruleset"]).stdout if shutil.which("nft") else ""
    if not _filtered() or link_prefix(site) in rules:
        return []
    return [chain for chain in nft_chains(rules, hook="forward") if chain != _FORWARD]


def remedy(chain: str, site: str) -> str:
    """Return the command that has one of `foreign` accept what crosses the bridges of ``site``."""
    bridges = f'"{link_prefix(site)}*"'
    return f"nft insert rule {chain} iifname {bridges} oifname {bridges} accept"


def _programs() -> Iterator[str]:
    legacy = ["iptables-legacy"] if "filter" in (read(LEGACY) or "").split() else []
    both = [program for program in ("iptables-nft", *legacy) if shutil.which(program)]
    yield from both or filter(shutil.which, ["iptables"])


def _filtered() -> bool:
    """Return whether filters see what crosses this machine's bridges."""
    return loaded() and CALLS.read_text(encoding="ascii").strip() != "0"


def _drops(rules: str) -> bool:
    lines = rules.splitlines()
    return "-P FORWARD DROP" in lines or any(
        line.startswith(("-A FORWARD -j DROP", "-A FORWARD -j REJECT")) for line in lines
    )


def _rule(site: str) -> list[str]:
    bridges = f"{link_prefix(site)}+"
    return ["-i", bridges, "-o", bridges, "-j", "ACCEPT"]


def _has_rule(program: str, site: str) -> bool:
    return not attempt([program, "-w", "-C", "FORWARD", *_rule(site)]).returncode


def _said(*argv: str) -> str:
    return attempt(argv).stdout
