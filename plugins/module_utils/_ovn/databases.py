"""Define OVN's two databases, and their paths in Debian's packages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

DATA = Path("/var/lib/ovn")
RUN = Path("/run/ovn")
OPTIONS = Path("/etc/default/ovn-central")
TLS = Path("/etc/ovn/tls")  # ovsdb-server reloads changed files
MEMBER = TLS / "member.pem"  # certificate and key in one file, replaced together
CA, CHASSIS_CA = TLS / "ca.pem", TLS / "sb-ca.pem"  # OVN's own, and that beside the hypervisors'
# northd's database addresses. Without this file, stopping Debian's ovn-northd.service stops both databases.
PARAMETERS = Path("/etc/ovn/ovn-northd-db-params.conf")
UNITS = Path("/etc/systemd/system")
CENTRAL, NORTHD = "ovn-central.service", "ovn-northd.service"


# Named tuples: a host's own program starts every ten seconds, and dataclasses take a fifth of its imports.
class Listener(NamedTuple):
    """A port on which every member of a database listens."""

    port: int
    role: str  # limits its clients; "": no limits


class Database(NamedTuple):
    """One of OVN's databases, a raft cluster of its own."""

    short: str  # in names of files, units and options
    name: str
    raft_port: int
    listeners: tuple[Listener, ...]

    @property
    def file(self) -> Path:
        """The data file of this member."""
        return DATA / f"ovn{self.short}_db.db"

    @property
    def control(self) -> Path:
        """The control socket for ovn-appctl."""
        return RUN / f"ovn{self.short}_db.ctl"

    @property
    def socket(self) -> str:
        """The database's socket for clients on this host."""
        return f"unix:{RUN}/ovn{self.short}_db.sock"

    @property
    def schema(self) -> Path:
        """The schema file of the installed version."""
        return Path(f"/usr/share/ovn/ovn-{self.short}.ovsschema")

    @property
    def client(self) -> str:
        """The command-line client."""
        return f"ovn-{self.short}ctl"

    @property
    def unit(self) -> str:
        """Debian's systemd unit of its server."""
        return f"ovn-ovsdb-server-{self.short}.service"

    @property
    def believes(self) -> Path:
        """The authorities of its clients and members: of hypervisors only where chassis connect."""
        return CHASSIS_CA if self.knows_roles else CA

    @property
    def knows_roles(self) -> bool:
        """Whether its listeners can limit clients to a role; NB's cannot."""
        return any(one.role for one in self.listeners)

    def member(self, address: str) -> str:
        """Return the raft address of the member on ``address``."""
        return f"ssl:{address}:{self.raft_port}"

    @staticmethod
    def host_of(member: str) -> str:
        """Return the address of the host of a raft address."""
        return member.partition(":")[2].rpartition(":")[0]


# The ports equal `layers.ports` on the controller; a test compares both.
NB = Database(short="nb", name="OVN_Northbound", raft_port=6643, listeners=(Listener(port=6641, role=""),))
SB = Database(
    short="sb",
    name="OVN_Southbound",
    raft_port=6644,
    listeners=(Listener(port=6642, role="ovn-controller"), Listener(port=16642, role="")),
)
DATABASES = (NB, SB)
