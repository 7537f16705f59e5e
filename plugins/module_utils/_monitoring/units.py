"""The text of monitoring's units, and whether what they run answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from .._base.errors import GroundupError
from .._base.files import HEADER
from .._base.wait import wait_until
from .._host.units import properties

START = 60.0  # seconds from a start until it listens
_LISTENING = "0A"  # state of a socket in /proc/net
_HARDENED = """\
NoNewPrivileges=yes
ProtectSystem=strict
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
StateDirectoryMode=0700
CapabilityBoundingSet=
Restart=on-failure
RestartSec=5
TasksMax=512
"""


def drop_in(command: Sequence[str], *, needs: Path, memory: str, more: str = "") -> str:
    """Return the drop-in that has Debian's unit run ``command``, but not before ``needs`` is there."""
    return (
        f"{HEADER}[Unit]\nConditionPathExists={needs}\n\n"
        f"[Service]\nExecStart=\nExecStart={_line(command)}\n{_HARDENED}MemoryMax={memory}\n{more}"
    )


def service(command: Sequence[str], *, what: str, account: str, memory: str, more: str = "") -> str:
    """Return a unit that runs ``command`` as ``account`` and reads its configuration again at a reload."""
    return (
        f"{HEADER}[Unit]\nDescription={what}\nAfter=network-online.target\nWants=network-online.target\n\n"
        f"[Service]\nUser={account}\nExecStart={_line(command)}\nExecReload=/bin/kill -HUP $MAINPID\n"
        f"{_HARDENED}ProtectHome=yes\nPrivateDevices=yes\nMemoryMax={memory}\n{more}\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def answers(address: str, port: int, unit: str) -> None:
    """Wait until ``unit`` listens at ``address`` and ``port``. Raises GroundupError."""

    def silent() -> str:
        try:
            with socket.create_connection((address, port), timeout=5):
                # While another program has the port, systemd calls the unit active between two starts.
                return "" if _listens(properties(unit, "MainPID")["MainPID"], port) else "another program does"
        except OSError as error:
            return str(error)

    if said := wait_until(silent, timeout=START):
        raise GroundupError(
            f"{unit} does not listen: {said}",
            where=f"{address}:{port}",
            why=f"{START:g} s after its start; what it tells or judges is unseen",
            remedy=f"journalctl -n 50 -u {unit}; ss -ltnp names who has the port",
        )


def _listens(process: str, port: int) -> bool:
    """Say whether ``process`` has a listening TCP socket at ``port``."""
    home, listening = Path("/proc") / process, set()
    for table in ("tcp", "tcp6"):
        rows = (line.split() for line in (home / "net" / table).read_text(encoding="ascii").splitlines()[1:])
        listening |= {
            f"socket:[{cells[9]}]"
            for cells in rows
            if cells[3] == _LISTENING and int(cells[1].rpartition(":")[2], 16) == port
        }
    return not listening.isdisjoint(_handles(home / "fd"))


def _handles(place: Path) -> Iterator[str]:
    for handle in place.iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            yield str(handle.readlink())


def _line(command: Sequence[str]) -> str:
    return " \\\n  ".join(command)
