"""Admit only named sources to ports of a host, by an nftables table of our own. No other rule is changed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .._base import files
from .._base.changes import Changes
from .._base.run import attempt
from .units import Unit, off

# Before kube-proxy rewrites the destination (dstnat, -100), or where the host's own filter stands.
_PRIORITY = {"prerouting": "mangle", "input": "filter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One table, loaded now and at each boot."""

    table: str
    what: str  # whom it admits to what, for systemd and messages
    rules: Path
    unit: Path
    hook: Literal["prerouting", "input"]
    before: Sequence[str]  # units that listen on the ports

    def text(self, admitted: Sequence[str], *, ports: Iterable[int]) -> str:
        """Return the table, which replaces the former one atomically: who is ``admitted``, then no one else."""
        lines = ["iif lo accept", *admitted]
        if closed := sorted(set(ports)):
            digest = hashlib.sha256("\n".join([*lines, str(closed)]).encode()).hexdigest()[:16]
            own = "fib daddr type local " if self.hook == "prerouting" else ""  # not what only passes through
            lines.append(f'{own}tcp dport {_set(closed)} drop comment "{digest}"')
        head = f"type filter hook {self.hook} priority {_PRIORITY[self.hook]}; policy accept;"
        body = "\n".join(f"    {line}" for line in [head, *lines])
        # Declaring and deleting the table first replaces it, whether it existed or not.
        afresh = f"table inet {self.table}\ndelete table inet {self.table}\n"
        return (
            f"# Written by groundup.cloud.\n{afresh}"
            f"table inet {self.table} {{\n  chain {self.hook} {{\n{body}\n  }}\n}}\n"
        )

    def converge(self, changes: Changes, wanted: str, *, marks: Path | None = None) -> None:
        """Load the table now and at each boot, before its units start. Raises GroundupError."""
        unit = Unit(changes, self.unit.name, marks=marks)
        unit.place(self.rules, wanted)
        unit.place(self.unit, self._unit())
        if not unit.stale and not self.in_force(wanted):  # flushed, and systemd still calls the unit active
            changes.add(f"load {self.rules.name} again")
            unit.replaced()
        unit.running()

    def remove(self, changes: Changes) -> None:
        """Leave neither rules nor unit behind. Raises GroundupError."""
        if not self.unit.exists() and not self.rules.exists():
            return
        off(changes, [self.unit.name])
        if not changes.check:
            attempt(["nft", "delete", "table", "inet", self.table])  # it fails where the table was flushed
        for path in (self.unit, self.rules):  # last: a killed run is finished by the next
            files.remove(changes, path)

    def in_force(self, wanted: str) -> bool:
        """Return whether the kernel has the rules ``wanted``, compared by the digest in the last rule."""
        if shutil.which("nft") is None:  # a dry run before the host layer installs it
            return False
        said = attempt(["nft", "--stateless", "list", "chain", "inet", self.table, self.hook])
        _, closes, rest = wanted.rpartition('comment "')
        now = rest.partition('"')[0] in said.stdout if closes else " drop" not in said.stdout
        return said.returncode == 0 and now

    def _unit(self) -> str:
        return f"""\
# Written by groundup.cloud.
[Unit]
Description={self.what}
After=nftables.service
Before={" ".join(self.before)}
ConditionPathExists={self.rules}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {self.rules}

[Install]
WantedBy=multi-user.target
"""


def admit(hosts: Sequence[str], *, ports: Iterable[int]) -> Iterator[str]:
    """Yield the rules that admit addresses or networks ``hosts`` to ``ports``, one for each version of IP."""
    for family, own in (
        ("ip", [one for one in hosts if ":" not in one]),
        ("ip6", [one for one in hosts if ":" in one]),
    ):
        if own:
            yield f"{family} saddr {_set(sorted(set(own)))} tcp dport {_set(sorted(ports))} accept"


def _set(values: Iterable[object]) -> str:
    return "{ " + ", ".join(map(str, values)) + " }"
