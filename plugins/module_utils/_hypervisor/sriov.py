"""Virtual functions of network cards (SR-IOV): made at each start of the host, and Neutron's agent for their ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import HEADER
from .._host import units
from .._host.sriov import lacking, number
from .._host.units import Unit
from .services import CURRENT, SANDBOX, UNITS

FUNCTIONS, AGENT = "groundup-sriov.service", "neutron-sriov-nic-agent.service"
SCRIPT = Path("/usr/local/lib/groundup/sriov")
FILES = (Path("/etc/neutron/sriov_agent.ini"), Path("/etc/neutron/sriov_host.conf"))
STATE, LOCKS = "neutron-sriov", "/run/neutron-sriov"  # of its own: systemd removes them with the unit that has them
Cards = Sequence[Mapping[str, Any]]  # `SriovPlan`s

# A card takes another number only from none, and guests would lose theirs: the next start of the host gives it.
_SCRIPT = """\
#!/bin/sh
# Written by groundup.cloud: virtual functions of network cards.
set -e
functions() {
    ip link set dev "$1" mtu "$3" up
    file=/sys/class/net/$1/device/sriov_numvfs
    if [ "$(cat "$file")" = 0 ]; then echo "$2" > "$file"; fi
}
"""
_AGENT_UNIT = f"""\
# Written by groundup.cloud.
[Unit]
Description=OpenStack Neutron SR-IOV agent
After=network-online.target {FUNCTIONS}
Wants=network-online.target {FUNCTIONS}

[Service]
Environment=PATH={CURRENT}/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1
ExecStart={CURRENT}/bin/neutron-sriov-nic-agent --config-file {FILES[0]} --config-file {FILES[1]}
StateDirectory={STATE}
RuntimeDirectory={STATE}
Restart=always
RestartSec=5
TimeoutStopSec=60
{SANDBOX}
[Install]
WantedBy=multi-user.target
"""


def refuse(cards: Cards, *, hardware: str, host: str) -> None:
    """Raise GroundupError with everything that the machine lacks for ``cards``."""
    if found := [f"{what} ({seen})" for what, seen in lacking({one["card"]: one["functions"] for one in cards})]:
        raise GroundupError(
            "; ".join(found),
            where=f"{host}; site file key hardware.{hardware}.sriov",
            why="instances with such a port would not start on it, or the host lose its way",
            remedy="put the machine right (firmware, cards), or write what it has",
        )


def place(changes: Changes, cards: Cards, configuration: Mapping[str, str]) -> tuple[Unit, ...]:
    """Place the files for ``cards``; return the units to start, in order. Without cards, take away what was there."""
    if not cards:
        _forget(changes)
        return ()
    functions, agent = Unit(changes, FUNCTIONS), Unit(changes, AGENT)
    functions.place(SCRIPT, script(cards), mode=0o755)
    functions.place(UNITS / FUNCTIONS, _unit(cards))
    for path, text in zip(FILES, (configuration["cluster"], configuration["host"]), strict=True):
        agent.place(path, text, mode=0o640, secret=True)
    agent.place(UNITS / AGENT, _AGENT_UNIT)
    return functions, agent


def script(cards: Cards) -> str:
    """Return the script that makes virtual functions; it is idempotent."""
    return _SCRIPT + "".join(f"functions {one['card']} {one['functions']} {one['mtu']}\n" for one in cards)


def short(cards: Cards) -> str:
    """Return which of ``cards`` have another number of virtual functions, "" when none has."""
    return "; ".join(_short(cards))


def _short(cards: Cards) -> Iterator[str]:
    for one in cards:
        has = number(one["card"], "sriov_numvfs")
        if has != one["functions"]:
            yield f"{one['card']} has {has} virtual functions, not {one['functions']}: drain the host, then restart it"


def _unit(cards: Cards) -> str:
    # systemd's escape of "-" in the name of a device's unit
    devices = " ".join("sys-subsystem-net-devices-{}.device".format(one["card"].replace("-", r"\x2d")) for one in cards)
    return f"""\
{HEADER}\
[Unit]
Description=Virtual functions of network cards
After={devices}
Wants={devices}
Before=nova-compute.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={SCRIPT}

[Install]
WantedBy=multi-user.target
"""


def _forget(changes: Changes) -> None:
    there = [UNITS / name for name in (AGENT, FUNCTIONS) if (UNITS / name).exists()]
    units.off(changes, [path.name for path in there])
    for path in (*there, SCRIPT):
        files.remove(changes, path)
    for path in FILES:
        files.remove(changes, path, secret=True)
