"""OVN's two databases, and where Debian's packages have what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DATA = Path("/var/lib/ovn")
RUN = Path("/run/ovn")
OPTIONS = Path("/etc/default/ovn-central")
TLS = Path("/etc/ovn/tls")  # of the site's authority; ovsdb-server reads a changed file by itself
MEMBER, CA = TLS / "member.pem", TLS / "ca.pem"  # certificate and key in one file: never half of a pair
# Where northd finds the databases. Without this file Debian's ovn-northd.service stops both databases when it stops.
PARAMETERS = Path("/etc/ovn/ovn-northd-db-params.conf")
UNITS = Path("/etc/systemd/system")
CENTRAL, NORTHD = "ovn-central.service", "ovn-northd.service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A port of a database, on every member."""

    port: int
    role: str  # what a client may do is that of the role; "": everything


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One of OVN's databases: each is a raft cluster of its own."""

    short: str  # in names of files, units and options
    name: str
    raft_port: int
    listeners: tuple[Listener, ...]

    @property
    def file(self) -> Path:
        """The data of this member."""
        return DATA / f"ovn{self.short}_db.db"

    @property
    def control(self) -> Path:
        """The socket that ovn-appctl asks."""
        return RUN / f"ovn{self.short}_db.ctl"

    @property
    def socket(self) -> str:
        """The database itself, for clients on this host."""
        return f"unix:{RUN}/ovn{self.short}_db.sock"

    @property
    def schema(self) -> Path:
        """What the installed version has in it."""
        return Path(f"/usr/share/ovn/ovn-{self.short}.ovsschema")

    @property
    def client(self) -> str:
        """The program that reads and writes it."""
        return f"ovn-{self.short}ctl"

    @property
    def unit(self) -> str:
        """Debian's unit of its server."""
        return f"ovn-ovsdb-server-{self.short}.service"

    @property
    def knows_roles(self) -> bool:
        """Whether its listeners can hold clients to a role; NB's cannot."""
        return any(one.role for one in self.listeners)

    def member(self, address: str) -> str:
        """Return how other members reach the one on ``address``."""
        return f"ssl:{address}:{self.raft_port}"


# Ports: `layers.ports` on the controller; a test holds the two together.
NB = Database(short="nb", name="OVN_Northbound", raft_port=6643, listeners=(Listener(port=6641, role=""),))
SB = Database(
    short="sb",
    name="OVN_Southbound",
    raft_port=6644,
    listeners=(Listener(port=6642, role="ovn-controller"), Listener(port=16642, role="")),
)
DATABASES = (NB, SB)
